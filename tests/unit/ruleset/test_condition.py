from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.errors import RuleError
from forensics.model import Location, Phase
from forensics.ruleset.condition import Point, parse

FACTS: dict[str, object] = {
    "client.refused": 9, "life.alive": True, "life.ready": False, "life.phase": Phase.WEIGHTS, "life.pids": frozenset({1127, 1130}), "kernel.oom_pids": (),
    "hit.pid": "1127", "argv.mem_fraction_static": "0.88", "unit.result": "exit-code", "host.listeners": [30000, None], "life.lived_s": 32.969,
    "argv.trust_remote_code": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        # negatives first
        ("life.ready", False),
        ("client.refused == 0", False),
        ("client.refused > 9", False),
        ("not life.alive", False),
        ("any(kernel.oom_pids)", False),
        ("hit.pid in kernel.oom_pids", False),
        ("life.phase == 'kv-pool'", False),
        ("life.phase not in ['weights', 'kv-pool']", False),
        ("known(life.stalled)", False),
        ("unit.result < 'signal'", None),  # words have no order
        ("unit.result == 3", False),
        ("argv.trust_remote_code == 'false'", False),
        # what is unknown
        ("life.stalled", None),
        ("not life.stalled", None),
        ("client.ok > 0", None),
        ("client.ok == client.asked", None),
        ("hit.rank in life.pids", None),
        ("8000 in host.listeners", None),  # one of the ports is unknown
        ("count(kernel.xids) > 0", None),
        ("any(kernel.xids)", None),
        ("unknown", None),
        ("client.refused / 0 > 1", None),
        ("min(client.refused, client.ok) > 0", None),
        # Kleene
        ("life.stalled and life.ready", False),
        ("life.stalled and life.alive", None),
        ("life.stalled or life.alive", True),
        ("life.stalled or life.ready", None),
        ("not (life.stalled and life.ready)", True),
        # positives
        ("client.refused > 0 and life.alive and not life.ready", True),
        ("true", True),
        ("life.phase == 'weights'", True),
        ("life.phase in ['weights', 'kv-pool']", True),
        ("hit.pid in life.pids", True),  # a capture is a text, a pid a number
        ("argv.mem_fraction_static >= 0.88", True),
        ("argv.mem_fraction_static == 0.880", True),
        ("argv.trust_remote_code == 'true'", True),
        ("'exit' in unit.result", True),
        ("30000 in host.listeners", True),
        ("count(life.pids) == 2", True),
        ("abs(1 - client.refused) == 8", True),
        ("max(1, 2, client.refused) == 9 and min(4, 2) == 2", True),
        ("-1 < 0", True),
        ("2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 9 - 3 - 2 == 4 and 8 / 4 / 2 == 1", True),
        ("life.ready or life.alive and client.refused > 0", True),
        ("(life.ready or life.alive) and client.refused == 0", False),
        ("known(life.phase) and not known(life.stalled)", True),
        ("life.lived_s\n  > 30\n  and life.alive", True),
        ("not not life.alive", True),
    ],
)
def test_a_condition_is_true_false_or_unknown(text: str, truth: bool | None) -> None:
    assert parse(text).evaluate(FACTS.get) is truth


def test_a_condition_knows_the_facts_that_it_leans_on() -> None:
    assert parse("hit.pid in life.pids and (known(life.phase) or count(kernel.xids) > 0)").names == {
        "hit.pid",
        "life.pids",
        "life.phase",
        "kernel.xids",
    }


def test_a_condition_asks_for_no_fact_that_cannot_change_it() -> None:
    asked: list[str] = []

    def lookup(name: str) -> object | None:
        asked.append(name)
        return FACTS.get(name)

    assert parse("life.ready and client.refused > 0").evaluate(lookup) is False
    assert asked == ["life.ready"]


@pytest.mark.parametrize(
    ("text", "col", "words", "hint"),
    [
        ("life.lived_s > '5 min'", 16, "'life.lived_s' is compared with a text", "a number without quotes, in s"),
        ("'one' != life.end.status", 1, "'life.end.status' is compared with a text", "a number without quotes"),
        ("client.port in [8000, '8001']", 23, "'client.port' is compared with a text", "a number without quotes"),
        ("count(kernel.xids) == 'two'", 23, "a number is compared with a text", "a number without quotes"),
        ("life.alive and life.end.kind == 'exits'", 33, "'life.end.kind' is never 'exits'", "did you mean 'exit'?"),
        ("life.phase in ['weights', 'kvpool']", 27, "'life.phase' is never 'kvpool'", "did you mean 'kv-pool'?"),
        ("life.end.by == 'somebody'", 16, "'life.end.by' is never 'somebody'", "one of itself, a child, kernel, systemd, operator, unknown"),
        ("evidence.kernel != 'reads'", 20, "'evidence.kernel' is never 'reads'", "did you mean 'read'?"),
        ("client.refusd > 0", 1, "unknown fact 'client.refusd'", "did you mean 'client.refused'?"),
        ("life.alive and liffe.ready", 16, "unknown fact 'liffe.ready'", "did you mean 'life.ready'?"),
        ("argv.", 1, "'argv.' is not expected here", None),
        ("alive", 1, "unknown fact 'alive'", "did you mean 'life.alive'?"),
        ("life.alive and", 15, "the condition ends too early", None),
        ("", 1, "the condition ends too early", None),
        ("(life.alive", 12, "the condition ends too early", None),
        ("life.alive)", 11, "')' is not expected here", None),
        ("life.alive && life.ready", 12, "'&&' is no operator", "write 'and'"),
        ("!life.ready", 1, "'!' is no operator", "write 'not'"),
        ("unit.result = 'x'", 13, "'=' is no operator", "write '=='"),
        ("1 < client.ok < 3", 15, "a second comparison", "join two by 'and'"),
        ("life.alive life.ready", 12, "'life.ready' is not expected here", None),
        ("'abc", 1, "''abc' is not expected here", None),
        ("life..alive", 1, "'life..alive' is not expected here", None),
        ("len(life.pids) > 1", 1, "unknown function 'len'", "known: any, count, abs, known, min, max, seen, before, after, within"),
        ("cout(life.pids) > 1", 1, "unknown function 'cout'", "did you mean 'count'?"),
        ("count() > 1", 1, "count() takes 1 argument, not 0", None),
        ("min(1) > 1", 1, "min() takes 2 to 9 arguments, not 1", None),
        ("known(1)", 1, "known() takes the name of a fact", None),
        ("life.phase and life.alive", 1, "'life.phase' is a text, and a condition needs true or false here", "compare it with something, or ask known(x)"),
        ("not client.refused", 5, "'client.refused' is a number, and a condition needs true or false here", "compare it with something, or ask known(x)"),
        ("kernel.oom_pids", 1, "'kernel.oom_pids' is a list, and a condition needs true or false here", "use any(x) or count(x) > 0"),
        ("count(life.pids)", 1, "this is a number, and a condition needs true or false here", "compare it with something, or ask known(x)"),
        ("life.alive or 3 + 4", 15, "this is a number, and a condition needs true or false here", "compare it with something, or ask known(x)"),
        ("life.alive or 'x'", 15, "this is a text, and a condition needs true or false here", "compare it with something, or ask known(x)"),
        ("life.phase == unknown", 1, "what is compared with unknown is unknown", "use known(x) or not known(x)"),
    ],
)  # fmt: skip
def test_a_fault_has_its_column_a_caret_and_a_hint(text: str, col: int, words: str, hint: str | None) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    message, line, caret = caught.value.text.split("\n")
    assert (message, line.strip(), caught.value.hint) == (words, text.strip(), hint)
    assert isinstance(caught.value.at, Location)
    assert (caught.value.at.col, caret.index("^") - 1) == (col, col)


def test_a_fault_is_placed_where_the_text_stands_in_its_file() -> None:
    with pytest.raises(RuleError) as caught:
        parse("life.redy", at=Location("rules/x.yaml", 7, 10))
    assert str(caught.value.at) == "rules/x.yaml:7:10"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "life.alive" + ")" * 500,
        "[" * 60,
        "not " * 450 + "life.alive",
        "life.alive and " * 200 + "life.alive",
        "-" * 1900 + "1",
        "+".join("1" * 990) + " > 3",
        "1" + "-1" * 300 + " < 3",
    ],
)
def test_what_is_nested_too_deeply_or_too_long_is_refused_and_not_followed(text: str) -> None:
    with pytest.raises(RuleError):
        parse(text)


@given(st.text(alphabet="abcdeiklnotrfxpé.'\"()[]<>=!+-*/,0123456789 \n", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        truth = parse(text).evaluate(FACTS.get)
    except RuleError:
        return
    assert truth in (True, False, None)


def test_a_rule_set_without_conditions_does_not_import_pyparsing() -> None:
    code = (
        "import sys, forensics.ruleset; from forensics.ruleset import condition; sys.exit('pyparsing' in sys.modules or 'rapidfuzz' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --------------------------------------------------------------------------- rules and times

SAID = {
    "seen:a.b": True, "seen:c": False,
    "first:a.b": Point(10.0, "journal", 3), "first:c": Point(10.0, "journal", 5), "first:kernel": Point(10.0, "kernel", 4), "first:untimed": Point(None, "journal", 9),
    "life.ready_at": 20.0, "life.ended_at": 20.0, "life.started_at": 5.0, "life.version": "0.5.4…0.5.9", "host.driver": "550.54.15",
    "hit.found": "0.9.1", "hit.needed": "0.10.0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("seen('a.b')", True),
        ("seen('c')", False),
        ("seen('nobody.knows')", None),
        ("seen('nobody.knows') or seen('a.b')", True),
        ("not seen('c') and seen('a.b')", True),
        ("before('a.b', life.ready_at)", True),
        ("after('a.b', life.ready_at)", False),
        ("before(life.started_at, 'a.b')", True),
        ("before(life.ready_at, life.ended_at)", False),
        ("before('a.b', 'c')", True),
        ("after('a.b', 'c')", False),
        ("before('a.b', 'untimed')", True),
        ("before('kernel', 'untimed')", None),
        ("before('a.b', 'kernel')", None),
        ("before('nobody', life.ready_at)", None),
        ("before('a.b', life.listening_at)", None),
        ("within('a.b', life.ready_at, 10)", True),
        ("within('a.b', life.ready_at, 9.5)", False),
        ("within(life.started_at, 'c', 3 + 2)", True),
        ("within('a.b', 'untimed', 10)", None),
        ("within('a.b', 'c', client.ok)", None),
        ("life.version >= '0.5.4'", True),
        ("life.version >= '0.5.6'", None),
        ("life.version < '0.5.10'", True),
        ("life.version > '0.5.9'", False),
        ("life.version == '0.5.6'", None),
        ("life.version == '0.6'", False),
        ("life.version != '0.6'", True),
        ("host.driver < '550.100'", True),
        ("host.driver == '550.54.15'", True),
        ("host.cuda < '12.4'", None),
        ("hit.found < hit.needed", True),
        ("hit.found > hit.nothing", None),
    ],
)  # fmt: skip
def test_conditions_ask_for_rules_for_times_and_for_versions(text: str, truth: bool | None) -> None:
    assert parse(text).evaluate(SAID.get) is truth


@pytest.mark.parametrize(
    ("text", "col", "words", "hint"),
    [
        ("seen(life.ready)", 6, "seen() takes the id of a line rule in quotes", "seen('server.what-it-says')"),
        ("seen('a', 'b')", 1, "seen() takes 1 argument, not 2", None),
        ("before('a')", 1, "before() takes 2 arguments, not 1", None),
        ("life.alive and before('a', life.lived_s)", 28, "'life.lived_s' is no time: before() takes facts that are one, or ids of line rules in quotes", None),
        ("after(3, 'a')", 7, "this is no time: after() takes facts that are one, or ids of line rules in quotes", None),
        ("within('a', 'b', 'c')", 18, "within() takes a number of seconds as its third argument", None),
        ("life.version < 0.9", 16, "a version is compared with a text", "quote it: '0.9'"),
        ("'latest' == life.version", 1, "no version: 'latest'", "as in '0.5.9' or '0.6.3.post1'"),
        ("life.version", 1, "'life.version' is a version, and a condition needs true or false here", "compare it with something, or ask known(x)"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_has_its_column_a_caret_and_a_hint(text: str, col: int, words: str, hint: str | None) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text)
    message, _, caret = caught.value.text.split("\n")
    assert (message, caret.index("^") - 1) == (words, col)
    assert hint is None or caught.value.hint == hint


def test_a_condition_names_the_rules_that_it_asks_for_and_all_that_it_leans_on() -> None:
    parsed = parse("life.alive and not seen('a.b') and before('c', life.ready_at)")
    assert parsed.rules == (("a.b", 24), ("c", 42))
    assert parsed.names == {"life.alive", "life.ready_at"}
    assert parsed.leans_on == {"life.alive", "life.ready_at", "seen:a.b", "first:c"}
