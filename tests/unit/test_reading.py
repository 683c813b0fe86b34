"""All lines of a capture, read at once or in stretches by several processes: the outcome is one and the same."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import reading, ruleset
from forensics.model import Capture, PartKind, Section, Target, TargetKind

ROOT = Path(__file__).parents[2]
LINES = st.sampled_from([
    b"May 09 10:15:34 gpu01 python[4822]: [2026-05-09 10:15:34 TP0] Load weight begin. avail mem=93.1 GB", b"May 09 10:15:51 h systemd[1]: x.service: Failed with result 'signal'.",
    b"May 09 10:15:34 gpu01 python[4823]: RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", b"    torch.OutOfMemoryError: CUDA out of memory.",
    b"[2026-05-09 10:15:34 TP1] Received sigquit from a child process", b"Traceback (most recent call last):", b"", b"12", b"x" * 90, b"May 09 10:16:34 gpu01 kernel: NVRM: Xid (PCI:0000:41:00): 79, x",
    b'{"__REALTIME_TIMESTAMP":"1778321718000001","_PID":"7","_TRANSPORT":"stdout","_COMM":"python","MESSAGE":"[2026-05-09 10:15:34 TP0] Watchdog timeout (self.watchdog_timeout=300)"}',
    b'{"_PID":"1","_TRANSPORT":"journal","_COMM":"systemd","_UID":"0","MESSAGE":"x.service: Main process exited, code=killed, status=9/KILL"}', b'{"_PID":"' + b"9" * 30 + b'","MESSAGE":null}', b"{",
])  # fmt: skip


@cache
def matcher() -> ruleset.Matcher:
    return ruleset.Matcher(rules())


@cache
def rules() -> ruleset.RuleSet:
    return ruleset.load()


def capture_of(*paths: Path, part: PartKind | None = None) -> Capture:
    return Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=tuple(Section(name=path.name, path=path, part=part) for path in paths))


def told(capture: Capture, **how: Any) -> dict[str, Any]:
    scanned, ends = reading.read(capture, matcher(), rules().prefixes, **how)
    return {
        "hits": scanned.hits,
        "counts": scanned.counts,
        "first": ends.first,
        "last": ends.last,
        "lines": ends.lines,
        "blobs": ends.blobs,
        "problems": ends.problems,
    }


@settings(max_examples=60, deadline=None)
@given(
    st.lists(LINES, max_size=300),
    st.sampled_from([None, PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.SERVER, PartKind.KERNEL]),
    st.integers(32, 900),
    st.integers(1, 5),
)
def test_stretches_tell_what_the_whole_tells(lines: list[bytes], kind: PartKind | None, step: int, each: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\n".join(lines))
        capture = capture_of(path, part=kind)
        assert told(capture, processes=1, large=1, every=step * each, step=step) == told(capture, processes=1, step=step)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with faults in it, as text, json and export."""
    folder = tmp_path_factory.mktemp("made")
    command = [sys.executable, str(ROOT / "benchmarks" / "gen_journal.py"), "-n", "8000", "--seed", "7"]
    subprocess.run(
        [*command, *(word for form in ("text", "json", "export") for word in (f"--{form}", str(folder / f"x.{form}")))], check=True, cwd=folder
    )
    return folder


@pytest.mark.parametrize("form", ["text", "json", "export"])
@pytest.mark.parametrize("step", [4 << 10, 60_000])
def test_a_journal_in_stretches_tells_what_it_tells_as_a_whole(made: Path, form: str, step: int) -> None:
    capture = capture_of(made / f"x.{form}")
    whole = told(capture, processes=1, step=step)
    assert len(whole["hits"]) > 400
    assert told(capture, processes=1, large=1, every=3 * step, step=step) == whole


def test_small_files_beside_a_large_one_keep_their_places(made: Path) -> None:
    small = made / "small.log"
    small.write_text("[2026-05-09 10:15:34 TP0] Load weight begin. avail mem=93.1 GB\n" * 3)
    capture = capture_of(made / "x.json", small, made / "x.text")
    assert told(capture, processes=1, large=1 << 20, every=1 << 18, step=1 << 14) == told(capture, processes=1, step=1 << 14)


def test_no_files_have_no_lines() -> None:
    assert told(capture_of()) == {"hits": [], "counts": {}, "first": {}, "last": {}, "lines": {}, "blobs": {}, "problems": []}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_several_processes_tell_what_one_tells(made: Path) -> None:
    code = """
import sys
from pathlib import Path
sys.path.insert(0, ".")
from tests.unit.test_reading import capture_of, told
for form in ("text", "json"):
    capture = capture_of(Path(sys.argv[1], f"x.{form}"))
    whole = told(capture, processes=1, step=1 << 14)
    heard = []
    print(told(capture, processes=3, large=1, every=1 << 17, step=1 << 14, progress=heard.append) == whole, len(whole["hits"]) > 400)
"""
    done = subprocess.run([sys.executable, "-c", code, str(made)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["True"] * 4, done.stderr


def test_progress_is_told_of_large_parts_about_once_a_second() -> None:
    now = [0.0]
    said: list[str] = []
    telling = reading.Told("10m.txt", 1000, said.append, clock=lambda: now[0])
    for _ in range(10):
        now[0] += 0.5
        telling.advance(100)
    assert said == ["10m.txt: 20 % read", "10m.txt: 40 % read", "10m.txt: 60 % read", "10m.txt: 80 % read", "10m.txt: 99 % read"]


def test_nothing_is_told_of_small_files(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    told(capture_of(made / "x.text"), processes=1, progress=said.append)
    assert said == []
