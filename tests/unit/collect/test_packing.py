"""Where captures are put: whole or not at all, never over something, readable by nobody else; and that a replay says what was said before."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forensics import api, collect, ruleset
from forensics.collect import bundle, packing
from forensics.errors import ForensicsError, TargetError, UsageError
from forensics.model import Coverage, Diagnosis, Problem, Target, TargetKind
from forensics.redact import secrets_in_bytes
from forensics.report import json as json_report
from forensics.report import markdown, text
from tests.unit.collect.fakehost import FakeHost
from tests.unit.collect.test_bundle import SECRET, made

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
NAMES = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir())
PLACES = ["x.tar.zst", "x.tar.gz", "x.tgz", "x.tar.xz", "x.tar", "folder"]
CLOCK_FIELDS = ("captured_at", "took_s", "bundle")  # or where a saved one was read from


def told(found: list[Diagnosis]) -> list[dict[str, Any]]:
    """The JSON without the clock fields and the words for the target."""
    return [{k: v for k, v in json.loads(json_report.render(d)).items() if k not in CLOCK_FIELDS} for d in found]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_diagnosed_the_same_from_its_files_a_folder_and_an_archive(tmp_path: Path, name: str) -> None:
    first = told(api.diagnose(str(SAMPLES / name)))
    for place in ("folder", "x.tar.zst"):
        [kept] = api.collect_bundle(str(SAMPLES / name), tmp_path / place, redaction="secrets")
        assert kept.path == tmp_path / place
        assert told(api.diagnose(str(tmp_path / place))) == first


def test_a_report_says_which_bundle_it_is_of(tmp_path: Path) -> None:
    """Two bundles of two machines that both call themselves local are told from each other, and from this one."""
    sample = str(SAMPLES / "kernel-oom")
    places = [str(tmp_path / name) for name in ("a.tar.zst", "b")]
    for place in places:
        api.collect_bundle(sample, Path(place), redaction="secrets")
    found = api.diagnose(places)
    assert [(d.bundle, d.target) for d in found] == [(place, sample) for place in places]
    for d in found:
        assert f"from {d.bundle}, collected from {sample}" in " ".join(text.render(d, width=160).split())
        assert f"{d.bundle}, collected from {sample}" in markdown.render(d).replace("\\", "")
    assert [d.bundle for d in api.diagnose(sample)] == [None]


def test_a_unit_that_was_asked_for_is_asked_for_again(tmp_path: Path) -> None:
    sample = str(SAMPLES / "silent-crash")
    api.collect_bundle(sample, tmp_path / "x.tar.zst", unit="sglang-qwem", redaction="secrets")
    assert told(api.diagnose(str(tmp_path / "x.tar.zst"))) == told(api.diagnose(sample, unit="sglang-qwem"))


def test_a_capture_that_was_collected_can_be_packed_again(tmp_path: Path) -> None:
    api.collect_bundle(str(SAMPLES / "kernel-oom"), tmp_path / "first", redaction="secrets")
    api.collect_bundle(str(tmp_path / "first"), tmp_path / "second.tgz", redaction="secrets")
    assert told(api.diagnose(str(tmp_path / "second.tgz"))) == told(api.diagnose(str(SAMPLES / "kernel-oom")))


def two_failed_units(folder: Path) -> FakeHost:
    fake = FakeHost(folder)
    fake.program(
        "systemctl",
        """case "$*" in
        *list-units*) echo 'a.service loaded failed failed A'; echo 'b.service loaded failed failed B';;
        *'show --no-pager -p Id,LoadState,ActiveState'*)
          for u in a b; do printf 'Id=%s.service\\nLoadState=loaded\\nActiveState=failed\\nSubState=failed\\nResult=exit-code\\n\\n' $u; done;;
        *show*) printf 'LoadState=loaded\\nActiveState=failed\\nSubState=failed\\nResult=exit-code\\nExecMainCode=1\\nExecMainStatus=3\\n';;
        *is-active*) echo failed; exit 3;;
        esac
        """,
    )
    for name in ("journalctl", "ss", "nvidia-smi", "dmesg"):
        fake.answers(name, b"")
    return fake


def test_a_host_with_several_candidates_is_kept_whole_and_says_the_same_again(tmp_path: Path) -> None:
    fake, rules = two_failed_units(tmp_path / "host"), ruleset.load()
    target = Target(kind=TargetKind.SSH, name="gpu01", host="gpu01")
    with collect.open_target(target, run=fake.run) as session:
        captures = api.look(session, rules, unit=None, since=None, progress=lambda text: None)
        assert [c.pick.unit for c in captures] == ["a.service", "b.service"]
        live = told([api.diagnose_capture(c, rules) for c in captures])
        for place in ("all", "all.tar.zst"):
            packing.write(captures, tmp_path / place)
    for place in ("all", "all.tar.zst"):
        assert told(api.diagnose(str(tmp_path / place))) == live


# --------------------------------------------------------------------------- never over something


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_written_over_unless_it_is_forced(tmp_path: Path, place: str) -> None:
    where, captures = tmp_path / place, [made(tmp_path / "raw")]
    packing.write(captures, where)
    with pytest.raises(UsageError, match="something already"):
        packing.write(captures, where)
    changed = [replace(captures[0], host="other")]
    packing.write(changed, where, force=True)
    [target] = collect.parse_targets([str(where)])
    with collect.open_target(target) as session:
        assert session.host == "other"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["raw", place])


def test_what_is_no_bundle_is_not_replaced_even_when_forced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("x")
    (tmp_path / "dir.tar.zst").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for place in ("mine", "dir.tar.zst", "link"):
        with pytest.raises(UsageError, match="something already"):
            packing.write([made(tmp_path / "raw")], tmp_path / place, force=True)
    assert (tmp_path / "mine/thesis.txt").read_text() == "x"


@pytest.mark.parametrize("name", ["x.zip", "x.gz", "x.zst", "x.txt", "x.tar.bz2", "x.json"])
def test_a_suffix_that_no_bundle_has_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no bundle has that suffix") as error:
        packing.check(tmp_path / name)
    assert ".tar.zst" in (error.value.hint or "")


@pytest.mark.parametrize("place", PLACES)
def test_only_this_account_can_read_it(tmp_path: Path, place: str) -> None:
    packing.write([made(tmp_path / "raw")], tmp_path / place)
    assert (tmp_path / place).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("place", PLACES)
def test_what_fails_half_way_leaves_nothing_behind(tmp_path: Path, own_temporary_folder: Path, place: str) -> None:
    def interrupted(text: bytes) -> bytes:
        raise KeyboardInterrupt

    capture = made(tmp_path / "raw")
    (tmp_path / "new").mkdir()
    with pytest.raises(KeyboardInterrupt):
        packing.write([capture], tmp_path / "new" / place, mask=interrupted)
    assert list((tmp_path / "new").iterdir()) == []
    assert list(own_temporary_folder.iterdir()) == []


def test_an_old_bundle_outlives_a_new_one_that_fails(tmp_path: Path) -> None:
    capture = made(tmp_path / "raw")
    packing.write([capture], tmp_path / "x.tar.zst")
    before = (tmp_path / "x.tar.zst").read_bytes()
    capture.sections[0].path.unlink()
    with pytest.raises(ForensicsError, match="cannot save the capture"):
        packing.write([capture], tmp_path / "x.tar.zst", force=True)
    assert (tmp_path / "x.tar.zst").read_bytes() == before


# --------------------------------------------------------------------------- what is in it


@pytest.mark.parametrize("place", ["x.tar.zst", "folder"])
def test_secrets_stay_behind_unless_they_are_wanted(tmp_path: Path, place: str) -> None:
    for mask in (secrets_in_bytes, None):
        capture = made(tmp_path / "raw")
        kept = packing.keep([capture], "gpu01", tmp_path / f"{mask is None}-{place}", several=False, mask=mask)
        assert kept.path is not None
        with collect.open_target(collect.parse_targets([str(kept.path)])[0]) as session:
            said = session.ask(())[0].head()
        assert (SECRET.encode() in said) is (mask is None)


def test_the_hint_of_a_files_name_and_its_time_are_kept(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/dmesg.txt").touch()
    (tmp_path / "in/journal.txt").write_text("x\n")
    os.utime(tmp_path / "in/journal.txt", (1e9, 1e9))
    api.collect_bundle(str(tmp_path / "in"), tmp_path / "x.tar.zst")
    [found] = api.diagnose(str(tmp_path / "x.tar.zst"))
    assert (found.coverage["kernel"], found.coverage["journal"]) == (Coverage.EMPTY, Coverage.NOT_COLLECTED)
    with collect.open_target(collect.parse_targets([str(tmp_path / "x.tar.zst")])[0]) as session:
        assert [s.path.stat().st_mtime for s in session.ask(()) if s.name == "journal.txt"] == [1e9]


def test_a_saved_answer_that_has_shrunk_is_cut_and_one_that_is_gone_was_not_collected(tmp_path: Path) -> None:
    packing.write([made(tmp_path / "raw")], tmp_path / "folder", mask=None)
    first, second = sorted(p for p in (tmp_path / "folder").iterdir() if p.name != "manifest.json")
    size = first.stat().st_size
    first.write_bytes(first.read_bytes()[:-7])
    second.write_bytes(b"")
    loaded = bundle.load(tmp_path / "folder")
    assert [(s.coverage, s.cut) for s in loaded.sections] == [(Coverage.CUT, 7), (Coverage.NOT_COLLECTED, -1)]
    assert size > 7
    assert [p.text for p in loaded.problems[1:]] == [
        "not all of it: 7 bytes are missing", "not collected: it is missing in the saved capture, which is not whole",
    ]  # fmt: skip


def test_what_a_cut_off_bundle_lacks_was_not_collected_and_is_no_empty_answer(tmp_path: Path) -> None:
    api.collect_bundle(str(SAMPLES / "silent-crash"), tmp_path / "a.tar")
    data = (tmp_path / "a.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: data.index(b"bundle/02-journal") + 512])
    [found] = api.diagnose(str(tmp_path / "cut.tar"))
    assert (found.coverage["journal"], found.coverage["status"], found.coverage["bench"]) == (Coverage.NOT_COLLECTED, Coverage.GIVEN, Coverage.GIVEN)
    said = [w.text for w in found.warnings]
    assert any("journal.txt: not collected: it is missing in the saved capture" in text for text in said)
    assert any("not all of the archive could be read" in text for text in said)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "gpu01.example-sglang-20260509T101518Z"),
        ({"host": None}, "gpu01-sglang-20260509T101518Z"),
        ({"host": "../../etc/pass wd\x1b"}, "etc_pass_wd-sglang-20260509T101518Z"),
        ({"at": None}, "gpu01.example-sglang-19700101T000000Z"),
        ({"host": "-rf"}, "rf-sglang-20260509T101518Z"),
    ],
    ids=str,
)
def test_the_name_says_host_unit_and_time_and_can_be_typed(tmp_path: Path, values: dict[str, Any], name: str) -> None:
    assert packing.name_for([replace(made(tmp_path / "raw"), **values)], now=0.0) == name


def test_a_stream_gets_an_archive(tmp_path: Path) -> None:
    out = io.BytesIO()
    api.collect_bundle(str(SAMPLES / "silent-crash"), out)
    out.seek(0)
    with collect.open_target(collect.parse_targets(["-"])[0], stdin=lambda: out) as session:
        assert isinstance(session, collect.SavedSession)
        assert next(s.name for s in session.ask(())) == "health.txt"


def test_where_nothing_was_had_nothing_is_written_and_the_reasons_are_said(tmp_path: Path) -> None:
    (tmp_path / "e").touch()
    capture = made(tmp_path / "raw")
    empty = replace(
        capture, sections=tuple(replace(s, path=tmp_path / "e") for s in capture.sections), problems=(Problem(source="journal", text="denied"),)
    )
    with pytest.raises(TargetError, match="nothing could be collected: journal: denied"):
        packing.keep([empty], "gpu01", tmp_path / "x.tar.zst", several=False)
    assert not (tmp_path / "x.tar.zst").exists()


def test_several_targets_get_a_bundle_each_and_one_that_cannot_be_seen_costs_the_others_nothing(tmp_path: Path) -> None:
    kept = api.collect_bundle([str(SAMPLES / "healthy"), "ssh://127.0.0.1:1", str(SAMPLES / "kernel-oom")], tmp_path / "all")
    assert [bool(k.error) for k in kept] == [False, True, False]
    assert sorted(k.path for k in kept if k.path) == sorted((tmp_path / "all").iterdir())
    assert {told(api.diagnose(str(k.path)))[0]["cause"] for k in kept if k.path} == {"healthy", "host-oom"}


def test_two_targets_of_one_name_and_second_do_not_lose_each_other(tmp_path: Path) -> None:
    capture = made(tmp_path / "raw")
    kept = [packing.keep([replace(capture, host=host)], "t", tmp_path / "all", several=True) for host in ("h", "h")]
    assert [k.path.name for k in kept if k.path] == ["h-sglang-20260509T101518Z.tar.zst", "h-sglang-20260509T101518Z-1.tar.zst"]


@pytest.mark.parametrize("output", ["x.tar.zst", "file"])
def test_several_targets_cannot_go_to_one_file(tmp_path: Path, output: str) -> None:
    (tmp_path / "file").touch()
    words = [str(SAMPLES / "healthy"), str(SAMPLES / "kernel-oom")]
    with pytest.raises(UsageError, match="several targets cannot go to one file"):
        api.collect_bundle(words, tmp_path / output)
    with pytest.raises(UsageError, match="several targets cannot go to one file"):
        api.diagnose(words, save=tmp_path / output)
    with pytest.raises(UsageError, match="several targets cannot go to one stream"):
        api.collect_bundle(words, io.BytesIO())


def test_a_place_that_is_taken_is_known_before_anybody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "x.tar.zst").touch()
    for look in (api.collect_bundle, lambda word, place: api.diagnose(word, save=place)):
        with pytest.raises(UsageError, match="something already"):
            look("ssh://127.0.0.1:1", tmp_path / "x.tar.zst")


@pytest.mark.parametrize("place", ["x.tar.zst", "x.tgz", "folder"])
def test_diagnose_saves_by_the_suffix(tmp_path: Path, place: str) -> None:
    first = told(api.diagnose(str(SAMPLES / "silent-crash"), save=tmp_path / place, redaction="secrets"))
    assert (tmp_path / place).is_dir() == (place == "folder")
    assert told(api.diagnose(str(tmp_path / place))) == first


def test_the_public_door_is_there_and_the_package_keeps_its_name() -> None:
    import forensics

    assert forensics.collect_bundle is api.collect_bundle
    from forensics import collect as package

    assert package.load is bundle.load


def test_a_folder_of_bundles_says_to_name_them_one_by_one(tmp_path: Path) -> None:
    api.collect_bundle([str(SAMPLES / "healthy"), str(SAMPLES / "kernel-oom")], tmp_path / "all")
    with pytest.raises(TargetError, match="an archive: not opened here; name it by itself"):
        api.diagnose(str(tmp_path / "all"))
