"""Break every expression and every condition in small ways, one at a time, and see whether the tests of the rules notice. Changes no file.

    python -m tests.rules.mutants [ID ...]

A mutant is killed by what the tests hold (``test_samples``, ``test_fired``): its rule no longer loads, a sample or a spelled-out wording
goes the wrong way, or what the rule takes of the evidence in the repository
changes (``tests/data/rules/fired.tsv``). Prints the survivors and the share that was killed; leaves with 1 below 95 %.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from forensics.errors import RuleError
from forensics.model import Frame
from forensics.reason.join import Around, holds
from forensics.ruleset import condition
from forensics.ruleset.anchors import shape
from forensics.ruleset.loading import load
from forensics.ruleset.scan import Matcher
from forensics.ruleset.schema import Rule, RuleSet
from forensics.ruleset.selftest import Trial, passes, trials
from forensics.ruleset.sequence import asked_by
from tests.rules.evidence import Told
from tests.rules.fired import gathered

LEAST = 0.95
# an escape, a class, the head of a group, a counted repeat, a word, any other character
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?:|\(\?[a-z]+\)|\{\d*,?\d*\}\??|[A-Za-z_]{3,}|.", re.DOTALL)
_SEQUENCE = ("preceded_by", "followed_by", "not_preceded_by", "not_followed_by")
_COMPARE = {"==": "!=", "!=": "==", "<=": ">", ">=": "<", "<": ">=", ">": "<="}
_PART = re.compile(r"==|!=|<=|>=|<|>|\bnot in\b|\bin\b|\bnot\b|\band\b|\bor\b|'[^']*'|\b\d+(?:\.\d+)?\b")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One broken expression or condition; ``how`` says what was done to it."""

    id: str
    key: str  # line, when, where, or a line that is asked for
    how: str
    text: str


# --------------------------------------------------------------------------- how to break


def of_line(id_: str, line: str) -> Iterator[Mutant]:
    """An expression: a word misspelt, an alternative left out, an anchor left out, a class that takes anything, a part that may be absent required."""
    tokens = _TOKEN.findall(line)
    for at, token in enumerate(tokens):
        before, after = tokens[:at], tokens[at + 1 :]
        if re.fullmatch(r"[A-Za-z_]{3,}", token):
            yield Mutant(id=id_, key="line", how=f"misspelt {token}", text="".join([*before, token[:-1], "Q" if token[-1] != "Q" else "Z", *after]))
        elif token in ("^", "$", r"\b") and not _in_lookaround(before):
            yield Mutant(id=id_, key="line", how=f"without {token}", text="".join([*before, *after]))
        elif token.startswith("[^") and token != r"[^\n]":  # . takes no line feed either
            yield Mutant(id=id_, key="line", how=f"anything for {token}", text="".join([*before, ".", *after]))
        elif token == "?" and before and before[-1] not in ("+", "*", "?") and not before[-1].startswith("{"):
            yield Mutant(id=id_, key="line", how=f"required {before[-1]}", text="".join([*before, *after]))
    for start, stop in _alternatives(tokens):
        yield Mutant(id=id_, key="line", how=f"without |{''.join(tokens[start:stop])}", text=_without(tokens, start, stop))


def _in_lookaround(before: list[str]) -> bool:
    return any(a == "(" and b == "?" for a, b in itertools.pairwise(before))


def _alternatives(tokens: list[str]) -> list[tuple[int, int]]:
    """Begin and end of each alternative, where there is more than one."""
    found: list[tuple[int, int]] = []
    open_: list[list[int]] = [[0]]
    for at, token in enumerate([*tokens, ")"]):
        if token.startswith("(") and not re.fullmatch(r"\(\?[a-z]+\)", token):
            open_.append([at + 1])
        elif token == "|":
            open_[-1].append(at + 1)
        elif token == ")" and open_:
            starts = open_.pop()
            ends = [start - 1 for start in starts[1:]] + [at]
            if len(starts) > 1:
                found += [(a, b) for a, b in zip(starts, ends, strict=True) if a < b]
    return found


def _without(tokens: list[str], start: int, stop: int) -> str:
    if stop < len(tokens) and tokens[stop] == "|":
        return "".join(tokens[:start] + tokens[stop + 1 :])
    return "".join(tokens[: start - 1] + tokens[stop:])


def of_condition(id_: str, key: str, text: str) -> Iterator[Mutant]:
    """A condition: a comparison turned round, and for or, a not left out, another word or number, the opposite."""
    yield Mutant(id=id_, key=key, how="opposite", text=f"not ({text})")
    for found in _PART.finditer(text):
        word = found[0]
        if word in _COMPARE:
            other = _COMPARE[word]
        elif word in ("and", "or"):
            other = "or" if word == "and" else "and"
        elif word in ("in", "not in"):
            other = "not in" if word == "in" else "in"
        elif word == "not":
            other = ""
        elif word[0] == "'":
            other = f"'{word[1:-1]}q'"
        else:
            other = str(float(word) * 1000 + 999)
        yield Mutant(id=id_, key=key, how=f"{other or 'nothing'} for {word}", text=text[: found.start()] + other + text[found.end() :])


def mutants(rules: RuleSet) -> Iterator[Mutant]:
    """All of them, without those that say the same as the original."""
    for rule in rules.rules:
        if rule.line:
            yield from of_line(rule.id, rule.line)
        for asked in asked_by(rule):
            yield from of_line(asked.id, asked.line)
        for key in _SEQUENCE:
            if getattr(rule, key):
                yield Mutant(id=rule.id, key=key, how="left out", text="")
        for key, text in (("when", rule.when), ("where", rule.where)):
            if text:
                yield from of_condition(rule.id, key, text)
    for profile in rules.profiles:
        for mark in profile.marks:
            yield from of_line(mark.id, mark.line)
        for figure in profile.memory.figures if profile.memory else ():
            yield from of_line(figure.id, figure.line)


# --------------------------------------------------------------------------- what notices


class Notice:
    """What the tests of the rules hold, made ready once."""

    def __init__(self, rules: RuleSet, evidence: list[Told], wordings: list[Any], decisions: list[Any]) -> None:
        self.rules = {rule.id: rule for rule in rules.rules}
        self.lines = dict(_lines(rules))
        self.origins = {item.id: item for item in Matcher(rules).items}
        self.trials: dict[str, list[Trial]] = {}
        for trial in trials(rules):
            if not self._goes_wrong(self.origins[trial.id], trial):  # of a rule that asks for lines around, the line alone decides nothing
                self.trials.setdefault(trial.id, []).append(trial)
        self.wordings: dict[str, list[Any]] = {}
        for wording in wordings:
            self.wordings.setdefault(wording.id, []).append(wording)
        self.decisions: dict[str, list[Any]] = {}
        for decision in decisions:
            self.decisions.setdefault(decision.id, []).append(decision)
        self.told = evidence
        self.frames = [
            Frame(source="evidence", line_no=1, start=0, text=text, origin=origin)
            for origin, text in sorted({line for one in evidence for line in one.lines})
        ]
        self.taken: dict[str, int] = {}

    def killed(self, mutant: Mutant) -> str | None:
        """What noticed it, or None."""
        if mutant.key == "line":
            return self._line(mutant)
        if mutant.key in _SEQUENCE:
            return self._sequence(mutant)
        rule = self.rules[mutant.id]
        try:
            condition.parse(mutant.text)
        except RuleError:
            return "load"
        if any(d.key == mutant.key and condition.parse(mutant.text).evaluate(d.facts.get) is not d.holds for d in self.decisions.get(mutant.id, [])):
            return "decisions"
        return self._when(rule, mutant.text) if mutant.key == "when" else self._where(rule, mutant.text)

    def _sequence(self, mutant: Mutant) -> str | None:
        """A rule that no longer asks for certain lines around; tried on its samples, each as one record."""
        rule = self.rules[mutant.id]
        nothing: dict[str, Any] = {mutant.key: ()}
        other = replace(rule, **nothing)
        alone = RuleSet(rules=(other,), profiles=())
        return "samples" if any(not passes(trial, Matcher(alone)) for trial in trials(alone)) else None

    def _line(self, mutant: Mutant) -> str | None:
        known = shape(mutant.text)
        if known.error is not None or not known.anchors:
            return "load"
        item = replace(self.origins[mutant.id], line=mutant.text, compiled=None, figures=None)
        if any(self._goes_wrong(item, trial) for trial in self.trials.get(mutant.id, [])):
            return "samples"
        if any(w.answer(item) != w.expected for w in self.wordings.get(mutant.id, [])):
            return "wordings"
        if mutant.id not in self.taken:
            self.taken[mutant.id] = self._taken(replace(item, line=self.lines[mutant.id], compiled=None))
        return "evidence" if self._taken(item) != self.taken[mutant.id] else None

    @staticmethod
    def _goes_wrong(item: Any, trial: Trial) -> bool:
        frames = (Frame(source="sample", line_no=1, start=0, text=line, origin=trial.origin) for line in trial.text.splitlines() or [""])
        return any(item.match(frame) is not None for frame in frames) is not trial.wanted

    def _taken(self, item: Any) -> int:
        return sum(item.match(frame) is not None for frame in self.frames)

    def _when(self, rule: Rule, text: str) -> str | None:
        was, now = condition.parse(rule.when or ""), condition.parse(text)
        for one in self.told:
            if rule.server and one.story.issue.server is not None and one.story.issue.server not in rule.server:
                continue
            if (was.evaluate(one.known.value) is True) is not (now.evaluate(one.known.value) is True):
                return "evidence"
        return None

    def _where(self, rule: Rule, text: str) -> str | None:
        other = replace(rule, where=text)
        for one in self.told:
            story = one.story
            around = Around(facts=one.facts, rules=story.rules, lives=story.lives, placed=story.placed)
            for placed in story.placed:
                if placed.rule is None or placed.rule.id != rule.id:
                    continue
                if holds(rule, placed, around, story.signals) is not holds(other, placed, around, story.signals):
                    return "evidence"
        return None


def _lines(rules: RuleSet) -> Iterator[tuple[str, str]]:
    for item in Matcher(rules).items:
        yield item.id, item.line


def main(words: list[str]) -> int:
    """Print the survivors and how many were killed by what."""
    rules = load()
    from tests.rules import decide, spell  # which break them by the same operators

    notice = Notice(rules, gathered(rules), spell.read(), decide.read())
    killers: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    alive: Counter[str] = Counter()
    for mutant in mutants(rules):
        if words and mutant.id not in words:
            continue
        by = notice.killed(mutant)
        killers[by or "nothing"] += 1
        kind = f"{mutant.key}: {mutant.how.split()[0]}"
        kinds[kind] += 1
        if by is None:
            alive[kind] += 1
            sys.stdout.write(f"{mutant.id}: {mutant.key}: {mutant.how}\n")
    total = sum(killers.values())
    share = 1 - killers["nothing"] / total if total else 1.0
    for kind in sorted(kinds):
        sys.stderr.write(f"{kind:<24} {kinds[kind]:6} made, {alive[kind]:5} survived\n")
    told_by = ", ".join(f"{n} by {by}" for by, n in killers.most_common() if by != "nothing")
    sys.stderr.write(f"{total} mutants, {share:.1%} killed ({told_by})\n")
    return 0 if share >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
