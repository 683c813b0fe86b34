from __future__ import annotations

from forensics.ruleset.condition import parse
from forensics.ruleset.known_names import NAMES, OPEN, fact


def test_every_fact_says_what_it_is_and_who_owns_it() -> None:
    for name, known in NAMES.items():
        assert known.type in ("bool", "number", "text", "list", "table"), name
        assert known.doc, name
        assert known.owner.startswith("reason."), name
        assert known.type == "number" or known.unit == "", name


def test_every_fact_can_be_named_in_a_condition() -> None:
    for name in (*NAMES, "argv.tp_size", "life.argv.mem_fraction_static", "hit.pid"):
        assert parse(f"known({name})").names == {name}


def test_open_families_take_any_name_below_them_but_not_their_own() -> None:
    assert fact("argv.anything") is OPEN["argv."]
    assert fact("argv.") is None
    assert fact("life.argv.x") is OPEN["life.argv."]
    assert fact("life.argw.x") is None
