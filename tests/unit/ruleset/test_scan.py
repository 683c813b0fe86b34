from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.model import Frame, MarkKind, Origin, PartKind, Role
from forensics.ruleset import Matcher, load, scan
from forensics.ruleset.loading import read
from forensics.ruleset.schema import Mark, Profile, Rule, RuleSet
from forensics.ruleset.selftest import trials

from .conftest import FakeBlock

SHIPPED = read().rules
MATCHER = Matcher(SHIPPED)


def _rule(line: str, *, id_: str = "r", from_: Origin = Origin.ANY, keep: int = 200) -> Rule:
    return Rule(id=id_, role=Role.ROOT, line=line, from_=from_, keep=keep)


def _rules(*rules: Rule, marks: tuple[Mark, ...] = ()) -> RuleSet:
    return RuleSet(rules=rules, profiles=(Profile(name="p", marks=marks),))


def _found(rules: RuleSet, *blocks: FakeBlock) -> list[tuple[str, str, int]]:
    return [(hit.rule, hit.frame.source, hit.frame.line_no) for hit in scan(blocks, rules).hits]


def test_nothing_is_opened_where_no_literal_text_of_a_rule_stands() -> None:
    block = FakeBlock("python[7]: Decode batch. #running-req: 3\npython[7]: Out of Memry\nsystemd[1]: Started x.service.\n")
    assert scan([block], _rules(_rule("Out of Memory"))).hits == []
    assert block.opened == []


def test_a_hit_has_its_line_and_its_captures() -> None:
    block = FakeBlock("python[7]: fine\npython[7]: worker 3 left with exit code -9\n", first_line=41)
    (hit,) = scan([block], _rules(_rule(r"left with exit code (?P<code>-?\d+)(?P<core>, core dumped)?"))).hits
    assert (hit.rule, hit.frame.line_no, hit.frame.ident, hit.captures) == ("r", 42, "python", {"code": "-9"})


def test_hits_come_by_source_as_they_arrived_and_by_line() -> None:
    rules = _rules(_rule("second words", id_="b"), _rule("first words", id_="a"))
    blocks = [FakeBlock("a: first words\na: second words\na: first words\n", source="z"), FakeBlock("a: second words, first words\n", source="a")]
    assert _found(rules, *blocks) == [("a", "z", 1), ("b", "z", 2), ("a", "z", 3), ("b", "a", 1), ("a", "a", 1)]


@pytest.mark.parametrize(
    ("wanted", "writer", "taken"),
    [
        (Origin.SYSTEMD, "python[7]: ", False), (Origin.SERVER, "systemd[1]: ", False), (Origin.SERVER, "bench: ", False), (Origin.KERNEL, "", False), (Origin.SYSTEMD, "", False),
        (Origin.SYSTEMD, "systemd[1]: ", True), (Origin.SERVER, "python[7]: ", True), (Origin.SERVER, "", True), (Origin.ANY, "kernel: ", True), (Origin.CLIENT, "bench: ", True),
    ],
)  # fmt: skip
def test_a_rule_takes_lines_of_its_own_origin_only(wanted: Origin, writer: str, taken: bool) -> None:
    found = _found(_rules(_rule("Failed with result", from_=wanted)), FakeBlock(f"{writer}x.service: Failed with result 'signal'.\n"))
    assert bool(found) is taken


def test_the_first_and_the_last_are_kept_and_all_are_counted() -> None:
    lines = [f"python[7]: Decode batch, gen {i}\n" if i % 3 else "python[7]: other\n" for i in range(1, 301)]
    blocks = [FakeBlock("".join(lines[i : i + 50]), first_line=i + 1) for i in range(0, 300, 50)]
    result = scan(blocks, _rules(_rule("Decode batch", keep=4)))
    assert result.counts == {"r": 200}
    assert [hit.frame.line_no for hit in result.hits] == [1, 2, 4, 5, 295, 296, 298, 299]


def test_lines_that_come_by_the_thousand_are_not_opened_one_by_one() -> None:
    blocks = [
        FakeBlock("".join(f"python[7]: Decode batch, gen throughput {i % 1000}\n" for i in range(2000)), first_line=1 + 2000 * n) for n in range(5)
    ]
    result = scan(blocks, _rules(_rule("Decode batch", keep=10)))
    assert (result.counts, len(result.hits)) == ({"r": 10_000}, 20)
    assert sum(len(block.opened) for block in blocks) < 60


def test_few_late_hits_of_many_blocks_are_all_there_at_the_end() -> None:
    blocks = [FakeBlock("python[7]: out of memory\n" + "python[7]: fine\n" * 3, first_line=1 + 4 * n) for n in range(30)]
    assert [n for _, _, n in _found(_rules(_rule("out of memory", keep=3)), *blocks)] == [1, 5, 9, 109, 113, 117]


def test_digits_that_matter_are_looked_at_in_every_line() -> None:
    text = "".join(f'python[7]: "GET /health HTTP/1.1" {code} done\n' for code in (200, 503, 200, 200, 503, 404))
    result = scan([FakeBlock(text)], _rules(_rule(r'GET /health HTTP/1\.1" 503', id_="busy"), _rule("GET /health", id_="asked")))
    assert result.counts == {"busy": 2, "asked": 6}
    assert [hit.frame.line_no for hit in result.hits if hit.rule == "busy"] == [2, 5]


def test_digits_that_matter_are_found_wherever_they_stand() -> None:
    codes = ["10", "0100", "1010", "0010", "210", "310", "5", "3100", "0001", "1000"] * 3
    result = scan([FakeBlock("".join(f"python[7]: worker left with {code}\n" for code in codes))], _rules(_rule("worker left with [0-9]*10")))
    assert result.counts == {"r": sum("10" in code for code in codes)}


def test_a_process_that_calls_itself_systemd_is_not_taken_for_pid_1() -> None:
    class Careful(FakeBlock):
        def frame(self, i: int) -> Frame:
            frame = super().frame(i)
            return frame if self.text.splitlines()[i].startswith("systemd[1]") else frame._replace(origin=Origin.SERVER)

    text = "systemd[7]: Started x.service.\nsystemd[1]: Started x.service.\nsystemd[7]: Started x.service.\n"
    assert _found(_rules(_rule("Started x", from_=Origin.SYSTEMD)), Careful(text)) == [("r", "journal", 2)]


def test_a_further_line_of_a_message_is_of_whom_its_first_line_is() -> None:
    class Further(FakeBlock):
        def frame(self, i: int) -> Frame:
            frame = super().frame(i)
            return frame._replace(origin=Origin.SERVER if i < 2 else Origin.SYSTEMD, continuation=i % 2 == 1)

    text = "python[7]: several lines\n    out of memory 1\nsystemd[1]: several lines\n    out of memory 2\n"
    assert _found(_rules(_rule("out of memory", from_=Origin.SERVER)), Further(text)) == [("r", "journal", 2)]


def _progress(line: str) -> Mark:
    return Mark(id="p:progress#1", kind=MarkKind.PROGRESS, line=line, profile="p")


def test_of_the_pieces_of_a_progress_bar_the_last_that_matches_counts() -> None:
    line = r"shards: (?P<done>\d+)/(?P<of>\d+)"
    rules = _rules(_rule(line), marks=(_progress(line),))
    first, last = scan([FakeBlock("python[7]: shards: 0/4\rshards: 1/4\rshards: 2/4\rand more\n")], rules).hits
    assert (first.rule, first.captures["done"], first.frame.text) == ("r", "0", "shards: 0/4")
    assert (last.rule, last.captures["done"], last.frame.text) == ("p:progress#1", "2", "shards: 2/4")


def test_a_very_long_line_is_matched_by_its_beginning() -> None:
    rules = _rules(_rule("out of memory"))
    assert _found(rules, FakeBlock("python[7]: " + "x" * 9000 + " out of memory\n")) == []
    assert _found(rules, FakeBlock("python[7]: " + "x" * 7000 + " out of memory\n")) == [("r", "journal", 1)]


def test_the_arguments_of_a_server_may_be_longer_than_other_lines() -> None:
    mark = Mark(id="p:arguments#1", kind=MarkKind.ARGUMENTS, line=r"server_args=ServerArgs\((?P<args>[^\n]+)", profile="p")
    (hit,) = scan([FakeBlock("python[7]: server_args=ServerArgs(" + "a=1, " * 5000 + "z=2)\n")], _rules(marks=(mark,))).hits
    assert hit.captures["args"].endswith("z=2)")


def test_a_million_pieces_on_one_line_cost_no_more_than_a_few() -> None:
    text = "python[7]: " + "\r".join(f"shards {i}" for i in range(300_000)) + "\rshards: 4/4\n"
    start = time.perf_counter()
    (hit,) = scan([FakeBlock(text)], _rules(marks=(_progress(r"shards: (?P<done>\d+)/4"),))).hits
    assert hit.captures["done"] == "4"
    assert time.perf_counter() - start < 30


def test_colours_within_the_text_do_not_hide_it() -> None:
    class Coloured(FakeBlock):
        def frame(self, i: int) -> Frame:
            frame = super().frame(i)
            return frame._replace(text=re.sub(r"\x1b\[[0-9;]*m", "", frame.text))

    assert _found(_rules(_rule("out of memory")), Coloured("python[7]: \x1b[1;31mout\x1b[0m of \x1b[38;5;196mmemory\x1b[0m\n")) == [
        ("r", "journal", 1)
    ]


def test_entries_of_a_json_journal_are_opened_whatever_their_bytes_look_like() -> None:
    class Json(FakeBlock):
        @property
        def data(self) -> bytes:
            return b'{"MESSAGE": "out of memory"}\n'

    result = scan([Json("python[7]: out of memory\npython[7]: fine\n", part=PartKind.JOURNAL_JSON)], _rules(_rule("out of memory")))
    assert [(hit.frame.line_no, hit.frame.text) for hit in result.hits] == [(1, "out of memory")]


def test_an_expression_is_found_in_the_midst_of_a_long_word_and_after_many_new_words() -> None:
    letters = "".join(chr(97 + i * i % 23) for i in range(3000))
    words = "".join(f"python[7]: {chr(97 + i % 26) * (3 + i % 50)}\n" for i in range(2000))
    text = f"python[7]: {letters}OutOfMemoryError{letters}\n{words}python[7]: xOutOfMemoryErrors\n"
    assert [n for _, _, n in _found(_rules(_rule("OutOfMemoryError")), FakeBlock(text))] == [1, 2002]


def test_a_matcher_takes_one_line_at_a_time() -> None:
    matcher = Matcher(_rules(_rule("out of memory", id_="a"), _rule("memory is low", id_="b")))
    assert matcher.feed(Frame(source="-", line_no=1, start=0, text="all is well")) == []
    assert [hit.rule for hit in matcher.feed(Frame(source="-", line_no=2, start=0, text="out of memory, since memory is low"))] == ["a", "b"]


# --------------------------------------------------------------------------- against matching everything with everything


def _naive(text: str, origin: Origin) -> list[str]:
    return [item.id for item in MATCHER.items if item.takes(origin) and any(item.search(piece) for piece in text.split("\r"))]


SAMPLES = [(trial.text, trial.origin) for trial in trials(SHIPPED)]


@pytest.mark.parametrize("chunk", range(8))
def test_the_index_loses_no_hit_of_any_shipped_rule_on_any_sample(chunk: int) -> None:
    for text, origin in SAMPLES[chunk::8]:
        for line in text.splitlines():
            for given_text in (line, "[2026-05-09 10:15:18 TP0] " + line, line.upper(), line.replace(" ", "  ")):
                frame = Frame(source="-", line_no=1, start=0, text=given_text, origin=origin)
                assert [hit.rule for hit in MATCHER.feed(frame)] == _naive(given_text, origin)


def _spread(parts: list[tuple[str, str]], digits: str) -> Iterator[str]:
    """The lines with their digits exchanged, each in another way."""
    for n, (writer, text) in enumerate(parts):
        table = str.maketrans("0123456789", "".join(digits[(n + i) % len(digits)] for i in range(10)))
        yield writer + text.replace("\n", " ").replace("\r", " ").translate(table)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["python[71]: ", "systemd[1]: ", "kernel: ", "bench: ", ""]), st.sampled_from([text for text, _ in SAMPLES])),
        min_size=1,
        max_size=40,
    ),
    st.text("0123456789", min_size=1, max_size=7),
)
def test_a_scan_counts_what_matching_every_line_with_every_rule_counts(parts: list[tuple[str, str]], digits: str) -> None:
    blocks, counted = [], Counter[str]()
    line_no = 1
    for piece in (parts, parts[::-1], parts):
        text = "\n".join(_spread(piece, digits)) + "\n"
        blocks.append(FakeBlock(text, first_line=line_no))
        line_no += text.count("\n")
        for i in range(len(piece)):
            frame = FakeBlock(text).frame(i)
            counted.update(_naive(frame.text[:8192], frame.origin))
    assert scan(blocks, MATCHER).counts == dict(counted)


def test_no_shipped_prefix_may_begin_with_anything() -> None:
    """One that might keeps the scan from telling any line by its head, and costs four fifths of the speed where lines never repeat."""
    for head in ("ERROR RuntimeError: CUDA out of memory.", "Loading weights from /models/x", "POST /v1/chat HTTP/1.1"):
        assert not Matcher(load()).prefixes.may_begin(head)
