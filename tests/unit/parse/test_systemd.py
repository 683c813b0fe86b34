"""What systemctl prints, as versions 219 to 257 really print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import PartKind, UnitState
from forensics.parse import systemd, unitstate

DATA = Path(__file__).parents[2] / "data" / "parse"


def status(name: str) -> UnitState:
    states, problems = systemd.status((DATA / "status" / name).read_text(encoding="utf-8"), source="status")
    assert not problems
    assert len(states) == 1
    return states[0]


# --------------------------------------------------------------------------- status


def test_text_without_a_status_is_a_problem_and_no_state():
    states, problems = systemd.status("-- No entries --\n", source="s", first_line=7)
    assert states == ()
    assert [(p.source, p.line) for p in problems] == [("s", 7)]


def test_another_language_is_noticed():
    text = "● foo.service - Foo\n     Geladen: loaded (/etc/systemd/system/foo.service)\n       Aktiv: fehlgeschlagen\n"
    states, problems = systemd.status(text, source="s")
    assert states[0].active is None
    assert "another language" in problems[0].text


def test_journal_lines_below_are_not_read_as_status():
    text = (
        "● foo.service - Foo\n     Loaded: loaded (/etc/systemd/system/foo.service)\n     Active: active (running) since Sat 2026-05-09 10:15:51 UTC; 9min ago\n\n"
        "May 09 10:15:51 gpu01 python[1]: hello\n     Active: failed (Result: signal)\n"
    )
    assert systemd.status(text)[0][0].active == "active"


def test_the_words_of_a_unit_that_was_killed():
    text = (
        "x sglang-qwen.service - SGLang Qwen with DDTree\n"
        "     Loaded: loaded (/etc/systemd/system/sglang-qwen.service; enabled; preset: enabled)\n"
        "     Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago\n"
        "   Duration: 32.969s\n"
        "    Process: 4711 ExecStart=/opt/sglang/bin/python -m sglang.launch_server --port 30000 (code=killed, signal=KILL)\n"
        "   Main PID: 4711 (code=killed, signal=KILL)\n"
        "     Memory: 1.5G (peak: 3.0G swap: 0B)\n"
        "        CPU: 41.228s\n"
    )
    (state,), problems = systemd.status(text, source="status.txt", first_line=10)
    assert problems == ()
    assert (state.name, state.load, state.active, state.sub, state.result) == ("sglang-qwen.service", "loaded", "failed", "failed", "signal")
    assert (state.main_code, state.main_status, state.signal, state.main_pid) == ("killed", 9, "SIGKILL", 4711)
    assert (state.duration_s, state.ago_s, state.since) == (32.969, 540.0, 1778321751.0)
    assert state.started_at == pytest.approx(1778321718.031)
    assert state.exited_at == 1778321751.0
    assert state.argv == ("/opt/sglang/bin/python", "-m", "sglang.launch_server", "--port", "30000")
    assert state.memory_peak_gib == 3.0
    assert state.fragment == "/etc/systemd/system/sglang-qwen.service"
    assert state.lines["active"] == (12, "Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago")
    assert state.lines["duration"] == (13, "Duration: 32.969s")
    assert state.lines["process"] == (15, "Main PID: 4711 (code=killed, signal=KILL)")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("219-auto-restart.txt", ("ollama.service", "activating", "auto-restart", "exit-code", "exited", 127, None)),
        ("247-sigabrt.txt", ("sglang-sigabrt.service", "failed", "failed", "signal", "killed", 6, "SIGABRT")),
        ("247-exit-203.txt", ("sglang-exit-203-exec.service", "failed", "failed", "exit-code", "exited", 203, None)),
        ("252-oom-memorymax.txt", ("sglang-oom-memorymax.service", "failed", "failed", "oom-kill", "killed", 9, "SIGKILL")),
        ("252-c-locale.txt", ("sglang-oom-memorymax.service", "failed", "failed", "oom-kill", "killed", 9, "SIGKILL")),
        ("252-transient-oom.txt", ("highload-stress-test.service", "failed", "failed", "oom-kill", "exited", 1, None)),
        ("252-bad-unit.txt", ("sglang-bad-unit.service", "failed", "failed", "exit-code", "exited", 203, None)),
        ("252-masked.txt", ("sglang-masked.service", "inactive", "dead", None, None, None, None)),
        ("252-condition-unmet.txt", ("sglang-condition-unmet.service", "inactive", "dead", None, None, None, None)),
        ("252-starting-notify.txt", ("sglang-starting-notify.service", "activating", "start", None, None, None, None)),
        (
            "252-restart-flapping-activating.txt",
            ("sglang-restart-flapping-activating.service", "activating", "auto-restart", "exit-code", "exited", 1, None),
        ),
        ("252-env-file-missing.txt", ("sglang-env-file-missing.service", "failed", "failed", "resources", None, None, None)),
        ("252-execstartpre-fails.txt", ("sglang-execstartpre-fails.service", "failed", "failed", "exit-code", None, None, None)),
        ("252-active-listening.txt", ("sglang-active-listening.service", "active", "running", None, None, None, None)),
        ("252-template.txt", ("sglang@0.service", "failed", "failed", "signal", "killed", 6, "SIGABRT")),
        ("252-de.txt", ("sglang@0.service", "failed", "failed", "signal", "killed", 6, "SIGABRT")),
        ("257-sigabrt.txt", ("sglang-sigabrt.service", "failed", "failed", "signal", "killed", 6, "SIGABRT")),
        ("257-start-timeout.txt", ("sglang-start-timeout.service", "failed", "failed", "timeout", "killed", 15, "SIGTERM")),
    ],
    ids=lambda value: value.removesuffix(".txt") if isinstance(value, str) else None,
)
def test_every_version_and_state_is_read(name, expected):
    state = status(name)
    assert (state.name, state.active, state.sub, state.result, state.main_code, state.main_status, state.signal) == expected


def test_a_control_process_that_failed_is_not_the_main_one():
    state = status("252-execstartpre-fails.txt")
    assert state.main_pid is None
    assert state.argv == ()
    assert "ExecStartPre=" in state.lines["process"][1]


def test_a_running_unit_takes_its_command_line_from_the_process_tree():
    state = status("252-active-listening.txt")
    assert state.argv[:2] == ("/usr/bin/python3", "/opt/sglang/bin/launch_server.py")
    assert state.started_at == state.since


def test_a_masked_unit_is_not_a_missing_one():
    state = status("252-masked.txt")
    assert state.load == "masked"
    assert "missing" not in state.lines


def test_a_unit_that_could_not_be_found():
    state = status("252-nonexistent.txt")
    assert (state.name, state.load) == ("sglang-nonexistent.service", "not-found")
    assert state.lines["missing"] == (1, "Unit sglang-nonexistent.service could not be found.")


def test_colours_and_links_of_a_terminal_are_ignored():
    text = "\x1b[0;1;31m×\x1b[0m foo.service - Foo\n     Loaded: loaded (\x1b]8;;file://h/x\x07/etc/x.service\x1b]8;;\x07; enabled)\n     Active: \x1b[0;1;31mfailed\x1b[0m (Result: exit-code)\n"
    (state,), problems = systemd.status(text)
    assert (state.name, state.active, state.result, problems) == ("foo.service", "failed", "exit-code", ())


def test_several_units_in_one_answer():
    text = (
        (DATA / "status" / "252-bad-unit.txt").read_text(encoding="utf-8") + "\n" + (DATA / "status" / "252-masked.txt").read_text(encoding="utf-8")
    )
    states, problems = systemd.status(text)
    assert [s.name for s in states] == ["sglang-bad-unit.service", "sglang-masked.service"]
    assert problems == ()


def test_a_memory_limit_and_what_the_service_says_of_itself():
    text = '● a.service\n     Active: active (running) since Sat 2026-05-09 10:15:51 UTC; 1h 2min ago\n     Status: "Loading"\n     Memory: 299.9M (max: 300.0M available: 0B)\n'
    (state,), _ = systemd.status(text)
    assert state.memory_max_gib == pytest.approx(300 / 1024)
    assert state.ago_s == 3720.0
    assert state.lines["said"] == (3, 'Status: "Loading"')


def test_an_unmet_condition_can_be_cited():
    text = "○ a.service - A\n     Loaded: loaded (/a)\n     Active: inactive (dead)\n  Condition: start condition unmet at Sat 2026-05-09 10:15:51 UTC; 3s ago\n"
    (state,), _ = systemd.status(text)
    assert state.lines["condition"][0] == 4


# --------------------------------------------------------------------------- show


def show(name: str, unit: str = "") -> UnitState:
    (state,), problems = systemd.show((DATA / "show" / name).read_text(encoding="utf-8"), source="show", unit=unit)
    assert problems == ()
    return state


def test_show_gives_what_status_computes():
    state = show("252-oom-memorymax.txt")
    assert (state.name, state.active, state.sub, state.result) == ("sglang-oom-memorymax.service", "failed", "failed", "oom-kill")
    assert (state.main_code, state.main_status, state.signal, state.main_pid, state.restarts) == ("killed", 9, "SIGKILL", 225, 0)
    assert state.duration_s == 13.122
    assert state.memory_max_gib == pytest.approx(0.29296875)
    assert state.argv[-2:] == ("--load", "1.5")
    assert state.started_at == 1795983074.0


def test_show_of_a_unit_that_does_not_exist_is_a_success_that_says_not_found():
    state = show("252-nonexistent.txt")
    assert (state.load, state.active, state.main_code, state.since) == ("not-found", "inactive", None, None)
    assert state.lines["missing"][1] == "LoadState=not-found"


@pytest.mark.parametrize("name", ["252-unix.txt", "252-de.txt"])
def test_show_without_id_is_named_by_who_asked(name):
    state = show(name, unit="x.service")
    assert state.name == "x.service"
    assert state.exited_at is not None


def test_show_of_several_units_and_a_line_that_is_none():
    states, problems = systemd.show("Id=a.service\nActiveState=active\n\nrubbish\nId=b.service\nActiveState=failed\n", source="s")
    assert [(s.name, s.active) for s in states] == [("a.service", "active"), ("b.service", "failed")]
    assert [p.line for p in problems] == [4]


# --------------------------------------------------------------------------- is-active, unit files, lists


@pytest.mark.parametrize(("text", "active"), [("failed\n", "failed"), ("activating", "activating"), ("unknown\n", None), ("\nactive\n", "active")])
def test_is_active_is_one_word(text, active):
    (state,), problems = systemd.is_active(text, unit="a.service")
    assert (state.active, problems) == (active, ())


def test_is_active_reports_what_is_no_state():
    states, problems = systemd.is_active("Failed to connect to bus: Host is down\n", source="s")
    assert (states, len(problems)) == ((), 1)
    assert systemd.is_active("") == ((), ())


def test_a_unit_file_with_prefixes_continuations_and_comments():
    text = "[Unit]\nDescription=Q\n[Service]\nExecStartPre=/bin/true\nExecStart=-@/bin/python -m x \\\n# a comment\n   --port 30000 \\\n   --name 'two words'\nMemoryMax=4G\n"
    (state,), problems = unitstate.unit_file(text, unit="q.service")
    assert problems == ()
    assert state.argv == ("/bin/python", "-m", "x", "--port", "30000", "--name", "two words")
    assert (state.description, state.memory_max_gib) == ("Q", 4.0)


def test_a_drop_in_takes_the_command_back_and_gives_another():
    text = "# /etc/systemd/system/a.service\n[Service]\nExecStart=/bin/old\n\n# /etc/systemd/system/a.service.d/override.conf\n[Service]\nExecStart=\nExecStart=/bin/new --x\n"
    (state,), _ = unitstate.unit_file(text)
    assert (state.name, state.fragment, state.argv) == ("a.service", "/etc/systemd/system/a.service", ("/bin/new", "--x"))


def test_quotes_that_do_not_match_cost_the_quotes_only():
    (state,), problems = unitstate.unit_file("[Service]\nExecStart=/bin/x --name don't\n", unit="a.service", source="u")
    assert state.argv == ("/bin/x", "--name", "don't")
    assert [p.line for p in problems] == [2]


def test_unit_lists_in_all_three_shapes():
    text = (DATA / "host" / "list-units.txt").read_text(
        encoding="utf-8"
    ) + "\nssh.service    enabled enabled\na.service loaded active running A thing\nbare.service\nnot a unit\n"
    states, _ = unitstate.list_units(text)
    assert [(s.name, s.active, s.sub) for s in states] == [
        ("sglang-sigabrt.service", "failed", "failed"),
        ("ssh.service", None, None),
        ("a.service", "active", "running"),
        ("bare.service", None, None),
    ]


# --------------------------------------------------------------------------- merge


def test_merge_prefers_show_then_status_then_is_active_and_cites_status():
    of_show = UnitState(name="a.service", active="failed", result="signal", source="show", lines={"active": (5, "ActiveState=failed")})
    of_status = UnitState(name="a.service", active="active", duration_s=3.0, source="status", lines={"active": (3, "Active: …")})
    of_word = UnitState(name="", active="inactive", source="is-active", lines={"active": (1, "inactive")})
    merged = unitstate.merge([(PartKind.SHOW, of_show), (PartKind.IS_ACTIVE, of_word), (PartKind.STATUS, of_status)])
    state = merged["a.service"]
    assert list(merged) == ["a.service"]
    assert (state.active, state.result, state.duration_s) == ("failed", "signal", 3.0)
    assert state.lines["active"] == (3, "Active: …")
    assert state.line_sources["active"] == "status"


def test_a_nameless_state_among_several_units_stays_nameless():
    merged = unitstate.merge(
        [
            (PartKind.STATUS, UnitState(name="a.service")),
            (PartKind.STATUS, UnitState(name="b.service")),
            (PartKind.IS_ACTIVE, UnitState(name="", active="active")),
        ]
    )
    assert merged[""].active == "active"
    assert unitstate.merge([(PartKind.IS_ACTIVE, UnitState(name="", active="active"))], only="c.service")["c.service"].active == "active"


@pytest.mark.parametrize(
    ("processes", "failed"),
    [
        ("    Process: 1 ExecStartPre=/bin/mkdir /run/a (code=exited, status=1/FAILURE)\n", "ExecStartPre"),
        (
            "    Process: 1 ExecStartPre=/bin/true (code=exited, status=0/SUCCESS)\n    Process: 2 ExecStart=/bin/app -d (code=exited, status=1/FAILURE)\n",
            None,
        ),
        (
            "    Process: 1 ExecStart=/bin/app (code=exited, status=0/SUCCESS)\n    Process: 2 ExecStop=/bin/app stop (code=killed, signal=TERM)\n",
            "ExecStop",
        ),
    ],
    ids=["before", "the program", "after"],
)
def test_the_command_that_failed_beside_the_program_is_told(processes, failed):
    text = f"x a.service - A\n     Loaded: loaded (/etc/systemd/system/a.service; enabled)\n     Active: failed (Result: exit-code) since Sat 2026-05-09 10:15:51 UTC; 9min ago\n{processes}"
    (state,), _ = systemd.status(text)
    assert state.failed_command == failed
