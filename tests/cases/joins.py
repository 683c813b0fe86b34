"""What a right answer says of a client that was laid over a server's lives: the table in ``joins.yaml``, and what an answer gets wrong by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TABLE: Mapping[str, Mapping[str, Any]] = yaml.safe_load((Path(__file__).parent / "joins.yaml").read_text(encoding="utf-8"))
FIRM = ("possible", "supported", "established")
WITHIN_S = 1.5


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What happened, by the host's clock: the unit and its port, the seconds to readiness from the first failed request, and those that were spent on a dead server."""

    unit: str
    port: int
    early_s: float | None
    wasted_s: float | None


def faults(name: str, found: Mapping[str, Any], code: int, report: str | None, truth: Truth) -> Iterator[str]:
    """What is wrong with an answer; ``report`` is the text that a terminal shows, where that was asked for."""
    expect = TABLE[name]
    if found["cause"] not in (expect["cause"], *expect.get("accept", ())):
        yield f"{'misleading' if found['cause'] in expect['not'] else 'wrong'} cause: {found['cause']}"
    if found["status"] is None or FIRM.index(found["status"]) < FIRM.index(expect["least"]):
        yield f"status {found['status']}, at least {expect['least']} is wanted"
    for key, said in (("exit_code", code), ("health", found["health"]), ("phase", found["phase"])):
        if key in expect and said != expect[key]:
            yield f"{key} {said}, not {expect[key]}"
    for key, true in (("early", truth.early_s), ("wasted", truth.wasted_s)):
        said, wanted = found["client"][f"{key}_s"], true if expect[key] == "truth" else None
        if (said is None) is not (wanted is None) or (said is not None and wanted is not None and abs(said - wanted) > WITHIN_S):
            yield f"{key}_s {said}, not {wanted}"
    puts = {"PORT": str(truth.port), "ASKED": str(truth.port + 1), "UNIT": truth.unit}
    for part in expect["headline"]:
        if puts.get(part, part) not in found["headline"]:
            yield f"the headline does not say {puts.get(part, part)!r}: {found['headline']}"
    told = " ".join((report or "").split())
    for part in expect.get("report", ()) if report is not None else ():
        if part not in told:
            yield f"the report does not say {part!r}"
    if expect["cause"] == "startup-race" and any(w["kind"] == "false-ready" for w in found["warnings"]):
        yield "it warns of a false ready, and nobody asked whether it is ready"
