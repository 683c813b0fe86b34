"""Other names and numbers for the same things, everywhere alike: ranks, hosts, users, paths, models, processes, ports. Knows no case."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tests.cases.evidence import JOURNAL, Answer, Case, lines

_RANK = re.compile(r"\b(TP|DP|PP|EP|Worker_TP|Worker_DP|VllmWorker rank=|\[rank|[Rr]ank[ =:]+)(\d{1,3})\b")


def _exchanged(one: Case, new: Mapping[str, str], edge: str) -> Case | None:
    """Every old name for its new one in one pass, the longest first."""
    if not new:
        return None
    every = re.compile(rf"(?<!{edge})(?:{'|'.join(re.escape(x) for x in sorted(new, key=len, reverse=True))})(?!{edge})")
    files = {n: every.sub(lambda m: new[m[0]], t) for n, t in one.files.items()}
    return None if files == one.files else replace(one, files=files)


def ranks(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The same on other GPUs: each rank counted from a little higher."""
    more = rng.choice((1, 3, 8))
    files = {n: _RANK.sub(lambda m: f"{m[1]}{int(m[2]) + more}", t) for n, t in one.files.items()}
    return None if files == one.files else replace(one, files=files)


def _found(one: Case, pattern: str) -> set[str]:
    return {m[1] for t in one.files.values() for m in re.finditer(pattern, t)}


def names(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Another host, another user, another place for the models, other models."""
    new: dict[str, str] = {}
    hosts = {m["host"] for t in one.files.values() for x in lines(t) if (m := JOURNAL.match(x))}
    for number, host in enumerate(sorted(h for h in hosts if len(h) > 2 and re.search(r"\d", h))):
        new[host] = f"rack7-node{number + 3}"
    for number, path in enumerate(sorted(_found(one, r"(?:model_path=|'model(?:_tag|_path)?': |--model(?:-path)?[= ])'?([\w./-]{4,120})"))):
        new[path] = f"/mnt/weights/acme-{number + 3}b-chat" if path.startswith("/") else f"acme-ai/Chat-{number + 3}B" if "/" in path else path
    for user in _found(one, r"/home/([\w.-]{2,30})/"):
        new[f"/home/{user}/"] = "/home/operator7/"
    for place, other in (("/sgl-workspace/", "/opt/src/"), ("/models/", "/mnt/llm/"), ("/workspace/", "/build/"), ("/opt/venv/", "/opt/py/env3/")):
        new.setdefault(place, other)
    return _exchanged(one, new, r"[\w]")


def _numbers(old: Iterable[str], more: int) -> dict[str, str]:
    return {x: str(int(x) + more) for x in old}


def numbers(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Other process numbers and ports."""
    pids = {p for p in _found(one, r"(?:[\w)./-]\[|pid[=: ]+|PID: |[Pp]rocess )(\d{3,7})\b") if int(p) > 99}
    ports = _found(one, r"(?:port[=: ]+|\d\.\d+\.\d+\.\d+:|localhost:|\]:|://[\w.-]+:)(\d{4,5})\b")
    new = {**_numbers(pids, rng.choice((11, 1000))), **_numbers(ports - pids, 11)}
    return _exchanged(one, new, r"[\w.]")
