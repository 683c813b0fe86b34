"""Nouns are equal, hashed and shown as the standard library's dataclasses are, which are asked beside them."""

from __future__ import annotations

import ast
import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from forensics.model import Evidence, Noun

PACKAGE = Path(__file__).resolve().parents[3] / "forensics"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Own(Noun):
    one: int
    two: str = "2"
    hidden: list[int] = field(default_factory=list, compare=False, repr=False)


def standard(one: Own) -> object:
    """The same with the methods that ``dataclass`` writes."""

    @dataclass(frozen=True, kw_only=True)
    class Own:
        one: int
        two: str = "2"
        hidden: list[int] = field(default_factory=list, compare=False, repr=False)

    Own.__qualname__ = type(one).__qualname__
    return Own(one=one.one, two=one.two, hidden=one.hidden)


def test_equal_fields_make_equal_nouns_and_those_that_do_not_count_do_not() -> None:
    assert Own(one=1) == Own(one=1, hidden=[1])
    assert hash(Own(one=1)) == hash(Own(one=1, hidden=[1])) == hash(standard(Own(one=1)))
    assert Own(one=1) != Own(one=2)
    assert Own(one=1) != Own(one=1, two="3")
    assert len({Own(one=1), Own(one=1), Own(one=2)}) == 2


def test_nouns_of_two_classes_are_never_equal() -> None:
    assert Own(one=1) != standard(Own(one=1))
    assert Own(one=1) != (1, "2")
    assert Own(one=1).__eq__(1) is NotImplemented


def test_it_is_shown_as_a_dataclass_is() -> None:
    assert repr(Own(one=1, two="x", hidden=[4])) == repr(standard(Own(one=1, two="x", hidden=[4]))) == "Own(one=1, two='x')"


def test_what_cannot_be_hashed_is_not() -> None:
    unhashable: Any = [1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Own(one=unhashable))


def test_it_stays_a_frozen_dataclass_without_a_dictionary() -> None:
    one = Own(one=1)
    with pytest.raises(FrozenInstanceError):
        setattr(one, fields(one)[0].name, 2)
    assert not hasattr(one, "__dict__")
    assert [f.name for f in fields(one)] == ["one", "two", "hidden"]
    assert replace(one, one=3) == Own(one=3) == copy.copy(Own(one=3)) == pickle.loads(pickle.dumps(Own(one=3)))  # our own bytes


def test_the_nouns_of_the_project_compare_by_their_fields() -> None:
    line = Evidence(source="journal", line=3, text="x")
    assert line == replace(line, line=3) != replace(line, line=4)
    assert len({line, replace(line, line=3)}) == 1


def test_every_frozen_dataclass_is_a_noun_and_leaves_its_methods_to_it() -> None:
    """One that has the base without ``eq=False`` would have paid for nothing; one with ``eq=False`` without the base would be equal to itself alone."""
    found = 0
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ClassDef):
                continue
            for call in (d for d in node.decorator_list if isinstance(d, ast.Call) and ast.unparse(d.func) == "dataclass"):
                said = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
                if said.get("frozen"):
                    found += 1
                    noun = "Noun" in [ast.unparse(base) for base in node.bases]
                    assert noun is (said.get("eq") is False and said.get("repr") is False), f"{path.name}: {node.name}"
                    assert noun, f"{path.name}: {node.name}"
    assert found > 60
