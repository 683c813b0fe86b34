"""``ddforensics rules``: list, show, check and test the rules. Never changes a rule file."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli import screen
from forensics.errors import UsageError

if TYPE_CHECKING:
    from forensics.ruleset.schema import Rule, RuleSet

PATH = click.option(
    "--rules", "path", type=click.Path(exists=True, path_type=Path), metavar="PATH", help="A folder or file of rules. Default: the shipped ones."
)


@click.group()
def command() -> None:
    """List, show, check and test the rules."""


@command.command(name="list")
@PATH
@click.option("--cause", help="Only rules of this cause.")
@click.option("--server", help="Only rules for this server (rules for any server are left out).")
def list_(path: Path | None, cause: str | None, server: str | None) -> None:
    """One line a rule: id, role, cause, server, what it says."""
    from tabulate import tabulate

    rules = _load(path)
    causes, servers = {str(r.cause) for r in rules.rules if r.cause}, {p.name for p in rules.profiles} | {s for r in rules.rules for s in r.server}
    for what, asked, known in (("cause", cause, causes), ("server", server, servers)):
        if asked and asked not in known:
            raise UsageError(f"no rule is of the {what} {asked!r}", hint=_nearest(asked, known) or f"there are: {', '.join(sorted(known))}")
    chosen = [r for r in rules.rules if (not cause or r.cause == cause) and (not server or server in r.server)]
    rows = [[r.id, str(r.role), str(r.cause or ""), ",".join(r.server) or "any", r.says] for r in chosen]
    columns = screen.width(None, sys.stdout)
    for line in tabulate(rows, tablefmt="plain", disable_numparse=True).splitlines():
        click.echo(line[:columns].rstrip() if sys.stdout.isatty() else line.rstrip())


@command.command()
@PATH
@click.argument("rule_id", metavar="ID")
def show(path: Path | None, rule_id: str) -> None:
    """One rule with all it holds, and where it stands."""
    rules = _load(path)
    rule = rules.rule(rule_id)
    if rule is None:
        raise UsageError(f"no rule has the id {rule_id!r}", hint=_nearest(rule_id, [r.id for r in rules.rules]) or "ddforensics rules list shows all")
    for line in _described(rule):
        click.echo(line)


@command.command()
@PATH
@click.pass_context
def lint(ctx: click.Context, path: Path | None) -> None:
    """Check all rules: syntax, vocabularies, slow expressions. Exits 1 where something has to be mended."""
    from forensics.ruleset.lint import lint as remarks
    from forensics.ruleset.load import read

    found = read(path)
    notes = remarks(found.rules)
    for line in (*found.faults, *notes):
        click.echo(line)
    wrong = len(found.faults) + sum(note.fault for note in notes)
    click.echo(
        f"{found.files} files, {len(found.rules.rules)} rules, {len(found.rules.profiles)} profiles: {wrong} faults, {len(notes)} remarks", err=True
    )
    ctx.exit(1 if wrong else 0)


@command.command()
@PATH
@click.pass_context
def test(ctx: click.Context, path: Path | None) -> None:
    """Try every rule on its own samples. Exits 1 where one went the wrong way."""
    from forensics.ruleset import selftest

    rules = _load(path)
    failed = selftest.failures(rules)
    for failure in failed:
        click.echo(failure)
    click.echo(f"{sum(1 for _ in selftest.trials(rules))} samples tried, {len(failed)} went the wrong way", err=True)
    ctx.exit(1 if failed else 0)


def _load(path: Path | None) -> RuleSet:
    from forensics.ruleset.load import load

    return load(path)


def _nearest(word: str, known: Iterable[str]) -> str:
    """A question with the names that are really near; "" where none is."""
    from rapidfuzz import fuzz, process

    found = process.extract(word, sorted(known), scorer=fuzz.ratio, limit=3, score_cutoff=75)
    return f"did you mean {' or '.join(match[0] for match in found)}?" if found else ""


def _described(rule: Rule) -> list[str]:
    """The rule as lines of ``key: value``; only keys that hold something."""
    pairs: list[tuple[str, object]] = [
        ("id", rule.id),
        ("at", rule.at),
        ("role", rule.role),
        ("cause", rule.cause),
        ("from", rule.from_),
        ("server", ", ".join(rule.server)),
        ("line", rule.line),
        ("when", rule.when),
        ("where", rule.where),
        ("only in", ", ".join(map(str, rule.only_in))),
        ("phase", rule.phase),
        ("direction", rule.direction),
        ("over", ", ".join(rule.over)),
        ("at most", rule.firm),
        ("says", rule.says),
        *(("advise", " ".join(str(part) for part in (a.text, a.flag, a.direction, a.to, a.command) if part is not None)) for a in rule.advise),
        ("next", rule.next),
        ("source", rule.source),
        *((f"hits ({s.software})" if s.software else "hits", s.text or s.capture) for s in rule.hit),
        *((f"misses ({s.why})" if s.why else "misses", s.text or s.capture) for s in rule.miss),
    ]
    return [f"{key}: {value}" for key, value in pairs if value not in (None, "")]
