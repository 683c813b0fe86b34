"""The JSON is what the schema says: every key, exact figures, no secrets."""

from __future__ import annotations

import dataclasses
import json as stdlib_json
from typing import Any

import jsonschema
import pytest

from forensics.model import Cause, Diagnosis, Evidence, Health, Template
from forensics.report import json
from tests.unit.report import example

SCHEMA: dict[str, Any] = stdlib_json.loads(json.SCHEMA_FILE.read_text(encoding="utf-8"))
BARE = Diagnosis(target="x", headline="nothing is known", health=Health.UNKNOWN, cause=Cause.UNKNOWN)


@pytest.mark.parametrize("diagnosis", [example.died(), example.loading(), BARE], ids=["died", "loading", "bare"])
def test_a_diagnosis_validates_against_the_schema(diagnosis: Diagnosis) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(stdlib_json.loads(json.render(diagnosis)))


def test_the_schema_refuses_a_missing_key_and_an_unknown_cause() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    document = json.as_dict(example.died())
    assert not validator.is_valid({k: v for k, v in document.items() if k != "changed"})
    assert not validator.is_valid(document | {"cause": "oom"})
    assert not validator.is_valid(document | {"evidence": None})


def test_every_key_of_the_design_is_there_when_nothing_is_known() -> None:
    document = json.as_dict(BARE)
    assert list(document) == list(json.as_dict(example.died()))
    assert set(document) == set(SCHEMA["required"])
    assert document["unit"] is None
    assert document["evidence"] == []
    assert document["client"] is None
    assert (document["good_life"], document["novel"], document["absent"]) == (None, [], [])


def test_what_is_new_and_what_is_missing_validates() -> None:
    died = example.died()
    new = Template(source="journal.txt", line=31, text="a line that was never said", count=2)
    document = json.as_dict(dataclasses.replace(died, good=died.lives[0], novel=(new,), absent=(dataclasses.replace(new, line=0),)))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert document["novel"] == [{"source": "journal.txt", "line": 31, "text": "a line that was never said", "count": 2}]
    assert document["absent"][0]["line"] is None
    assert document["good_life"]["ended_at"] == "2026-05-09T10:14:18Z"


def test_every_vocabulary_of_the_schema_is_the_models() -> None:
    assert SCHEMA["$defs"]["cause"]["enum"] == [str(c) for c in Cause]
    assert SCHEMA["properties"]["health"]["enum"] == [str(h) for h in Health]


def test_durations_are_exact_and_times_in_utc_with_milliseconds_where_there_are_any() -> None:
    document = json.as_dict(example.died())
    assert document["died_after_s"] == 32.969
    assert document["died_at"] == "2026-05-09T10:15:50.969Z"
    assert document["started_at"] == "2026-05-09T10:15:18Z"
    assert document["advice"][0] == {
        "text": "Raise --mem-fraction-static to at least 0.91",
        "flag": "--mem-fraction-static",
        "direction": "raise",
        "from": 0.88,
        "to": 0.91,
        "command": None,
        "costs": None,
    }
    assert document["lives"][0]["ready_after_s"] == 94.9


def test_one_diagnosis_is_one_line_of_ascii() -> None:
    line = json.render(example.died())
    assert "\n" not in line
    assert line.isascii()


def test_secrets_and_undecodable_bytes_do_not_leave() -> None:
    dirty = Evidence(source="log", line=1, text="--api-key s3cr3t caf\udce9 \x1b[31m", role=None)
    document = stdlib_json.loads(json.render(dataclasses.replace(BARE, evidence=(dirty,))))
    assert document["evidence"][0]["text"] == "--api-key [masked] caf\\udce9 \x1b[31m"


def test_a_span_that_is_no_number_is_null_and_not_broken_json() -> None:
    d = dataclasses.replace(example.died(), took_s=float("nan"), died_after_s=float("inf"))
    assert (json.as_dict(d)["took_s"], json.as_dict(d)["died_after_s"]) == (None, None)
    json.render(d)
