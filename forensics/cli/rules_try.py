"""``ddforensics rules try``: which lines of a file one rule takes, what it captures, and what it only just misses. Never says what a diagnosis would make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli import screen
from forensics.cli.rules_known import complete_ids, ids, nearest, together
from forensics.errors import UsageError

if TYPE_CHECKING:
    from forensics.ruleset.schema import RuleSet
    from forensics.ruleset.trying import Line, Taken, Trial

EPILOG = """\
\b
RULE is the id of a rule, mark or figure, a rule FILE (all in it), or FILE:ID.

\b
Examples:
  ddforensics rules try gpu.xid-hardware journal.txt
  ddforensics rules try mine.yaml log.txt
  journalctl -u llm | ddforensics rules try mine.yaml:my.shard -
"""


@click.command(epilog=EPILOG)
@screen.rules_option
@click.option("--near", "most_near", type=click.IntRange(min=0), default=5, show_default=True, metavar="N", help="Near misses to show of each rule.")
@click.option("--most", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="Lines to show of each rule; all are counted.")
@click.argument("rule", metavar="RULE", shell_complete=complete_ids)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", shell_complete=screen.files)
@click.pass_context
def command(ctx: click.Context, rule_paths: tuple[Path, ...], most_near: int, most: int, rule: str, files: tuple[str, ...]) -> None:
    """Show which lines of files (or of standard input, -) RULE takes, and what it captures.

    Prefixes are taken off as in a diagnosis. Lines that hold its literal text and are
    not taken are shown as near misses, with the reason. Exits 0 if any line is taken, 1 if none.
    """
    from forensics import api
    from forensics.ruleset.trying import Trial

    items, rules = _meant(rule, rule_paths)
    counts = {item.id: _Count(trial=Trial(item)) for item in items if item.line is not None}
    if not counts:
        raise UsageError(f"{items[0].id if items else rule}: a condition ('when') and no line", hint="a diagnosis of the file says whether it holds")
    trials = [count.trial for count in counts.values()]
    for frame in api.lines_of(files, rules, wanted=lambda key: any(trial.may_take(key) for trial in trials)):
        for count in counts.values():
            found = count.trial.look(frame)
            if found is not None:
                for line in count.shown(found, most=most, most_near=most_near, several=len(counts) > 1):
                    click.echo(screen.harmless(line))
    for count in counts.values():
        click.echo(count.total(), err=True)
    for item in items:
        if item.line is None:
            click.echo(f"{item.id}: a condition ('when'), which takes no line: a diagnosis says whether it holds", err=True)
    ctx.exit(0 if any(count.taken for count in counts.values()) else 1)


@dataclass(kw_only=True, slots=True)
class _Count:
    """How often one rule took a line, or nearly did."""

    trial: Trial
    taken: int = 0
    near: int = 0

    def shown(self, found: Taken, *, most: int, most_near: int, several: bool) -> Iterator[str]:
        if found.why:
            self.near += 1
            if self.near <= most_near:
                yield f"{found.source}:{found.line_no}: near: {_short(found.text)}"
                yield f"    {f'{self.trial.item.id}: ' if several else ''}{found.why}"
            return
        self.taken += 1
        if self.taken <= most:
            yield f"{found.source}:{found.line_no}: {f'{self.trial.item.id}: ' if several else ''}{_short(found.text)}"
            for name, value in found.captures:
                yield f"    {name} = {value}"

    def total(self) -> str:
        item = self.trial.item
        narrow = [
            key
            for key in ("where", "only_in", "server", "preceded_by", "followed_by", "not_preceded_by", "not_followed_by", "since", "until")
            if getattr(item, key, None)
        ]
        more = f"; a diagnosis also asks for {', '.join(narrow)}" if narrow else ""
        return f"{item.id}: {self.taken} taken, {self.near} near{more}"


def _short(text: str) -> str:
    return text if len(text) <= 400 else f"{text[:400]}…"


def _meant(word: str, rule_paths: tuple[Path, ...]) -> tuple[list[Line], RuleSet]:
    """The rules that a word names, and all there are (their prefixes are needed)."""
    from forensics.ruleset import describe, sources
    from forensics.ruleset.schema import Profile

    path, id_ = _file_of(word)
    known = path is None or path.resolve().is_relative_to(sources.SHIPPED.resolve())
    rules = together(rule_paths if path is None or known else (*rule_paths, path))
    if path is not None:
        mine = [(i, item) for i, item in describe.items(rules) if _in_file(item.at.path, path)]
        own_lines = [item for _, item in mine if not isinstance(item, Profile)]
        if not id_:
            return own_lines, rules
        if not any(i == id_ for i, _ in mine):
            raise UsageError(
                f"no rule has the id {id_!r}", at=str(path), hint=nearest(id_, (i for i, _ in mine)) or f"there are: {', '.join(i for i, _ in mine)}"
            )
    item = describe.find(rules, id_ or word)
    if item is None:
        raise UsageError(
            f"no rule has the id {word!r}", hint=nearest(word, ids(rules)) or "ddforensics rules list shows all; a rule file has to exist"
        )
    if isinstance(item, Profile):
        return [*item.marks, *item.figures], rules
    return [item], rules


def _in_file(shown: str, path: Path) -> bool:
    from forensics.ruleset.places import file_of

    known = file_of(shown)
    return known is not None and known.samefile(path)


def _file_of(word: str) -> tuple[Path | None, str]:
    """``FILE`` or ``FILE:ID``, where there is such a file; an id may hold colons itself."""
    if Path(word).is_file():
        return Path(word), ""
    for at, char in enumerate(word):
        if char == ":" and word[:at].endswith((".yaml", ".yml")) and Path(word[:at]).is_file():
            return Path(word[:at]), word[at + 1 :]
    return None, word
