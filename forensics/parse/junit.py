"""Read JUnit XML of an evaluation that calls a server: tests that passed, tests that got no answer, tests that got a wrong one. Never expands an entity.

A test that failed because it could not reach the server carries the client's own words, and is counted under their kind; one that failed on the answer is a
``wrong-answer``. Skipped tests were not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from forensics import lazily
from forensics.clock import parse_stamp
from forensics.model import BenchRow, BenchRun
from forensics.parse import client, peer, wording

_SUITE = lazily.pattern(r"<testsuites?\b[^<>]{0,4000}>")
_ATTRIBUTE = lazily.pattern(r"\b(?P<key>[a-z]{1,20})=(?:\"(?P<v>[^\"<]{0,4000})\"|'(?P<w>[^'<]{0,4000})')")
_PLACE = lazily.pattern(r"<(?P<tag>testcase|failure|error|skipped)\b(?P<rest>[^<>]{0,16000})>")
_MOST = 200_000  # test cases of one file
_HEAD = 4000


def is_junit(text: str) -> bool:
    """True for the head of such a file."""
    head = text[:_HEAD].lstrip("\ufeff \r\n\t")
    return head.startswith("<") and "<testsuite" in head


def read(text: str, *, source: str = "", first_line: int = 1) -> BenchRun | None:
    """The run in one file, all suites of it together; None where it holds no test. ``pass_rate`` is of the tests that got an answer, right or wrong."""
    errors: Counter[str] = Counter()
    rows: list[BenchRow] = []
    asked = ok = 0
    took = 0.0
    asked_of = peer.Peer()
    for line_no, name, seconds, outcome, said in _cases(text, first_line):
        if outcome == "skipped":
            continue
        asked += 1
        took += seconds
        if outcome == "passed":
            ok += 1
            rows.append(BenchRow(line_no=line_no, text=name, kind="ok"))
            continue
        kind = _kind(said)
        errors[kind] += 1
        rows.append(BenchRow(line_no=line_no, text=f"{name}: {said}"[: wording.MAX_LINE], kind=kind))
        found = peer.asked_of(said[: wording.MAX_LINE])
        asked_of.take(found.host, found.port, found.path)
    if not asked:
        return None
    wrong = errors["wrong-answer"]
    first, span = _window(text)
    metrics = {"duration_s": round(took, 6)}
    if ok + wrong:
        metrics["pass_rate"] = ok / (ok + wrong)
    return BenchRun(
        source=source,
        tool="junit",
        first_at=first,
        last_at=first + span if first is not None else None,
        asked=asked,
        ok=ok,
        failed=asked - ok - wrong,
        errors={kind: many for kind, many in errors.items() if kind != "wrong-answer"},
        metrics=metrics,
        host=asked_of.host,
        port=asked_of.port,
        path=asked_of.path,
        rows=client.bounded(tuple(rows)),
    )


def _cases(text: str, first_line: int) -> Iterator[tuple[int, str, float, str, str]]:
    """Line, name, seconds, outcome (passed, failure, error, skipped) and message of each test case."""
    held: tuple[int, str, float] | None = None
    outcome, said = "passed", ""
    line, counted = first_line, 0
    for number, found in enumerate(_PLACE.finditer(text)):
        if number >= _MOST:
            break
        line += text.count("\n", counted, found.start())
        counted = found.start()
        values = _attributes(found["rest"])
        if found["tag"] != "testcase":
            outcome, said = found["tag"], values.get("message", "")
            continue
        if held is not None:
            yield *held, outcome, said
        name = "::".join(part for part in (values.get("classname"), values.get("name")) if part)
        held, outcome, said = (line, name, _seconds(values.get("time"))), "passed", ""
    if held is not None:
        yield *held, outcome, said


def _attributes(text: str) -> dict[str, str]:
    import html  # with its table of two thousand names

    return {found["key"]: html.unescape(found["v"] if found["v"] is not None else found["w"]) for found in _ATTRIBUTE.finditer(text)}


def _seconds(text: str | None) -> float:
    try:
        value = float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0.0 <= value < 1e9 else 0.0


def _window(text: str) -> tuple[float | None, float]:
    """When the first suite began, and how long the suites took."""
    for found in _SUITE.finditer(text[: 8 * _HEAD]):
        values = _attributes(found[0])
        if "timestamp" in values:
            stamp = parse_stamp(values["timestamp"])
            return (stamp, _seconds(values.get("time"))) if isinstance(stamp, float) else (None, 0.0)
    return None, 0.0


def _kind(said: str) -> str:
    """By the first line of the message: what an assertion shows of an answer is no failure of the connection."""
    first = said.split("\n", 1)[0]
    if first.startswith(("AssertionError", "assert ", "Failed: ", "Expected", "expected")):
        return "wrong-answer"
    return wording.classify(first) or "other"
