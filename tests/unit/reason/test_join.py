"""Placed lines joined with each other and with their lives: rules of a test over evidence as the servers write it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forensics import api, collect, reason
from forensics.model import Capture, Coverage, Diagnosis, Facts, Signal
from forensics.reason.advice import told
from forensics.reason.known import known_facts
from forensics.reason.place import Story, story_of
from forensics.reason.verdict import conditions
from forensics.ruleset import RuleSet, load
from tests.cases.judge import rules as shipped
from tests.unit.reason.telling import folder

Tell = Callable[..., "Told"]
LINE = "May 09 10:15:{second} gpu01 python[{pid}]: {text}\n"


class Told:
    """What evidence tells by some rules."""

    def __init__(self, evidence: Path, rules: RuleSet) -> None:
        (target,) = collect.parse_targets([str(evidence)])
        with collect.open_target(target) as session:
            (capture,) = api.look(session, rules, unit=None, since=None, progress=lambda text: None)
            self.facts, self.capture = api.facts_of(capture, rules)
            session.discard()
        self.rules = rules

    def story(self, **changed: object) -> Story:
        facts: Facts = replace(self.facts, **changed)  # type: ignore[arg-type]
        return story_of(facts, self.rules, self.capture.pick.unit, at=facts.at, pick=self.capture.pick)

    def lines(self, rule: str) -> list[int]:
        return [s.record.line_no for s in self.story().signals if s.rule == rule and s.record is not None]

    def holding(self, **changed: object) -> dict[str, Signal]:
        return {signal.rule: signal for signal in conditions(known_facts(self.story(**changed)))}

    def diagnosed(self) -> Diagnosis:
        capture: Capture = self.capture
        return reason.diagnose(self.facts, self.rules, capture)


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """Rules (YAML, without samples) and evidence (files by name) in, what they tell out. The profiles are the shipped ones."""

    def _tell(rules: str, **files: str) -> Told:
        samples = "\n  samples: {hit: [{text: x}], miss: [{text: y, why: z}]}\n- "
        text = textwrap.dedent(rules).strip().replace("\n- ", samples) + samples.removesuffix("- ")
        path = tmp_path / "rules" / "own.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        own = load(path.parent)
        return Told(folder(tmp_path / "evidence", **files), RuleSet(rules=own.rules, profiles=shipped().profiles))

    return _tell


def said(second: int, text: str, pid: int = 4711) -> str:
    return LINE.format(second=second, pid=pid, text=text)


STARTED = "May 09 10:15:18 gpu01 systemd[1]: Started x.service - X.\n"
ENDED = "May 09 10:15:51 gpu01 systemd[1]: x.service: Main process exited, code=exited, status=1/FAILURE\n"
RANKS = (
    STARTED
    + said(20, "[2026-05-09 10:15:20] server_args=ServerArgs(model_path='/m', tp_size=2, mem_fraction_static=0.88)")
    + said(34, "[2026-05-09 10:15:34 TP1] worker failed: Traceback (most recent call last):", 4823)
    + said(34, "[2026-05-09 10:15:34 TP0] worker failed: Traceback (most recent call last):", 4822)
    + said(34, "ValueError: shape of rank one", 4823)
    + said(34, "ValueError: shape of rank zero", 4822)
    + said(35, "[2026-05-09 10:15:35 TP0] ValueError: shape of something else", 4822)
    + ENDED
)

SHAPES = """
- id: a.shape
  role: root
  cause: model-load
  line: 'ValueError: shape of'
"""


# --------------------------------------------------------------------------- sequences and picks


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        pytest.param("", [5, 6, 7], id="every line"),
        pytest.param("preceded_by: 'Traceback \\(most'", [5, 6], id="the last line of a traceback, of its own rank"),
        pytest.param("not_preceded_by: 'Traceback \\(most'", [7], id="not of a traceback"),
        pytest.param("pick: first\n  scope: source", [5], id="the earliest of all ranks"),
        pytest.param("pick: last\n  scope: rank", [5, 7], id="the last of each rank"),
        pytest.param("pick: first\n  preceded_by: 'Traceback \\(most'\n  scope: rank", [5, 6], id="the first of each rank that follows a traceback"),
        pytest.param("not_followed_by: 'shape of rank'\n  scope: source", [6, 7], id="none after it"),
    ],
)
def test_a_rule_counts_where_its_neighbours_say_so(tell: Tell, asked: str, lines: list[int]) -> None:
    assert tell(SHAPES + (f"  {asked}\n" if asked else ""), journal=RANKS).lines("a.shape") == lines


def test_of_several_lives_each_has_its_first(tell: Tell) -> None:
    again = RANKS.replace("10:15:", "10:16:").replace(STARTED.replace("10:15:", "10:16:"), STARTED.replace("10:15:18", "10:16:10"))
    assert tell(SHAPES + "  pick: first\n  scope: source\n", journal=RANKS + again).lines("a.shape") == [5, 13]


# --------------------------------------------------------------------------- where


ASKING = (
    STARTED
    + said(20, "[2026-05-09 10:15:20] server_args=ServerArgs(tp_size=2)")
    + said(30, "[2026-05-09 10:15:30 TP1] it asked for {} here", 4823)
    + ENDED
)
ASKED = """
- id: a.asked
  role: context
  line: 'it asked for (?P<asked>[\\w. ]+) here'
  captures: {asked: gib}
  says: it asked for {asked}
"""


@pytest.mark.parametrize(
    ("where", "text", "counts"),
    [
        ("hit.asked > 4", "5.00 GiB", True),
        ("hit.asked > 4", "512 MiB", False),
        ("hit.asked > 4", "a lot", True),  # unknown passes
        ("hit.pid == 4823 and hit.rank == 'TP1'", "1 GiB", True),
        ("hit.pid == 4711", "1 GiB", False),
        ("argv.tp_size == 2 and life.argv.tp_size < 4", "1 GiB", True),
        ("argv.tp_size > 2", "1 GiB", False),
        ("before(hit.at, life.ended_at) and life.end.status == 1", "1 GiB", True),
        ("after(hit.at, life.ended_at)", "1 GiB", False),
        ("within(hit.at, life.ended_at, 5)", "1 GiB", False),
        ("life.server == 'vllm'", "1 GiB", False),
        ("evidence.kernel == 'not-collected' and evidence.server_lines > 1 and evidence.systemd_lines > 1", "1 GiB", True),
        ("evidence.systemd_lines == 0", "1 GiB", False),
        ("life.count > 1", "1 GiB", False),
    ],
)
def test_a_line_is_joined_with_its_captures_and_the_facts_of_its_life(tell: Tell, where: str, text: str, counts: bool) -> None:
    assert (tell(f"{ASKED}  where: {where}\n", journal=ASKING.format(text)).lines("a.asked") == [3]) is counts


def test_a_figure_is_written_with_its_unit_and_one_that_cannot_be_read_is_not(tell: Tell) -> None:
    for text, words in (("448.00 MiB", {"asked": "448 MiB"}), ("a lot", {})):
        story = tell(ASKED, journal=ASKING.format(text)).story()
        (signal,) = story.signals
        assert told(story, signal) == words
        assert signal.captures == {"asked": text}


ORDERED = """
- id: a.second
  role: context
  line: 'second words'
  where: {}
- id: a.first
  was: [a.early]
  role: context
  line: 'first words'
"""


@pytest.mark.parametrize(
    ("where", "counts"),
    [
        ("seen('a.first')", True),
        ("seen('a.early') and before('a.early', hit.at)", True),
        ("not seen('a.first')", False),
        ("after('a.first', hit.at)", False),
    ],
)
def test_a_where_may_ask_for_other_rules_also_of_those_below_and_by_their_former_ids(tell: Tell, where: str, counts: bool) -> None:
    log = STARTED + said(20, "first words") + said(20, "second words") + ENDED
    assert (tell(ORDERED.format(where), journal=log).lines("a.second") == [3]) is counts


# --------------------------------------------------------------------------- versions

OLLAMA = 'time=2026-05-09T10:15:20Z level=INFO source=routes.go:1238 msg="Listening on 127.0.0.1:11434 (version 0.5.7)"\ntime=2026-05-09T10:15:30Z level=INFO msg="words of a version"\n'


@pytest.mark.parametrize(("bounds", "counts"), [('since: "0.5.7"', True), ('until: "0.5.6"', False), ('since: "0.5.10"', False), ('since: "0.5"\n  until: "0.5"', True)])  # fmt: skip
def test_a_rule_of_other_versions_than_the_one_that_runs_does_not_count(tell: Tell, bounds: str, counts: bool) -> None:
    found = tell(f"- id: a.words\n  role: context\n  line: 'words of a version'\n  {bounds}\n", server_log=OLLAMA)
    assert found.story().issue.version == "0.5.7"
    assert (found.lines("a.words") == [2]) is counts


@pytest.mark.parametrize(("bounds", "counts"), [('since: "0.5.7"', True), ('until: "0.5.6"', False)])
def test_a_condition_of_other_versions_does_not_hold(tell: Tell, bounds: str, counts: bool) -> None:
    rule = f"- id: a.when\n  role: state\n  cause: startup-hang\n  when: life.version >= '0.5.2' and life.version < '0.5.10'\n  {bounds}\n"
    assert ("a.when" in tell(rule, server_log=OLLAMA).holding()) is counts


CALM = """
- id: a.root
  role: root
  cause: disk-full
  from: server
  line: 'the spool is full'
- id: a.calm
  role: benign
  from: server
  server: [{server}]
  over: [disk-full]
  line: 'the spool is full'
"""


@pytest.mark.parametrize(
    ("log", "server", "silenced"),
    [
        pytest.param(OLLAMA, "ollama", True, id="its own server"),
        pytest.param(OLLAMA, "vllm", False, id="another server"),
        pytest.param("words of a version\n", "vllm", False, id="a server that is not known"),
    ],
)
def test_what_is_harmless_in_one_server_silences_no_other(tell: Tell, log: str, server: str, silenced: bool) -> None:
    found = tell(CALM.format(server=server), server_log=log + "the spool is full\n")
    assert bool(found.lines("a.root")) is not silenced


# --------------------------------------------------------------------------- conditions over rules

ABSENT = """
- id: a.calm
  role: benign
  from: {from_}
  line: 'all is calm'
- id: a.when
  role: state
  cause: startup-hang
  when: not seen('a.calm') and evidence.kernel != 'denied'
"""
READ = {"journal": Coverage.READ, "kernel": Coverage.READ}


@pytest.mark.parametrize(
    ("from_", "coverage", "journal", "certain"),
    [
        pytest.param("server", READ, ASKING, True, id="a journal that was read whole"),
        pytest.param("server", {**READ, "journal": Coverage.GIVEN}, ASKING, None, id="an excerpt"),
        pytest.param("server", {**READ, "journal": Coverage.CUT}, ASKING, None, id="a journal that was cut"),
        pytest.param("server", READ, STARTED + ENDED, None, id="a journal without the server's lines"),
        pytest.param("systemd", READ, STARTED + ENDED, True, id="systemd in its journal"),
        pytest.param("kernel", READ, ASKING, True, id="the kernel's log"),
        pytest.param("kernel", {**READ, "kernel": Coverage.NOT_COLLECTED}, ASKING, None, id="no kernel's log"),
        pytest.param("client", READ, ASKING, None, id="no client's output"),
        pytest.param("server", READ, ASKING + said(45, "all is calm"), False, id="it was said"),
    ],
)
def test_that_a_line_was_not_said_is_known_only_where_it_would_have_been_seen(
    tell: Tell, from_: str, coverage: dict[str, Coverage], journal: str, certain: bool | None
) -> None:
    found = tell(ABSENT.format(from_=from_), journal=journal).story(coverage=coverage)
    value = known_facts(found).value("seen:a.calm")
    assert value is (None if certain is None else not certain)
    assert [s.certain for s in conditions(known_facts(found))] == ([True] if certain else [])


SAYING = """
- id: a.first
  was: [a.early]
  role: context
  line: 'first words'
- id: a.second
  role: context
  line: 'second words'
- id: a.when
  role: root
  cause: startup-hang
  when: {when}
"""


@pytest.mark.parametrize(
    ("when", "cited"),
    [
        ("seen('a.first') and seen('a.second')", [3, 2]),
        ("before('a.early', 'a.second') and after(life.ended_at, 'a.second')", [3, 2]),
        ("within('a.first', life.ended_at, 60) and not within('a.first', life.ended_at, 5)", [2]),
        ("after('a.first', 'a.second')", []),
        ("seen('a.first') and before('a.first', life.started_at)", []),
    ],
)
def test_a_condition_over_rules_cites_their_lines(tell: Tell, when: str, cited: list[int]) -> None:
    log = STARTED + said(20, "first words") + said(21, "second words") + ENDED
    found = tell(SAYING.format(when=when), journal=log).holding()
    assert sorted(line.line for s in found.values() for line in s.lines if line.line in (2, 3)) == sorted(cited)
    assert all(s.certain for s in found.values())


def test_what_was_said_in_another_life_was_not_said_in_this_one(tell: Tell) -> None:
    log = STARTED + said(20, "first words") + ENDED + STARTED.replace("10:15:18", "10:16:18") + ENDED.replace("10:15:51", "10:16:51")
    assert tell(SAYING.format(when="seen('a.first')"), journal=log).holding() == {}


def test_a_rule_is_over_one_by_its_former_id(tell: Tell) -> None:
    rules = """
    - id: a.general
      was: [a.old]
      role: root
      cause: model-load
      line: 'first words'
    - id: a.special
      role: root
      cause: bad-arguments
      over: [a.old]
      line: 'second words'
    """
    found = tell(rules, journal=STARTED + said(20, "first words") + said(21, "second words") + ENDED).diagnosed()
    assert str(found.cause) == "bad-arguments"
