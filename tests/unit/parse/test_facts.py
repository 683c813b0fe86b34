"""Facts of whole captures: files as somebody saved them, and the sections of a live host."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from forensics import parse
from forensics.model import Capture, Coverage, Facts, Frame, Hit, Origin, PartKind, Pick, Section, Target, TargetKind
from forensics.parse.asked import asked_unit, filters, simples
from tests.unit.counting import steps
from tests.unit.parse.results import COLUMNS

DATA = Path(__file__).parents[2] / "data" / "parse"
JOURNAL = (
    "2026-05-09T10:15:18+0000 gpu01 systemd[1]: Started sglang-qwen.service - SGLang Qwen.\n"
    "2026-05-09T10:15:26+0000 gpu01 python[4711]: Load weight begin.\n"
    "2026-05-09T10:15:51+0000 gpu01 systemd[1]: sglang-qwen.service: Failed with result 'signal'.\n"
)
STATUS = (
    "x sglang-qwen.service - SGLang Qwen\n     Loaded: loaded (/etc/systemd/system/sglang-qwen.service; enabled; preset: enabled)\n"
    "     Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago\n   Duration: 32.969s\n   Main PID: 4711 (code=killed, signal=KILL)\n"
)


def of_files(folder: Path, hits: list[Hit] | None = None, /, **files: str) -> Facts:
    sections = []
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1796000000, 1796000000))
        sections.append(Section(name=path.name, path=path, coverage=Coverage.GIVEN))
    return facts_of(Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=tuple(sections), columns=COLUMNS), hits)


def facts_of(capture: Capture, hits: list[Hit] | None = None) -> Facts:
    blocks, tails = parse.watch(parse.frames(capture, ()), keep=3)
    for _ in blocks:
        pass
    return parse.facts(capture, SimpleNamespace(hits=hits or [], counts={}), tails=tails)


def live(folder: Path, name: str, part: PartKind, text: str, **more: object) -> Section:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return Section(name=name, path=path, part=part, argv=name, **more)  # type: ignore[arg-type]


# --------------------------------------------------------------------------- files


def test_nothing_at_all_is_no_fact(tmp_path):
    facts = facts_of(Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=()))
    assert (facts.seen, facts.units, facts.benches, facts.at, facts.listeners) == ((), {}, (), None, None)
    assert set(facts.coverage.values()) == {Coverage.NOT_COLLECTED}


def test_an_excerpt_is_given_and_proves_no_absence(tmp_path):
    facts = of_files(tmp_path, journal__txt=JOURNAL, status__txt=STATUS)
    assert facts.coverage["journal"] is Coverage.GIVEN
    assert facts.coverage["status"] is Coverage.GIVEN
    assert facts.coverage["kernel"] is Coverage.NOT_COLLECTED


def test_the_time_of_the_capture_is_since_plus_ago(tmp_path):
    facts = of_files(tmp_path, journal__txt=JOURNAL, status__txt=STATUS)
    assert facts.at == 1778321751.0 + 540


def test_without_a_status_it_is_the_last_stamp(tmp_path):
    assert of_files(tmp_path, journal__txt=JOURNAL).at == 1778321751.0


def test_a_lone_is_active_belongs_to_the_unit_that_the_journal_speaks_of(tmp_path):
    facts = of_files(tmp_path, journal__txt=JOURNAL, is_active__txt="failed\n")
    assert facts.units["sglang-qwen.service"].active == "failed"
    assert facts.unit_names == ("sglang-qwen.service",)


def test_a_unit_in_trouble_is_spoken_of_before_the_ones_that_timers_start(tmp_path):
    timers = "".join(f"2026-05-09T10:0{n}:00+0000 gpu01 systemd[1]: Started logrotate.service - Rotate.\n" for n in range(9))
    facts = of_files(tmp_path, journal__txt=timers + JOURNAL, is_active__txt="failed\n")
    assert facts.unit_names == ("sglang-qwen.service", "logrotate.service")
    assert list(facts.units) == ["sglang-qwen.service"]


def test_a_unit_file_is_named_by_its_own_name(tmp_path):
    facts = of_files(tmp_path, **{"sglang-qwen__service": "[Service]\nExecStart=/bin/python -m x --port 30000\n"})
    assert facts.argv == ("/bin/python", "-m", "x", "--port", "30000")
    assert list(facts.units) == ["sglang-qwen.service"]


def test_hits_come_back_with_their_times_in_order_of_source_and_line(tmp_path):
    def hit(source: str, line: int, stamp: str) -> Hit:
        return Hit("r", Frame(source=source, line_no=line, start=0, text="x", origin=Origin.SERVER, stamp=stamp), {})

    hits = [hit("b.txt", 1, ""), hit("a.txt", 9, "2026-05-09T10:15:18+0000"), hit("a.txt", 2, "May 09 10:15:17")]
    facts = of_files(tmp_path, hits, a__txt="x\n" * 10, b__txt="y\n")
    assert [(s.record.source, s.record.line_no, s.record.at) for s in facts.seen] == [
        ("a.txt", 2, 1778321717.0),
        ("a.txt", 9, 1778321718.0),
        ("b.txt", 1, None),
    ]


def test_a_year_is_taken_from_the_file_where_nothing_else_has_one(tmp_path):
    facts = of_files(tmp_path, journal__txt="Nov 29 10:15:18 gpu01 systemd[1]: Started a.service.\n")
    assert facts.at == 1795947318.0


def test_an_empty_answer_under_a_command_is_noted_with_the_unit_that_was_asked(tmp_path):
    facts = of_files(tmp_path, asked__txt="$ journalctl -u sglash-k26-ddtree.service -n 5\n-- No entries --\n", is_active__txt="active\n")
    (asked,) = facts.asked
    assert (asked.source, asked.line_no, asked.unit, asked.empty, asked.filtered) == ("asked.txt", 1, "sglash-k26-ddtree.service", True, False)
    assert facts.coverage["journal"] is Coverage.EMPTY
    assert "sglash-k26-ddtree.service" not in facts.unit_names


def test_an_empty_grep_is_filtered(tmp_path):
    facts = of_files(tmp_path, asked__txt="$ journalctl -u a.service | grep -i error\n$ systemctl is-active a.service\nactive\n")
    assert [(a.unit, a.empty, a.filtered) for a in facts.asked] == [("a.service", True, True), ("a.service", False, False)]
    assert facts.units["a.service"].active == "active"


def test_missing_rights_are_denied_and_not_empty(tmp_path):
    facts = of_files(
        tmp_path,
        journal__txt="Hint: You are currently not seeing messages from other users and the system.\nNo journal files were opened due to insufficient permissions.\n",
    )
    assert facts.coverage["journal"] is Coverage.DENIED


def test_client_output_and_saved_results_become_runs(tmp_path):
    loop, matrix = (DATA / "client" / "health-loop.txt").read_text(), (DATA / "bench" / "matrix.json").read_text()
    facts = of_files(tmp_path, health__txt=loop, bench__json=matrix)
    assert [(b.source, b.tool, len(b.matrix)) for b in facts.benches] == [("health.txt", "health check", 0), ("bench.json", "benchmark", 11)]
    assert facts.coverage["bench"] is Coverage.GIVEN


def test_client_stamps_without_a_year_take_it_from_the_evidence(tmp_path):
    facts = of_files(
        tmp_path,
        status__txt=STATUS,
        bench__txt="curl: (7) Failed to connect to h port 1\n05-09 10:15:20 request failed: [Errno 111] Connection refused\n",
    )
    assert facts.benches[0].first_at == 1778321720.0


def test_the_pasted_command_gives_the_peer(tmp_path):
    facts = of_files(
        tmp_path,
        paste__txt="$ curl http://127.0.0.1:30000/v1/models\ncurl: (7) Failed to connect to 127.0.0.1 port 30000 after 0 ms: Couldn't connect to server\n",
    )
    (run,) = facts.benches
    assert (run.tool, run.port, run.path, run.errors) == ("curl", 30000, "/v1/models", {"refused": 1})


# --------------------------------------------------------------------------- live


def test_a_live_host(tmp_path):
    sections = (
        live(tmp_path, "clock", PartKind.CLOCK, "1778322291.5\nhostname=gpu01\n"),
        live(
            tmp_path,
            "units",
            PartKind.UNITS,
            "sglang-qwen.service loaded failed failed Q\nssh.service loaded active running S\n\nId=ssh.service\nActiveState=active\n",
        ),
        live(tmp_path, "is-active", PartKind.IS_ACTIVE, "failed\n"),
        live(tmp_path, "status", PartKind.STATUS, STATUS),
        live(tmp_path, "sockets", PartKind.SOCKETS, "State  Recv-Q Send-Q Local Address:Port  Peer Address:Port\n"),
        live(tmp_path, "health", PartKind.HEALTH, "30000 /v1/models 000 refused\n"),
        live(tmp_path, "journal", PartKind.JOURNAL_TEXT, JOURNAL, cut=10),
        live(tmp_path, "kernel", PartKind.KERNEL, "-- No entries --\n"),
        live(tmp_path, "gpu", PartKind.GPU, "", coverage=Coverage.NOT_COLLECTED),
    )
    facts = facts_of(Capture(target=Target(kind=TargetKind.SSH, name="h"), sections=sections, pick=Pick(unit="sglang-qwen.service", how="failed")))
    assert facts.at == 1778322291.5
    assert facts.unit_names == ("sglang-qwen.service", "ssh.service")
    assert list(facts.units) == ["sglang-qwen.service"]
    assert facts.listeners == ()
    assert [(p.port, p.code) for p in facts.probes] == [(30000, 0)]
    assert {k: str(v) for k, v in facts.coverage.items()} == {
        "journal": "cut", "status": "read", "kernel": "empty", "bench": "not-collected", "units": "read", "sockets": "read", "health": "read", "gpu": "not-collected", "log": "not-collected",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stderr", "coverage"), [("", Coverage.EMPTY), ("Hint: You are currently not seeing messages from other users and the system.", Coverage.DENIED)]
)
def test_an_empty_live_journal_is_an_answer_or_a_refusal(tmp_path, stderr, coverage):
    section = live(tmp_path, "journal", PartKind.JOURNAL_EXPORT, "", stderr=stderr)
    section = Section(name="journal", path=section.path, part=section.part, argv="journalctl -u a.service -o export", stderr=stderr)
    facts = facts_of(Capture(target=Target(kind=TargetKind.LOCAL, name="local"), sections=(section,), at=5.0))
    assert facts.coverage["journal"] is coverage
    assert [(a.unit, a.empty) for a in facts.asked] == [("a.service", True)]
    assert facts.at == 5.0


def test_the_first_round_gives_names_and_states(tmp_path):
    section = live(tmp_path, "units", PartKind.UNITS, "a.service loaded failed failed A\nb.service not-found inactive dead b.service\n")
    names, states = parse.unit_overview([section])
    assert names == ("a.service",)
    assert states["a.service"].active == "failed"


def test_a_file_that_is_too_large_to_be_read_whole_is_cut_and_said(tmp_path):
    line = "coding/01  ERROR  URLError: <urlopen error [Errno 111] Connection refused>\n"
    facts = of_files(tmp_path, bench__txt=line * (5 * 1024 * 1024 // len(line)))
    assert facts.benches[0].errors["refused"] > 50000
    assert "only the first 4 MiB" in facts.problems[0].text


# --------------------------------------------------------------------------- commands


@pytest.mark.parametrize(
    ("command", "unit"),
    [
        ("journalctl -u a.service -n 5", "a.service"),
        ("journalctl -ua -f", "a.service"),
        ("sudo journalctl --unit=a@0 --since today | grep err", "a@0.service"),
        ("systemctl status --no-pager a.timer", "a.timer"),
        ("sudo systemctl restart a", "a.service"),
        ("systemctl list-units", None),
        ("curl http://x", None),
        ("journalctl -u 'un balanced", "un.service"),
    ],
)
def test_the_unit_that_a_command_is_about(command, unit):
    assert asked_unit(command) == unit


@pytest.mark.parametrize(
    ("command", "filtered"),
    [
        ("journalctl -u a | grep -iE 'error|fail'", True),
        ("journalctl -u a -g error", True),
        ("journalctl -u a -p err", True),
        ("grep x f", True),
        ("journalctl -u a -n 5", False),
        ("journalctl -u a | tail", False),
    ],
)
def test_which_commands_let_only_some_lines_through(command, filtered):
    assert any(map(filters, simples(command))) is filtered


def test_each_of_many_commands_in_a_paste_costs_its_own_lines_and_not_those_of_the_whole(tmp_path):
    """To know whether a line was printed or written the whole file is looked at: once, not for each of the answers in it."""

    def reading(commands: int) -> int:
        pasted = "".join(
            f"$ curl http://gpu01:8000/v1/models\ncurl: (7) Failed to connect after {n} ms: Connection refused\n" for n in range(commands)
        )
        (tmp_path / str(commands)).mkdir()
        return steps(lambda: of_files(tmp_path / str(commands), paste__txt=pasted))

    assert reading(90) < 4 * reading(30)
