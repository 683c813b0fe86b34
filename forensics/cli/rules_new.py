"""``ddforensics rules new``: the beginning of a rule out of a log line, or of a server's profile. Never overwrites a file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from forensics.cli import screen
from forensics.errors import ForensicsError, UsageError

MOST_BYTES = 64 << 10  # of what is piped in: one line is wanted
_MOST_SHOWN = 100  # characters of the line that is taken of several

EPILOG = """\
\b
Examples:
  ddforensics rules new 'ERROR loader: shard 7 of 12 is truncated'
  journalctl -u llm -n 1 | ddforensics rules new - -o mine.yaml
  ddforensics rules new --profile acme-server -o acme-server.yaml
"""


@click.command(epilog=EPILOG)
@screen.rules_option
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it there instead of to standard output.")
@click.option("--id", "id_", metavar="ID", help="Its id. Default: my. and the first words of the line.")
@click.option("--profile", metavar="NAME", help="A server profile of that name instead of a rule.")
@click.argument("words", nargs=-1, metavar="[LINE|-]")
def command(rule_paths: tuple[Path, ...], output: Path | None, id_: str | None, profile: str | None, words: tuple[str, ...]) -> None:
    """Begin a rule with a pasted log LINE (or the first line of standard input).

    What stands before the message is taken off, secrets are masked, numbers and paths
    become captures, the nearest shipped rules are named. It passes "rules lint" and "rules test" as it
    stands; what it means is yours to say.
    """
    from forensics import redact
    from forensics.cli.rules_known import together
    from forensics.ruleset import skeleton

    if profile is not None:
        if words:
            raise UsageError("--profile begins with a name, and takes no line")
        _write(skeleton.profile_skeleton(profile, known=together(rule_paths)), output)
        return
    from forensics import api
    from forensics.ruleset.loading import is_id

    rules = together(rule_paths)
    line = _line(words)
    masked = redact.secrets(line)  # a rule is passed on, and its samples with it
    text, origin = api.message_of(masked, rules)
    printed = text if masked == line else api.message_of(line, rules)[0]
    if id_ is not None and rules.rule(id_) is not None:
        raise UsageError(f"the id '{id_}' is taken", hint=f"ddforensics rules show {id_}")
    if id_ is not None and not is_id(id_):
        raise UsageError(f"no id of a rule: '{id_}'", hint="small letters and digits with . - _ between them, as 'my.shard-truncated'")
    made = skeleton.rule_skeleton(text, rules, origin=origin, id_=id_, printed=printed)
    if masked != line:
        click.echo(f"what looks like a secret is masked: its place in the samples is {redact.MASK}, and 'line' takes anything there", err=True)
    _write(made, output)


def _line(words: tuple[str, ...]) -> str:
    """The first line that holds something, of the arguments or of standard input; unprintable characters are dropped. Says on stderr where there are others.

    Of a line that a carriage return began anew (a progress bar, then a message) what was left standing is taken, as in a scan.
    """
    from forensics.parse.unwrap import clean

    if words and words != ("-",):
        text = " ".join(words)
    else:
        if sys.stdin.isatty():
            raise UsageError("no line to begin with", hint="ddforensics rules new 'the line', or a pipe")
        text = sys.stdin.buffer.read(MOST_BYTES).decode("utf-8", "replace")
    pieces = ([_printable(piece) for piece in line.split("\r")] for line in clean(text).split("\n"))
    lines = [left for row in pieces if (left := next(filter(None, reversed(row)), None))]
    if not lines:
        raise UsageError("an empty line is no beginning", hint="ddforensics rules new 'the line', a pipe, or --profile NAME")
    if len(lines) > 1:
        click.echo(screen.harmless(f"the first of {len(lines)} lines is taken, the others are left: {_short(lines[0])}"), err=True)
    return lines[0]


def _printable(text: str) -> str:
    return "".join(char for char in text.replace("\t", " ") if char.isprintable()).strip()


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _write(text: str, output: Path | None) -> None:
    if output is None or str(output) == "-":
        click.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise UsageError("is there already", at=str(output), hint="name another file: nothing is written over") from None
    except OSError as error:
        raise ForensicsError(f"cannot be written: {error.strerror}", at=str(output)) from error
    click.echo(f"{output}: check it with: ddforensics rules lint {output} && ddforensics rules test {output}", err=True)
