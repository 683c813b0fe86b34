"""The rules that the ``rules`` commands speak of: all there are, the near names, and what a shell completes. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from forensics.cli import screen
from forensics.errors import ForensicsError

if TYPE_CHECKING:
    from forensics.ruleset.schema import RuleSet

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def together(paths: Sequence[Path], *, samples: bool = True) -> RuleSet:
    """All rules there are: shipped, of the home folder, and named. ``samples``: with those of the shipped ones, which have to be read out of the YAML."""
    from forensics import ruleset

    shipped = ruleset.load() if samples else ruleset.shipped_rules()
    rules: RuleSet = screen.own_rules(paths, shipped=shipped).get("rules", shipped)
    return rules


def completing(of: Callable[[RuleSet], Iterable[str]]) -> Complete:
    """Words out of the rules. A fault in them is not told in the middle of a command line."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from forensics.ruleset import sources, user

        try:
            found = user.gather(list(ctx.params.get("rule_paths") or ()), home=sources.own_folder()).rules
        except ForensicsError:
            return []
        return [CompletionItem(word) for word in sorted(set(of(found))) if word.startswith(incomplete)]

    return complete


def ids(rules: RuleSet) -> Iterable[str]:
    from forensics.ruleset import describe

    return (id_ for id_, _ in describe.items(rules))


def causes(rules: RuleSet) -> Iterable[str]:
    return (str(rule.cause) for rule in rules.rules if rule.cause)


def servers(rules: RuleSet) -> Iterable[str]:
    return {p.name for p in rules.profiles} | {name for rule in rules.rules for name in rule.server}


def roles(rules: RuleSet) -> Iterable[str]:
    return (str(rule.role) for rule in rules.rules)


complete_ids = completing(ids)


def nearest(word: str, known: Iterable[str]) -> str:
    """A question with the names that begin so or are really near; "" where none is."""
    from rapidfuzz import fuzz, process

    names = sorted(known)
    begun = [name for name in names if len(word) > 2 and name.startswith(word)]
    found = begun or [match[0] for match in process.extract(word, names, scorer=fuzz.ratio, limit=3, score_cutoff=75)]
    more = f" or {len(found) - 5} more" if len(found) > 5 else ""
    return f"did you mean {' or '.join(found[:5])}{more}?" if found else ""
