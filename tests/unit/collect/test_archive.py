"""What comes out of archives of others: nothing outside of the spool, nothing but ordinary files, and never more than was allowed."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
import tarfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forensics import collect
from forensics.collect import archive, binary, tar
from forensics.collect.spool import Spool
from forensics.errors import BundleError, ForensicsError, TargetError
from forensics.model import Capture, Coverage, TargetKind
from tests.unit.collect import tars
from tests.unit.collect.test_bundle import change
from tests.unit.collect.test_bundle import made as made_capture


def capture(file: Path, limits: collect.Limits | None = None) -> Capture:
    [target] = collect.parse_targets([str(file)])
    assert target.kind is TargetKind.BUNDLE
    with collect.open_target(target, limits=limits) as session:
        return collect.capture_from(session, session.ask(()))


def names(made: Capture) -> list[str]:
    return [s.name for s in made.sections]


def problems(made: Capture) -> str:
    return "\n".join(f"{p.source}: {p.text}" for p in made.problems)


def put(tmp_path: Path, data: bytes, name: str = "case.tar") -> Path:
    file = tmp_path / name
    file.write_bytes(data)
    return file


def everything_in(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*")}


# --------------------------------------------------------------------------- hostile names and kinds


@pytest.mark.parametrize(
    "name", ["../evil.txt", "/tmp/evil.txt", "a/../../evil.txt", "..", "a/..", "//evil.txt", "C:/evil.txt", "..\\evil.txt", "\\evil.txt", "."]
)
def test_a_name_that_leads_out_is_not_taken_out_and_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    file = put(tmp_path / "in", tars.archive(tars.entry("a/journal.txt", b"x\n"), tars.entry(name, b"evil\n")))
    made = capture(file)
    assert names(made) == ["journal.txt"]
    assert "a name that leads out of the archive" in problems(made)
    assert everything_in(tmp_path) == {"in", "in/case.tar"}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a link"), (tarfile.LNKTYPE, "a hard link"), (tarfile.CHRTYPE, "a device"), (tarfile.BLKTYPE, "a device"), (tarfile.FIFOTYPE, "a pipe"),
        (tarfile.GNUTYPE_SPARSE, "a sparse file"), (b"Z", "of a kind that is not known"),
    ],
    ids=["symbolic link", "hard link", "character device", "block device", "pipe", "sparse", "unknown"],
)  # fmt: skip
def test_what_is_no_ordinary_file_is_not_taken_out_and_is_said(tmp_path: Path, kind: bytes, what: str) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    hostile = tars.entry("status.txt", kind=kind, link=str(tmp_path / "secret.txt"))
    made = capture(put(tmp_path, tars.archive(hostile, tars.entry("journal.txt", b"x\n"))))
    assert names(made) == ["journal.txt"]
    assert [(p.source, p.text) for p in made.problems] == [("status.txt", f"{what}: not taken out")]


def test_a_file_below_a_link_of_the_archive_does_not_go_where_the_link_points(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    data = tars.archive(tars.entry("d", kind=tarfile.SYMTYPE, link=str(tmp_path / "outside")), tars.entry("d/journal.txt", b"x\n"))
    assert names(capture(put(tmp_path, data))) == ["journal.txt"]
    assert everything_in(tmp_path) == {"outside", "case.tar"}


def test_names_that_differ_in_case_only_are_two_files(tmp_path: Path) -> None:
    made = capture(put(tmp_path, tars.archive(tars.entry("A.txt", b"big\n"), tars.entry("a.txt", b"small\n"))))
    assert [(s.name, s.head()) for s in made.sections] == [("A.txt", b"big\n"), ("a.txt", b"small\n")]


def test_of_a_file_that_is_there_twice_the_last_counts_and_it_is_said(tmp_path: Path) -> None:
    made = capture(put(tmp_path, tars.archive(tars.entry("a.txt", b"old\n"), tars.entry("b.txt", b"b\n"), tars.entry("a.txt", b"new\n"))))
    assert [(s.name, s.head()) for s in made.sections] == [("a.txt", b"new\n"), ("b.txt", b"b\n")]
    assert "a.txt: it is there more than once" in problems(made)


@pytest.mark.parametrize("name", ["a\x1b[31mb.txt", "ä.txt", "x" * 300 + ".txt", "con.txt", "a b.txt", "-rf.txt"])
def test_an_odd_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    assert names(capture(put(tmp_path, tars.archive(tars.entry(name, b"x\n"))))) == [name]


def test_the_time_of_a_file_is_kept_for_stamps_without_a_year(tmp_path: Path) -> None:
    made = capture(put(tmp_path, tars.archive(tars.entry("a.txt", b"x\n", mtime=1e9), tars.entry("b.txt", b"x\n", mtime=1778321718.5))))
    assert [s.path.stat().st_mtime for s in made.sections] == [1e9, 1778321718.5]


# --------------------------------------------------------------------------- bombs and floods


def gzip_zeros(size: int) -> bytes:
    packer, piece = zlib.compressobj(9, wbits=31), bytes(1 << 20)
    return b"".join([packer.compress(piece) for _ in range(size >> 20)]) + packer.flush()


def zstd_zeros(size: int) -> bytes:
    packer, piece = zstandard.ZstdCompressor().compressobj(), bytes(1 << 20)
    return b"".join([packer.compress(piece) for _ in range(size >> 20)]) + packer.flush()


def xz_zeros(size: int) -> bytes:
    packer, piece = lzma.LZMACompressor(preset=0), bytes(1 << 20)
    return b"".join([packer.compress(piece) for _ in range(size >> 20)]) + packer.flush()


BOMBS = [("gz", gzip_zeros), ("zst", zstd_zeros), ("xz", xz_zeros)]


@pytest.mark.parametrize(("suffix", "pack"), BOMBS, ids=["gz", "zst", "xz"])
def test_a_compression_bomb_is_refused_before_it_hurts(tmp_path: Path, own_temporary_folder: Path, suffix: str, pack: Callable[[int], bytes]) -> None:
    log = put(tmp_path, pack(256 << 20), f"x.log.{suffix}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TargetError, match="compression bomb") as error:
        collect.open_target(collect.parse_targets([str(log)])[0]).ask(())
    assert error.value.at == str(log)
    assert error.value.hint
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB
    assert [p for p in own_temporary_folder.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize(("suffix", "pack"), BOMBS, ids=["gz", "zst", "xz"])
def test_a_bomb_within_an_archive_is_refused(tmp_path: Path, own_temporary_folder: Path, suffix: str, pack: Callable[[int], bytes]) -> None:
    size = 256 << 20
    head = tars.entry("journal.txt", size=size)
    packed = {"gz": gzip.compress, "zst": tars.zst, "xz": lzma.compress}[suffix](head) + pack(size)
    with pytest.raises(TargetError, match="compression bomb"):
        capture(put(tmp_path, packed, f"case.tar.{suffix}"))
    assert list(own_temporary_folder.iterdir()) == []


def test_a_bomb_among_other_files_costs_only_itself(tmp_path: Path) -> None:
    data = tars.archive(tars.entry("x.log.gz", gzip_zeros(256 << 20)), tars.entry("journal.txt", b"x\n"))
    made = capture(put(tmp_path, data))
    assert names(made) == ["journal.txt"]
    assert "x.log.gz: refused: it grows to more than 500 times its size" in problems(made)


def test_what_is_larger_than_the_limit_is_read_up_to_it_and_the_rest_is_said(tmp_path: Path) -> None:
    lines = b"".join(b"%d\n" % n for n in range(400_000))
    made = capture(put(tmp_path, tars.archive(tars.entry("a.txt", b"x\n"), tars.entry("b.txt", lines))), collect.Limits(folder_bytes=1 << 20))
    assert (made.sections[0].name, made.sections[0].coverage) == ("a.txt", Coverage.GIVEN)
    assert "only the first 1 MiB" in problems(made)


def test_a_hundred_thousand_members_are_not_all_gone_through(tmp_path: Path) -> None:
    header = tars.entry("m.txt")
    made = capture(put(tmp_path, tars.entry("journal.txt", b"x\n") + header * 100_000 + bytes(1024)))
    assert names(made) == ["journal.txt", "m.txt"]
    assert "more than 50000 members" in problems(made)
    assert len(made.problems) < 5


def test_a_header_that_claims_a_giant_name_costs_no_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
        data = tars.entry("journal.txt", b"x\n") + tars.entry("x", kind=kind, size=7 << 30) + bytes(1 << 20)
        made = capture(put(tmp_path, data))
        assert names(made) == ["journal.txt"]
        assert "of a size that cannot be" in problems(made)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


def test_a_window_of_zstd_that_would_take_gigabytes_is_refused(tmp_path: Path) -> None:
    packer = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=30, compression_level=1)).compressobj()
    with pytest.raises(TargetError, match="too much memory"):
        capture(put(tmp_path, packer.compress(tars.archive(tars.entry("a.txt", b"x"))) + packer.flush(), "case.tar.zst"))


@pytest.mark.parametrize("pack", [gzip.compress, tars.zst, lzma.compress, bz2.compress], ids=["gz", "zst", "xz", "bz2"])
def test_nothing_in_a_million_parts_is_given_up(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    began = time.process_time()
    with pytest.raises(TargetError, match="thousands of empty parts"):
        capture(put(tmp_path, pack(b"") * 200_000, "case.tar.gz"))
    assert time.process_time() - began < 20


def test_attributes_without_end_are_not_kept() -> None:
    def pieces() -> Iterator[bytes]:
        for n in range(1000):
            yield tars.entry("a", b"60014 k%05d=%s\n" % (n, b"x" * 60_000), kind=tarfile.XHDTYPE)
        yield tars.archive(tars.entry("journal.txt", b"x\n"))

    tracemalloc.start()
    try:
        assert [m.name for m in tar.Reader(pieces()).members()] == ["journal.txt"]
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


# --------------------------------------------------------------------------- cut off


@pytest.mark.parametrize("suffix", ["tar", "tar.gz", "tar.zst", "tar.xz"])
def test_of_an_archive_that_was_cut_off_what_is_there_is_read_and_the_gap_is_said(tmp_path: Path, suffix: str) -> None:
    noise = b"".join(b"%d\n" % (n * 2654435761 % 4294967296) for n in range(100_000))
    data = tars.archive(tars.entry("journal.txt", b"x\n" * 100), tars.entry("kernel.txt", noise), tars.entry("status.txt", b"x\n"))
    pack: dict[str, Callable[[bytes], bytes]] = {"tar": bytes, "tar.gz": gzip.compress, "tar.zst": tars.zst, "tar.xz": lzma.compress}
    packed = pack[suffix](data)
    made = capture(put(tmp_path, packed[: len(packed) * 2 // 3], f"case.{suffix}"))
    if suffix != "tar.xz":  # of which nothing comes out before a block is whole
        assert names(made) == ["journal.txt", "kernel.txt"]
    by_name = {s.name: s for s in made.sections}
    assert by_name["journal.txt"].coverage is Coverage.GIVEN
    assert by_name["kernel.txt"].coverage is Coverage.CUT
    assert by_name["kernel.txt"].cut == len(noise) - by_name["kernel.txt"].size() > 0
    assert "not all of the archive could be read" in problems(made)


def packed_capture(tmp_path: Path, suffix: str = ".tar.zst") -> Path:
    file = tmp_path / f"bundle{suffix}"
    collect.packing.write([made_capture(tmp_path / "raw")], file, mask=None)
    return file


def test_a_bundle_that_was_cut_off_says_which_answers_are_missing(tmp_path: Path) -> None:
    whole = capture(packed_capture(tmp_path, ".tar"))
    data = (tmp_path / "bundle.tar").read_bytes()
    at = data.index(b"MESSAGE=token") + 5
    made = capture(put(tmp_path, data[:at], "half.tar"))
    assert names(made) == names(whole)
    first, second = made.sections
    assert (first.coverage, first.cut) == (Coverage.CUT, whole.sections[0].size() - first.size())
    assert (second.coverage, second.size()) == (Coverage.NOT_COLLECTED, 0)
    assert "not all of the archive could be read: it ends in the middle of a file" in problems(made)


# --------------------------------------------------------------------------- bundles


@pytest.mark.parametrize("suffix", sorted(archive.FORMATS))
def test_a_bundle_comes_back_as_it_was_saved(tmp_path: Path, suffix: str) -> None:
    file = packed_capture(tmp_path, suffix)
    made, old = capture(file), made_capture(tmp_path / "raw")
    assert file.stat().st_mode & 0o077 == 0
    assert (made.target, made.host, made.at, made.pick, made.problems) == (old.target, old.host, old.at, old.pick, old.problems)
    for mine, theirs in zip(made.sections, old.sections, strict=True):
        assert (mine.name, mine.head(), mine.coverage, mine.cut) == (theirs.name, theirs.head(), theirs.coverage, theirs.cut)


def test_a_bundle_can_be_unpacked_by_hand_into_a_folder_of_its_own(tmp_path: Path) -> None:
    with tarfile.open(packed_capture(tmp_path, ".tar")) as opened:
        assert {name.split("/")[0] for name in opened.getnames()} == {"bundle"}
        assert opened.getnames()[0] == "bundle/manifest.json"


def repacked(tmp_path: Path, *extra: bytes, **values: object) -> Path:
    """A bundle with other values in its manifest, and more members."""
    folder = tmp_path / "saved"
    collect.save(made_capture(tmp_path / "raw"), folder, mask=None)
    change(folder, **values)
    return put(tmp_path, _with(tars.of_folder(folder), *extra))


def _with(data: bytes, *extra: bytes) -> bytes:
    end = len(data)
    while end and data[end - tars.BLOCK : end] == bytes(tars.BLOCK):
        end -= tars.BLOCK
    return data[:end] + b"".join(extra) + bytes(2 * tars.BLOCK)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "manifest.json", "nothing", "x\0"])
def test_a_manifest_that_names_what_is_not_its_own_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BundleError) as error:
        capture(repacked(tmp_path, sections__0__file=name))
    assert str(tmp_path / "case.tar") in str(error.value.at)


@pytest.mark.parametrize("schema", ["ddforensics/capture/2", "ddforensics/captures/9"])
def test_a_bundle_of_a_version_that_is_not_known_is_refused(tmp_path: Path, schema: str) -> None:
    with pytest.raises(BundleError, match="version that this program does not know"):
        capture(repacked(tmp_path, schema=schema))


def test_a_bundle_with_two_manifests_is_refused(tmp_path: Path, own_temporary_folder: Path) -> None:
    with pytest.raises(BundleError, match="more than once"):
        capture(repacked(tmp_path, tars.entry("export/manifest.json", b"{}")))
    assert list(own_temporary_folder.iterdir()) == []


def test_a_giant_manifest_is_refused(tmp_path: Path) -> None:
    text = b'{"schema": "ddforensics/capture/1", "x": "' + b"x" * (9 << 20) + b'"}'
    with pytest.raises(BundleError, match="too large"):
        capture(put(tmp_path, tars.archive(tars.entry("manifest.json", text))))


def test_an_archive_with_somebody_elses_manifest_is_a_folder_of_files(tmp_path: Path) -> None:
    data = tars.archive(tars.entry("x/manifest.json", b'{"name": "chart"}\n'), tars.entry("x/journal.txt", b"x\n"))
    made = capture(put(tmp_path, data))
    assert names(made) == ["journal.txt", "manifest.json"]
    assert made.target.kind is TargetKind.FILES


def test_captures_of_several_units_stay_together(tmp_path: Path) -> None:
    from dataclasses import replace

    one = made_capture(tmp_path / "raw")
    two = replace(one, pick=replace(one.pick, unit="other.service"))
    for place in (tmp_path / "both", tmp_path / "both.tar.zst"):
        collect.packing.write([one, two], place, mask=None)
        with collect.open_target(collect.parse_targets([str(place)])[0]) as session:
            assert isinstance(session, collect.SavedSession)
            assert [c.pick.unit for c in session.captures] == ["sglang.service", "other.service"]
            assert [c.sections[0].head() for c in session.captures] == [one.sections[0].head()] * 2


@pytest.mark.parametrize("captures", [[], ["../saved"], ["nothing"], 3, [1], ["a"] * 200], ids=str)
def test_a_list_of_captures_that_cannot_be_is_refused(tmp_path: Path, captures: object) -> None:
    (tmp_path / "both/a").mkdir(parents=True)
    change_me = tmp_path / "both/manifest.json"
    change_me.write_text('{"schema": "ddforensics/captures/1"}')
    change(tmp_path / "both", captures=captures)
    with pytest.raises(BundleError):
        collect.load(tmp_path / "both")


# --------------------------------------------------------------------------- what is no archive


def test_an_archive_that_is_none_says_so(tmp_path: Path) -> None:
    for data in (b"", b"hello\n" * 500, gzip.compress(b"a log\n" * 500)):
        with pytest.raises(TargetError, match=r"no tar archive|nothing to read") as error:
            capture(put(tmp_path, data, "case.tar.gz"))
        assert error.value.at == str(tmp_path / "case.tar.gz")


def test_an_archive_in_an_archive_is_not_opened(tmp_path: Path) -> None:
    inner = tars.archive(tars.entry("a.txt", b"x\n"))
    made = capture(
        put(tmp_path, tars.archive(tars.entry("in.tar", inner), tars.entry("in.tar.gz", gzip.compress(inner)), tars.entry("a.txt", b"x\n")))
    )
    assert names(made) == ["a.txt"]
    assert problems(made).count("an archive: not opened here; name it by itself") == 2


HEADER = tars.entry("journal.txt", b"Jan 01 00:00:00 h x[1]: y\n")


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=2000),
        st.builds(lambda a, b, at: (HEADER * 2)[:at] + a + (HEADER * 2)[at + b :], st.binary(max_size=40), st.integers(0, 40), st.integers(0, 1100)),
    ),
    st.sampled_from(["", "gz", "zst", "xz"]),
    st.integers(0, 2000),
)
@example(tars.archive(tars.entry("manifest.json", b'{"schema": "ddforensics/capture/1"}')), "", 5000)
@example(b"", "zst", 0)
def test_any_bytes_are_read_or_refused_in_our_own_words(tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str, keep: int) -> None:
    pack: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gz": gzip.compress, "zst": tars.zst, "xz": lzma.compress}
    file = tmp_path_factory.mktemp("any") / f"x.tar{'.' if suffix else ''}{suffix}"
    file.write_bytes(pack[suffix](data)[:keep])
    where, made = "", None
    try:
        made = capture(file)
    except ForensicsError as error:
        where = str(error.at)
    assert where.startswith(str(file)) if made is None else all(s.path.is_file() for s in made.sections)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcdé/._- ", min_size=1, max_size=180), st.binary(max_size=1500), max_size=5))
def test_whatever_the_standard_library_writes_is_read_the_same(files: dict[str, bytes]) -> None:
    import io

    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as made:
            for name, data in files.items():
                member = tarfile.TarInfo(name.rstrip("/") or "x")
                member.size, member.mtime = len(data), 1778321718.25
                made.addfile(member, io.BytesIO(data))
        reader = tar.Reader(iter([out.getvalue()]))
        got = [(m.name, m.what, b"".join(reader.data())) for m in reader.members()]
        assert got == [(name.rstrip("/") or "x", "", data) for name, data in files.items()]
        assert not reader.broken
        assert not files or binary.kind(out.getvalue()[: binary.HEAD_BYTES]) in {binary.TAR, "no text"}


def test_nothing_is_left_in_the_spool_once_it_is_removed(tmp_path: Path, own_temporary_folder: Path) -> None:
    spool = Spool()
    archive.extract(put(tmp_path, tars.archive(tars.entry("a.txt", b"x\n"))), spool, collect.Limits())
    assert list(own_temporary_folder.rglob("member*"))
    spool.remove()
    assert list(own_temporary_folder.iterdir()) == []
