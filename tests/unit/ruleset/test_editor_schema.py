"""The schema for editors: in step with the loader, key by key, and with every shipped file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from forensics.ruleset import sources
from forensics.ruleset.editor_schema import FILE, rendered, schema
from forensics.ruleset.loading import read
from forensics.ruleset.nodes import Table

VALIDATOR = jsonschema.Draft202012Validator(schema())
FILES = sources.files(sources.SHIPPED)[0]
# what the loader calls a mapping → where the schema has it
PLACES = {
    "a rule": ("rule",),
    "a table of columns": ("columns",),
    "'columns'": ("columns", "properties", "columns"),
    "a profile": ("profile",),
    "an advice": ("advice",),
    "a sample": ("sample",),
    "a mark": ("profile", "properties", "marks", "items"),
    "an endpoint": ("profile", "properties", "endpoints", "items"),
    "'memory'": ("profile", "properties", "memory"),
    "a figure": ("profile", "properties", "memory", "properties", "figures", "items"),
    "'speculation'": ("profile", "properties", "speculation"),
    "a figure of drafts": ("profile", "properties", "speculation", "properties", "figures", "items"),
}


def test_the_file_is_what_the_code_says() -> None:
    assert FILE.read_text(encoding="utf-8") == rendered(), "python -m forensics.ruleset.editor_schema > forensics/ruleset/rules.schema.json"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_shipped_file_is_valid(path: Path) -> None:
    found = json.loads(json.dumps(yaml.safe_load(path.read_text(encoding="utf-8"))))
    assert [f"{'/'.join(map(str, error.path))}: {error.message[:200]}" for error in VALIDATOR.iter_errors(found)] == []


def test_the_loader_and_the_schema_know_the_same_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, set[str]] = {}

    def done(self: Table) -> None:
        asked.setdefault(self.what, set()).update(self.asked)

    monkeypatch.setattr(Table, "done", done)
    assert not read().faults
    for what, place in PLACES.items():
        there: Any = schema()["$defs"]
        for key in place:
            there = there[key]
        assert set(there["properties"]) == asked[what], what


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- {id: a, role: rot, line: words, samples: {hit: [{text: words}], miss: [{text: b}]}}", "'rot' is not one of"),
        ("- {id: a, role: root, line: words, samples: {hit: [{text: words}], miss: [{text: b}]}}", "'cause' is a required property"),
        ("- {id: a, role: benign, samples: {hit: [{text: words}], miss: [{text: b}]}}", "is not valid under any of the given schemas"),
        ("- {id: a, role: benign, line: words, lnie: b, samples: {hit: [{text: words}], miss: [{text: b}]}}", "'lnie' was unexpected"),
        ("- {id: a, role: benign, line: words}", "'samples' is a required property"),
        ("profile: x\nmarks: [{mark: reddy, line: words, samples: {hit: [words]}}]", "'reddy' is not one of"),
        ("profile: x\nport: 70000", "70000 is greater than the maximum"),
    ],
    ids=["unknown role", "no cause", "neither line nor when", "unknown key", "no samples", "unknown mark", "no port"],
)
def test_an_editor_would_underline_it(text: str, fault: str) -> None:
    messages = [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(text))]
    assert any(fault in message for message in messages), messages
