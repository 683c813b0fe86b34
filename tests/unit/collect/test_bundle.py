from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import collect
from forensics.errors import BundleError, ForensicsError, UsageError
from forensics.model import Capture, Coverage, PartKind, Pick, Problem, Section, Target, TargetKind

SECRET = "hf_abcdefghijklmnopqrstuvwx"


def made(folder: Path) -> Capture:
    folder.mkdir(exist_ok=True)
    (folder / "j").write_bytes(f"__CURSOR=1\nMESSAGE=token {SECRET}\n\n".encode())
    (folder / "h").write_bytes(b"30000 /v1/models 200\n")
    return Capture(
        target=Target(kind=TargetKind.SSH, name="gpu01", host="root@gpu01"), host="gpu01.example", at=1778321718.25, offset_s=-0.5, took_s=1.25,
        pick=Pick(asked="sglagn", unit="sglang.service", how="mistyped", why="two letters", distance=2, candidates=("a.service",)),
        problems=(Problem(source="kernel", line=3, text="denied"),),
        sections=(
            Section(name="journal", path=folder / "j", argv="journalctl -u x", exit_code=0, took_s=0.1, cut=-1, coverage=Coverage.CUT, stderr="e", part=PartKind.JOURNAL_EXPORT),
            Section(name="sub/../odd name", path=folder / "h", coverage=Coverage.GIVEN),
        ),
    )  # fmt: skip


def saved(tmp_path: Path) -> Path:
    collect.save(made(tmp_path / "raw"), tmp_path / "saved", mask=None)
    return tmp_path / "saved"


def change(folder: Path, **values: object) -> None:
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    for path, value in values.items():
        place = manifest
        *front, last = path.split("__")
        for key in front:
            place = place[int(key) if key.isdigit() else key]
        place[int(last) if last.isdigit() else last] = value
    file.write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "manifest.json", "nothing", "x\0"])
def test_a_file_that_is_not_the_captures_own_is_refused(tmp_path: Path, name: str) -> None:
    folder = saved(tmp_path)
    change(folder, sections__0__file=name)
    with pytest.raises(BundleError):
        collect.load(folder)


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    file = folder / json.loads((folder / "manifest.json").read_text())["sections"][0]["file"]
    file.unlink()
    file.symlink_to("/etc/passwd")
    with pytest.raises(BundleError, match="no ordinary file"):
        collect.load(folder)


@pytest.mark.parametrize("schema", ["ddforensics/capture/2", None, 1, "other"])
def test_a_version_that_is_not_known_is_refused(tmp_path: Path, schema: object) -> None:
    folder = saved(tmp_path)
    change(folder, schema=schema)
    with pytest.raises(BundleError, match="version that this program does not know"):
        collect.load(folder)


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"schema": "ddforensics/capture/1"}', "\xff"])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    folder = saved(tmp_path)
    (folder / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(BundleError):
        collect.load(folder)


@pytest.mark.parametrize(
    "values", [{"at": "yesterday"}, {"target__kind": "moon"}, {"sections__0__coverage": "some"}, {"pick__distance": "x"}, {"sections": 3}, {"host": 4}, {"at": True}],
    ids=str,
)  # fmt: skip
def test_a_manifest_with_a_wrong_value_is_refused(tmp_path: Path, values: dict[str, object]) -> None:
    folder = saved(tmp_path)
    change(folder, **values)
    with pytest.raises(BundleError):
        collect.load(folder)


def test_a_capture_is_never_saved_over_something(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/file").touch()
    for place in ("there", "there/file"):
        with pytest.raises(UsageError, match="something already"):
            collect.save(made(tmp_path / "raw"), tmp_path / place)


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    capture = made(tmp_path / "raw")
    folder = saved(tmp_path)
    again = collect.load(folder)
    for field in ("target", "host", "at", "offset_s", "took_s", "pick", "problems"):
        assert getattr(again, field) == getattr(capture, field)
    for old, new in zip(capture.sections, again.sections, strict=True):
        assert new.path.parent == folder
        assert new.head() == old.head()
        assert (new.name, new.argv, new.exit_code, new.took_s, new.cut, new.coverage, new.stderr, new.part) == (
            old.name, old.argv, old.exit_code, old.took_s, old.cut, old.coverage, old.stderr, old.part,
        )  # fmt: skip
    assert folder.stat().st_mode & 0o077 == 0


def test_a_saved_capture_is_a_target_like_any_other(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    [target] = collect.parse_targets([str(folder)])
    assert target.kind is TargetKind.BUNDLE
    with collect.open_target(target) as session:
        assert not session.live
        capture = collect.capture_from(session, session.ask(()))
    assert capture.target.name == "gpu01"
    assert capture.pick.unit == "sglang.service"


def test_secrets_do_not_leave_with_it(tmp_path: Path) -> None:
    collect.save(made(tmp_path / "raw"), tmp_path / "masked")
    assert not [f.name for f in (tmp_path / "masked").iterdir() if SECRET in f.read_text()]
    assert SECRET in made(tmp_path / "raw").sections[0].head().decode()


def test_a_masked_export_is_still_an_export(tmp_path: Path) -> None:
    message = f"\x1b[32mHF_TOKEN={SECRET}\nsecond line".encode()
    capture = made(tmp_path / "raw")
    entry = b"__CURSOR=1\nMESSAGE\n" + len(message).to_bytes(8, "little") + message + b"\n_PID=7\n\n"
    capture.sections[0].path.write_bytes(entry * 2)
    collect.save(capture, tmp_path / "masked")
    data = collect.load(tmp_path / "masked").sections[0].head()
    assert SECRET.encode() not in data
    from forensics.collect.order import export_entries

    parts = [data[a:b] for a, b in export_entries(data)]
    assert len(parts) == 2
    assert parts[0] == parts[1]
    assert parts[0].endswith(b"\n_PID=7\n\n")
    size = int.from_bytes(parts[0][19:27], "little")
    assert parts[0][27 : 27 + size].endswith(b"\nsecond line")


def test_a_private_key_is_masked_over_its_lines(tmp_path: Path) -> None:
    capture = made(tmp_path / "raw")
    capture.sections[1].path.write_text("before\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0\n-----END PRIVATE KEY-----\nafter\n")
    collect.save(capture, tmp_path / "masked")
    text = collect.load(tmp_path / "masked").sections[1].head().decode()
    assert "MIIEvQ" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")


def put(folder: Path, key: str, literal: str) -> None:
    """A value as it stands in the file: JSON has no NaN, but Python reads and writes it."""
    change(folder, **{key: "@@"})
    file = folder / "manifest.json"
    file.write_text(file.read_text().replace('"@@"', literal))


@pytest.mark.parametrize(
    ("key", "literal"),
    [
        ("at", "1e308"), ("at", "NaN"), ("at", "Infinity"), ("at", "1" + "0" * 400), ("at", "-1"), ("at", "253370764800"), ("at", "true"), ("offset_s", "-1e300"),
        ("took_s", "NaN"), ("bench_window", "[NaN, 1]"), ("bench_window", "[1, Infinity]"), ("sections__0__took_s", "NaN"), ("sections__0__cut", "Infinity"), ("sections__0__cut", "-2"),
        ("sections__0__exit_code", "1e400"), ("pick__distance", "Infinity"), ("pick__distance", "-1"), ("problems__0__line", "1.5"),
    ],
)  # fmt: skip
def test_a_number_that_cannot_be_is_refused_by_its_key(tmp_path: Path, key: str, literal: str) -> None:
    folder = saved(tmp_path)
    put(folder, key, literal)
    with pytest.raises(BundleError, match=f"{key.rpartition('__')[2]}: ") as error:
        collect.load(folder)
    assert len(str(error.value)) < 400 + len(str(folder))


@pytest.mark.parametrize("name", ["a; reboot", "$(id).service", "a b.service", "", "ä.service", "x" * 300])
def test_a_unit_that_could_not_be_typed_safely_is_refused(tmp_path: Path, name: str) -> None:
    folder = saved(tmp_path)
    change(folder, pick__unit=name)
    with pytest.raises(BundleError, match="unit: no name of a unit"):
        collect.load(folder)
    change(folder, pick__unit=None, pick__candidates=[name])
    with pytest.raises(BundleError, match="candidates: no name of a unit"):
        collect.load(folder)


def test_a_file_name_without_end_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path)
    change(folder, sections__0__file="x" * 5000)
    with pytest.raises(BundleError, match="name too long"):
        collect.load(folder)


def test_a_folder_that_cannot_be_made_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ForensicsError, match="file/x: cannot save the capture: Not a directory"):
        collect.save(made(tmp_path / "raw"), tmp_path / "file" / "x")
    with pytest.raises(ForensicsError, match="/proc/x: cannot save the capture: "):
        collect.save(made(tmp_path / "raw"), Path("/proc/x"))


def test_a_text_that_is_no_unicode_is_saved_and_comes_back(tmp_path: Path) -> None:
    capture = dataclasses.replace(made(tmp_path / "raw"), problems=(Problem(source="a\udcff", text="x"),))
    collect.save(capture, tmp_path / "odd", mask=None)
    assert collect.load(tmp_path / "odd").problems == capture.problems


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["read", "..", "journal", "00-journal", "ssh", "0"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = [
    "schema", "target", "target__kind", "target__name", "target__host", "host", "at", "offset_s", "took_s", "pick", "pick__asked", "pick__unit", "pick__how", "pick__candidates",
    "problems", "problems__0", "problems__0__line", "bench_window", "sections", "sections__0", "sections__0__file", "sections__0__name", "sections__0__part", "sections__0__hint",
    "sections__0__bytes", "sections__0__cut", "sections__0__coverage", "sections__0__exit_code", "sections__1__stderr",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(KEYS), ANYTHING)
def test_whatever_stands_in_a_manifest_it_is_read_or_refused_in_our_own_words(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    folder = saved(tmp_path_factory.mktemp("any"))
    change(folder, **{key: value})
    where, loaded = "", None
    try:
        loaded = collect.load(folder)
    except BundleError as error:
        where = str(error.at)
    assert where.startswith(str(folder)) if loaded is None else all(s.path.parent == folder for s in loaded.sections)


KEY = "Zq7Lm2Xw9Pb4Rt6Yk1Vn8Jd3Hs5Gf0Cc"


@pytest.mark.parametrize(
    "text",
    [
        '"Args": [\n    "--api-key",\n    "{}",\n    "--port", "8000"\n]\n',
        "ExecStart=/usr/bin/vllm serve m \\\n  --api-key \\\n  {} \\\n  --port 8000\n",
        "  - args:\n    - --api-key\n    - {}\n    - --port\n",
        "    Args:\n      --api-key\n      {}\n      --port\n      8000\n",
        "    - name: DB_PASSWORD\n      value: {}\n    - name: PORT\n      value: 8000\n",
        '{{\n  "name": "HF_TOKEN",\n  "value": "{}"\n}},\n',
    ],
    ids=["docker-inspect", "unit-file", "pod-args", "describe", "pod-env", "pod-json"],
)
def test_a_secret_in_the_line_after_its_name_does_not_leave_with_it(tmp_path: Path, text: str) -> None:
    from forensics.collect import masking
    from forensics.redact import secrets_in_bytes

    path, out = tmp_path / "given", tmp_path / "masked"
    path.write_text("first\n" + text.format(KEY) + "last\n")
    masking.copy(Section(name="given", path=path), out, secrets_in_bytes)
    assert out.read_text() == "first\n" + text.format("[masked]") + "last\n"


@pytest.mark.parametrize(
    "text",
    [
        "- name: MAX_TOKENS\n  value: 4096\n",
        "- name: TOKENIZERS_PARALLELISM\n  value: false\n",
        "- name: HF_TOKEN\n  valueFrom:\n    secretKeyRef: {name: hf, key: token}\n",
        "  --api-key\n                        the key that a client has to send\n",
        "  --enable-auth\n  --port 8000\n",
    ],
)
def test_the_line_after_a_name_that_hides_nothing_stays(tmp_path: Path, text: str) -> None:
    from forensics.collect import masking
    from forensics.redact import secrets_in_bytes

    path, out = tmp_path / "given", tmp_path / "masked"
    path.write_text(text)
    masking.copy(Section(name="given", path=path), out, secrets_in_bytes)
    assert out.read_text() == text
