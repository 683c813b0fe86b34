"""Samples of ``when`` rules that are captures: run each through the whole pipeline and ask whether the condition holds. Never tries those of the shipped rules: the project's tests do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from forensics.errors import ForensicsError
from forensics.model import Location
from forensics.ruleset import sources
from forensics.ruleset.places import file_of
from forensics.ruleset.schema import RuleSet


class Capture(NamedTuple):
    """One sample that is a capture, and where it may be."""

    rule: str
    wanted: bool
    name: str
    at: Location
    places: tuple[Path, ...]


def captures(rules: RuleSet) -> Iterator[Capture]:
    """The captures that a user's own rules name, each looked for beside its rule file and then from where the user stands."""
    for rule in rules.rules:
        file = file_of(rule.at.path)
        if file is None or file.resolve().is_relative_to(sources.SHIPPED.resolve()):
            continue
        for wanted, samples in ((True, rule.hit), (False, rule.miss)):
            for sample in samples:
                if sample.capture is not None:
                    yield Capture(rule.id, wanted, sample.capture, sample.at or rule.at, (file.parent / sample.capture, Path(sample.capture)))


def failures(found: list[Capture], rules: RuleSet) -> Iterator[str]:
    """What went the wrong way, a line each; ``rules`` are all there are."""
    from forensics import api

    holding: dict[Path, set[str]] = {}
    for capture in found:
        path = next((place for place in capture.places if place.exists()), None)
        if path is None:
            yield f"{capture.at}: {capture.rule}: no capture '{capture.name}' (looked for in {sources.shown(capture.places[0].parent)} and here)"
            continue
        try:
            if path not in holding:
                holding[path] = api.holding(str(path), rules)
        except ForensicsError as error:
            yield f"{capture.at}: {capture.rule}: {error}"
            continue
        if (capture.rule in holding[path]) is not capture.wanted:
            yield f"{capture.at}: {capture.rule} {'does not hold' if capture.wanted else 'holds, or may hold,'} for {capture.name}"
