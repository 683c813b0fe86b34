"""What the evidence lacks, each thing once: in groups for the reports, and in one line where it leaves the cause unknown. Judges nothing."""

from __future__ import annotations

from forensics.model import KERNEL_LOG, OWN_LINES, Cause, Coverage, Diagnosis, EndBy, EndKind, Health, Status
from forensics.report import cite

_ORDER = (Coverage.DENIED, Coverage.CUT, Coverage.EMPTY, Coverage.NOT_COLLECTED, Coverage.GIVEN)
_LACKING = (Coverage.DENIED, Coverage.EMPTY, Coverage.NOT_COLLECTED)
_OWN = ("journal", "log")  # the service's own words: one place is enough
_STATUS: tuple[str, ...] = ("status",)
_KERNEL: tuple[str, ...] = ("kernel",)
_EITHER = "journal or its own log file"
# what a hypothesis misses, and the places that would hold it: where these are named as gaps, nothing is left to say
_HELD_BY = {KERNEL_LOG: _KERNEL, OWN_LINES: _OWN}
# what is needed to know why a service died, and what it would tell
_WOULD_TELL = (
    (_OWN, "its own log (its last words)"),
    (_STATUS, "its status (whether it runs, how it ended)"),
    (_KERNEL, "the kernel log (whether it was killed, or a GPU failed)"),
)


def grouped(d: Diagnosis) -> list[tuple[Coverage, str]]:
    """The kinds of gap that there are, the worst first, each with what it is of: ``(NOT_COLLECTED, "status, kernel log")``."""
    heard = any(d.coverage.get(name) not in (None, *_LACKING) for name in _OWN)
    gone = [name for name in _OWN if d.coverage.get(name) is Coverage.NOT_COLLECTED]
    names: dict[Coverage, list[str]] = {}
    for name, coverage in d.coverage.items():
        if name in gone and (heard or name != gone[0]):
            continue
        names.setdefault(coverage, []).append(_EITHER if name in gone and len(gone) == len(_OWN) else cite.covered(name))
    return [(kind, ", ".join(names[kind])) for kind in _ORDER if kind in names]


def left_open(d: Diagnosis) -> str:
    """What would still decide the verdict and is no gap that ``grouped`` names already; "" where there is nothing."""
    own = next((h for h in d.hypotheses if h.cause is d.cause and h.status is not Status.RULED_OUT), None)
    missing = own.missing if own else ()
    named = {text for text, places in _HELD_BY.items() if d.coverage and all(_lacks(d, name) for name in places)}
    return "; ".join(text for text in missing if text not in named)


def undecided(d: Diagnosis) -> str:
    """Of a cause that is unknown: what is not in the evidence and would tell more; "" where there is a cause, or nobody said what was read."""
    if d.cause is not Cause.UNKNOWN or not d.coverage or d.trees:  # of trees the headline says what was not measured
        return ""
    known = {_STATUS: d.end.kind not in (EndKind.NONE, EndKind.UNKNOWN), _KERNEL: d.end.by in (EndBy.ITSELF, EndBy.OPERATOR, EndBy.SYSTEMD)}
    lives = d.health is Health.HEALTHY  # of a service that is well nobody asks what killed it
    lacking = [told for names, told in _WOULD_TELL if all(_lacks(d, name) for name in names) and not known.get(names) and not lives]
    if d.client is not None and d.client.failed and d.client.first_error_at is None:
        lacking.insert(0, "when the client's requests failed (its output tells no time that can be held against the host's)")
    return ", ".join(lacking) or "nothing that is usually asked for: no rule knows what these lines say"


def _lacks(d: Diagnosis, name: str) -> bool:
    return d.coverage.get(name) in (None, *_LACKING)
