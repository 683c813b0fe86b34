"""The pages that tell how to write rules: what they show is what happens, and what is made from the code is up to date."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from forensics import load_rules
from forensics.ruleset.lint import lint
from forensics.ruleset.loading import load, read
from forensics.ruleset.manual import PARTS, renewed
from tests.docs.pages import ROOT, run, steps

DOCS = ROOT / "docs"
MANUAL = (DOCS / "rules.md").read_text(encoding="utf-8")
TUTORIAL = (DOCS / "tutorial-new-server.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    found = list(run(TUTORIAL, tmp_path))
    assert len(found) > 8
    for step, output in found:
        assert output == step.shown, f"$ {step.command}\n{output}\n(python -m tests.docs.pages docs/tutorial-new-server.md)"


def test_the_tutorial_ends_with_the_new_server_its_phase_and_its_cause() -> None:
    shown = next(step.shown for step in steps(TUTORIAL) if step.command.startswith("ddforensics diagnose log.txt --rules mine;"))
    assert "in kv-pool" in shown
    assert "cause   gpu-oom-init, established, raise" in shown
    assert "(tensorloom)" in shown
    assert "raise --vram-share to at least 0.86" in shown


def test_a_changed_output_would_be_found(tmp_path: Path) -> None:
    page = "<!-- file: a.txt -->\n```text\nwords\n```\n\n```console\n$ cat a.txt\nother words\n$ echo one; echo two >&2\ntwo\none\n```\n"
    assert [(step.shown == output) for step, output in run(page, tmp_path)] == [False, True]


def test_what_is_made_from_the_code_is_up_to_date() -> None:
    assert renewed(MANUAL) == MANUAL, "python -m forensics.ruleset.manual docs/rules.md"
    assert set(re.findall(r"<!-- begin ([a-z-]+) -->", MANUAL)) == set(PARTS)


def test_a_part_that_is_out_of_date_would_be_found() -> None:
    old = MANUAL.replace("| `id` (needed) |", "| `ID` |")
    assert old != MANUAL
    assert renewed(old) == MANUAL


def test_the_rule_of_the_manual_loads_and_passes_the_lint(tmp_path: Path) -> None:
    (example,) = (block for block in re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL) if block.startswith("- id:"))
    (tmp_path / "a.yaml").write_text(example, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(
        "profile: acme\nlaunch: ['\\bacme serve\\b']\nmarks: [{mark: begin, phase: weights, line: loads weights, samples: {hit: [loads weights], miss: [a]}}]\n"
    )
    shipped = load()
    found = read(tmp_path, beside=shipped)
    assert not found.faults
    assert lint(found.rules, beside=shipped) == []
    assert load_rules(tmp_path).rule("acme.pool-too-small") is not None


@pytest.mark.parametrize("condition", re.findall(r"^(?:when|where): (.*)$", MANUAL, re.MULTILINE))
def test_the_conditions_of_the_manual_are_conditions(condition: str) -> None:
    from forensics.ruleset.condition import parse

    assert parse(condition).text == condition


@pytest.mark.parametrize("name", ["rules.md", "tutorial-new-server.md"])
def test_links_lead_somewhere(name: str) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    for goal in re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        path, _, anchor = goal.partition("#")
        page = DOCS / path if path else DOCS / name
        assert page.is_file(), goal
        heads = {
            re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-")
            for head in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        }
        assert not anchor or anchor in heads, goal


def test_the_sequence_example_of_the_manual_loads(tmp_path: Path) -> None:
    (keys,) = (block for block in re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL) if block.lstrip().startswith("line: '^worker"))
    hit = "worker a asks for pages\\npage table grows\\nworker a is gone"
    samples = f'  samples: {{hit: [{{text: "{hit}"}}], miss: [{{text: worker a is gone}}]}}\n'
    (tmp_path / "a.yaml").write_text("- id: a.b\n  role: context\n" + textwrap.indent(textwrap.dedent(keys), "  ") + samples)
    assert not read(tmp_path).faults
