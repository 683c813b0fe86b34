"""Whatever somebody writes into a log, an answer, a manifest or a command line: nothing but the project's own errors, and nothing held or made up.

The targets of the fuzzer are run here on a part of its corpus, and on every input that it has found (``tests/data/fuzz/TARGET``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.collect import bundle, order, wire
from forensics.collect.targets import parse_targets
from forensics.errors import BundleError, TargetError, UsageError
from forensics.model import Origin, PartKind, TargetKind
from forensics.parse import kernel
from forensics.parse.asked import asked_unit
from forensics.parse.unwrap import ServerPrefixes, Unwrapper, clean, pid_of
from forensics.units import UNIT_NAME, full_name, near
from fuzz import targets
from tests.unit.parse.framing import PREFIXES

ROOT = Path(__file__).parents[2]
FOUND = ROOT / "tests" / "data" / "fuzz"
ANSWERS = ROOT / "tests" / "data" / "rules" / "answers"

ODD = st.sampled_from([
    "May 09 10:15:34 gpu01 systemd[1]: x.service: Failed with result 'signal'.", "-- Boot 422dae7d88114a028ac813fbcfa2bbc5 --", "-- No entries --", "kernel: ", "[ 7063.247407] ", "\0", "\r", "\x1b[2J",
    "\x1b]0;x\x07", "9" * 5000, "²", "٣", "'", '"', "\\", "$ ", "user@h:~$ ", "journalctl -u ", "systemctl status ", "-u", "x.service", "@", "../", "\u202e", "\udcff", "a" * 300, "| grep x", "--since",
])  # fmt: skip
LINE = st.lists(st.one_of(ODD, st.text(max_size=12)), max_size=8).map("".join).map(lambda text: text.replace("\n", " "))


@given(LINE)
@settings(max_examples=200, deadline=None)
def test_a_command_that_was_typed_names_a_unit_or_none(line: str) -> None:
    unit = asked_unit(line)
    assert unit is None or UNIT_NAME.fullmatch(unit)


@given(LINE, st.sampled_from(list(PartKind)))
@settings(max_examples=150, deadline=None)
def test_only_the_journal_and_the_kernel_s_log_have_lines_of_systemd_and_of_the_kernel(line: str, kind: PartKind) -> None:
    opened = Unwrapper(kind, ServerPrefixes(PREFIXES), has_init=lambda: True).open(line)
    if kind not in (PartKind.JOURNAL_TEXT, PartKind.STATUS, PartKind.KERNEL, PartKind.CONTAINER, PartKind.POD, PartKind.EVENTS):
        assert opened.origin not in (Origin.SYSTEMD, Origin.KERNEL)
        assert not opened.trusted
    assert "\0" not in clean(line)
    stamped = kernel.strip(line)
    assert stamped is None or line.endswith(stamped.text)


@given(st.text(max_size=30))
def test_a_pid_is_a_number_that_a_pid_can_be(text: str) -> None:
    pid = pid_of(text)
    assert pid is None or (0 <= pid < 10**10 and str(pid) == (text.lstrip("0") or "0"))


@given(LINE, st.lists(LINE, max_size=6))
@settings(max_examples=150, deadline=None)
def test_a_near_name_is_one_of_those_there_are(asked: str, names: list[str]) -> None:
    try:
        name = full_name(asked)
    except UsageError:
        return
    meant, distance, close = near(name, names)
    assert meant is None or (meant in names and meant in close and distance <= 3)


@given(st.lists(LINE, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_word_of_the_command_line_never_becomes_an_option_of_ssh(words: list[str]) -> None:
    try:
        found = parse_targets([word.replace("\0", "") for word in words])
    except (UsageError, TargetError):
        return
    for target in found:
        if target.kind is TargetKind.SSH:
            assert target.host is not None
            assert not target.host.startswith("-")
            assert not set(target.host) & set("`$;&|<>()'\" \n\t*?!{}")


# --------------------------------------------------------------------------- what arrives from a host

EXPORT = st.lists(
    st.sampled_from([
        b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1778321718000001\n", b"__CURSOR=s=2\n__REALTIME_TIMESTAMP=" + b"9" * 5000 + b"\n", b"MESSAGE=x\n", b"\n", b"\n\n", b"MESSAGE\n\x03\0\0\0\0\0\0\0abc\n",
        b"MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\x7f", b"MESSAGE\n\x0a\0\0\0", b"A\n\x02\0\0\0\0\0\0\0\n\n\n", b"DD_PIECE=1\n\n", b"\0", b"_PID=1\n",
    ]),
    max_size=24,
).map(b"".join)  # fmt: skip


@given(EXPORT, EXPORT)
@settings(max_examples=80, deadline=None)
def test_an_export_that_is_put_in_order_has_only_entries_that_came(one: bytes, two: bytes) -> None:
    spans = list(order.export_entries(one))
    assert all(0 <= a < b <= len(one) for a, b in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    with tempfile.TemporaryDirectory() as folder:
        path, pieces = Path(folder) / "one", Path(folder) / "two"
        path.write_bytes(one)
        assert 0 <= order.reverse_export(path) <= len(one)
        assert sorted(path.read_bytes()) == sorted(b"".join(one[a:b] for a, b in spans))
        path.write_bytes(one)
        pieces.write_bytes(two)
        order.complete_export(path, pieces)
        assert path.read_bytes().endswith(one)


MARK = b"\n@word "


@given(
    st.lists(
        st.sampled_from([MARK, b"begin a plain\n", b"said a\n", b"code 0\n", b"end a 1.0 2.0\n", b"done 1\n", b"x" * 300, b"\n", b"@word ", b"abc"]),
        max_size=20,
    ),
    st.integers(1, 40),
)
@settings(max_examples=200, deadline=None)
def test_a_line_that_begins_like_a_frame_and_is_none_is_content_and_not_held_back(bits: list[bytes], size: int) -> None:
    raw = b"".join(bits)
    given_out: list[bytes] = []
    reader = wire.FrameReader("word", lambda name, piece: given_out.append(piece), lambda name, piece: given_out.append(piece))
    whole: list[bytes] = []
    other = wire.FrameReader("word", lambda name, piece: whole.append(piece), lambda name, piece: whole.append(piece))
    events = [event for at in range(0, len(raw), size) for event in reader.feed(raw[at : at + size])]
    assert len(raw) - sum(map(len, given_out)) <= 256 + 40 * (len(events) + 1) + len(MARK)
    assert events == other.feed(raw)
    reader.finish()
    other.finish()
    assert b"".join(given_out) == b"".join(whole)


# --------------------------------------------------------------------------- a saved capture

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.sampled_from(["../x", "/etc/passwd", "manifest.json", "", ".", "a\0b", "\ud800", "x" * 400, 10**400])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=4,
)  # fmt: skip


@st.composite
def manifests(draw: st.DrawFn) -> bytes:
    """A real manifest with one or two of its values, at any depth, made something else or taken out."""
    manifest = json.loads((ANSWERS / "manifest.json").read_text(encoding="utf-8"))
    for _ in range(draw(st.integers(1, 2))):
        place = manifest
        for _ in range(draw(st.integers(0, 3))):
            inner = [value for value in (place.values() if isinstance(place, dict) else place) if isinstance(value, (dict, list)) and value]
            if not inner:
                break
            place = draw(st.sampled_from(inner))
        key = draw(st.sampled_from(list(place))) if isinstance(place, dict) else draw(st.integers(0, len(place) - 1))
        if draw(st.booleans()):
            place[key] = draw(VALUES)
        else:
            del place[key]
        if not place:
            break
    return json.dumps(manifest).encode("utf-8", "surrogatepass")


@given(st.one_of(manifests(), st.binary(max_size=60), st.sampled_from([b"[" * 100_000, b'{"schema":' * 3000, b"9" * 5000])))
@settings(max_examples=100, deadline=None)
def test_a_manifest_is_a_capture_of_its_own_files_or_is_refused(manifest: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in ANSWERS.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        (folder / "manifest.json").write_bytes(manifest)
        try:
            capture = bundle.load(folder)
        except BundleError:
            return
        assert all(section.path.parent == folder and section.path.is_file() for section in capture.sections)
        bundle.save(capture, folder / "again")
        assert len(bundle.load(folder / "again").sections) == len(capture.sections)


@pytest.mark.parametrize("odd", ["../outside", "/etc/hostname", "link", "folder", "pipe", "x\0y", "a" * 300, "\ud800"])
def test_a_manifest_that_names_what_is_no_file_of_its_own_is_refused(odd: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    (tmp_path / "outside").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "outside")
    (folder / "folder").mkdir()
    subprocess.run(["mkfifo", str(folder / "pipe")], check=True)
    manifest = json.loads((ANSWERS / "manifest.json").read_text(encoding="utf-8"))
    manifest["sections"] = [{**manifest["sections"][0], "file": odd}]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(BundleError):
        bundle.load(folder)


def test_a_capture_with_half_a_character_can_be_saved_again(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    folder.mkdir()
    for path in ANSWERS.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    manifest = json.loads((ANSWERS / "manifest.json").read_text(encoding="utf-8"))
    manifest["sections"][0]["argv"] = "systemctl \ud800 a\udcff"
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    bundle.save(bundle.load(folder), tmp_path / "again")
    assert bundle.load(tmp_path / "again").sections[0].argv == r"systemctl \ud800 a\udcff"


# --------------------------------------------------------------------------- the fuzzer's targets


@pytest.mark.parametrize("target", targets.TARGETS, ids=lambda t: t.name)
def test_what_is_fuzzed_holds_on_the_beginning_of_its_corpus(target: targets.FuzzTarget) -> None:
    if target.missing():
        pytest.skip(f"there is no {target.needs}")
    for data in islice(target.inputs(), 5):
        target.run(data[: target.max_len])


@pytest.mark.parametrize("path", sorted(FOUND.glob("*/*")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_the_fuzzer_has_found_is_found_no_more(path: Path) -> None:
    target = targets.by_name(path.parent.name)
    if target.missing():
        pytest.skip(f"there is no {target.needs}")
    target.run(path.read_bytes())


# --------------------------------------------------------------------------- memory

# VmHWM and not ru_maxrss, which begins with what the parent had
READ = """
import re, sys
from pathlib import Path
from forensics import api, ruleset
from forensics.model import Capture, Section, Target, TargetKind
path = Path(sys.argv[1])
capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(Section(name=path.name, path=path),))
print(api.diagnose_capture(capture, ruleset.load()).cause)
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) >> 10)
"""
MIB = 1 << 20
LINES = {
    "journal.txt": b"May 09 10:15:34 gpu01 python[4822]: RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
    "server.log": b"[2026-05-09 10:15:34 TP0] Decode batch. #running-req: 1, #token: 1234, token usage: 0.01, gen throughput (token/s): 99.12\n",
    "journal.json": b'{"MESSAGE":"RuntimeError: CUDA out of memory","_PID":"7","__REALTIME_TIMESTAMP":"1778321718000001"}\n',
    "journal.export": b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1778321718000001\n_PID=7\nMESSAGE=RuntimeError: CUDA out of memory\n\n",
    "endless.export": b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1778321718000001\nMESSAGE=" + b"a" * 10_000_000,
    "broken.export": b"__CURSOR=s\n__REALTIME_TIMESTAMP=1778321718000001\nMESSAGE\n\x05\0\0\0\0\0\0\0x\n\n",
    "one-line.log": b"a" * 1000,
    "nul.log": b"\0" * 1000,
    "no-utf-8.log": b"\xff\xfe\xfd\n",
    "returns.log": b"Loading safetensors checkpoint shards:  36% Completed | 23/64 [00:21<00:36]\r",
    "digits.log": b"12345\n",
    "blank.json": b"{\n\n\n\n",
}
# what a reader holds of any file, however large: pieces, tables of shapes and words, the parts that are read as a whole
MOST_GROWTH_MIB = 24


@pytest.mark.slow
@pytest.mark.parametrize("name", LINES)
def test_eight_times_the_file_takes_hardly_more_memory(name: str, tmp_path: Path) -> None:
    def peak_mib(size: int) -> int:
        path = tmp_path / name
        path.write_bytes(LINES[name] * (size // len(LINES[name]) + 1))
        done = subprocess.run([sys.executable, "-c", READ, str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
        return int(done.stdout.split()[-1])

    assert peak_mib(64 * MIB) - peak_mib(8 * MIB) <= MOST_GROWTH_MIB
