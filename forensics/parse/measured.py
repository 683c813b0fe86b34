"""What a benchmark's own summary says of one run, gathered while it is read, and how that joins what its single lines told. Never reads a line itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from forensics.model import BenchRow, BenchRun
from forensics.parse.peer import Peer

ASKED_FOR = ("duration_s", "concurrency")  # what of a run's figures stands where nothing was answered well: the rest would be noughts


@dataclass(eq=False, repr=False)
class Measured:
    """One run as its summary has it. ``asked`` is None where the counts don't tell it."""

    tool: str
    asked: int | None = None
    ok: int | None = None
    failed: int | None = None
    asked_of: Peer = field(default_factory=Peer)
    first_at: float | None = None
    last_at: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    samples: dict[str, tuple[float, ...]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    configuration: dict[str, str] = field(default_factory=dict)
    rows: list[BenchRow] = field(default_factory=list)
    names_others: bool = False  # its output is full of addresses that the requests did not go to

    def figure(self, name: str, value: float, number: int, line: str) -> None:
        """Keep a figure with the line that prints it."""
        self.metrics[name] = value
        self.rows.append(BenchRow(line_no=number, text=line[:400], metric=name))

    def lost(self, kind: str, many: int, number: int, line: str, *, at: float | None = None) -> None:
        """Count requests that failed in one way; a nought is no failure."""
        if many > 0:
            self.errors[kind] += many
            self.rows.append(BenchRow(line_no=number, text=line[:400], kind=kind, at=at))

    def without_figures(self) -> None:
        """Leave out the figures of a run in which nothing was answered well: noughts, or the speed at which requests are turned away."""
        self.metrics = {name: value for name, value in self.metrics.items() if name in ASKED_FOR}
        self.samples = {}
        self.rows = [row for row in self.rows if row.kind or row.metric in self.metrics or row.metric == "completed"]

    def run(self, source: str, beside: BenchRun | None = None) -> BenchRun:
        """The run, with what single lines told ``beside``: its failures count only where the summary counted none, as it may have broken off before."""
        beside = beside or BenchRun(source=source, tool=self.tool)
        counted = self.ok is not None or self.failed is not None
        mine = {row.line_no for row in self.rows}
        every = sorted((*self.rows, *(row for row in beside.rows if row.line_no not in mine)), key=lambda row: row.line_no)
        met = not self.names_others or any(row.kind not in ("", "ok", "other") for row in beside.rows)
        return replace(
            beside,
            tool=self.tool,
            first_at=beside.first_at if self.first_at is None else self.first_at,
            last_at=beside.last_at if self.last_at is None else self.last_at,
            asked=self.asked,
            ok=self.ok,
            failed=self.failed if counted else beside.failed,
            errors=self._kinds(beside.errors) if counted else beside.errors,
            metrics=self.metrics,
            samples=self.samples,
            configuration=self.configuration or beside.configuration,
            host=self.asked_of.host or (beside.host if met else None),
            port=self.asked_of.port or (beside.port if met else None),
            path=self.asked_of.path or (beside.path if not self.names_others else None),
            rows=tuple(every),
        )

    def _kinds(self, beside: Mapping[str, int]) -> dict[str, int]:
        """In which ways requests failed: by the summary, else by the single lines as far as they tell; ``other`` where nothing does."""
        if self.errors or not self.failed:
            return dict(self.errors)
        told = {kind: many for kind, many in beside.items() if kind != "other"}
        rest = self.failed - sum(told.values())
        return {**told, **({"other": rest} if rest > 0 else {})} if rest >= 0 else {"other": self.failed}


def inside(value: object, *names: str) -> Mapping[str, Any]:
    """The object at the end of these names; an empty one where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def listed(value: object) -> Sequence[Any]:
    """A list as it is; an empty one for anything else."""
    return value if isinstance(value, list) else ()
