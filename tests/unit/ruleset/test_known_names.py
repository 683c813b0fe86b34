from __future__ import annotations

from forensics.ruleset.condition import parse
from forensics.ruleset.known_names import IN_WHERE, NAMES, OF_A_HIT, OPEN, fact, in_where, markdown


def test_every_fact_says_what_it_is_and_who_owns_it() -> None:
    for name, known in NAMES.items():
        assert known.type in ("bool", "number", "text", "version", "list", "table"), name
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


def test_what_a_where_can_know_is_in_the_table_and_no_other_fact_is() -> None:
    assert set(NAMES) >= IN_WHERE
    assert in_where("hit.anything")
    assert in_where("argv.tp_size")
    assert not in_where("client.refused")
    assert not in_where("life.stalled")
    assert not in_where("life.argw")


def test_the_table_as_markdown_has_every_fact_once_and_no_row_that_is_broken() -> None:
    lines = list(markdown())
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [*NAMES, *(f"{family}NAME" for family in OPEN), *(f"hit.{name}" for name in OF_A_HIT)]
    assert {row.count("|") for row in rows} == {7}
    assert "| `life.ended_at` | number | epoch | yes | end of the main process |" in "\n".join(rows)
