"""Changes that take the answer's ground away: the decisive line gone, in an earlier life, only quoted, said by somebody else, or survived."""

from __future__ import annotations

import random
import re
from collections.abc import Collection
from dataclasses import replace

from tests.cases import background
from tests.cases.evidence import Answer, Case, Said, answer, lines, said, write

MOST_ROUNDS = 3
START = 1_750_000_000.0
UNIT = "llm-chat.service"
# what a server lives on with, where it is true: served on after it is no reason against it
LIVED_WITH = (
    "bench-overload",
    "wrong-endpoint",
    "mask-corruption",
    "gpu-hardware",
    "operator-stop",
    "healthy",
    "unknown",
    "evidence-missing",
    "mistyped-unit",
    "unit-missing",
)

__all__ = ["cited_cut", "cut", "decisive", "earlier_life", "elsewhere", "quoted", "root_cut", "said_of", "survived", "untold", "write"]

_LAST: dict[str, list[Said]] = {}


def said_of(one: Case) -> list[Said]:
    """What rules match in a case; the last case is kept, since several mutations of it ask."""
    if one.id not in _LAST:
        _LAST.clear()
        _LAST[one.id] = said(one)
    return _LAST[one.id]


def cut(one: Case, where: Collection[tuple[str, int]]) -> Case:
    """Without those lines (file, number from 1)."""
    files = {n: "\n".join(x for i, x in enumerate(lines(t), 1) if (n, i) not in where) for n, t in one.files.items()}
    return replace(one, files=files)


def decisive(one: Case, base: Answer) -> list[Said]:
    """The lines that say the cause outright: those cited as the root and all others of the same rules."""
    told = {e["rule"] for e in base["evidence"] if e["role"] == "root"}
    return [s for s in said_of(one) if s.rule in told and str(s.role) == "root" and s.cause == base["cause"]]


def root_cut(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Without the decisive lines, and without whatever else says the same in words of its own."""
    if not decisive(one, base):
        return None
    gone = {(s.source, s.line) for s in said_of(one) if s.cause == base["cause"] and str(s.role) in ("root", "mechanism")}
    return untold(cut(one, gone), base["cause"])


def untold(one: Case, cause: str, *, status: Collection[str] = ("established", "supported")) -> Case:
    """Without the lines that an answer of that cause and status still cites, a few times over: what is left must not say it any more."""
    for _ in range(MOST_ROUNDS):
        found = answer(one)
        where = [(e["source"], e["line"]) for e in found["evidence"]]
        if found["cause"] != cause or found["status"] not in status or not where:
            break
        one = cut(one, where)
    return one


def cited_cut(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Without any line that an established answer cites, and what is then cited for it instead: no such answer rests on what it does not show."""
    if base["status"] != "established":
        return None
    return untold(one, base["cause"], status=("established",))


def _said_by_server(one: Case, base: Answer) -> list[str]:
    """The decisive messages of the server itself, for the mutations that let it, or another, say them."""
    if base["status"] not in ("established", "supported") or base["cause"] in LIVED_WITH:
        return []
    told = [s.text for s in decisive(one, base) if s.origin == "server" and "\r" not in s.text]
    return list(dict.fromkeys(told))[:3]


def _known(base: Answer) -> str | None:
    return base["server"] if base["server"] in ("sglang", "vllm", "ollama") else None


STATUS = """● {unit} - Inference server
     Loaded: loaded (/etc/systemd/system/{unit}; enabled; preset: enabled)
     Active: active (running) since Sun 2025-06-15 15:06:40 UTC; 1h 2min ago
   Main PID: 1411 (python)
"""


def earlier_life(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Said in an earlier life, which served on and was stopped by its operator; the last one is fine, or died of a fault of its own."""
    told = _said_by_server(one, base)
    if not told:
        return None
    server = _known(base)
    first = background.life(server, UNIT, START, 1411, ends=True, told=tuple((120.0, t) for t in told))
    last = background.life(server, UNIT, START + 2000, 2822, ends=False)
    if rng.random() < 0.5 and base["cause"] != "signal-death":
        stamp = last[-1].split(" ", 1)[0]
        last += [
            f"{stamp} gpu01 systemd[1]: {UNIT}: Main process exited, code=dumped, status=11/SEGV",
            f"{stamp} gpu01 systemd[1]: {UNIT}: Failed with result 'core-dump'.",
        ]
    return Case(id=one.id, unit=UNIT, files={"journal.txt": "\n".join([*first, *last]) + "\n"})


def quoted(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Only quoted, in a life that is fine: a prompt, a dump of a request, a setting, a comment in code, somebody's grep."""
    told = _said_by_server(one, base)
    if not told:
        return None
    server, line = _known(base), told[0]
    escaped = line.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    ways = {
        "sglang": f"[{{at}}] Receive: obj=GenerateReqInput(rid='4f1c', text='Explain this log line: {escaped}', input_ids=None, sampling_params={{'max_new_tokens': 64}}, stream=False)",
        "vllm": f"(APIServer pid={{pid}}) INFO {{at}} [logger.py:43] Received request chatcmpl-4f1c: prompt: 'user: why does my server say {escaped}', params: SamplingParams(n=1, max_tokens=64), prompt_token_ids: None, lora_request: None.",
        "ollama": f'time={{at}}Z level=DEBUG source=routes.go:1500 msg="chat request" images=0 prompt="what does {escaped!r} mean"',
        "": f'request body: {{"messages": [{{"role": "user", "content": "what does this mean: {escaped}"}}]}}',
    }
    others = (
        f"loaded config: {{'alert_patterns': ['{escaped}'], 'level': 'info'}}",
        f"    # seen before: {line}",
        f'  if (strstr(msg, "{escaped}") != NULL) alert(msg);',
        f"+ grep -c '{line}' /var/log/app.log",
    )
    way = rng.choice([ways[server or ""], *others])
    rows = background.life(server, UNIT, START, 1411, ends=False, told=((130.0, way),))
    asked = f" gpu01 sudo[4711]:      ops : TTY=pts/0 ; PWD=/home/ops ; USER=root ; COMMAND=/usr/bin/grep '{line}' /var/log/syslog"
    rows.append(rows[-1].split(" ", 1)[0] + asked)
    return Case(id=one.id, unit=UNIT, files={"journal.txt": "\n".join(rows) + "\n", "status.txt": STATUS.format(unit=UNIT)})


def elsewhere(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Said by another program of the host, or by the same program of another host, while the unit at issue died of something else."""
    told = _said_by_server(one, base)
    if not told or base["cause"] in ("signal-death", "exit-code-death"):
        return None
    rows = background.life(_known(base), UNIT, START, 1411, ends=False)
    stamp = rows[-1].split(" ", 1)[0]
    other = "gpu01 embedder[3301]" if rng.random() < 0.6 else "gpu02 python[3301]"
    rows += [f"{stamp} {other}: {t}" for t in told]
    rows += [
        f"{stamp} gpu01 systemd[1]: {UNIT}: Main process exited, code=dumped, status=11/SEGV",
        f"{stamp} gpu01 systemd[1]: {UNIT}: Failed with result 'core-dump'.",
    ]
    if "embedder" in other:
        rows += [f"{stamp} gpu01 systemd[1]: embedder.service: Main process exited, code=exited, status=1/FAILURE"]
    return Case(id=one.id, unit=UNIT, files={"journal.txt": "\n".join(rows) + "\n"})


def survived(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Said while it started, or while it served, and it served on for minutes."""
    told = _said_by_server(one, base)
    server = _known(base)
    if not told or (server is None and re.search(r"^\s*(?:panic|Fatal)", told[0])):
        return None
    after = rng.choice((5.0, 120.0)) if server else 1.5
    rows = background.life(server, UNIT, START, 1411, ends=False, told=tuple((after, t) for t in told))
    return Case(id=one.id, unit=UNIT, files={"journal.txt": "\n".join(rows) + "\n", "status.txt": STATUS.format(unit=UNIT)})
