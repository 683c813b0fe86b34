"""Wait until a unit is ready or is known not to become so, over one connection, and say why where it does not. Never restarts or changes anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forensics import api
from forensics.errors import TargetError
from forensics.model import Diagnosis, Health, Pick, Section
from forensics.redact import Redaction, Redactor

if TYPE_CHECKING:
    from forensics.collect import Question, Session
    from forensics.ruleset.schema import RuleSet

EVERY_S = 3.0
ENOUGH = ("is-active", "status", "show", "journal", "health")  # what a round looks at; the kernel and the GPU are asked when it is over
OVER = (Health.HEALTHY, Health.FAILED, Health.STOPPED, Health.DEGRADED)


def wait_until_ready(
    target: str,
    *,
    unit: str | None = None,
    limit_s: float = 1800.0,
    every_s: float = EVERY_S,
    redaction: Redaction | str | None = None,
    rules: RuleSet | None = None,
    ssh_config: Path | None = None,
    sudo: bool = False,
    progress: Callable[[str], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Diagnosis:
    """Look every ``every_s`` seconds until the unit is ready, has ended, or ``limit_s`` seconds are over; the last diagnosis says which.

    Raises TargetError where there is no host to ask, or where no unit or more than one could be meant.
    """
    from forensics import collect, ruleset

    say = progress or (lambda text: None)
    rules = ruleset.shipped_rules() if rules is None else rules
    (place,) = collect.parse_targets([target])
    began = clock()
    limits = collect.Limits(total_s=limit_s + 120.0)
    with collect.open_target(place, limits=limits, ssh_config=ssh_config, sudo=sudo) as session:
        if not session.changes:
            raise TargetError("saved files do not change by waiting", at=place.name, hint="name a host, a container, or local")
        first, pick, questions = _prepared(session, rules, unit) if session.live else ([], None, ())
        while True:
            rest = session.ask([q for q in questions if q.name in ENOUGH or q.name.startswith("health")])
            capture = collect.capture_from(session, [*first, *rest], pick=pick)
            found = api.diagnose_capture(capture, rules)
            left = limit_s - (clock() - began)
            if found.health in OVER or left <= 0:
                break
            say(found.headline)
            sleep(min(every_s, max(left, 0.0)))
        if found.health is not Health.HEALTHY and session.live:
            capture = collect.capture_from(session, [*first, *session.ask(questions)], pick=pick)
            found = api.diagnose_capture(capture, rules)
        found = replace(found, target=place.name)
        if redaction == Redaction.ALL:
            found = api.without_names(found, Redactor.for_capture(capture))
        session.discard()
    return found


def _prepared(session: Session, rules: RuleSet, unit: str | None) -> tuple[list[Section], Pick, Sequence[Question]]:
    """The first round, the unit it is about, and what to ask of it. TargetError where none, or more than one, could be meant."""
    from forensics.collect import plan

    first, pick, states = api.overview(session, rules, unit=unit)
    if pick.unit is None or pick.how == "missing":
        raise TargetError(pick.why or f"there is no unit {pick.unit or ''}".rstrip(), at=session.target.name, hint=_candidates(pick.candidates))
    ports, endpoints = api.probes(rules, states.get(pick.unit))
    return first, pick, plan.unit(pick.unit, ports=ports, endpoints=endpoints)


def _candidates(names: tuple[str, ...]) -> str | None:
    return f"--unit {' or '.join(names[:5])}" if names else "name it with --unit"
