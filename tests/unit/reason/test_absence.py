"""That something was not there is said only where all was read that would have shown it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import api
from forensics.model import Capture, Coverage, Facts, PartKind, Pick, Section, Target, TargetKind
from forensics.reason.known import KnownFacts, known_facts
from forensics.reason.place import story_of
from forensics.ruleset.known_names import NAMES
from tests.cases.judge import rules
from tests.unit.reason.telling import folder, story

KERNEL = "2026-05-09T10:15:51+0000 gpu01 kernel: eth0: link becomes ready\n"
# what these say is about the lines that were seen, not about what happened
OF_WHAT_WAS_SEEN = frozenset({
    "evidence.journal", "evidence.status", "evidence.kernel", "evidence.log", "evidence.bench", "evidence.server_lines", "evidence.systemd_lines", "unit.near_miss", "life.count", "evidence.printed",
    "accept.intervals", "life.failed_count", "life.rooted", "life.mechanism", "life.cascaded", "life.end.kind", "life.end.by",
    "unit.manager",  # systemd, unless a container's engine says that it is its own
})  # fmt: skip
TAIL = """\
2026-05-09T10:15:50+0000 gpu01 python[4822]: [2026-05-09 10:15:50 TP0] Decode batch. #running-req: 2, #token: 200, token usage: 0.01, gen throughput (token/s): 143.01, #queue-req: 0
2026-05-09T10:15:51+0000 gpu01 python[4822]: [2026-05-09 10:15:51 TP0] Decode batch. #running-req: 2, #token: 240, token usage: 0.01, gen throughput (token/s): 143.01, #queue-req: 0
"""
START = """\
2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started sglang-qwen.service - SGLang Qwen.
2026-05-09T10:15:34+0000 gpu01 python[4822]: [2026-05-09 10:15:34 TP0] Load weight begin. avail mem=94.30 GB
"""


def known_of(facts: Facts) -> KnownFacts:
    return known_facts(story_of(facts, rules(), "x.service", at=facts.at, pick=Pick(unit="x.service", how="asked")))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_where_nothing_was_collected_no_fact_is_a_no(name):
    value = known_of(Facts()).value(name)
    assert value is None or name in OF_WHAT_WAS_SEEN, f"{name} is {value!r}"


def with_kernel(path: Path, coverage: Coverage, text: str = KERNEL) -> KnownFacts:
    path.write_text(text, encoding="utf-8")
    kernel = Section(name="kernel", path=path, part=PartKind.KERNEL, coverage=coverage, cut=1 if coverage is Coverage.CUT else 0)
    capture = Capture(
        target=Target(kind=TargetKind.SSH, name="h", host="h"), sections=(kernel,), at=1778321760.0, pick=Pick(unit="x.service", how="asked")
    )
    facts, _ = api.facts_of(capture, rules())
    return known_of(facts)


@pytest.mark.parametrize("name", ["kernel.oom_pids", "kernel.xids", "kernel.segfaults", "kernel.oom_in_life"])
@pytest.mark.parametrize("coverage", list(Coverage))
def test_a_kernel_that_killed_nobody_is_known_only_where_its_log_was_read(name, coverage, tmp_path):
    value = with_kernel(tmp_path / "kernel", coverage).value(name)
    assert (value is not None) == (coverage is Coverage.READ)
    assert not value


def test_a_kernel_log_without_a_line_is_one_that_cannot_be_seen(tmp_path):
    assert with_kernel(tmp_path / "kernel", Coverage.READ, "-- No entries --\n").value("kernel.oom_pids") is None


@pytest.mark.parametrize("name", ["life.ready", "life.listening", "life.served"])
def test_what_a_server_has_not_said_counts_only_in_a_log_with_its_beginning(name, tmp_path):
    assert known_facts(story(folder(tmp_path / "b", journal=START))).value(name) is False
    batch = TAIL.replace("Decode batch.", "Some batch.")
    assert known_facts(story(folder(tmp_path / "a", journal=batch))).value(name) is None


def test_listeners_are_known_only_where_sockets_were_asked(tmp_path):
    assert known_facts(story(folder(tmp_path / "a", journal=START))).value("host.listeners") is None
    header = "State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess\n"
    assert known_facts(story(folder(tmp_path / "b", journal=START, ss=header))).value("host.listeners") == set()
