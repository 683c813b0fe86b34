"""What is not as it was in the last good life, and what the log says that it never said: real servers, a healthy run before the broken one. Negatives first."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from forensics.reason import pace
from forensics.reason.good import last_good
from forensics.reason.mistyped import reader_of
from tests.cases.judge import answer
from tests.unit.reason.telling import folder, story

DATA = Path(__file__).resolve().parents[2] / "data" / "changes"
UNIT = "inference.service"
T0 = datetime(2026, 11, 28, 8, 0, tzinfo=timezone.utc)
ARGS = "[2026-11-28 08:00:09] server_args=ServerArgs(model_path='/models/m', tp_size=1, mem_fraction_static={fraction}, random_seed={seed}, nccl_port={port}, dtype='auto')"
BEGIN = "[2026-11-28 08:00:10 TP0] Init torch distributed begin."
WEIGHTS = "[2026-11-28 08:00:11 TP0] Load weight begin. avail mem={free} GB"
READY = "[2026-11-28 08:00:20] The server is fired up and ready to roll!"
SERVED = 'INFO:     127.0.0.1:4{n}112 - "POST /v1/completions HTTP/1.1" 200 OK'
OOM = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


class Journal:
    """Writes a journal line by line, each a second after the one before."""

    def __init__(self, start: datetime = T0) -> None:
        self.at = start
        self.pid = 4000
        self.lines: list[str] = []

    def line(self, who: str, text: str) -> None:
        self.at += timedelta(seconds=1)
        self.lines.append(f"{self.at.strftime('%Y-%m-%dT%H:%M:%S+0000')} gpu01 {who}: {text}")

    def life(self, *texts: str, end: str = "stopped", description: str = "Inference") -> None:
        """A life of the unit: what its server says, and how systemd notes its end."""
        self.pid += 997
        self.line("systemd[1]", f"Started {UNIT} - {description}.")
        for text in texts:
            self.line(f"python3[{self.pid}]", text)
        if end == "stopped":
            self.line("systemd[1]", f"Stopping {UNIT} - {description}...")
            self.line("systemd[1]", f"{UNIT}: Deactivated successfully.")
            self.line("systemd[1]", f"Stopped {UNIT} - {description}.")
        elif end == "killed":
            self.line("systemd[1]", f"{UNIT}: Main process exited, code=killed, status=9/KILL")
            self.line("systemd[1]", f"{UNIT}: Failed with result 'signal'.")

    def answer(self, folder: Path, **files: str) -> dict[str, Any]:
        folder.mkdir(exist_ok=True)
        (folder / "journal.txt").write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        for name, text in files.items():
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        return answer(folder)[0]


def start(*, fraction: str = "0.88", seed: int = 1, port: int = 2000, free: str = "94.00") -> list[str]:
    return [ARGS.format(fraction=fraction, seed=seed, port=port), BEGIN, WEIGHTS.format(free=free)]


def good(**how: Any) -> list[str]:
    return [*start(**how), READY, SERVED.format(n=1)]


def rows(found: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(c["what"], c["before"], c["after"]) for c in found["changed"]]


def texts(found: dict[str, Any], key: str = "novel") -> list[str]:
    return [t["text"] for t in found[key]]


# --------------------------------------------------------------------------- nothing changed


@pytest.mark.parametrize("name", ["vllm-healthy-again", "sglang-healthy-again"])
def test_the_same_healthy_run_once_more_changes_nothing(name: str) -> None:
    found = answer(DATA / name)[0]
    assert (found["changed"], found["novel"], found["absent"]) == ([], [], [])
    assert found["good_life"] is not None


def test_a_restart_of_the_same_configuration_changes_nothing_though_its_seed_and_ports_do(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good(seed=746827239, port=23411, fraction="0.90"))
    journal.life(*start(seed=12, port=31999, fraction="0.9", free="93.99"), OOM, end="killed")
    found = journal.answer(tmp_path / "e")
    assert rows(found) == []
    assert texts(found) == [OOM]


def test_without_a_life_before_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*start(), OOM, end="killed")
    found = journal.answer(tmp_path / "e")
    assert (found["changed"], found["novel"], found["absent"], found["good_life"]) == ([], [], [], None)


def test_a_life_that_never_was_ready_is_no_good_one(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*start(), OOM, end="killed")
    journal.life(*start(fraction="0.92"), OOM, end="killed")
    found = journal.answer(tmp_path / "e")
    assert found["good_life"] is None
    assert found["changed"] == [{"what": "--mem-fraction-static", "before": "0.88", "after": "0.92", "since": "the attempt before"}]
    assert found["novel"] == []


def test_where_nothing_went_wrong_no_line_is_called_new(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good())
    journal.life(*good(), "[2026-11-28 08:00:21] Something that was never said before", end="")
    found = journal.answer(tmp_path / "e")
    assert (found["cause"], found["novel"]) == ("healthy", [])


NOISY = [
    "[2026-11-28 08:00:{s:02}] Receive: obj=GenerateReqInput(rid='{rid}', text='{word} {s}')",
    "[2026-11-28 08:00:{s:02} TP0] Decode batch. #running-req: {s}, #token: {s}4, token usage: 0.{s}, gen throughput (token/s): {s}.5, #queue-req: {s}",
    "[2026-11-28 08:00:{s:02}] Finished request cmpl-{rid} of user {word} in {s}.2 s",
    'INFO:     10.0.0.{s}:4{s}01 - "GET /files/{word} HTTP/1.1" 200 OK',
    "[2026-11-28 08:00:{s:02}] loaded /var/cache/{word}/{rid}.safetensors",
    "\x1b[32mLoading shards:  {s}% ███▌      | {s}/64 [00:{s}<00:09]\x1b[0m",
    "[2026-11-28 08:00:{s:02}] peers: {{'{word}': 1}} host={word}{s} session=0x{rid}",
]


def noise(words: str, hexes: str) -> list[str]:
    return [
        line.format(s=n + 11, rid=(h * 8)[:12] + str(n) + "f" * 20, word=word)
        for n, (word, h) in enumerate(zip(words.split(), hexes, strict=True))
        for line in NOISY
    ]


def test_stamps_ports_ids_names_and_bars_are_never_new(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good(), *noise("anna bert carla dora", "abcd"))
    journal.life(*start(), *noise("emil frieda gustav helga", "dbca"), OOM, end="killed")
    assert texts(journal.answer(tmp_path / "e")) == [OOM]


def test_prompts_that_are_logged_are_never_new(tmp_path: Path) -> None:
    said = [
        "the",
        "quick",
        "brown",
        "fox",
        "jumps",
        "over",
        "lazy",
        "dogs",
        "while",
        "nobody",
        "watches",
        "from",
        "behind",
        "old",
        "green",
        "fences",
        "near",
        "rivers",
    ]
    journal = Journal()
    journal.life(*good(), *(f"[2026-11-28 08:00:30] Prompt of request: {' '.join(said[n : n + 5 + n % 3])}" for n in range(9)))
    journal.life(*start(), "[2026-11-28 09:00:30] Prompt of request: please write a poem about failing servers", OOM, end="killed")
    assert texts(journal.answer(tmp_path / "e")) == [OOM]


def test_the_frame_of_a_traceback_and_known_advice_are_no_news() -> None:
    for name in ("vllm-kv-too-small", "sglang-graph-mask", "vllm-worker-gone"):
        said = texts(answer(DATA / name)[0])
        assert said
        assert not [t for t in said if re.match(r"\s{4}|Traceback|\s*File|Possible solutions|\d\. set --|Open an issue", t)], name


def test_the_lines_of_another_unit_in_the_same_journal_are_not_compared(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good())
    journal.line("cron[77]", "a job that has never run before was started")
    journal.life(*start(), OOM, end="killed")
    journal.line("cron[78]", "another job was started for the first time")
    assert texts(journal.answer(tmp_path / "e")) == [OOM]


# --------------------------------------------------------------------------- what changed


def test_a_flag_that_was_added_is_the_change() -> None:
    found = answer(DATA / "vllm-kv-too-small")[0]
    assert rows(found) == [("--num-gpu-blocks-override", None, "4")]
    assert "Overriding num_gpu_blocks=4096 with num_gpu_blocks_override=4" in texts(found)
    assert found["good_life"]["ended_at"].startswith("2026-11-28T10:01:49")


def test_after_a_second_failure_of_the_same_kind_it_is_still_compared_with_the_good_life() -> None:
    found = answer(DATA / "vllm-twice-too-small")[0]
    assert len(found["lives"]) == 3
    assert rows(found) == [("--num-gpu-blocks-override", None, "4")]
    assert "Overriding num_gpu_blocks=4096 with num_gpu_blocks_override=4" in texts(found)


def test_of_many_flags_those_come_first_that_the_verdict_is_about_then_those_that_can_bring_a_server_down() -> None:
    found = answer(DATA / "sglang-graph-mask")[0]
    names = [c["what"] for c in found["changed"]]
    assert names[0] == "--speculative-num-draft-tokens"
    assert names.index("--speculative-algorithm") < names.index("--port")
    assert "--served-model-name" not in names, "made of the path of the model, which is told"
    assert any(t.startswith("Spec v1 is used for eagle") for t in texts(found))


def test_less_memory_free_at_start_and_a_reboot_are_changes(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good())
    journal.lines.append("-- Boot 4f8d9d0c5d1b4d4f8a7b6c5d4e3f2a1b --")
    journal.life(*start(free="61.25"), OOM, end="killed")
    found = journal.answer(tmp_path / "e")
    assert rows(found) == [("GPU memory free at start", "94.00 GiB", "61.25 GiB"), ("boot", "the boot before", "the machine was started anew")]
    assert not any("roll back" in a["text"] for a in found["advice"]), "nobody can take back a boot"


def test_a_driver_and_a_library_of_another_version_are_changes(tmp_path: Path) -> None:
    driver = "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {}  Sat Aug 19 01:15:15 UTC 2023"
    journal = Journal()
    journal.line("kernel", driver.format("535.104.05"))
    journal.life("NCCL version 2.21.5+cuda12.4", *good())
    journal.line("kernel", driver.format("550.54.15"))
    journal.life("NCCL version 2.27.3+cuda12.9", *start(), OOM, end="killed")
    found = journal.answer(tmp_path / "e")
    assert sorted(rows(found)) == [("NCCL", "2.21.5+cuda12.4", "2.27.3+cuda12.9"), ("NVIDIA driver", "535.104.05", "550.54.15")]
    assert len(found["lives"]) == 2, "a line about the machine begins no life"


def test_of_the_boots_before_a_life_the_last_one_counts(tmp_path: Path) -> None:
    kernel = "Linux version {} (builder@host) (gcc (Debian 12.2.0-14) 12.2.0) #1 SMP"
    journal = Journal()
    for version in ("5.15.0-88-generic", "6.1.0-18-amd64", "6.8.0-45-generic"):
        journal.line("kernel", kernel.format(version))
    journal.life(*good())
    journal.life(*start(), OOM, end="killed")
    assert rows(journal.answer(tmp_path / "same")) == []
    journal.line("kernel", kernel.format("6.8.0-47-generic"))
    journal.life(*start(), OOM, end="killed")
    found = journal.answer(tmp_path / "other")
    assert ("Linux kernel", "6.8.0-45-generic", "6.8.0-47-generic") in rows(found)
    assert any(what == "boot" for what, _, _ in rows(found))


def test_what_was_said_of_the_machine_holds_until_somebody_says_otherwise(tmp_path: Path) -> None:
    journal = Journal()
    journal.life("NCCL version 2.21.5+cuda12.4", *good())
    journal.life(*start(), OOM, end="killed")
    assert rows(journal.answer(tmp_path / "e")) == []


def test_a_unit_made_on_the_spot_is_compared_by_what_systemd_says_it_starts(tmp_path: Path) -> None:
    line = "/usr/bin/python3 -m sglang.launch_server --model-path /models/m --tp {}"
    journal = Journal()
    journal.life(*good()[1:], description=line.format(2))
    journal.life(OOM, end="killed", description=line.format(4))
    assert ("--tp", "2", "4") in rows(journal.answer(tmp_path / "e"))


def test_a_life_that_fell_over_as_soon_as_it_was_ready_is_not_the_last_good_one(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good(fraction="0.80"))
    journal.life(*good(fraction="0.95")[:-1], end="killed")
    journal.life(*start(fraction="0.95"), OOM, end="killed")
    assert rows(journal.answer(tmp_path / "e")) == [("--mem-fraction-static", "0.80", "0.95")]


def test_all_who_compare_with_the_last_good_life_mean_the_same_one(tmp_path: Path) -> None:
    journal = Journal()
    journal.life(*good(fraction="0.80"))
    journal.life(*good(fraction="0.95")[:-1], end="killed")
    journal.life(*start(fraction="0.95"), OOM, end="killed")
    told = story(folder(tmp_path / "e", journal="\n".join(journal.lines) + "\n"))
    assert last_good(told) is told.lives[0]
    assert pace.measure(told) is told.lives[0]
    assert reader_of(told).before[0] == frozenset(told.lives[0].arguments)


# --------------------------------------------------------------------------- what was left out


def test_what_the_good_life_said_in_phases_that_are_over_and_this_one_did_not_is_absent(tmp_path: Path) -> None:
    journal = Journal()
    early, late = "[2026-11-28 08:00:09] Found the license of the plugin", "[2026-11-28 08:00:19] Warming up the kernels of the plugin"
    journal.life(ARGS.format(fraction="0.88", seed=1, port=1), early, BEGIN, WEIGHTS.format(free="94.00"), late, READY, SERVED.format(n=1))
    journal.life(*start(), OOM, end="killed")
    found = journal.answer(tmp_path / "e")
    assert found["phase"] in ("weights", "kv-pool")
    assert texts(found, "absent") == [early.partition("] ")[2]], "what comes later than this life got is not missed"


def test_of_an_unknown_end_the_new_lines_are_cited(tmp_path: Path) -> None:
    journal = Journal()
    odd = "[2026-11-28 09:00:30] quorum of the plugin was lost, giving up the lease"
    journal.life(*good())
    journal.life(*good(), odd, "[2026-11-28 09:00:31 TP0] Decode batch. #running-req: 1, #token: 4, token usage: 0.01, #queue-req: 0", end="killed")
    found = journal.answer(tmp_path / "e")
    assert any("quorum of the plugin" in e["text"] for e in found["evidence"])
