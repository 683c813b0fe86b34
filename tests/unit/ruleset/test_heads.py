"""Text that never repeats is told by how its lines begin. Whatever stands in front of a message, in it or behind it: what is found is what matching every line by itself finds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import parse
from forensics.model import Capture, Coverage, Location, Pick, Role, Section, Target, TargetKind
from forensics.parse.block import Block
from forensics.ruleset import Matcher, RuleSet, Scanner, Search, learnt
from forensics.ruleset.schema import Rule

from .test_paths import MATCHERS, PREFIXES, RULES, TEXTS, _line_by_line, _same

_STEP = 160 << 10  # bytes of a block: enough to be worth the library
_LINES = 3500
_IN_FRONT = {
    "a journal": ["May 09 10:15:{s} gpu01 python[2711]: "],
    "a journal with the server's own stamp": ["2026-05-09T10:15:{s}+0000 gpu01 python[2711]: [2026-05-09 10:15:{s} TP{d}] "],
    "a server": ["[2026-05-09 10:15:{s} TP{d}] ", "[2026-05-09 10:15:{s}] "],
    "a server that says more or less of itself": ["INFO 05-09 10:15:{s} ", "INFO 05-09 10:15:{s} [core.py:{d}] ", "(EngineCore pid={d}) ", "(EngineCore pid={d}) INFO 05-09 10:15:{s} "],
    "nothing": [""],
    "an engine of containers": ["2026-05-09T10:15:{s}.123456789Z stdout F ", "2026-05-09T10:15:{s}.123456789Z "],
    "compose": ["web-1  | ", "db | ", "web-1  | 2026-05-09 10:15:{s} "],
    "several": [prefix.replace("18", "{s}") for prefix in PREFIXES],
}  # fmt: skip
_BEGINNINGS = ("", "", "", "stdout F ", "aaO ", "INFO 05-09 10:15:18 ", "[rank0]: ", "[rank0]:", "web | ", "(EngineCore pid=12) ", "x.service: ", "systemd[1]: ", "\t", "  ", "Started ", "提示: ", "kern  :info  : [ 1.234567] ")  # fmt: skip


def _blocks(path: Path) -> Iterator[Block]:
    section = Section(name="log", argv="log", path=path, coverage=Coverage.GIVEN)
    capture = Capture(target=Target(kind=TargetKind.FILES, name="log"), at=0, offset_s=None, sections=(section,), pick=Pick())
    for stretch in parse.stretches(capture, RULES.prefixes, step=_STEP):
        yield from stretch.blocks()


def _words(draw: random.Random, letters: str) -> str:
    return " ".join("".join(draw.choices(letters, k=draw.randint(1, 9))) for _ in range(draw.randint(8, 20)))


def _line(draw: random.Random, front: list[str], hot: list[str]) -> str:
    prefix = draw.choice(front).format(s=f"{draw.randrange(60):02}", d=draw.randrange(12))
    words = _words(draw, draw.choice(["abdeiklmnorstu", "abdeiklmnorstu", "的一是不了人我在有他", "abdef0123456789"]))
    messages = (
        f"{draw.choice(hot)} {words}",
        f"{draw.choice(hot)}{words}",
        f"request_id={draw.getrandbits(64):x} {draw.choice(hot)} {words}",
        f"{words} {draw.choice(TEXTS)}",
        words,
        words,
        draw.choice(TEXTS) + draw.choice(["\r", "\x1b[0m", "\t", " "]) + words,
        draw.choice(hot),
    )
    return prefix + (draw.choice(_BEGINNINGS) if draw.random() < 0.2 else "") + draw.choice(messages)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("front", _IN_FRONT.values(), ids=_IN_FRONT)
def test_text_that_never_repeats_is_scanned_alike(front: list[str], seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    hot = draw.sample(TEXTS, 4)
    path = tmp_path / "log.txt"
    path.write_text("".join(_line(draw, front, hot) + "\n" for _ in range(_LINES)), encoding="utf-8", newline="")
    _same(path, _blocks)


def _opened(path: Path, search: Search) -> int:
    scanner = Scanner(MATCHERS[search])
    counts = scanner.scan(_blocks(path)).counts
    assert counts == _line_by_line(_blocks(path)).counts
    return scanner.looked


_FEW: dict[str, Callable[[random.Random], str]] = {
    "a prompt right behind the text": lambda draw: "Prompt: " + _words(draw, "abdeiklmnorstu"),
    "a prompt in Chinese": lambda draw: "Prompt: " + _words(draw, "的一是不了人我在有他"),
    "a number in front of the text": lambda draw: f"request {draw.getrandbits(128):x} " + _words(draw, "abdeiklmnorstu") + " torch.OutOfMemoryError",
}


@pytest.mark.parametrize("search", MATCHERS, ids=lambda search: search.value)
@pytest.mark.parametrize(
    "prefix", ["[2026-05-09 10:15:18 TP0] ", "May 09 10:15:18 gpu01 python[2711]: ", "2026-05-09T10:15:18.123456789Z stdout F ", ""]
)
@pytest.mark.parametrize("form", _FEW.values(), ids=_FEW)
def test_of_many_lines_that_are_all_different_few_are_opened(
    form: Callable[[random.Random], str], prefix: str, search: Search, tmp_path: Path
) -> None:
    """Opening a line costs fifty times as much as searching it."""
    draw = random.Random(1)
    path = tmp_path / "log.txt"
    path.write_text("".join(prefix + form(draw) + "\n" for _ in range(_LINES)), encoding="utf-8")
    assert _opened(path, search) < _LINES // 8


def test_a_text_that_tells_nothing_behind_one_head_is_still_found_behind_others(tmp_path: Path) -> None:
    """``echoed text`` decides nothing behind ``Echo begins``, whose rule it is; behind ``Other start`` it does, and so does a second text behind the first head."""
    lines = {"echo": "Echo begins|echoed text ", "other": "Other start", "late": "it happened late"}
    at = Location("x.yaml", 1, 1)
    rules = RuleSet(rules=tuple(Rule(id=id_, role=Role.CONTEXT, line=line, says="it", at=at) for id_, line in lines.items()), profiles=())
    draw, wanted, written = random.Random(3), dict.fromkeys(lines, 0), []
    for number in range(3 * _LINES):
        words = _words(draw, "abdeiklmnorstu")
        message = f"Echo begins {words} echoed text {words}"
        if number > _LINES and number % 50 == 0:
            message = f"Other start {words} echoed text {words}"
            wanted["other"] += 1
        elif number % 70 == 0:
            message += " it happened late"
            wanted["late"] += 1
        wanted["echo"] += 1
        written.append(f"[2026-05-09 10:15:18 TP0] {message}\n")
    path = tmp_path / "log.txt"
    path.write_text("".join(written), encoding="utf-8")
    for search in MATCHERS:
        scanner = Scanner(Matcher(rules, search=search))
        result = scanner.scan(_blocks(path))
        assert result.counts == wanted, search
        assert scanner.heads._quiet, search  # else this has shown nothing


@pytest.mark.parametrize("most", [1, 2, 2000])
@given(text=st.text("#0[a", max_size=14))
def test_what_is_taken_off_a_line_wherever_it_stands_is_seen(most: int, text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(learnt, "_MOST_SIGNS", most)
        assert learnt.uneven(text.encode()) == ("#000[" in text)
        assert all(learnt.uneven(text.encode() + sign) for sign in (b"\x1b", b"\t", b"\r", b"\0"))
