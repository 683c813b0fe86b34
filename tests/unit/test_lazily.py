"""Expressions that are compiled when they are first used: as good as real ones, and none of the package's is wrong."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import pkgutil
import re

import pytest

import forensics
from forensics import lazily
from forensics.lazily import LazyPattern


def all_of_the_package() -> list[LazyPattern]:
    """Also those that stand in tuples, classes and closures; the rules and samples are data."""
    for info in pkgutil.walk_packages(forensics.__path__, "forensics."):
        if "__main__" not in info.name:
            importlib.import_module(info.name)
    gc.collect()  # what other tests have left
    return [found for found in gc.get_objects() if type(found) is LazyPattern]


def test_no_expression_of_the_package_is_wrong() -> None:
    found = all_of_the_package()
    assert len(found) > 300
    wrong = []
    for one in found:
        try:
            re.compile(one.pattern, one.asked)
        except re.error as error:
            wrong.append(f"{one.pattern!r}: {error}")
    assert wrong == []


def test_it_is_compiled_when_it_is_first_used_and_only_then() -> None:
    one = lazily.pattern(r"(?P<letter>[a-z])\d", re.IGNORECASE)
    assert one.pattern == r"(?P<letter>[a-z])\d"
    assert "search" not in vars(one)
    found = one.search("= B7")
    assert found is not None
    assert found["letter"] == "B"
    first = vars(one)["search"]
    assert one.sub("-", "a1 b2 c") == "- - c"
    assert vars(one)["search"] is first


@pytest.mark.parametrize("use", ["search", "match", "fullmatch"])
def test_it_does_what_a_real_one_does(use: str) -> None:
    for text in ("ab12", " ab12", "ab12 ", "", "12"):
        lazy, real = (getattr(one, use)(text) for one in (lazily.pattern(r"[a-z]+(\d+)"), re.compile(r"[a-z]+(\d+)")))
        assert (lazy and (lazy.span(), lazy.groups())) == (real and (real.span(), real.groups()))


def test_the_other_uses_are_there_too() -> None:
    one = lazily.pattern(rb"(?P<word>[a-z]+)")
    assert one.findall(b"a bc") == [b"a", b"bc"]
    assert [found.span() for found in one.finditer(b"a bc")] == [(0, 1), (2, 4)]
    assert one.split(b"1a2") == [b"1", b"a", b"2"]
    assert one.subn(b"", b"a1b") == (b"1", 2)
    assert one.groups == 1
    assert dict(one.groupindex) == {"word": 1}
    assert one.flags == re.compile(rb"x").flags
    with pytest.raises(AttributeError):
        getattr(one, "nothing_of_that_name")  # noqa: B009  mypy knows that there is none


def test_a_wrong_one_is_wrong_at_every_use() -> None:
    one = lazily.pattern("(")
    for _ in range(2):
        with pytest.raises(re.error):
            one.search("")


def test_it_can_be_copied_and_sent_to_another_process_before_and_after_its_first_use() -> None:
    one = lazily.pattern(r"\d+", re.ASCII)
    for _ in range(2):
        for twin in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
            found = twin.search("a12")
            assert found is not None
            assert found[0] == "12"
            assert twin.flags == one.flags
