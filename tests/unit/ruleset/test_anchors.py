from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import ruleset
from forensics.ruleset.anchors import accepts, ends_anywhere, figures, opening, shape


def _texts(pattern: str) -> list[str]:
    return [anchor.text for anchor in shape(pattern).anchors]


@pytest.mark.parametrize(
    ("pattern", "anchors"),
    [
        # none can be given
        pytest.param(r"\d+: .*", [], id="no literal"),
        pytest.param(r"(?:Killed|)", [], id="an alternative without one"),
        pytest.param(r"(?:out of memory)?", [], id="optional"),
        pytest.param(r"(?:out of memory){0,3}", [], id="perhaps never"),
        pytest.param(r"(?!out of memory)", [], id="what must not stand there"),
        pytest.param(r"a.b.c", [], id="letters apart"),
        pytest.param("=> -9 (", [], id="broken"),
        # one of them occurs
        pytest.param(r"Not enough memory\. Please", ["not enough memory. please"], id="plain"),
        pytest.param(r"exit code -?\d+ of worker", [" of worker"], id="a longer word tells more"),
        pytest.param(r"Xid \(PCI:[^)]{0,40}\): 79,", ["xid (pci:"], id="digits are gone"),
        pytest.param(r"rank 0 of 8 gone", ["rank  of  gone"], id="digits within"),
        pytest.param(r"size [0-9]{1,9} does not match", ["size  does not match"], id="a class of digits leaves no gap"),
        pytest.param(r"(?i)OUT of Memory", ["out of memory"], id="no case"),
        pytest.param(r"[Oo]ut of memory", ["out of memory"], id="two cases of a letter"),
        pytest.param(
            r"CUDA error: (?:an illegal|misaligned) address",
            ["cuda error: an illegal", "cuda error: misaligned"],
            id="alternatives take what stands before",
        ),
        pytest.param(r"Started|Starting|Stopped server", ["started", "starting", "stopped server"], id="a common beginning"),
        pytest.param(r'GET /health HTTP/1\.1" 503 Service', ["get /health http/."], id="a quote is written differently in json"),
        pytest.param(r"(?P<unit>\S+)\.service: Failed with result", [".service: failed with result"], id="after a capture"),
        pytest.param(r"(?:NCCL error)+ in", ["nccl error"], id="at least once"),
        pytest.param(r"caf\u00e9 is closed", [" is closed"], id="nothing beyond ascii"),
    ],
)
def test_of_the_anchors_one_occurs_where_the_expression_matches(pattern: str, anchors: list[str]) -> None:
    assert _texts(pattern) == anchors


@pytest.mark.parametrize(
    ("pattern", "word", "whole"),
    [
        ("OutOfMemoryError", "outofmemoryerror", False),
        ("CUDA out of memory", "memory", False),
        ("the memory pool", "memory", True),
        (r"torch\.OutOfMemoryError: CUDA", "outofmemoryerror", True),
    ],
)
def test_the_word_to_look_for_is_the_longest_that_no_letter_can_touch(pattern: str, word: str, whole: bool) -> None:
    (anchor,) = shape(pattern).anchors
    if word == "memory" and not whole:  # 'out' is whole, and whole words come first
        word, whole = "out", True
    assert (anchor.word, anchor.whole) == (word, whole)


@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(abc", "missing ), unterminated subpattern"),
        ("abc{2,1}", "min repeat greater than max repeat"),
        ("(?P<a>x)(?P<a>y)", "redefinition of group name 'a' as group 2; was group 1"),
        ("(?<=a+)b", "look-behind requires fixed-width pattern"),
        ("x(?i)y", "global flags not at the start of the expression"),
    ],
)
def test_a_wrong_expression_is_told_by_its_shape(pattern: str, error: str) -> None:
    assert shape(pattern).error == error


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"exit code [1-9a]", None), (r"[^0]x", None), (r"[^\d1]x", ()), (r"(\d)\1", None), (r"(?i)HTTP/1", None), (r"(?i:http/1)", None),
        (r"Decode batch", ()), (r"\d+ of \d{1,3}", ()), (r"[^\n]{0,200}\w+", ()), (r"(?P<done>\d+)/(?P<of>\d+)", ()), (r"[a-f0-9]{8}", ()), (r"[^,\d]", ()), (r"(?i)decode", ()),
        (r'HTTP/1\.1" 404', ('HTTP/0.0" 000',)), (r" (?:[45]03|40[13]) ", (" 000",)), (r"HTTP/\d\" (?P<code>404)\b", ('HTTP/0" 000',)), (r"(?:worker 1|rank 0) died", ("rank 0", "worker 0")), (r"x\d+ 17(?: and 4)?", (" 00", " and 0")), (r" 4\d\d$", (" 000",)), (r"[0-9]{1,3} of", ()),
    ],
)  # fmt: skip
def test_the_figures_of_an_expression_are_its_texts_with_certain_digits(pattern: str, found: tuple[str, ...] | None) -> None:
    assert figures(shape(pattern).tree) == found


@pytest.mark.parametrize(
    ("item", "char", "takes"),
    [(r"\d", "7", True), (r"\d", " ", False), (r"[^,]", ",", False), (r"[^,]", "a", True), (r"[\w-]", "-", True), (r"[\w-]", " ", False)],
)
def test_a_class_says_which_characters_it_takes(item: str, char: str, takes: bool) -> None:
    tree = shape(f"(?:{item})").tree
    op, value = next(iter(tree))
    assert accepts(str(op), value, ord(char)) is takes
    assert bool(re.match(item, char)) is takes


@given(
    st.sampled_from([r"rank \d+ of \d+", r"exit [^\n]{0,9}code", r"[a-f0-9]{2,4} gone", r"(?:ab|c\d)+x"]),
    st.text("abcx0123456789 rankofexitcodegone", max_size=40),
)
def test_changing_digits_never_changes_whether_an_expression_without_figures_matches(pattern: str, text: str) -> None:
    assert figures(shape(pattern).tree) == ()
    assert bool(re.search(pattern, text)) is bool(re.search(pattern, re.sub(r"[0-9]", "0", text)))


@pytest.mark.parametrize(
    ("pattern", "well", "wrong"),
    [
        (r"(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] )?\[TRT\]", ["[00/00/0000-00:00:00] [TRT]", "[TRT]"], ["ERROR: out of memory", "(TRT)", "TRT"]),
        (r"(?:[a-z]{1,40}: )?(?:[0-9.]{1,60} )?GPU", ["abc: 000 GPU", "000 GPU", "abc: GPU", "GPU"], ["ERROR GPU", "", "-"]),
        (r"(?P<a>(?:x{30})?y)z", ["x" * 30 + "yz", "yz"], ["z", "ay"]),
        (r"(?:a{1,30}|b)?c", ["aac", "bc", "c"], ["d", "ec"]),
    ],
)
def test_what_may_be_left_out_at_the_beginning_leaves_something_to_tell_by(pattern: str, well: list[str], wrong: list[str]) -> None:
    found = opening(pattern, 20)
    assert found is not None
    assert all(found.match(text) and re.match(pattern, text) for text in well)
    assert not any(found.match(text) for text in wrong)


@given(st.from_regex(re.compile(r"(?:\[[0-9]{2}/[0-9]{2}\] )?(?:[a-z]{1,30} )?x[0-9](?:yy|z)?", re.ASCII)))
def test_an_opening_is_found_wherever_the_whole_is(text: str) -> None:
    found = opening(r"(?:\[[0-9]{2}/[0-9]{2}\] )?(?:[a-z]{1,30} )?x[0-9](?:yy|z)?", 8)
    assert found is not None
    assert found.search(re.sub("[0-9]", "0", text))


@pytest.mark.parametrize("text", ["[05/09/2026-10:15:18] [TRT-LLM] [E] x", "[TRT-LLM] [RANK 3] [E] x", "[TRT-LLM] [E] x"])
def test_an_opening_knows_both_ways_where_a_long_part_may_be_missing(text: str) -> None:
    pattern = r"(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] )?\[TRT-LLM\](?: \[RANK (?P<rank>\d{1,5})\])? \[[VIWEF]\] "
    assert re.match(pattern, text)
    found = opening(pattern, 20)
    assert found is not None
    assert found.match(re.sub(r"\d", "0", text))
    assert not found.match("Received request cmpl-0: prompt")


def test_no_prefix_of_a_server_may_begin_with_anything() -> None:
    """Else no line could be told by its beginning, and of text that never repeats every line would be opened."""
    assert not ruleset.Matcher(ruleset.shipped_rules()).prefixes.may_begin("Received request cmpl-0: prompt")


def test_a_border_of_a_word_is_told_by_what_follows_in_the_match() -> None:
    told = {
        line: ends_anywhere(shape(line).tree)
        for line in (r"a\bc", r"^a", r"(?:a\b)+b", r"a\b(?:b|c)", r"a\b", r"(?:a\b)+", r"a\b(?:b|)", "a$", "(?=a)b", "a(?!b)")
    }
    assert [line for line, anywhere in told.items() if anywhere] == [r"a\bc", "^a", r"(?:a\b)+b", r"a\b(?:b|c)"]
