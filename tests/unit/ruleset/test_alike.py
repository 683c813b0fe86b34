"""The table in C groups lines as one look at each of them does, whatever bytes they have, and remembers no more than it was told to."""

from __future__ import annotations

import gc
import random
import re
import shutil
import subprocess
import sys
import zlib
from array import array
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.ruleset import alike
from forensics.ruleset.alike import Alike, Groups
from forensics.ruleset.learnt import LONGEST, ZEROS
from forensics.ruleset.shapes import COLD, Shape

pytestmark = pytest.mark.skipif(not alike.AVAILABLE, reason="installed without a C compiler: there is no table")
ROOT = Path(__file__).parents[3]

RULE = (1,)
LINES = st.lists(st.one_of(st.binary(max_size=40), st.text("0123456789ab \t\r", max_size=40).map(str.encode)), max_size=30)


def wanted(text: bytes) -> dict[bytes, list[int]]:
    """By looking at each line."""
    found: dict[bytes, list[int]] = {}
    for i, line in enumerate(BytesIO(text)):
        found.setdefault(line.translate(ZEROS), []).append(i)
    return found


def told(groups: Groups, text: bytes) -> dict[bytes, list[int]]:
    """What the groups say, with what each shape's first line looks like."""
    return {text[groups.starts[lines[0]] : groups.starts[lines[0] + 1]].translate(ZEROS): list(lines) for _, lines in groups.of}


def grouped(known: Alike, text: bytes, shapes: dict[bytes, Shape]) -> dict[bytes, list[int]]:
    """What a rule may match everywhere."""
    groups = known.grouped(text, shapes)
    for shape, (fresh, _) in groups.fresh.items():
        fresh.numbers = RULE
        shapes[shape] = fresh
    return told(groups, text)


@given(st.lists(LINES, min_size=1, max_size=4), st.booleans())
def test_lines_are_grouped_as_by_one_look_at_each(texts: list[list[bytes]], ended: bool) -> None:
    known = Alike()
    shapes: dict[bytes, Shape] = {}
    for lines in texts:
        text = b"\n".join(lines) + (b"\n" if ended else b"")
        groups = known.grouped(text, shapes)
        assert told(groups, text) == wanted(text)
        assert [text[a:b] for a, b in zip(groups.starts[:-1], groups.starts[1:], strict=True)] == BytesIO(text).readlines()
        assert groups.starts[len(groups.starts) - 1] == len(text)
        assert groups.fresh.keys() == wanted(text).keys() - shapes.keys()
        for zeroed, (fresh, first) in groups.fresh.items():
            assert first == wanted(text)[zeroed][0]
            fresh.numbers = RULE
            shapes[zeroed] = fresh
        for shape, numbers in groups.of:  # one that was seen before is the same object again
            line = text[groups.starts[numbers[0]] : groups.starts[numbers[0] + 1]]
            assert shapes[line.translate(ZEROS)] is shape


def test_what_nothing_can_match_is_left_out_the_next_time() -> None:
    known = Alike()
    first = known.grouped(b"a 1\nb 2\na 3\n", {})
    shapes = {line: shape for line, (shape, _) in first.fresh.items()}
    shapes[b"b 0\n"].numbers = (7,)
    again = known.grouped(b"a 5\nb 6\n", {})
    assert [(shape.numbers, list(lines)) for shape, lines in again.of] == [((7,), [1])]
    assert not again.fresh


def test_a_shape_that_the_scan_knows_to_be_cold_is_left_out_at_once() -> None:
    assert Alike().grouped(b"a 1\nb 2\n", {b"a 0\n": COLD}).of[0][1].tolist() == [1]  # type: ignore[attr-defined]


def test_lines_that_are_too_long_are_grouped_but_not_remembered() -> None:
    known, text = Alike(), b"x" * LONGEST + b"1\ny1\n" + b"x" * LONGEST + b"2\n"
    for _ in range(2):
        assert grouped(known, text, {}) == wanted(text)
    assert len(known) == 1


def test_no_more_is_remembered_than_fits_and_all_lines_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_MAX_BYTES", 2000)
    known, lines = Alike(), [b"line %s\n" % bytes([97 + n % 26, 97 + n // 26]) for n in range(400)]
    shapes: dict[bytes, Shape] = {}
    for some in (lines[:100], lines[100:300], lines[200:], lines[:100]):
        text = b"".join(some)
        assert grouped(known, text, shapes) == wanted(text)
        assert 0 < len(known) <= 2000 // len(lines[0])


def test_many_shapes_in_several_texts() -> None:
    chance = random.Random(3)
    known, words = Alike(), [bytes(chance.choices(b"abcdefgh", k=chance.randrange(1, 60))) for _ in range(30_000)]
    shapes: dict[bytes, Shape] = {}
    for _ in range(3):
        text = b"".join(b"%s %d\n" % (word, chance.randrange(1000)) for word in chance.choices(words, k=40_000))
        assert grouped(known, text, shapes) == wanted(text)
    assert len(known) > 20_000


@given(LINES, st.integers(0, 60), st.integers(0, 60), st.data())
def test_what_stands_at_a_place_of_some_lines(lines: list[bytes], one: int, other: int, data: st.DataObject) -> None:
    text, place = b"".join(line + b"\n" for line in lines), slice(min(one, other), max(one, other))
    whole = BytesIO(text).readlines()
    groups = Alike().grouped(text, {})
    numbers = data.draw(st.lists(st.sampled_from(range(len(whole))))) if whole else []
    assert alike.cut(text, groups.starts, numbers, place) == [whole[i][place] for i in numbers]
    for _, some in groups.of:
        assert alike.cut(text, groups.starts, some, place) == [whole[i][place] for i in some]


def test_no_line_is_cut_that_is_not_there() -> None:
    groups = Alike().grouped(b"one\ntwo\n", {})
    for wrong in ([2], [2**32 - 1]):
        with pytest.raises(IndexError):
            alike.cut(b"one\ntwo\n", groups.starts, wrong, slice(0, 1))
    with pytest.raises(IndexError):  # of another text
        alike.cut(b"one\n", groups.starts, [1], slice(0, 3))
    with pytest.raises(ValueError, match="place"):
        alike.cut(b"one\ntwo\n", groups.starts, [1], slice(-1, 3))


def test_what_is_given_may_stand_at_any_address() -> None:
    from forensics.ruleset import _alike

    starts, numbers = array("I", [0, 4, 8]).tobytes(), array("I", [1, 0]).tobytes()
    text = b"one\ntwo\n"
    for skip in range(1, 4):
        before = bytes(skip)
        assert _alike.cut(text, memoryview(before + starts)[skip:], memoryview(before + numbers)[skip:], 1, 3) == [
            b"wo",
            b"ne",
        ]
    for short in (b"", bytes(3), bytes(4)):
        with pytest.raises(IndexError):
            _alike.cut(text, memoryview(short), memoryview(numbers), 0, 1)


def test_a_text_that_comes_in_the_midst_of_another_is_refused() -> None:
    """Up to Python 3.11 whatever is no longer needed may be finalised while the groups are made, and that may be any code: it wrote beyond the end of their order."""
    from forensics.ruleset import _alike

    text = b"".join(b"%c%c%c\n" % (97 + n % 26, 97 + n // 26 % 26, 97 + n // 676) for n in range(5000))
    table = _alike.Table(bytes(range(16)), LONGEST, 1 << 20)
    came: list[str] = []

    class Last:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            for use in (lambda: table.grouped(text * 40), table.clear):
                try:
                    use()
                except RuntimeError as error:
                    came.append(str(error))

    wanted_ = table.grouped(text)
    before = gc.get_threshold()
    gc.set_threshold(300, 1, 1)
    try:
        for _ in range(5):
            Last()
            assert table.grouped(text)[:2] == wanted_[:2]
    finally:
        gc.set_threshold(*before)
    assert set(came) <= {"the table is in use"}
    assert came or sys.version_info >= (3, 12)


def test_where_a_text_breaks_off_the_next_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Alike()
    shapes: dict[bytes, Shape] = {}
    grouped(known, b"one 1\n", shapes)

    class Gone:
        def get(self, _: bytes) -> Shape:
            raise MemoryError

    with pytest.raises(MemoryError):
        known.grouped(b"two 2\nthree 3\n", Gone())  # type: ignore[arg-type]
    text = b"one 2\nthree 3\ntwo 2\nfour 4\n"
    assert grouped(known, text, shapes) == wanted(text)


@pytest.mark.parametrize(("given_", "why"), [("text", TypeError), (bytearray(b"text"), TypeError)])
def test_only_bytes_are_taken(given_: object, why: type[Exception]) -> None:
    with pytest.raises(why):
        Alike().grouped(given_, {})  # type: ignore[arg-type]


def test_the_key_has_its_length() -> None:
    from forensics.ruleset import _alike

    with pytest.raises(ValueError, match="16 bytes"):
        _alike.Table(b"short", 10, 10)


def test_whoever_changes_the_source_raises_its_version() -> None:
    """Else one that was compiled before is used as if it could do the same, and fails in the midst of a scan. So here stand the version, and the sum of the source."""
    source = (ROOT / "forensics/ruleset/_alike.c").read_bytes()
    version = re.search(rb"^#define VERSION (\d+)", source, re.MULTILINE)
    assert version is not None
    assert (int(version[1]), zlib.crc32(source)) == (2, 0xD63872A2)
    assert alike._VERSION == 2


def test_one_that_an_older_source_was_compiled_to_is_not_used() -> None:
    older = "import sys, types; sys.modules['forensics.ruleset._alike'] = types.SimpleNamespace(VERSION=0); "
    code = "from forensics.ruleset import alike, RuleSet, Scanner; assert not alike.AVAILABLE; assert Scanner(RuleSet(rules=(), profiles=())).alike is None"
    subprocess.run([sys.executable, "-c", older + code], check=True, cwd=ROOT)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The package where nothing was compiled."""
    shutil.copytree(ROOT / "forensics", tmp_path / "forensics", symlinks=False, ignore=shutil.ignore_patterns("*.so", "__pycache__", "samples"))
    return tmp_path


def test_without_it_the_program_does_the_same(bare: Path) -> None:
    sample = ROOT / "samples" / "silent-crash"
    code = (
        "import sys; sys.path.insert(0, {!r}); from forensics import api; from forensics.ruleset import alike; "
        "assert alike.AVAILABLE is {}; print(api.diagnose({!r})[0].cause)"
    )
    with_, without = (
        subprocess.run(
            [sys.executable, "-c", code.format(str(where), there, str(sample))], check=True, cwd=where, capture_output=True, text=True
        ).stdout
        for where, there in ((ROOT, True), (bare, False))
    )
    assert with_ == without != ""
