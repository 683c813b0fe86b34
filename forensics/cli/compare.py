"""``ddforensics compare``: two results of one benchmark side by side, with an exit code for CI. Never looks at a host."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from forensics.cli import screen
from forensics.errors import UsageError

EPILOG = """\
\b
Exit codes:
  0  nothing got worse      2  usage
  1  something got worse    3  no result that could be compared

\b
Examples:
  ddforensics compare main.jsonl branch.jsonl
  ddforensics compare --tolerance 10% --format markdown base.json new.json
  ddforensics compare base-matrix.json new-matrix.json --all
  ddforensics compare a.json b.json --fields my_width=budget,my_len=accept_len
"""


class Share(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic since click 8.2 only
    """``5%`` or ``0.05``."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        word = str(value).strip()
        try:
            share = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
        except ValueError:
            self.fail(f"{word!r} is no share: 5% or 0.05", param, ctx)
        if not 0 <= share < 1:
            self.fail(f"{word!r} is not between 0 and 100% (0.05 is five per cent)", param, ctx)
        return share


@click.command(epilog=EPILOG)
@click.argument("base", shell_complete=screen.files)
@click.argument("new", shell_complete=screen.files)
@click.option("--tolerance", type=Share(), default="5%", show_default=True, metavar="SHARE", help="How much worse is still as good: 5% or 0.05.")
@screen.fields_option("--fields")
@click.option("--all", "every", is_flag=True, help="Show also what is as it was, and what cannot be judged.")
@click.option("--format", "form", type=click.Choice(("text", "markdown", "json")), default="text", show_default=True, help="As what to print it.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it there instead of to standard output.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Default: on a terminal, unless NO_COLOR is set.")
@click.pass_context
def command(
    ctx: click.Context, base: str, new: str, tolerance: float, fields: str | None, every: bool, form: str, output: Path | None, color: str
) -> None:
    """Hold the result NEW of a benchmark against the result BASE: what got worse beyond noise.

    Results as benchmarks print or save them (text, JSON, JSONL: several runs of one configuration are repetitions), or matrices of configurations. A figure is
    worse where it moved the wrong way by more than the tolerance and, where single requests, counts or repetitions tell, by more than chance does.

    Failed requests are always shown. They are worse where chance explains their rise with less than 5% (Fisher's exact test), or where none failed before and
    more than the tolerance of them do now; of a lesser rise a note says the counts.
    """
    from forensics.compare import compare
    from forensics.report import comparison

    if base == new == "-":
        raise UsageError("standard input can be one of the two only")
    with screen.Progress(sys.stderr) as progress:
        progress("reading both results")
        found = compare(base, new, tolerance=tolerance, fields=fields)
    if form == "json":
        shown = comparison.as_json(found) + "\n"
    elif form == "markdown":
        shown = comparison.as_markdown(found, every=every)
    else:
        shown = comparison.text(found, width=screen.width(None, sys.stdout), color=output is None and screen.color(color, sys.stdout), every=every)
    screen.write(shown, output)
    ctx.exit(1 if found.regressed else 0)
