"""The scan has several ways to one answer: caches of shapes and heads, words, a library. Each has to give what matching every line by itself gives."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics import parse
from forensics.model import Capture, Coverage, Hit, Pick, Section, Target, TargetKind
from forensics.parse.block import Block
from forensics.ruleset import Matcher, ScanResult, Search, scan
from forensics.ruleset.loading import read
from forensics.ruleset.selftest import trials

ROOT = Path(__file__).parents[3]
RULES = read().rules
SEARCHES = [Search.WORDS]
try:
    import ahocorasick_rs  # noqa: F401
except ImportError:  # the extra is optional: then there is one way less
    pass
else:
    SEARCHES.append(Search.LIBRARY)
MATCHERS = {search: Matcher(RULES, search=search) for search in SEARCHES}  # kept: what they remember of other files must not matter
WAYS = [*MATCHERS.items(), ("without the table", Matcher(RULES, table=False))]
KEEP = {item.id: item.keep for item in MATCHERS[Search.WORDS].items}
PREFIXES = ("May 09 10:15:18 gpu01 python[2711]: ", "May 09 10:15:18 gpu01 python[2711]: [2026-05-09 10:15:18 TP0] ", "May 09 10:15:18 gpu01 systemd[1]: ", "May 09 10:15:18 gpu01 systemd[77]: ",
            "May 09 10:15:18 gpu01 kernel: ", "May 09 10:15:18 gpu01 docker[9]: web-1  | ", "                          ", "")  # fmt: skip
TEXTS = [line for trial in trials(RULES) for line in trial.text.split("\n") if line]


def _blocks(path: Path) -> Iterator[Block]:
    section = Section(name="log", argv="log", path=path, coverage=Coverage.GIVEN)
    capture = Capture(target=Target(kind=TargetKind.FILES, name="log"), at=0, offset_s=None, sections=(section,), pick=Pick())
    return parse.frames(capture, RULES.prefixes)


def _line_by_line(blocks: Iterable[Block]) -> ScanResult:
    """What is right: every line opened, every hit in its place, of each expression the first and the last kept."""
    matcher = MATCHERS[Search.WORDS]
    found = [hit for block in blocks for i in range(len(block.keys)) for hit in matcher.feed(block.frame(i))]
    total, seen, kept = Counter(hit.rule for hit in found), Counter[str](), list[Hit]()
    for hit in found:
        seen[hit.rule] += 1
        if seen[hit.rule] <= KEEP[hit.rule] or seen[hit.rule] > total[hit.rule] - KEEP[hit.rule]:
            kept.append(hit)
    return ScanResult(hits=kept, counts=dict(total))


def _same(path: Path, blocks: Callable[[Path], Iterable[Block]] = _blocks) -> None:
    wanted = _line_by_line(blocks(path))
    for search, matcher in WAYS:
        got = scan(blocks(path), matcher)
        assert got.counts == wanted.counts, search
        assert got.hits == wanted.hits, search


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file() and path.name != "case.yaml")


def _some(paths: Sequence[Path], count: int) -> list[Path]:
    return sorted(random.Random(5).sample(paths, count))


@pytest.mark.parametrize("path", _files("samples", "tests/cases/given"), ids=lambda path: "/".join(path.parts[-2:]))
def test_every_sample_and_every_given_case_is_scanned_alike(path: Path) -> None:
    _same(path)


@pytest.mark.parametrize("path", _some(_files("tests/cases/made"), 60), ids=lambda path: "/".join(path.parts[-2:]))
def test_some_of_the_made_cases_are_scanned_alike(path: Path) -> None:
    _same(path)


@pytest.mark.slow
def test_all_made_cases_are_scanned_alike() -> None:
    for path in _files("tests/cases/made"):
        _same(path)


@pytest.mark.parametrize("seed", range(200))
def test_a_changed_file_is_scanned_alike(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    lines = draw.choice(SOURCES).read_bytes().split(b"\n")
    for _ in range(max(3, len(lines) // 3)):
        at = draw.randrange(len(lines))
        lines[at] = _changed(draw, lines[at])
    changed = tmp_path / "log.txt"
    changed.write_bytes(b"\n".join(lines * draw.choice([1, 1, 20])))
    _same(changed)


SOURCES = [path for path in _files("samples", "tests/cases/given") if path.stat().st_size < 60_000]


def _changed(draw: random.Random, line: bytes) -> bytes:
    digits = b"0123456789"
    text = draw.choice(TEXTS).encode()
    changes = (
        line.translate(bytes.maketrans(digits, bytes(draw.choices(digits, k=10)))), line + b" " + text, text, draw.choice(PREFIXES).encode() + text, line.upper(),
        line.replace(b"1", b"11"), line[draw.randrange(len(line) + 1) :], line[: draw.randrange(len(line) + 1)], b"\x1b[31m" + line.replace(b" ", b" \x1b[0m", 1), line + b"\r" + text,
        line.replace(b" ", b"\t", 1), b"", line + b"\xff\xfe" + text,
    )  # fmt: skip
    return draw.choice(changes)


@pytest.mark.parametrize("seed", range(12))
def test_lines_that_are_new_but_for_their_heads_are_scanned_alike(seed: int, tmp_path: Path) -> None:
    """Few beginnings, many endings: so many that the scan no longer remembers whole lines. The pieces are cut small by long blank lines."""
    draw = random.Random(seed)
    heads = [draw.choice(PREFIXES) + text for text in draw.sample(TEXTS, 25)]
    ends = ["", " | ", ": ", "\t", "] ", "\r", "\x1b[0m", " \xe9", *draw.sample(TEXTS, 5)] if seed % 2 else [" "]
    path = tmp_path / "log.txt"
    with path.open("w", encoding="utf-8", newline="") as stream:
        for number in range(9000):
            head = "".join(draw.choice("0123456789") if c.isdigit() and draw.random() < 0.2 else c for c in draw.choice(heads))
            words = " ".join("".join(draw.choices("abdeiklmnorstu", k=draw.randint(1, 9))) for _ in range(draw.randint(0, 12)))
            stream.write(f"{head}{draw.choice(ends) if draw.random() < 0.2 else ' '}{words}\n")
            if number % 1500 == 1499:
                stream.write((" " * 60_000 + "\n") * 18)
    _same(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.tuples(st.sampled_from(PREFIXES), st.sampled_from(TEXTS), st.text("0123456789 []:|x", max_size=6)), min_size=1, max_size=30),
    times=st.integers(1, 12),
    digits=st.permutations("0123456789"),
)
def test_any_mix_of_lines_is_scanned_alike(lines: list[tuple[str, str, str]], times: int, digits: list[str], tmp_path: Path) -> None:
    table = str.maketrans("0123456789", "".join(digits))
    text = "\n".join(prefix + line + end for prefix, line, end in lines) + "\n"
    path = tmp_path / "log.txt"
    path.write_text((text + text.translate(table)) * times, encoding="utf-8")
    _same(path)


def test_a_small_log_loads_no_library(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("May 09 10:15:18 gpu01 python[2711]: out of memory\n" * 100, encoding="utf-8")
    script = (
        "import sys; from tests.unit.ruleset import test_paths as t; from forensics.ruleset import Matcher, scan; from pathlib import Path; "
        "sys.modules.pop('ahocorasick_rs', None); scan(t._blocks(Path(sys.argv[1])), Matcher(t.RULES)); assert 'ahocorasick_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, cwd=ROOT)


def test_a_library_that_was_asked_for_and_is_missing_is_an_error() -> None:
    if len(SEARCHES) > 1:
        assert Matcher(RULES, search=Search.LIBRARY).candidates([b"out of memory"]) == MATCHERS[Search.WORDS].candidates([b"out of memory"])
    else:
        with pytest.raises(ImportError):
            Matcher(RULES, search=Search.LIBRARY).candidates([b"out of memory"])
