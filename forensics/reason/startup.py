"""Follow one life through its start-up phases, a mark at a time. A fold: knows neither a file nor how the story ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from forensics import clock
from forensics.model import Behind, MarkKind, Phase, PhaseSpan, Progress, Record
from forensics.reason.figures import bar_seconds, whole
from forensics.reason.ranks import behind, directs, numbered
from forensics.ruleset.schema import Mark

LOADING = (
    Phase.LAUNCH,
    Phase.DISTRIBUTED_INIT,
    Phase.WEIGHTS,
    Phase.KV_POOL,
    Phase.ATTENTION_BACKEND,
    Phase.CUDA_GRAPH,
    Phase.DRAFT_WORKER,
    Phase.WARMUP,
    Phase.BIND,
)

OF_ALL = (Phase.BIND, Phase.WARMUP, Phase.READY, Phase.SERVING, Phase.STOPPING)  # phases of the server as a whole
TELLING = (MarkKind.BEGIN, MarkKind.END, MarkKind.PROGRESS, MarkKind.LISTENING, MarkKind.READY, MarkKind.SERVING)  # kinds of marks that tell a phase
MOST_RANKS = 1024
SET_BACK_S = clock.APART_S
WARM_UP_REQUESTS = 4  # lines: a warm-up writes one or two
FRAME = "frame"  # a profile's word for a mark that is a line of a traceback: it says where it failed, not when that began


@dataclass(eq=False, repr=False)
class Startup:
    """The fold. ``feed`` takes marks in order; ``phase_of`` answers for a rank at this point of the stream."""

    bound_late: bool = False  # the server binds its port when all is loaded: nothing loads once it listens
    spans: list[PhaseSpan] = field(default_factory=list)
    open_of: dict[str, int] = field(default_factory=dict)  # rank → index of its current span
    done: dict[str, set[Phase]] = field(default_factory=dict)  # rank → phases that ended on it
    latest: int | None = None
    progress: Progress | None = None
    progress_of: Phase | None = None
    started_at: float | None = None  # of the process, where systemd said it
    listening: bool = False
    ready: bool = False
    served: bool = False
    listening_at: float | None = None
    ready_at: float | None = None
    assumed: bool = False  # the latest phase is only what an end mark says comes next
    heard: dict[str, float | None] = field(default_factory=dict)  # rank → when its last mark was written
    stepped_at: float | None = None  # when anything last went a step forward
    early: int = 0  # requests answered before a line said that it is ready
    told: bool = False  # the server itself has said a phase, so that frames of a traceback need not

    def feed(self, mark: Mark, record: Record, captures: dict[str, str]) -> None:
        """Take one mark of the server."""
        kind, at = mark.kind, record.at
        self.ready, self.listening = self.ready or mark.up, self.listening or mark.up
        # a line can name any rank: beyond what any machine has they count as the whole
        rank = record.rank if record.rank in self.open_of or len(self.open_of) < MOST_RANKS else ""
        if mark.what == FRAME:
            if not self.told and mark.phase:
                self._begin(self._which(mark, rank), rank, record)
            return
        self.told = self.told or kind in TELLING
        if kind in (MarkKind.BEGIN, MarkKind.END, MarkKind.PROGRESS):
            self.heard[rank] = at if at is not None else self.heard.get(rank)
        if kind is MarkKind.ARGUMENTS:
            self._begin(mark.phase or Phase.LAUNCH, rank, record)
        elif kind is MarkKind.BEGIN and mark.phase:
            self._begin(self._which(mark, rank), rank, record)
        elif kind is MarkKind.END:
            self._end(mark, rank, record)
        elif kind is MarkKind.PROGRESS and mark.phase:
            self._advance(mark, rank, record, captures)
        elif kind is MarkKind.LISTENING:
            self.listening = True
            self.listening_at = self.listening_at if self.listening_at is not None else at
            if mark.phase:
                self._begin(mark.phase, rank, record)
        elif kind is MarkKind.READY:
            self.ready = self.listening = True
            self.ready_at = self.ready_at if self.ready_at is not None else at
            self.listening_at = self.listening_at if self.listening_at is not None else at
            self._begin(Phase.READY, rank, record)
        elif kind is MarkKind.SERVING and (self.ready or not mark.warms):
            self._serve(record)
        elif kind is MarkKind.STOPPING:
            self._begin(Phase.STOPPING, rank, record)

    @property
    def far(self) -> bool:
        """Whether it has come to load its weights, or beyond: whoever says its arguments now is another process."""
        return any(span.phase in LOADING[2:] for span in self.spans)

    def phase_of(self, rank: str = "") -> Phase | None:
        """The current phase of a rank; of the whole life where the rank is not known."""
        index = self.open_of.get(rank)
        overall = self.spans[self.latest].phase if self.latest is not None else None
        if index is None:
            return overall
        own = self.spans[index].phase
        # a line without a rank comes from the main process, which waits while the ranks load
        if overall in (Phase.READY, Phase.SERVING, Phase.STOPPING) or not rank:
            return overall
        return own

    def _which(self, mark: Mark, rank: str) -> Phase:
        assert mark.phase is not None
        if mark.draft:
            return Phase.DRAFT_WORKER
        if mark.again and mark.phase in self.done.get(rank, set()):
            return mark.again
        return mark.phase

    def _begin(self, phase: Phase, rank: str, record: Record, *, assumed: bool = False) -> None:
        if self._goes_back(phase):
            return
        self._stepped(record)
        index = self.open_of.get(rank)
        before = self.spans[index] if index is not None else None
        if before is not None and index is not None and before.phase is phase:
            # begun again: a second capture right after the first
            self.spans[index] = replace(before, took_s=None, assumed=before.assumed and assumed)
            self.assumed = self.spans[index].assumed
            return
        if phase in OF_ALL and self.latest is not None and self.spans[self.latest].phase is phase:
            self.assumed = False
            return
        self.assumed = assumed
        self._leave(phase, rank, record)
        if self.progress is not None and phase is not self.progress_of:
            self.progress = None  # it belongs to the phase that is over
        if phase is Phase.DRAFT_WORKER and before is not None and index is not None and before.assumed:
            # what was to follow did not: the draft's weights come right after the target's
            self.spans[index] = replace(before, phase=phase, assumed=False, line_no=record.line_no, source=record.source)
            self.latest = index
            return
        self._close(rank, record.at)
        began = record.at
        if phase is Phase.LAUNCH and not self.spans and self.started_at is not None:
            began = self.started_at  # the imports before the first line are part of it
        span = PhaseSpan(phase=phase, rank=rank or None, started_at=began, line_no=record.line_no, source=record.source, assumed=assumed)
        self.spans.append(span)
        self.open_of[rank] = self.latest = len(self.spans) - 1

    def _goes_back(self, phase: Phase) -> bool:
        """Whether a line names a phase that is over for good: what is compiled or captured later is part of the warm-up, or of serving."""
        if self.ready and phase in (Phase.BIND, Phase.WARMUP):
            return True  # said after the line that the profile takes for readiness
        return self.bound_late and self.listening and phase in LOADING and phase not in (Phase.BIND, Phase.WARMUP)

    def _leave(self, phase: Phase, rank: str, record: Record) -> None:
        """End what the beginning of a phase on one rank ends on the others."""
        if phase in OF_ALL:
            for other in list(self.open_of):
                self._close(other, record.at)
            self.open_of.clear()  # from here on the ranks have no phase of their own
        elif self.latest is not None and self.spans[self.latest].phase is Phase.LAUNCH:
            for other in self.open_of:
                self._close(other, record.at)  # the main process logs no end of it: the first rank to speak ends it
        elif numbered(rank):
            for other in [o for o in self.open_of if directs(o, rank) and self.spans[self.open_of[o]].phase is not phase]:
                self._close(other, record.at)  # it waits for its ranks from here on, and says no end of what it did itself
                del self.open_of[other]

    def _close(self, rank: str, at: float | None) -> None:
        index = self.open_of.get(rank)
        if index is None:
            return
        span = self.spans[index]
        if span.took_s is None and at is not None and span.started_at is not None:
            took = at - span.started_at
            self.spans[index] = replace(span, took_s=max(0.0, took) if took >= -SET_BACK_S else None)

    def _end(self, mark: Mark, rank: str, record: Record) -> None:
        if mark.phase:
            index = self.open_of.get(rank)
            current = self.spans[index].phase if index is not None else None
            if current is None:
                self._begin(mark.phase, rank, record)  # an excerpt that begins inside the phase
            self._close(rank, record.at)
            self.done.setdefault(rank, set()).add(mark.phase)
            self._stepped(record)
            if current is Phase.DRAFT_WORKER and (mark.next is None or self._came_to(mark.next, rank)):
                return  # what follows in the draft worker is still the draft worker, until another phase begins
        if mark.next:
            self._begin(mark.next, rank, record, assumed=True)

    def _came_to(self, phase: Phase, rank: str) -> bool:
        """Whether a rank has been in a phase, by a line that says so."""
        return any(s.phase is phase and not s.assumed and (s.rank or "") == rank for s in self.spans)

    def _stepped(self, record: Record) -> None:
        if record.at is not None:
            self.stepped_at = record.at if self.stepped_at is None else max(self.stepped_at, record.at)

    def _advance(self, mark: Mark, rank: str, record: Record, captures: dict[str, str]) -> None:
        assert mark.phase is not None
        index = self.open_of.get(rank)
        current = self.spans[index].phase if index is not None else None
        overall = self.spans[self.latest].phase if self.latest is not None else None
        # a bar is printed by one rank and without its prefix: it belongs to the phase that is under way, if there is one
        if current is None and overall in (None, Phase.LAUNCH, Phase.DISTRIBUTED_INIT) and overall is not mark.phase:
            self._begin(mark.phase, rank, record)
        done, of = whole(captures.get("done")), whole(captures.get("of"))
        if done is not None and of:
            began = self.spans[self.latest].started_at if self.latest is not None else None
            before = self.progress if mark.phase is self.progress_of and self.progress and self.progress.of == of else None
            self.progress_of = mark.phase
            self.progress = _advanced(before, done, of, mark, record.at, began, captures)
            if before is None or before.done != done:
                self._stepped(record if self.progress.at is None else record._replace(at=self.progress.at))

    def behind(self, spoke: Mapping[str, frozenset[Phase]]) -> Behind | None:
        """The rank that the others wait for; None where none is, or where it is not known that it would have said so.

        ``spoke``: what phases each rank has named in other lives of the unit.
        """
        if self.ready or self.listening:
            return None
        return behind(self.spans, self.open_of, self.done, self.heard, spoke)

    def named(self) -> dict[str, frozenset[Phase]]:
        """The phases that each rank has said by itself."""
        found: dict[str, set[Phase]] = {}
        for span in self.spans:
            if not span.assumed:
                found.setdefault(span.rank or "", set()).add(span.phase)
        for rank, phases in self.done.items():
            found.setdefault(rank, set()).update(phases)
        return {rank: frozenset(phases) for rank, phases in found.items()}

    def _serve(self, record: Record) -> None:
        overall = self.spans[self.latest].phase if self.latest is not None else None
        self.early += overall in (Phase.BIND, Phase.WARMUP)
        if overall in LOADING and self.early < WARM_UP_REQUESTS:
            return  # the server's own warm-up request
        self.served = self.ready = self.listening = True  # an excerpt may begin long after it became ready
        if overall in (Phase.READY, Phase.BIND, Phase.WARMUP, None):
            self._begin(Phase.SERVING, record.rank, record)


def _advanced(
    before: Progress | None, done: int, of: int, mark: Mark, at: float | None, began: float | None, captures: Mapping[str, str]
) -> Progress:
    """The next state of a bar, with its pace: by its own clock where it prints one, else by the times of its lines."""
    took, left = bar_seconds(captures.get("took")), bar_seconds(captures.get("left"))
    if took is not None and began is not None and (at is None or began + took > at):
        at = began + took  # of a bar that overwrites itself in a file only the line before it has a time
    steps = before.steps if before is not None else 0
    first_at, first_done = (before.first_at, before.first_done) if before is not None else (at, done)
    slowest = before.slowest_s if before is not None else None
    if before is not None and done > before.done:
        steps += 1
        if at is not None and before.at is not None:
            slowest = max(slowest or 0.0, (at - before.at) / (done - before.done))
    elif before is not None and done == before.done:
        at = before.at  # said again: no step
    pace = None
    if first_at is not None and at is not None and done > first_done and at > first_at:
        pace = (at - first_at) / (done - first_done)
    elif took is not None and done:
        pace = took / done
    return Progress(
        done=done, of=of, what=mark.what or "", at=at, pace_s=pace, left_s=left, slowest_s=slowest, steps=steps, first_at=first_at, first_done=first_done
    )  # fmt: skip
