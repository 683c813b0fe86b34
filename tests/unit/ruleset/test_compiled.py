"""The compiled rule set says the same as the YAML, is used only while it fits, and spares a diagnosis what reads YAML and conditions."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path

import pytest

from forensics.model import Cause, Location, Role
from forensics.ruleset import Matcher, RuleSet, compiled, condition, grammar, known_names, loading, shipped
from forensics.ruleset.anchors import Anchor, shape
from forensics.ruleset.plain import plain, read
from forensics.ruleset.schema import AdviceRule, Rule

SAMPLE = shipped.PACKAGE.parent / "samples" / "silent-crash"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("compiled") / "compiled.json"
    compiled.write(file)
    return file


@pytest.fixture(scope="module")
def rules(file: Path) -> RuleSet:
    rules = shipped.compiled(file)
    assert rules is not None
    return rules


@pytest.fixture(scope="module")
def loaded() -> RuleSet:
    return loading.load()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of what a compiled rule set is made of."""
    for folder in ("rules", "ruleset", "model"):
        shutil.copytree(shipped.PACKAGE / folder, tmp_path / "copy" / folder, ignore=shutil.ignore_patterns("__pycache__", "*.json"))
    return tmp_path / "copy"


# --------------------------------------------------------------------------- the same


def differences(one: object, other: object, at: str) -> Iterator[str]:
    """Where two values differ in what they hold or in what they are (a word of a vocabulary equals its text); samples are passed over."""
    if type(one) is not type(other):
        yield f"{at}: {one!r} is no {type(other).__name__}"
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if field.name not in ("hit", "miss"):
                yield from differences(getattr(one, field.name), getattr(other, field.name), f"{at}.{field.name}")
    elif isinstance(one, (tuple, list)):
        assert isinstance(other, (tuple, list))
        if len(one) != len(other):
            yield f"{at}: {len(one)} are not {len(other)}"
        for number, (inner, twin) in enumerate(zip(one, other, strict=False)):
            yield from differences(inner, twin, f"{at}[{number}]")
    elif isinstance(one, dict):
        assert isinstance(other, dict)
        yield from differences(list(one.items()), list(other.items()), at)
    elif one != other:
        yield f"{at}: {one!r} is not {other!r}"


def test_every_rule_mark_and_figure_is_the_same_but_for_its_samples(rules: RuleSet, loaded: RuleSet) -> None:
    assert [r.id for r in rules.rules] == [r.id for r in loaded.rules]
    for rule, twin in zip(rules.rules, loaded.rules, strict=True):
        assert list(differences(rule, twin, rule.id)) == []
        assert twin.hit
        assert rule.hit == ()
        assert rule.miss == ()
    for profile, other in zip(rules.profiles, loaded.profiles, strict=True):
        assert list(differences(profile, other, profile.name)) == []
    assert any(profile.marks for profile in rules.profiles)
    assert all(not mark.hit and not mark.miss for profile in rules.profiles for mark in profile.marks)


def test_a_difference_would_be_found(loaded: RuleSet) -> None:
    rule = next(r for r in loaded.rules if r.only_in)
    for odd in (
        dataclasses.replace(rule, role=str(rule.role)),  # type: ignore[arg-type]
        dataclasses.replace(rule, only_in=list(rule.only_in)),  # type: ignore[arg-type]
        dataclasses.replace(rule, keep=rule.keep + 1),
        dataclasses.replace(rule, at=rule.at._replace(line=rule.at.line + 1)),
    ):
        assert len(list(differences(odd, rule, "rule"))) == 1


def test_the_rules_of_the_package_come_without_samples_however_they_are_read(rules: RuleSet, loaded: RuleSet) -> None:
    bare = shipped.without_samples(loaded)
    assert (bare.rules, bare.profiles) == (rules.rules, rules.profiles)


def test_what_is_scanned_for_has_the_same_anchors_and_asks_no_parser(rules: RuleSet, loaded: RuleSet) -> None:
    lines = [item.line for item in Matcher(loaded).items]
    assert set(rules.anchors) == set(lines)
    for line in lines:
        assert rules.anchors_of(line) == shape(line).anchors == loaded.anchors_of(line)
    assert rules.anchors_of("something else entirely") == shape("something else entirely").anchors


VALUES: tuple[Callable[[str], object], ...] = (
    lambda name: None,
    lambda name: {"bool": True, "number": 3.0, "text": "failed", "list": (1, 2), "table": {"1": 2.0}}.get(known_names.fact(name).type, "x"),  # type: ignore[union-attr]
    lambda name: {"bool": False, "number": 0, "text": "", "list": (), "table": {}}.get(known_names.fact(name).type),  # type: ignore[union-attr]
    lambda name: None if len(name) % 2 else {"bool": True, "number": 700, "text": "SIGKILL", "list": (9,)}.get(known_names.fact(name).type),  # type: ignore[union-attr]
)


def test_every_condition_is_the_same_tree_and_says_the_same(rules: RuleSet) -> None:
    texts = {text for rule in rules.rules for text in (rule.when, rule.where) if text}
    assert texts
    for text in texts:
        known = condition.PARSED[text]
        fresh = known._replace(root=grammar.tree(text))
        assert condition.parse(text) == known
        assert list(differences(known, fresh, text)) == []
        for value in VALUES:
            assert known.evaluate(value) is fresh.evaluate(value)


# --------------------------------------------------------------------------- only while it fits


def test_it_is_used_while_nothing_has_changed(file: Path, package: Path) -> None:
    assert shipped.compiled(file, package) is not None


def edit(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + "\n# a remark\n", encoding="utf-8")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a rule is edited": lambda p: edit(p / "rules" / "causes" / "memory.yaml"),
    "a file of rules is added": lambda p: (p / "rules" / "causes" / "zz.yaml").write_text("[]\n"),
    "a file of rules is gone": lambda p: (p / "rules" / "causes" / "memory.yaml").unlink(),
    "a file of rules has another name": lambda p: (p / "rules" / "causes" / "memory.yaml").rename(p / "rules" / "causes" / "memories.yaml"),
    "rules are read in another way": lambda p: edit(p / "ruleset" / "loading.py"),
    "a vocabulary has changed": lambda p: edit(p / "model" / "vocabulary.py"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_is_not_used_once_something_has_changed(change: Callable[[Path], object], file: Path, package: Path) -> None:
    change(package)
    assert shipped.compiled(file, package) is None


@pytest.mark.parametrize(
    "text",
    [
        lambda whole: "",
        lambda whole: whole[: len(whole) // 2],
        lambda whole: "[]",
        lambda whole: "null",
        lambda whole: "[" * 100_000,
        lambda whole: whole.replace(shipped.FORMAT, "ddforensics/rules/0"),
        lambda whole: whole.replace('{"Rule":null', '{"Ruler":null', 1),
        lambda whole: whole.replace('{"Rule":null,', '{"Rule":null,"colour":1,', 1),
        lambda whole: whole.replace('{"Role":"root"}', '{"Role":"rot"}', 1),
        lambda whole: json.dumps({key: value for key, value in json.loads(whole).items() if key != "anchors"}),
    ],
    ids=[
        "empty",
        "cut",
        "a list",
        "null",
        "nested without end",
        "another format",
        "an unknown noun",
        "an unknown field",
        "an unknown word",
        "a part is missing",
    ],
)
def test_one_that_cannot_be_understood_is_as_good_as_none(text: Callable[[str], str], file: Path, tmp_path: Path) -> None:
    odd, whole = tmp_path / "odd.json", file.read_text(encoding="utf-8")
    odd.write_text(text(whole), encoding="utf-8")
    assert odd.read_text(encoding="utf-8") != whole
    assert shipped.compiled(odd) is None
    assert shipped.compiled(tmp_path / "none.json") is None


def test_writing_leaves_one_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "compiled.json"
    file.write_text("old")
    compiled.write(file)
    assert json.loads(file.read_text(encoding="utf-8"))["format"] == shipped.FORMAT
    assert list(tmp_path.iterdir()) == [file]
    assert file.stat().st_mode & 0o777 == 0o644


# --------------------------------------------------------------------------- plain values


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        0.5,
        "text",
        ("a", ("b",), ()),
        ["a", ["b"]],
        {"a": 1, 2: ("b",), "c": {"d": [None]}},
        frozenset({"b", "a"}),
        Role.ROOT,
        Location("rules/a.yaml", 3, 5),
        Anchor(text="a b", word="a", whole=False),
        AdviceRule(to=0.5),
        AdviceRule(to="0.5"),
        Rule(id="a", role=Role.ROOT, cause=Cause.DISK_FULL, advise=(AdviceRule(text="t"),), over=("b",)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_read_as_it_was_written(value: object) -> None:
    assert list(differences(read(json.dumps(plain(value))), value, "it")) == []


def test_a_number_is_not_taken_for_a_default_that_only_equals_it() -> None:
    rule = Rule(id="a", role=Role.ROOT, keep=200.0)  # type: ignore[arg-type]
    assert type(read(json.dumps(plain(rule))).keep) is float


@pytest.mark.parametrize("value", [Colour.RED, object(), b"bytes", {"a": Colour.RED}, Path("a")], ids=lambda value: type(value).__name__)
def test_what_could_not_be_read_again_is_refused_when_it_is_written(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be part of a compiled rule set"):
        plain(value)


# --------------------------------------------------------------------------- what it spares


def test_a_diagnosis_imports_neither_what_reads_rules_nor_what_it_does_not_meet(tmp_path: Path) -> None:
    """By what is loaded: seconds say more about the machine (benchmarks/start.py measures them)."""
    ignored = shutil.ignore_patterns("__pycache__", "compiled.json", "samples")
    shutil.copytree(shipped.PACKAGE, tmp_path / "forensics", ignore=ignored)
    program = (
        "import sys; from forensics.cli.main import main; code = main(['diagnose', sys.argv[1], '--format', sys.argv[2]]);"
        "print('\\nLOADED', code, *sorted(sys.modules))"
    )

    def loaded_by(form: str) -> set[str]:
        argv = [sys.executable, "-c", program, str(SAMPLE), form]
        done = subprocess.run(argv, cwd=tmp_path, check=True, capture_output=True, text=True)
        code, *names = done.stdout.rpartition("LOADED ")[2].split()
        assert code == "1"
        return set(names)

    without = loaded_by("json")
    assert {"yaml", "pyparsing", "forensics.ruleset.loading"} <= without  # no compiled rule set yet
    subprocess.run([sys.executable, "-m", "forensics.ruleset.compiled"], cwd=tmp_path, check=True)
    heavy = {"yaml", "pyparsing", "dateutil", "rapidfuzz", "zstandard", "jsonschema", "forensics.ruleset.loading"}
    for form in ("json", "markdown", "text"):
        names = loaded_by(form)
        # a text has tables, and tabulate asks for its own version
        assert (heavy if form == "text" else heavy | {"tabulate", "importlib.metadata"}) & names == set()
        assert {"forensics.collect.live", "forensics.collect.container", "forensics.collect.pod", "forensics.ruleset.grammar"} & names == set()
