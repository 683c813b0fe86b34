"""``ddforensics diagnose``: look, say, exit with the verdict's code. Never decides anything itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics import redact
from forensics.cli import screen
from forensics.cli.pipeline import pipeline
from forensics.cli.samples import expect_no_missing_sample, hinting_at_sample
from forensics.errors import TargetError, UsageError

if TYPE_CHECKING:
    from forensics.model import Diagnosis

FORMATS = ("text", "json", "markdown")
SUFFIXES = {".json": "json", ".jsonl": "json", ".md": "markdown", ".markdown": "markdown"}
OTHER_DOCUMENTS = frozenset({
    ".html", ".htm", ".xhtml", ".pdf", ".doc", ".docx", ".odt", ".rtf", ".xml", ".csv", ".tsv", ".xlsx", ".yaml", ".yml", ".toml", ".rst", ".adoc", ".tex", ".svg", ".png",
})  # fmt: skip

EPILOG = """\
\b
A TARGET is one of:
  HOST, user@HOST, ssh:HOST   over your own ssh: its config and keys hold
  local                       this machine
  docker:NAME, podman:NAME    a container, over your own docker or podman
  k8s:NAMESPACE/POD[/CONTAINER]
                              a pod, over your own kubectl; without CONTAINER
                              the one in trouble, and the run that died first
  FOLDER, ARCHIVE.tar.zst     saved files, a support archive, or a bundle
  FILE…, -                    files and standard input, together one target

Files are known by their content: journalctl in any of its formats, systemctl
status, show and is-active, kernel logs, docker inspect, kubectl get pod -o json
and describe, events, a server's own output, a benchmark's output, several of
them in one file. A pipe is a file: <(ssh gpu01 dmesg).

\b
Examples:
  ddforensics diagnose gpu01 --unit llm.service --since -2h
  ddforensics diagnose gpu01 --bench results.txt   what the client met as well
  ddforensics diagnose journal.txt status.txt --format json | jq .cause
  ddforensics diagnose gpu01 -o post-mortem.md     Markdown, by the suffix
  ddforensics diagnose gpu01 --save case.tar.zst   a bundle to diagnose again

\b
Exit codes (several targets: the worst, in the order 3 5 1 4 0):
  0  nothing wrong, or stopped by the operator    3  could not look
  1  a failure, explained                         4  still starting now
  2  usage                                        5  a failure, cause unknown
"""


@click.command(epilog=EPILOG)
@click.argument("targets", nargs=-1, metavar="TARGET…", shell_complete=screen.files)
@click.option("--unit", metavar="UNIT", help="The systemd unit. Without it, the one most worth a look; a mistyped name is resolved, and said.")
@click.option("--since", metavar="TIME", help="How far back to look: -2h, '10 min ago', yesterday, 2026-05-09 10:00, @EPOCH.")
@click.option(
    "--bench",
    "benches",
    multiple=True,
    type=screen.GivenFile(),
    help="Output of the benchmark or client that failed. May be repeated. Without a TARGET, it alone is looked at.",
)
@screen.fields_option("--bench-fields")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Default: text, or by the suffix of -o. JSON is one object a line.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the report there instead of to standard output.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="FOLDER|FILE", help="Keep what was collected, to diagnose again: a folder, or NAME.tar.zst."
)
@click.option(
    "--sudo", is_flag=True, help="On the host, read with sudo -n what root may see; where that is refused it is said, and the rest is read."
)
@click.option("--show-script", is_flag=True, help="Print what would run on a host, and look at nothing.")
@screen.redact_option
@screen.rules_option
@click.option("-F", "--ssh-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="As ssh -F.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Default: on a terminal, unless NO_COLOR is set.")
@click.option("--width", type=click.IntRange(min=60), metavar="N", help="Columns of the text. Default: the terminal's.")
@click.option("-v", "--verbose", is_flag=True, help="Whole lines, the timeline, and each step on standard error.")
@click.pass_context
def command(
    ctx: click.Context,
    targets: tuple[str, ...],
    unit: str | None,
    since: str | None,
    benches: tuple[Path, ...],
    fields: str | None,
    form: str | None,
    output: Path | None,
    save: Path | None,
    sudo: bool,
    show_script: bool,
    redaction: str | None,
    rule_paths: tuple[Path, ...],
    ssh_config: Path | None,
    color: str,
    width: int | None,
    verbose: bool,
) -> None:
    """Say what died, when, after how long, in which phase, why, how sure that is, and what to do.

    Nothing on the host is changed. One ssh connection is made, with your own ssh.
    """
    if not targets and (show_script or not benches):
        raise click.MissingParameter(ctx=ctx, param=ctx.command.params[0])
    if show_script:
        from forensics.api import script_of

        screen.only_hosts(targets)
        screen.write(script_of(unit=unit, since=since, sudo=sudo, **screen.own_rules(rule_paths)), output)
        return
    expect_no_missing_sample(targets)
    form = form or form_of(output)
    own = screen.own_rules(rule_paths)
    api = pipeline(ctx)
    try:
        with screen.Progress(sys.stderr, lines=verbose) as progress:
            how = screen.redacting(redaction)
            found = api.diagnose(
                targets,
                unit=unit,
                since=since,
                bench=benches,
                bench_fields=fields,
                save=save,
                ssh_config=ssh_config,
                sudo=sudo,
                progress=progress,
                **how,
                **own,
            )
    except TargetError as error:
        raise hinting_at_sample(error, targets) from error
    colored = screen.color(color, sys.stdout) and output is None
    columns = screen.width(width, sys.stdout)
    screen.write(rendered(found, form, width=columns, color=colored, verbose=verbose, mask=screen.mask_of(redaction)), output)
    if output and sys.stderr.isatty():
        for diagnosis in found:
            click.echo(f"{output}: {diagnosis.headline}", err=True)
    ctx.exit(api.exit_code(found))


def form_of(file: Path | None) -> str:
    """The format that a file's suffix asks for; UsageError for one that would be another kind of document."""
    suffix = file.suffix.lower() if file else ""
    if suffix in OTHER_DOCUMENTS:
        raise UsageError(f"{suffix[1:]} is not supported yet", at=str(file), hint="by the suffix: .md, .json, .txt; --format says it outright")
    return SUFFIXES.get(suffix, "text")


def rendered(
    found: Sequence[Diagnosis], form: str, *, width: int, color: bool, verbose: bool = False, mask: Callable[[str], str] = redact.secrets
) -> str:
    """All diagnoses in one of ``FORMATS``: JSON one a line, text and Markdown with a rule between."""
    if form == "json":
        from forensics.report import json

        return "".join(json.render(d, mask=mask) + "\n" for d in found)
    if form == "markdown":
        from forensics.report import markdown

        return "\n---\n\n".join(markdown.render(d, mask=mask) for d in found)
    from forensics.report import text

    seen = Counter(d.target for d in found)
    blocks = [text.render(d, width=width, color=color, verbose=verbose, brief=seen[d.target] > 1 and not verbose, mask=mask) for d in found]
    lists = {d.target: text.worth_a_look(d, width=width, color=color, mask=mask) for d in found if seen[d.target] > 1}
    return f"\n{'─' * width}\n\n".join([*blocks, *filter(None, lists.values())])
