"""``ddforensics rules``: list, show, check and test the rules. Never changes a rule file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forensics.cli import rules_new, rules_try, screen
from forensics.cli.rules_known import causes, complete_ids, completing, ids, nearest, roles, servers, together
from forensics.errors import RuleError, UsageError

if TYPE_CHECKING:
    from forensics.model import Location
    from forensics.ruleset.finding import Note
    from forensics.ruleset.schema import RuleSet
    from forensics.ruleset.user import Together

JSON = click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True, help="JSON is one object a line.")
PATHS = click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[PATH]…")
WHAT = ("rules", "profiles", "marks", "figures")


@click.group()
def command() -> None:
    """List, show, check and test the rules; try one on a file, begin a new one.

    Your own rules are added to the shipped ones: those in ~/.config/ddforensics/rules
    and those that --rules names. Begin with docs/tutorial-new-server.md; the language: docs/rules.md.
    """


# --------------------------------------------------------------------------- list and show


@command.command(name="list")
@screen.rules_option
@click.option("--cause", help="Only rules of this cause.", shell_complete=completing(causes))
@click.option("--server", help="Only rules for this server (rules for any server are left out).", shell_complete=completing(servers))
@click.option("--role", help="Only rules of this role.", shell_complete=completing(roles))
@click.option("--own", is_flag=True, help="Only your own rules.")
@click.option("--what", type=click.Choice(WHAT), default="rules", show_default=True, help="What is listed.")
@JSON
def list_(rule_paths: tuple[Path, ...], cause: str | None, server: str | None, role: str | None, own: bool, what: str, form: str) -> None:
    """One line a rule: id, role, cause, server, what it says."""
    from tabulate import tabulate

    from forensics.ruleset import describe, shipped_rules

    rules = together(rule_paths, samples=form == "json")
    asked = (("cause", cause, set(causes(rules))), ("server", server, set(servers(rules))), ("role", role, set(roles(rules))))
    for name, word, known in asked:
        if word and word not in known:
            raise UsageError(f"no rule is of the {name} {word!r}", hint=nearest(word, known) or f"there are: {', '.join(sorted(known))}")
    shipped = {id_ for id_, _ in describe.items(shipped_rules())} if own else set()
    chosen = [
        item for id_, item in describe.items(rules)
        if describe.kind(item) == what[:-1] and id_ not in shipped and _fits(describe.data(item), cause=cause, server=server, role=role)
    ]  # fmt: skip
    if form == "json":
        screen.show("".join(f"{json.dumps(describe.data(item), ensure_ascii=False)}\n" for item in chosen))
        return
    room = screen.width(None, sys.stdout) if sys.stdout.isatty() else None
    lines = tabulate([_row(describe.data(item)) for item in chosen], tablefmt="plain", disable_numparse=True).splitlines()
    screen.show("".join(f"{_cut(line.rstrip(), room)}\n" for line in lines))


def _cut(line: str, room: int | None) -> str:
    return line if room is None or len(line) <= room else f"{line[: room - 1].rstrip()}…"


def _fits(data: dict[str, object], *, cause: str | None, server: str | None, role: str | None) -> bool:
    servers = data.get("server") or [data.get("profile") or data.get("name")]
    assert isinstance(servers, list)
    return (not cause or data.get("cause") == cause) and (not role or data.get("role") == role) and (not server or server in servers)


def _row(data: dict[str, object]) -> list[str]:
    if data["kind"] == "rule":
        servers = data.get("server")
        return [
            str(data["id"]),
            str(data["role"]),
            str(data.get("cause", "")),
            ",".join(servers) if isinstance(servers, list) else "any",
            str(data.get("says", "")),
        ]
    if data["kind"] == "profile":
        return [str(data["name"]), str(data.get("title", "")), str(data.get("port", "")), str(data["at"])]
    return [str(data["id"]), str(data.get("line", ""))]


@command.command()
@screen.rules_option
@JSON
@click.argument("rule_id", metavar="ID", shell_complete=complete_ids)
def show(rule_paths: tuple[Path, ...], rule_id: str, form: str) -> None:
    """One rule, mark, figure or profile with all it holds, and where it stands. Former names are found, too."""
    from forensics.ruleset import describe

    rules = together(rule_paths)
    item = describe.find(rules, rule_id)
    if item is None:
        raise UsageError(f"no rule has the id {rule_id!r}", hint=nearest(rule_id, ids(rules)) or "ddforensics rules list shows all")
    if form == "json":
        screen.show(f"{json.dumps(describe.data(item), ensure_ascii=False, indent=1)}\n")
        return
    if describe.kind(item) == "rule" and rule_id != getattr(item, "id", rule_id):
        click.echo(f"{rule_id} is a former name of {getattr(item, 'id', '')}", err=True)
    screen.show("".join(f"{line}\n" for line in describe.lines(item)))


# --------------------------------------------------------------------------- lint and test


def _checked(paths: Sequence[Path], rule_paths: Sequence[Path]) -> tuple[Together, RuleSet | None, list[Path]]:
    """What is to be checked, what it stands beside, and its folders: the named paths alone, or all there is."""
    from forensics.ruleset import sources, user
    from forensics.ruleset.loading import load, read

    home = sources.own_folder()
    if paths:
        base = load()
        others = user.around(paths, rule_paths, home=home, shipped=base)
        found = user.Together(*_read(read(*paths, beside=base, giving_way=others)))
        return found, user.joined(base, user.without(others, found.own)), list(paths)
    shipped = read()
    own = user.gather(rule_paths, home=home, shipped=shipped.rules)
    whole = own.rules
    faults = (*shipped.faults, *own.faults)
    return user.Together(whole, whole, faults, shipped.files + own.files), None, [sources.SHIPPED, *([home] if home else []), *rule_paths]


def _read(found: tuple[RuleSet, tuple[RuleError, ...], int]) -> tuple[RuleSet, RuleSet, tuple[RuleError, ...], int]:
    rules, faults, files = found
    return rules, rules, faults, files


@command.command()
@screen.rules_option
@click.option("--all", "everything", is_flag=True, help="Remarks as well: what is well, and could be tidier.")
@JSON
@PATHS
@click.pass_context
def lint(ctx: click.Context, rule_paths: tuple[Path, ...], everything: bool, form: str, paths: tuple[Path, ...]) -> None:
    """Check rules: syntax, names, slow expressions, rules that can never win.

    Without PATH all rules: the shipped ones and your own. With PATH only those; they may
    name the others. Exits 1 where something has to be mended.
    """
    from forensics.model.counted import counted
    from forensics.ruleset import places, sources
    from forensics.ruleset.finding import Level, Note
    from forensics.ruleset.lint import lint as remarks

    found, beside, roots = _checked(paths, rule_paths)
    files = [file for root in roots for file in sources.files(root)[0]]
    faults = [Note(text=f.text, at=_at(f.at), hint=f.hint or "", level=Level.FAULT) for f in (*found.faults, *places.layout(files))]
    notes = [*faults, *remarks(found.own, beside=beside)]
    shown = notes if everything else [note for note in notes if note.level is not Level.REMARK]
    lines = map(_as_json, shown) if form == "json" else (screen.harmless(line) for note in shown for line in str(note).split("\n"))
    screen.show("".join(f"{line}\n" for line in lines))
    wrong = sum(note.fault for note in notes)
    left = f", {counted(len(notes) - len(shown), 'remark')} (--all)" if len(shown) < len(notes) else ""
    warned = sum(note.level is Level.WARNING for note in notes)
    click.echo(f"{counted(found.files, 'file')}, {_counted(found.own)}: {counted(wrong, 'fault')}, {counted(warned, 'warning')}{left}", err=True)
    ctx.exit(1 if wrong else 0)


def _at(at: Location | str | None) -> Location:
    from forensics.model import Location

    return at if isinstance(at, Location) else Location(at or "")


def _as_json(note: Note) -> str:
    place = {"path": note.at.path, "line": note.at.line, "col": note.at.col}
    return json.dumps({"level": note.level.value, **place, "text": note.text, "hint": note.hint or None}, ensure_ascii=False)


def _counted(rules: RuleSet) -> str:
    from forensics.model.counted import counted

    marks = sum(len(p.marks) + len(p.figures) for p in rules.profiles)
    return f"{counted(len(rules.rules), 'rule')}, {counted(len(rules.profiles), 'profile')} with {marks} marks and figures"


@command.command()
@screen.rules_option
@PATHS
@click.pass_context
def test(ctx: click.Context, rule_paths: tuple[Path, ...], paths: tuple[Path, ...]) -> None:
    """Try every rule on its own samples: of PATH, or of all rules. Exits 1 where one went the wrong way.

    A capture that a rule of your own names is looked for beside its file, and is diagnosed.
    """
    from forensics.cli import rules_captures
    from forensics.errors import RuleErrors
    from forensics.model.counted import counted
    from forensics.ruleset import selftest, user

    found, beside, _ = _checked(paths, rule_paths)
    if found.faults:
        raise RuleErrors(found.faults)
    whole = found.own if beside is None else user.joined(beside, found.own)
    captures = list(rules_captures.captures(found.own))
    failed = [*map(str, selftest.failures(found.own, prefixes=whole.prefixes)), *rules_captures.failures(captures, whole)]
    screen.show("".join(f"{screen.harmless(failure)}\n" for failure in failed))
    tried = sum(1 for _ in selftest.trials(found.own)) + len(captures)
    click.echo(f"{counted(tried, 'sample')} tried, {len(failed)} went the wrong way", err=True)
    ctx.exit(1 if failed else 0)


command.add_command(rules_try.command, name="try")
command.add_command(rules_new.command, name="new")
