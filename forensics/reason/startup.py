"""Follow one life through its start-up phases, a mark at a time. A fold: knows neither a file nor how the story ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from forensics.model import MarkKind, Phase, PhaseSpan, Progress, Record
from forensics.reason.figures import whole
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
WARM_UP_REQUESTS = 4  # lines: a warm-up writes one or two
FRAME = "frame"  # a profile's word for a mark that is a line of a traceback: it says where it failed, not when that began


@dataclass
class Startup:
    """The fold. ``feed`` takes marks in order; ``phase_of`` answers for a rank at this point of the stream."""

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
    early: int = 0  # requests answered before a line said that it is ready
    told: bool = False  # the server itself has said a phase, so that frames of a traceback need not

    def feed(self, mark: Mark, record: Record, captures: dict[str, str]) -> None:
        """Take one mark of the server."""
        kind, rank, at = mark.kind, record.rank, record.at
        if mark.what == FRAME:
            if not self.told and mark.phase:
                self._begin(self._which(mark, rank), rank, record)
            return
        self.told = self.told or kind not in (MarkKind.ARGUMENTS, MarkKind.STOPPING)
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

    def _begin(self, phase: Phase, rank: str, record: Record) -> None:
        self.assumed = False
        index = self.open_of.get(rank)
        if index is not None and self.spans[index].phase is phase:
            self.spans[index] = replace(self.spans[index], took_s=None)  # begun again: a second capture right after the first
            return
        if self.ready and phase in (Phase.BIND, Phase.WARMUP):
            return  # said after the line that the profile takes for readiness: nothing goes back
        if phase in OF_ALL:
            if self.latest is not None and self.spans[self.latest].phase is phase:
                return
            for other in list(self.open_of):
                self._close(other, record.at)
            self.open_of.clear()  # from here on the ranks have no phase of their own
        elif self.latest is not None and self.spans[self.latest].phase is Phase.LAUNCH:
            for other in self.open_of:
                self._close(other, record.at)  # the main process logs no end of it: the first rank to speak ends it
        self._close(rank, record.at)
        if self.progress is not None and phase is not self.progress_of:
            self.progress = None  # it belongs to the phase that is over
        began = record.at
        if phase is Phase.LAUNCH and not self.spans and self.started_at is not None:
            began = self.started_at  # the imports before the first line are part of it
        self.spans.append(PhaseSpan(phase=phase, rank=rank or None, started_at=began, line_no=record.line_no, source=record.source))
        self.open_of[rank] = self.latest = len(self.spans) - 1

    def _close(self, rank: str, at: float | None) -> None:
        index = self.open_of.get(rank)
        if index is None:
            return
        span = self.spans[index]
        if span.took_s is None and at is not None and span.started_at is not None:
            self.spans[index] = replace(span, took_s=max(0.0, at - span.started_at))

    def _end(self, mark: Mark, rank: str, record: Record) -> None:
        if mark.phase:
            index = self.open_of.get(rank)
            current = self.spans[index].phase if index is not None else None
            if current is None:
                self._begin(mark.phase, rank, record)  # an excerpt that begins inside the phase
            self._close(rank, record.at)
            self.done.setdefault(rank, set()).add(mark.phase)
            if current is Phase.DRAFT_WORKER:
                return  # what follows in the draft worker is still the draft worker, until another phase begins
        if mark.next:
            self._begin(mark.next, rank, record)
            self.assumed = True

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
            self.progress_of = mark.phase
            self.progress = Progress(done=done, of=of, what=mark.what or "", at=record.at)

    def _serve(self, record: Record) -> None:
        overall = self.spans[self.latest].phase if self.latest is not None else None
        self.early += overall in (Phase.BIND, Phase.WARMUP)
        if overall in LOADING and self.early < WARM_UP_REQUESTS:
            return  # the server's own warm-up request
        self.served = self.ready = self.listening = True  # an excerpt may begin long after it became ready
        if overall in (Phase.READY, Phase.BIND, Phase.WARMUP, None):
            self._begin(Phase.SERVING, record.rank, record)
