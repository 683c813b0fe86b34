"""A user's own rules: added, never in place of a shipped one; checked at load; read within limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import load_rules
from forensics.errors import RuleError, RuleErrors
from forensics.ruleset import load, sources
from forensics.ruleset.loading import read
from forensics.ruleset.user import rules_for_a_diagnosis

OWN = """\
- id: my.words
  role: context
  line: 'words of my own'
  says: words
  source: seen here
  samples: {hit: [{text: words of my own}], miss: [{text: none}]}
"""


def _file(folder: Path, name: str = "x.yaml", text: str = OWN) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _faults(*paths: Path) -> list[str]:
    with pytest.raises(RuleErrors) as caught:
        load_rules(*paths)
    return [str(fault) for fault in caught.value.faults]


# --------------------------------------------------------------------------- added


def test_own_rules_are_added_to_the_shipped_ones(tmp_path: Path) -> None:
    _file(tmp_path)
    rules = load_rules(tmp_path)
    assert rules.rule("my.words") is not None
    assert [r.id for r in rules.rules[:-1]] == [r.id for r in load().rules]


def test_load_without_a_path_is_the_shipped_rules_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    _file(tmp_path / "ddforensics" / "rules")
    assert load().rule("my.words") is None
    assert load_rules().rule("my.words") is None
    assert load_rules(home=True).rule("my.words") is not None


def test_a_rule_may_be_over_a_shipped_one_and_of_a_shipped_server(tmp_path: Path) -> None:
    _file(tmp_path, text=OWN.replace("  says:", "  over: [torch.oom, gpu-oom-init]\n  server: [sglang]\n  says:"))
    rule = load_rules(tmp_path).rule("my.words")
    assert rule is not None
    assert rule.over == ("torch.oom", "gpu-oom-init")


def test_a_profile_of_ones_own_may_be_named_by_rules_of_ones_own(tmp_path: Path) -> None:
    _file(tmp_path, "p.yaml", "profile: loom\n")
    _file(tmp_path, text=OWN.replace("  says:", "  server: [loom]\n  says:"))
    assert load_rules(tmp_path).profile("loom") is not None


def test_what_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = _file(tmp_path)
    assert load_rules(tmp_path, path, tmp_path).rule("my.words") is not None


# --------------------------------------------------------------------------- refused


def test_an_id_that_a_shipped_rule_has_is_a_fault_with_both_places(tmp_path: Path) -> None:
    shipped = load().rule("sglang.kv-pool-too-small")
    assert shipped is not None
    _file(tmp_path, text=OWN.replace("my.words", "sglang.kv-pool-too-small"))
    (fault,) = _faults(tmp_path)
    text = f"x.yaml:1:7: the id 'sglang.kv-pool-too-small' is taken — by forensics/{shipped.at}"
    assert fault.endswith(f"{text} (choose a name of your own, e.g. 'my.kv-pool-too-small')")


def test_a_profile_that_a_shipped_one_is_called_is_a_fault(tmp_path: Path) -> None:
    _file(tmp_path, text="profile: sglang\n")
    (fault,) = _faults(tmp_path)
    assert "the id 'profile sglang' is taken — by forensics/rules/servers/sglang.yaml:" in fault


def test_all_faults_of_all_files_are_told(tmp_path: Path) -> None:
    _file(tmp_path, "a.yaml", OWN.replace("context", "contxt"))
    _file(tmp_path, "b.yaml", OWN.replace("my.words", "my.others").replace("  says", "  server: [slang]\n  says"))
    assert [fault.split(": ", 1)[1] for fault in _faults(tmp_path)] == [
        "unknown role 'contxt' (did you mean 'context'?)",
        "unknown server 'slang' (did you mean 'sglang'?)",
    ]


@pytest.mark.parametrize("pattern", [r"(a+)+ words", r"words(?! of)", r"(\w+) \1 words", r"words.*of.*my.*own"])
def test_an_expression_that_can_take_long_is_refused_at_load(tmp_path: Path, pattern: str) -> None:
    _file(tmp_path, text=OWN.replace("words of my own'", pattern + "'"))
    (fault,) = _faults(tmp_path)
    assert "x.yaml:1:3: 'my.words': " in fault


def test_expressions_of_a_profile_are_looked_at_too(tmp_path: Path) -> None:
    _file(tmp_path, text="profile: loom\nprefixes: ['^(?:(?P<rank>\\w+)\\s*)*: ']\n")
    assert "profile 'loom', prefixes: an endless repeat within a repeat" in _faults(tmp_path)[0]


# --------------------------------------------------------------------------- the home folder


def test_a_slip_in_the_home_folder_costs_that_rule_only(tmp_path: Path) -> None:
    _file(tmp_path, "a.yaml", OWN)
    _file(tmp_path, "b.yaml", OWN.replace("my.words", "my.bad").replace("role: context", "role: contxt"))
    _file(tmp_path, "c.yaml", OWN.replace("my.words", "my.slow").replace("words of my own'", "(a+)+ words'"))
    _file(tmp_path, "d.yaml", "profile: loom\nport: many\n")
    heard: list[RuleError] = []
    rules = rules_for_a_diagnosis([], home=tmp_path, warn=heard.extend)
    assert {r.id for r in rules.rules} - {r.id for r in load().rules} == {"my.words"}
    assert rules.profile("loom") is None
    assert [str(fault.at).split("/")[-1].split(":")[0] for fault in heard] == ["b.yaml", "d.yaml", "c.yaml"]


def test_a_rule_that_asks_for_one_that_is_left_out_is_left_out_too(tmp_path: Path) -> None:
    _file(tmp_path, "a.yaml", OWN.replace("role: context", "role: contxt"))
    _file(tmp_path, "b.yaml", OWN.replace("my.words", "my.asks").replace("  says:", "  where: seen('my.words')\n  says:"))
    _file(tmp_path, "c.yaml", OWN.replace("my.words", "my.well").replace("  says:", "  where: seen('torch.oom')\n  says:"))
    heard: list[RuleError] = []
    rules = rules_for_a_diagnosis([], home=tmp_path, warn=heard.extend)
    assert [r.id for r in rules.rules if r.id.startswith("my.")] == ["my.well"]
    assert len(heard) == 1


def test_what_is_named_has_to_be_right_even_if_it_lies_in_the_home_folder(tmp_path: Path) -> None:
    _file(tmp_path, "a.yaml", OWN)
    bad = _file(tmp_path, "b.yaml", OWN.replace("my.words", "my.bad").replace("role: context", "role: contxt"))
    heard: list[RuleError] = []
    with pytest.raises(RuleErrors):
        rules_for_a_diagnosis([bad], home=tmp_path, warn=heard.extend)
    named = rules_for_a_diagnosis([tmp_path / "a.yaml"], home=tmp_path, warn=heard.extend)
    assert [r.id for r in named.rules if r.id.startswith("my.")] == ["my.words"]


def test_what_is_named_stands_for_what_the_home_folder_has_of_that_name(tmp_path: Path) -> None:
    _file(tmp_path / "home", text=OWN + OWN.replace("my.words", "my.other").replace("  says:", "  over: [my.words]\n  says:"))
    _file(tmp_path / "home", "p.yaml", "profile: loom\ntitle: old\n")
    _file(tmp_path / "copy", text=OWN.replace("says: words", "says: newer words").replace("  says:", "  server: [loom]\n  says:"))
    _file(tmp_path / "copy", "p.yaml", "profile: loom\ntitle: new\n")
    rules = rules_for_a_diagnosis([tmp_path / "copy"], home=tmp_path / "home", warn=_nobody)
    assert [r.says for r in rules.rules if r.id == "my.words"] == ["newer words"]
    assert [p.title for p in rules.profiles if p.name == "loom"] == ["new"]
    assert rules.rule("my.other") is not None


def test_a_former_name_gives_way_too(tmp_path: Path) -> None:
    _file(tmp_path / "home", text=OWN.replace("  role:", "  was: my.former\n  role:"))
    rules = rules_for_a_diagnosis([_file(tmp_path / "copy", text=OWN.replace("my.words", "my.former"))], home=tmp_path / "home", warn=_nobody)
    assert [r.id for r in rules.rules if r.id.startswith("my.")] == ["my.former"]


def test_a_named_rule_may_be_of_a_server_of_the_home_folder_and_ask_for_its_rules(tmp_path: Path) -> None:
    _file(tmp_path / "home")
    _file(tmp_path / "home", "p.yaml", "profile: loom\n")
    asking = (
        OWN.replace("my.words", "my.asking")
        .replace("words of", "others of")
        .replace("  says:", "  server: [loom]\n  where: seen('my.words')\n  says:")
    )
    rules = rules_for_a_diagnosis([_file(tmp_path / "more", text=asking)], home=tmp_path / "home", warn=_nobody)
    assert {"my.words", "my.asking"} <= {r.id for r in rules.rules}


def test_two_that_are_named_may_not_have_one_id(tmp_path: Path) -> None:
    _file(tmp_path / "home")
    with pytest.raises(RuleErrors, match=r"the id 'my\.words' is taken"):
        rules_for_a_diagnosis([_file(tmp_path / "a"), _file(tmp_path / "b")], home=tmp_path / "home", warn=_nobody)


def _nobody(faults: Sequence[RuleError]) -> None:
    raise AssertionError(faults)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CONFIG_HOME": "{}/xdg", "HOME": "{}"}, "xdg/ddforensics/rules"),
        ({"HOME": "{}"}, ".config/ddforensics/rules"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "{}"}, ".config/ddforensics/rules"),
        ({"XDG_CONFIG_HOME": "", "HOME": "{}"}, ".config/ddforensics/rules"),
    ],
)
def test_the_home_folder_is_found_as_the_standard_says(tmp_path: Path, environ: dict[str, str], folder: str) -> None:
    env = {name: value.replace("{}", str(tmp_path)) for name, value in environ.items()}
    assert sources.own_folder(env) is None
    (tmp_path / folder).mkdir(parents=True)
    assert sources.own_folder(env) is None  # nothing in it: no reason for a warning
    _file(tmp_path / folder / "deeper")
    assert sources.own_folder(env) == tmp_path / folder


def test_without_a_home_there_is_no_home_folder() -> None:
    assert sources.own_folder({}) is None


# --------------------------------------------------------------------------- hostile folders


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    _file(tmp_path / "a")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    (tmp_path / "self.yaml").symlink_to(tmp_path / "self.yaml")
    found = read(tmp_path, beside=load())
    assert [r.id for r in found.rules.rules] == ["my.words"]
    assert [str(f).split("self.yaml")[-1] for f in found.faults] == [": cannot be read: Too many levels of symbolic links"]


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    _file(tmp_path / "kept" / "elsewhere")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine").symlink_to(tmp_path / "kept")
    assert load_rules(tmp_path / "rules").rule("my.words") is not None


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    (fault,) = _faults(tmp_path)
    assert fault.endswith("x.yaml: no plain file")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    _file(tmp_path, text="# " + "x" * sources.MOST_BYTES)
    (fault,) = _faults(tmp_path)
    assert "too large for rules" in fault


def test_many_files_are_not_read(tmp_path: Path) -> None:
    for number in range(sources.MOST_FILES + 5):
        _file(tmp_path, f"{number:04}.yaml", "[]")
    (fault,) = _faults(tmp_path)
    assert f"more than {sources.MOST_FILES} rule files" in fault


def test_no_more_is_read_of_a_folder_than_anybody_wrote(tmp_path: Path) -> None:
    for number in range(sources.MOST_ALL_BYTES // sources.MOST_BYTES + 2):
        with (tmp_path / f"{number:04}.yaml").open("wb") as stream:
            stream.truncate(sources.MOST_BYTES)
    found, faults = sources.files(tmp_path)
    assert len(found) == sources.MOST_ALL_BYTES // sources.MOST_BYTES
    assert f"more than {sources.MOST_ALL_BYTES} bytes of rules" in str(faults[0])


def test_a_deep_folder_is_said_and_not_read(tmp_path: Path) -> None:
    _file(tmp_path.joinpath(*["d"] * (sources.MOST_DEPTH + 2)))
    (fault,) = _faults(tmp_path)
    assert f"more than {sources.MOST_DEPTH} folders deep" in fault


def test_aliases_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    lines = ["profile: x", "extra:", "  a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    _file(tmp_path, text="\n".join(lines))
    (fault,) = _faults(tmp_path)
    assert "an alias (*name) is not taken in rules" in fault


def test_deep_nesting_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    _file(tmp_path, text="[" * 100_000)
    (fault,) = _faults(tmp_path)
    assert "not YAML" in fault


def test_hidden_names_and_other_files_are_passed_over(tmp_path: Path) -> None:
    _file(tmp_path, ".git/x.yaml", "- nonsense")
    _file(tmp_path, "notes.txt", "- nonsense")
    _file(tmp_path, "more.yml")
    assert load_rules(tmp_path).rule("my.words") is not None
