"""Captured texts as what they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.ruleset.quantities import SIZES, TYPES, UNITS, WORDS, Value, read, shown, spoken, typed


@pytest.mark.parametrize(
    ("text", "type_", "value", "words"),
    [
        ("20.00 MiB", "gib", 20 / 1024, "20 MiB"),
        ("448.00MiB", "gib", 0.4375, "448 MiB"),
        ("139.80 GiB", "gib", 139.8, "139.8 GiB"),
        ("4", "gib", 4.0, "4 GiB"),
        ("10.20 GB", "gib", 10.2, "10.2 GiB"),
        ("512 bytes", "gib", 512 / 2**30, "512 bytes"),
        ("512K", "mib", 0.5, "512 KiB"),
        ("8589934592", "bytes", 8589934592.0, "8 GiB"),
        ("1.5 TiB", "gib", 1536.0, "1.5 TiB"),
        ("300 ms", "seconds", 0.3, "0.3s"),
        ("600059 milliseconds", "seconds", 600.059, "10m00s"),
        ("1h2m", "seconds", 3720.0, "1h02m"),
        ("480", "seconds", 480.0, "8m00s"),
        ("85%", "percent", 85.0, "85%"),
        ("0.5", "percent", 0.5, "0.5%"),
        ("1,024", "int", 1024, "1024"),
        ("-9", "int", -9, "-9"),
        ("999999999999999999", "int", 999999999999999999, "999999999999999999"),
        ("0.8701", "number", 0.8701, "0.8701"),
        ("1e-3", "number", 0.001, "0.001"),
        ("words", "text", "words", "words"),
    ],
)
def test_a_text_is_read_by_its_type_and_written_for_a_person(text: str, type_: str, value: Value, words: str) -> None:
    found = read(text, type_)
    assert found == pytest.approx(value) if isinstance(value, float) else found == value
    assert shown(found, type_) == words


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("3.5", "int"), ("many", "int"), ("1,02", "int"), ("", "int"), ("٣", "int"), ("1" * 19, "int"), ("nan", "number"), ("inf", "number"), ("1e999", "number"),
        ("4 apples", "gib"), ("4 Gbit", "gib"), ("GiB", "gib"), ("5 parsecs", "seconds"), ("soon", "seconds"), ("half", "percent"), ("9" * 70, "number"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_unknown(text: str, type_: str) -> None:
    assert read(text, type_) is None


@given(st.text(max_size=80), st.sampled_from(TYPES))
def test_nothing_that_is_captured_can_break_it(text: str, type_: str) -> None:
    value = read(text, type_)
    assert type_ in ("text", *WORDS) or value is None or (isinstance(value, (int, float)) and math.isfinite(value))
    assert value is None or shown(value, type_) is not None


@given(st.floats(1e-4, 1e6), st.sampled_from(sorted(SIZES)))
def test_a_size_that_was_written_reads_as_nearly_the_same(value: float, type_: str) -> None:
    words = shown(value * 2**30 / SIZES[type_], type_)
    assert words is not None
    assert read(words, "gib") == pytest.approx(value, rel=1e-3)


def test_every_type_has_its_unit_or_is_a_bare_number_or_text() -> None:
    assert set(TYPES) - set(UNITS) == {"int", "number", "text", *WORDS}


def test_captures_without_a_type_stay_texts_and_what_cannot_be_read_is_left_out_of_a_text() -> None:
    types, captures = {"asked": "gib", "free": "gib"}, {"asked": "20.00 MiB", "free": "some", "gpu": "0"}
    assert typed(types, captures) == {"asked": 20 / 1024, "free": None, "gpu": "0"}
    assert spoken(types, captures) == {"asked": "20 MiB", "gpu": "0"}
