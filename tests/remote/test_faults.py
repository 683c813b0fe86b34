"""Every fault of the table on a real host of each systemd version: collected over real ssh, read right, and what is right is in faults.py."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from forensics import api, collect, ruleset
from forensics.model import Cause, Coverage, Diagnosis, Health, Status, UnitState
from tests.remote import bed, faults
from tests.remote.conftest import booted
from tests.remote.faults import FAULTS, Fault, unit_of

VERSIONS = {str(version): suite for suite, version in bed.SYSTEMD.items()}
SHOWN = (
    "LoadState,ActiveState,SubState,Result,NRestarts,ExecMainStatus,ExecMainCode,ExecMainPID,Type,"
    "ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic,ActiveEnterTimestampMonotonic,ActiveExitTimestampMonotonic"
)


@dataclass(frozen=True)
class Told:
    """What was said of a fault, what the evidence holds of its unit, and what the host itself says in the same moment (before and after)."""

    diagnosis: Diagnosis
    state: UnitState | None
    shows: tuple[Mapping[str, str], Mapping[str, str]]


@pytest.fixture(scope="module")  # not longer: what flaps there for ever keeps a processor busy
def staged() -> Iterator[dict[str, bed.Host]]:
    """A host of each version with all faults on it; not the host of the other tests, which count what is on it."""
    with booted("bullseye") as old, booted("bookworm") as middle, booted("trixie") as new:
        hosts = dict(zip(VERSIONS, (*old, *middle, *new), strict=True))
        faults.stage_all(list(hosts.values()))
        yield hosts
        for host in hosts.values():  # it would hold up the power-off
            host.sh(f"systemctl kill -s KILL {unit_of('deactivating')}", check=False)


def show(host: bed.Host, unit: str) -> dict[str, str]:
    said = host.sh(f"systemctl show -p {SHOWN} -- '{unit}'", check=False)
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def tell(host: bed.Host, name: str) -> Told:
    unit = unit_of(name)
    with tempfile.TemporaryDirectory(prefix="ddf-told-") as folder:
        saved = Path(folder) / "evidence"
        before = show(host, FAULTS[name].meant or unit)
        [diagnosis] = api.diagnose(host.name, unit=unit, ssh_config=host.config, save=saved)
        after = show(host, FAULTS[name].meant or unit)
        facts, _ = api.facts_of(collect.load(saved), ruleset.load())
    return Told(diagnosis, facts.units.get(FAULTS[name].meant or unit), (before, after))


CASES = [pytest.param(version, name, id=f"{version}-{name}") for version in VERSIONS for name in FAULTS]
HANDS = ("sigkill-by-pid", "sigkill-outside", "sigsegv-nocore")
Tellings = dict[tuple[str, str], "Future[Told]"]


@pytest.fixture(scope="module")
def told(staged: dict[str, bed.Host], request: pytest.FixtureRequest) -> Iterator[Tellings]:
    """All the faults that this run wants, four looks at a time: most of it is waiting for a host."""
    here = [item for item in request.session.items if item.path == request.path]  # other files have a "told" of their own
    params = [item.callspec.params for item in here if "told" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")]
    named = {(p["version"], name) for p in params for name in ([p["name"]] if "name" in p else ["sigabrt", *HANDS])}
    # what is alive first: a start-up that stands still for ten minutes is rightly called a hang
    wanted = sorted(named, key=lambda w: (set(FAULTS[w[1]].settles) <= {"failed", "inactive"}, list(FAULTS).index(w[1])))
    pool = ThreadPoolExecutor(4)
    try:
        yield {(version, name): pool.submit(tell, staged[version], name) for version, name in wanted}
    finally:
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize(("version", "name"), CASES)
def test_a_fault_on_a_real_host_is_read_right(told: Tellings, version: str, name: str) -> None:
    found, fault = told[version, name].result(), FAULTS[name]
    wrong = [*of_the_state(found, fault), *of_the_verdict(found.diagnosis, fault), *of_the_duration(found)]
    assert not wrong, f"{found.diagnosis.headline}\n" + "\n".join(wrong)


def of_the_state(told: Told, fault: Fault) -> Iterator[str]:
    """Where the evidence says something else of the unit than the host did before or after."""
    state = told.state
    wanted = [s for s in told.shows if s]
    if state is None:
        if any(s.get("LoadState") != "not-found" for s in wanted):
            yield "the evidence holds no state of the unit"
        return
    for what, got, key in (
        ("load", state.load, "LoadState"), ("active", state.active, "ActiveState"), ("sub", state.sub, "SubState"),
        ("result", state.result, "Result"), ("restarts", None if state.restarts is None else str(state.restarts), "NRestarts"),
    ):  # fmt: skip
        allowed = {s.get(key) for s in wanted}
        if got not in allowed and not (fault.restarts and what != "load"):  # one in a loop is another one in each moment
            yield f"{what} is {got!r}, the host says {sorted(map(str, allowed))}"


def of_the_verdict(d: Diagnosis, fault: Fault) -> Iterator[str]:
    """Where the answer is not one that the row allows."""
    if str(d.cause) not in fault.causes:
        yield f"cause {d.cause} ({d.status}), right: {fault.causes}"
    if str(d.health) not in fault.health:
        yield f"health {d.health}, right: {fault.health}"
    if str(d.end.kind) not in fault.kind:
        yield f"end.kind {d.end.kind}, right: {fault.kind}"
    if fault.by is not None and str(d.end.by) not in fault.by:
        yield f"end.by {d.end.by}, right: {fault.by}"
    if fault.signal is not None and d.end.signal != fault.signal:
        yield f"end.signal {d.end.signal}, right: {fault.signal}"
    if fault.status is not None and d.end.status != fault.status:
        yield f"end.status {d.end.status}, right: {fault.status}"
    if fault.phase is not None and str(d.phase) not in fault.phase:
        yield f"phase {d.phase}, right: {fault.phase}"
    for cause in fault.also:
        if Cause(cause) not in (d.cause, *d.also):
            yield f"also {[str(c) for c in d.also]}: {cause} is missing"
    if fault.code is not None and api.exit_code([d]) != fault.code:
        yield f"exit code {api.exit_code([d])}, right: {fault.code}"
    if fault.meant and (d.unit != fault.meant or "mistyped-unit" not in {w.kind for w in d.warnings}):
        yield f"unit {d.unit}, right: {fault.meant}, with a warning that the name was mistyped"


def of_the_duration(told: Told) -> Iterator[str]:
    """Where the time that it lived is not what systemd's own clock says (which is of the process, or since it was active)."""
    show = told.shows[0]
    if show != told.shows[1] or told.diagnosis.health not in (Health.FAILED, Health.STOPPED):
        return  # another life has begun meanwhile
    start, leave, active, over = (
        int(show.get(f"{k}TimestampMonotonic") or 0) / 1e6 for k in ("ExecMainStart", "ExecMainExit", "ActiveEnter", "ActiveExit")
    )
    if not start or not leave or leave < start:
        return
    got = told.diagnosis.died_after_s
    right = [leave - start, *([over - active] if start <= active <= over else [])]  # the second is what systemd itself calls Duration
    if got is None or min(abs(got - r) for r in right) > 0.6:  # systemd 247 says no Duration: the journal's stamps are late on a busy machine
        yield f"died_after_s {got}, by the host's own clock {' or '.join(f'{r:.3f}' for r in right)}"


@pytest.mark.parametrize("version", VERSIONS)
def test_that_somebody_sent_the_signal_is_not_ruled_out_where_nobody_is_known_to_have(told: Tellings, version: str) -> None:
    ruled_out = {n: {h.cause for h in told[version, n].result().diagnosis.hypotheses if h.status is Status.RULED_OUT} for n in HANDS}
    assert Cause.OPERATOR_STOP not in ruled_out["sigkill-by-pid"]
    assert Cause.OPERATOR_STOP not in ruled_out["sigkill-outside"]
    assert Cause.OPERATOR_STOP in ruled_out["sigsegv-nocore"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_collected_of_a_fault_is_whole(told: Tellings, version: str) -> None:
    found = told[version, "sigabrt"].result().diagnosis
    unread = {n: str(c) for n, c in found.coverage.items() if c not in (Coverage.READ, Coverage.EMPTY)}
    assert set(unread) <= {"gpu", "kernel", "bench", "log"}, unread
    assert found.coverage["journal"] is Coverage.READ
    assert re.search(rf"\b{found.unit}\b", found.headline)
    assert found.status is Status.ESTABLISHED


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_unit_what_failed_is_looked_at_first(staged: dict[str, bed.Host], version: str) -> None:
    host = staged[version]
    found = api.diagnose(host.name, ssh_config=host.config)
    assert len(found) == api.MOST_UNITS
    assert all(d.health is not Health.HEALTHY for d in found)
    assert all(unit_of("exit1-traceback") in (d.unit, *d.candidates) for d in found)
    assert api.exit_code(found) in (1, 5)
