from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import collect
from forensics.collect.files import GivenSession
from forensics.collect.spool import Spool
from forensics.errors import TargetError
from forensics.model import Capture, Coverage, Section
from tests.unit.collect import tars
from tests.unit.collect.fakehost import DATA, FakeHost, command


def capture(*words: str | Path, limits: collect.Limits | None = None, run: object = None) -> Capture:
    [target] = collect.parse_targets([str(w) for w in words])
    with collect.open_target(target, limits=limits, **({"run": run} if run else {})) as session:  # type: ignore[arg-type]
        assert not session.live
        sections = session.ask(())
        assert session.ask(()) == []
        return collect.capture_from(session, sections)


def names(made: Capture) -> list[str]:
    return [s.name for s in made.sections]


def test_a_folder_gives_its_files_by_their_path_in_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/kernel.txt").write_text("x\n")
    (tmp_path / "journal.txt").write_text("x\n")
    (tmp_path / ".hidden").write_text("x\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("x\n")
    made = capture(tmp_path)
    assert names(made) == ["journal.txt", "sub/kernel.txt"]
    assert {s.coverage for s in made.sections} == {Coverage.GIVEN}
    assert made.problems == ()
    assert made.sections[0].path == tmp_path / "journal.txt"


def test_an_empty_file_is_empty_and_is_there(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert capture(tmp_path / "a").sections[0].coverage is Coverage.EMPTY


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x1f\x8b\x08rest", "gzip"), (b"\x28\xb5\x2f\xfdrest", "zstd"), (b"\x7fELF\2\1\1\0", "a program or a core"), (bytes(range(32)) * 8, "no text"),
    ],
    ids=["gzip", "zstd", "elf", "noise"],
)  # fmt: skip
def test_what_is_no_text_is_left_out_and_said(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "blob").write_bytes(content)
    (tmp_path / "log.txt").write_text("x\n")
    made = capture(tmp_path)
    assert names(made) == ["log.txt"]
    assert [(p.source, why in p.text) for p in made.problems] == [("blob", True)]


@pytest.mark.parametrize(
    "content",
    [b"line\n" * 50 + b"\0" * 10, "prüfe ✓ 日本\n".encode(), b"\x1b[32mINFO\x1b[0m 10%\r20%\r\n" * 9, b"caf\xe9\n" * 9],
    ids=["nuls", "utf-8", "colours", "latin-1"],
)
def test_a_log_with_odd_bytes_is_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log.txt").write_bytes(content)
    assert names(capture(tmp_path)) == ["log.txt"]


def test_a_journal_export_with_binary_fields_is_text() -> None:
    assert names(capture(DATA / "child-segv.export")) == ["child-segv.export"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("x\n")
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    (tmp_path / "etc").symlink_to("/etc")
    made = capture(tmp_path)
    assert names(made) == ["real.txt"]
    assert sorted(p.source for p in made.problems) == ["etc", "passwd"]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real.txt").write_text("x\n")
    assert names(capture(tmp_path)) == ["real.txt"]


def test_a_folder_with_too_much_in_it_is_read_in_part_and_says_so(tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / f"{n}.txt").write_text("x" * 600_000)
    made = capture(tmp_path, limits=collect.Limits(files=3))
    assert names(made) == ["0.txt", "1.txt", "2.txt"]
    assert "more than 3 files" in made.problems[0].text
    made = capture(tmp_path, limits=collect.Limits(folder_bytes=1 << 20))
    assert names(made) == ["0.txt"]
    assert "more than 1 MiB" in made.problems[0].text


def test_folders_are_descended_only_so_far(tmp_path: Path) -> None:
    deep = tmp_path / "a/b/c"
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_text("x\n")
    (tmp_path / "a/top.txt").write_text("x\n")
    assert names(capture(tmp_path, limits=collect.Limits(depth=2))) == ["a/top.txt"]


def several(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).mkdir()
        (root / name / "status.txt").write_text("x")
        (root / name / "journal.txt").write_text("x")
    return root


def test_a_folder_of_several_captures_is_not_read_as_one(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"2 captures, each with its own state and journal \(a, b\)") as raised:
        capture(several(tmp_path, "a", "b"))
    assert raised.value.hint is not None
    assert raised.value.hint.endswith(f"ddforensics diagnose {tmp_path}/*")


@pytest.mark.parametrize("more", [None, "status.txt", "journal.txt"])
def test_one_capture_may_have_folders_of_others_below(tmp_path: Path, more: str | None) -> None:
    several(tmp_path, "a", *(["b"] if more else []))
    if more:
        (tmp_path / more).write_text("x")
    assert len(capture(tmp_path).sections) == (5 if more else 2)


def test_a_folder_without_anything_to_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="nothing to read"):
        capture(tmp_path)
    (tmp_path / "x.gz").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(TargetError, match="compressed with gzip"):
        capture(tmp_path)


def test_standard_input_is_a_section_beside_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    [target] = collect.parse_targets([str(tmp_path / "a.txt"), "-"])
    session = from_stdin(target, b"typed\n", tmp_path, collect.Limits())
    sections = session.ask(())
    assert [(s.name, s.head()) for s in sections] == [("a.txt", b"x\n"), ("-", b"typed\n")]
    session.discard()


def test_endless_standard_input_is_cut(tmp_path: Path) -> None:
    [target] = collect.parse_targets(["-"])
    session = from_stdin(target, b"y\n" * 100_000, tmp_path, collect.Limits(stdin_bytes=1 << 17))
    [section] = session.ask(())
    assert section.size() == 1 << 17
    assert section.coverage is Coverage.CUT
    session.discard()


def from_stdin(target: object, data: bytes, folder: Path, limits: collect.Limits) -> GivenSession:
    return GivenSession(target, spool=Spool(folder), limits=limits, run=command("exit 1"), stdin=lambda: io.BytesIO(data))  # type: ignore[arg-type]


def journal_file(folder: Path) -> Path:
    file = folder / "system.journal"
    file.write_bytes(b"LPKSHHRH" + b"\0" * 200)
    return file


def test_a_journal_file_is_read_through_journalctl(tmp_path: Path) -> None:
    fake = FakeHost(tmp_path / "fake")
    fake.answers("journalctl", b"__CURSOR=2\nMESSAGE=b\n\n__CURSOR=1\nMESSAGE=a\n\n")
    started: list[list[str]] = []

    def run(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        started.append(list(argv))
        return command(f"exec '{fake.bin / 'journalctl'}'")(argv)

    file = journal_file(tmp_path)
    [section] = capture(file, run=run).sections
    assert section.head() == b"__CURSOR=1\nMESSAGE=a\n\n__CURSOR=2\nMESSAGE=b\n\n"
    assert section.name == file.name
    assert section.coverage is Coverage.READ
    assert started == [["journalctl", f"--file={file}", "-o", "export", "--no-pager", "-r"]]


def test_a_journal_file_without_journalctl_is_a_gap(tmp_path: Path) -> None:
    def run(argv: Sequence[str]) -> subprocess.Popen[bytes]:
        raise FileNotFoundError("journalctl")

    journal_file(tmp_path)
    (tmp_path / "status.txt").write_text("x\n")
    made = capture(tmp_path, run=run)
    assert names(made) == ["status.txt"]
    assert "no journalctl here" in made.problems[0].text


def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    file = tmp_path / "a.txt"
    file.write_text("x\n")
    file.chmod(0)
    with pytest.raises(TargetError, match="cannot be read"):
        capture(file)


def test_a_folder_below_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (tmp_path / "private").mkdir(mode=0)
    (tmp_path / "listed").mkdir()
    (tmp_path / "listed/a.txt").write_text("x\n")
    (tmp_path / "listed").chmod(0o400)
    (tmp_path / "z.txt").write_text("x\n")
    made = capture(tmp_path)
    (tmp_path / "listed").chmod(0o700)
    assert names(made) == ["z.txt"]
    assert [(p.source, "cannot be read: Permission denied" in p.text) for p in made.problems] == [("listed/a.txt", True), ("private/", True)]


def test_sections_of_files_are_not_said_to_be_gaps(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    made = capture(tmp_path)
    assert isinstance(made.sections[0], Section)
    assert made.problems == ()


def test_files_of_one_name_in_two_folders_keep_their_paths(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.txt").write_text("x\n")
    assert names(capture(tmp_path / "a/log.txt", tmp_path / "b/log.txt")) == [str(tmp_path / "a/log.txt"), str(tmp_path / "b/log.txt")]


PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": tars.zst}


@pytest.mark.parametrize("suffix", PACKED)
def test_a_compressed_log_is_read_wherever_it_lies(tmp_path: Path, suffix: str) -> None:
    text = b"May  9 10:15:51 gpu01 systemd[1]: x.service: Failed with result 'signal'.\n" * 9
    (tmp_path / f"journal.txt.{suffix}").write_bytes(PACKED[suffix](text))
    os.utime(tmp_path / f"journal.txt.{suffix}", (1e9, 1e9))
    for word in (tmp_path, tmp_path / f"journal.txt.{suffix}"):
        [section] = capture(word).sections
        assert (section.name, section.head(), section.coverage) == (f"journal.txt.{suffix}", text, Coverage.GIVEN)
        assert section.path.stat().st_mtime == 1e9  # it tells the year
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"journal.txt.{suffix}"]


@pytest.mark.parametrize("suffix", PACKED)
def test_of_a_compressed_log_that_was_cut_off_the_beginning_is_read_and_the_gap_is_said(tmp_path: Path, suffix: str) -> None:
    noise = b"".join(b"%d\n" % (n * 2654435761 % 4294967296) for n in range(300_000))
    packed = PACKED[suffix](noise)
    (tmp_path / f"x.log.{suffix}").write_bytes(packed[: len(packed) * 3 // 4])
    (tmp_path / "y.log").write_text("x\n")
    made = capture(tmp_path)
    assert "it ends in the middle: it was cut off" in made.problems[0].text
    if suffix != "xz":
        assert [(s.name, s.coverage) for s in made.sections] == [(f"x.log.{suffix}", Coverage.CUT), ("y.log", Coverage.GIVEN)]
        assert noise.startswith(made.sections[0].head(1000))


@pytest.mark.parametrize("suffix", PACKED)
def test_what_is_compressed_and_piped_in_is_read(tmp_path: Path, suffix: str) -> None:
    [target] = collect.parse_targets(["-"])
    data = io.BytesIO(PACKED[suffix](b"line\n" * 9))
    session = GivenSession(target, spool=Spool(), limits=collect.Limits(), run=command(""), stdin=lambda: data)
    assert [s.head() for s in session.ask(())] == [b"line\n" * 9]


def test_compressed_twice_or_no_text_within_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(gzip.compress(b"x\n")))
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"\x7fELF\2\1\1\0"))
    (tmp_path / "c.log").write_text("x\n")
    made = capture(tmp_path)
    assert names(made) == ["c.log"]
    assert [p.text for p in made.problems] == [
        "compressed with gzip compressed with gzip: not read",
        "a program or a core compressed with gzip: not read",
    ]


def test_all_that_is_unpacked_together_has_a_limit(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"".join(b"%d\n" % n for n in range(100_000))))
    made = capture(tmp_path, limits=collect.Limits(folder_bytes=600_000))
    assert sum(s.size() for s in made.sections) == 600_000
    assert [s.coverage for s in made.sections] == [Coverage.GIVEN, Coverage.CUT]


@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be"])
def test_text_in_utf_16_as_a_windows_shell_redirects_it_is_read(tmp_path: Path, code: str) -> None:
    text = "May 09 10:15:51 gpu01 systemd[1]: prüfe ✓ 𝄞\r\n" * 20_000
    (tmp_path / "journal.txt").write_bytes(("\ufeff" + text).encode(code))
    [section] = capture(tmp_path).sections
    assert section.path.read_bytes().decode() == text
    assert section.coverage is Coverage.GIVEN


def test_half_a_character_at_the_end_of_utf_16_costs_that_character(tmp_path: Path) -> None:
    (tmp_path / "journal.txt").write_bytes("\ufeffab\ud834".encode("utf-16-le", "surrogatepass") + b"x")
    [section] = capture(tmp_path).sections
    assert section.head().decode() == "ab�"


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "is-active.txt").write_bytes(b"\xef\xbb\xbffailed\r\n\xff")
    [section] = capture(tmp_path).sections
    assert (section.head(), section.coverage) == (b"failed\r\n\xff", Coverage.GIVEN)


@pytest.mark.parametrize(
    "text", ["", "{", "nonsense", '{"schema": "ddforensics/capture/1", "sec', "\xff\xfe"], ids=["empty", "brace", "word", "ours", "bytes"]
)
def test_a_manifest_that_cannot_be_read_is_said_and_the_files_beside_it_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    (tmp_path / "02-journal.txt").write_text("2026-05-09T10:00:00+0000 node1 systemd[1]: Started llm.service - LLM.\n")
    (target,) = collect.parse_targets([str(tmp_path)])
    with collect.open_target(target) as session:
        assert [section.name for section in session.ask(())] == ["02-journal.txt"]
        (problem,) = session.problems
    assert problem.source == "manifest.json"
    assert problem.text.startswith("no JSON: ")


def test_somebody_elses_manifest_is_a_file_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "an app"}')
    (target,) = collect.parse_targets([str(tmp_path)])
    with collect.open_target(target) as session:
        assert [section.name for section in session.ask(())] == ["manifest.json"]
        assert session.problems == []
