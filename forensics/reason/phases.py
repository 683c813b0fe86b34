"""Say in which phase the life at issue failed, or what it was doing. Leaves it open where no mark, no cause and no length of the life tells."""

from __future__ import annotations

from forensics import clock
from forensics.model import Cause, EndBy, EndKind, Life, MarkKind, Origin, Phase, Role
from forensics.reason.issue import STAYED_S, error_times
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict

# the phase that a cause means by itself, for evidence in which no mark says one
MEANT = {
    Cause.EXEC_FAILURE: Phase.LAUNCH,
    Cause.BAD_ARGUMENTS: Phase.LAUNCH,
    Cause.BAD_ENVIRONMENT: Phase.LAUNCH,
    Cause.GPU_OOM_RUNTIME: Phase.SERVING,
    Cause.BENCH_OVERLOAD: Phase.SERVING,
    Cause.MASK_CORRUPTION: Phase.SERVING,
}
AT_ONCE_S = 2.0  # whatever it is, it was still being started
# these say by themselves that it was not yet at its work, or not by its own doing
STARTING = (Cause.STARTUP_RACE, Cause.STARTUP_HANG, Cause.STARTUP_TIMEOUT)


def phase_at(story: Story, verdict: Verdict) -> Phase | None:
    """The phase of the verdict: of its line, else of the life, else what the cause or the length of the life means."""
    life = story.issue
    if verdict.cause is Cause.OPERATOR_STOP:
        return Phase.STOPPING
    if verdict.cause is Cause.STARTUP_RACE and life.ready:
        return _met(story, life)
    signal = verdict.signals[0] if verdict.signals else None
    if verdict.cause is Cause.WRONG_ENDPOINT and life.ready:
        answered = signal is not None and signal.record is not None and signal.record.origin is Origin.SERVER
        return Phase.SERVING if answered else Phase.READY  # its answer to the client is what it served
    phase = signal.phase if signal is not None and verdict.by in ("root", "mechanism") else None
    phase = phase or life.phase or MEANT.get(verdict.cause) or _by_length(story, life, verdict)
    if phase in (Phase.READY, Phase.STOPPING) and MEANT.get(verdict.cause) is Phase.SERVING:
        return Phase.SERVING  # the request that broke it is what it served, also where the server was stopped later
    return phase


def _met(story: Story, life: Life) -> Phase | None:
    """What a server that has become ready since was doing when the client came; None where either time is not known."""
    first = min(error_times(story.facts), default=None)
    begun = [(span.started_at, number, span.phase) for number, span in enumerate(life.phases) if span.started_at is not None]
    return max((one for one in begun if first is not None and one[0] <= first), default=(0.0, 0, None))[2]


def _by_length(story: Story, life: Life, verdict: Verdict) -> Phase | None:
    """Where no line tells: a client that was answered was served, what ends at once was being launched, what a unit did for long was its work."""
    if verdict.cause is Cause.HEALTHY:
        return Phase.SERVING if any(b.ok for b in story.facts.benches) else None
    if verdict.cause is Cause.RESTART_LOOP and (loop := _of_a_loop(story)) is not None:
        return loop
    by_itself = life.end.kind in (EndKind.SIGNAL, EndKind.EXIT) and life.end.by is not EndBy.OPERATOR
    if not by_itself or verdict.cause in STARTING:
        return None
    told = _told(story, life)
    # of a service that nobody described, running on is all that can be seen of readiness
    if story.profile is None and _computed_s(story) >= STAYED_S:
        return Phase.SERVING
    if life.lived_s is None or not told:
        return None  # an excerpt begins anywhere
    if life.lived_s <= AT_ONCE_S:
        return Phase.LAUNCH
    return Phase.SERVING if life.lived_s >= STAYED_S and story.profile is None and MarkKind.STARTED in told else None


def _of_a_loop(story: Story) -> Phase | None:
    """Most of its lives ended at once: it gets no further."""
    ended = [x for x in story.lives if x.end.kind in (EndKind.SIGNAL, EndKind.EXIT) and x.lived_s is not None and _told(story, x)]
    at_once = [x for x in ended if x.lived_s is not None and x.lived_s <= AT_ONCE_S]
    return Phase.LAUNCH if 2 * len(at_once) > len(ended) else None


def _told(story: Story, life: Life) -> set[MarkKind]:
    """How the manager told of the start of a life."""
    kinds = {p.mark.kind for p in story.placed if p.life == life.index and p.mark is not None and p.mark.from_ is Origin.SYSTEMD}
    return kinds & {MarkKind.STARTING, MarkKind.STARTED}


def _computed_s(story: Story) -> float:
    """How much the life at issue had computed, as far as anybody counted."""
    return max((clock.parse_span(s.captures["cpu"]) or 0.0 for s in story.of_issue(Role.CONTEXT) if "cpu" in s.captures), default=0.0)
