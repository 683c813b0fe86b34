"""The rule files as a JSON Schema, for editors: keys as the loader knows them, vocabularies out of the code. Never used to load a rule: the loader says more, and says where.

``python -m forensics.ruleset.editor_schema > forensics/ruleset/rules.schema.json`` after a change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

from forensics.model import ACCEPTED, FIGURES, BudgetOf, Cause, Direction, Frees, MarkKind, Origin, Phase, Role
from forensics.ruleset.columns import ABOUT
from forensics.ruleset.flagtable import WAYS
from forensics.ruleset.profile import UNITS
from forensics.ruleset.quantities import TYPES
from forensics.ruleset.schema import Rule

FILE = Path(__file__).with_name("rules.schema.json")
Json = dict[str, Any]


def _words(words: type[Enum]) -> Json:
    return {"enum": [str(word.value) for word in words]}


_ID = "^[a-z0-9]+(?:[._-][a-z0-9]+)*$"


def _text(doc: str = "") -> Json:
    return {"type": "string", **({"description": doc} if doc else {})}


def _listed(item: Json, doc: str = "") -> Json:
    """A list; one alone is a list of one."""
    return {"anyOf": [item, {"type": "array", "items": item}], **({"description": doc} if doc else {})}


def _table(properties: Json, required: Iterable[str] = ()) -> Json:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


def _said(ref: str, doc: str) -> Json:
    return {"$ref": f"#/$defs/{ref}", "description": doc}


def _rule() -> Json:
    properties: Json = {
        "id": _text("family.name, small letters and dashes; 'my.' for your own. It never changes its meaning") | {"pattern": _ID},
        "was": _listed(_text(), "former ids: 'over', seen() and 'rules show' still find it"),
        "role": _said("role", "what a matched line may be used for"),
        "cause": _said("cause", "what it is the cause of; roots, mechanisms and states need one"),
        "from": _said("origin", "who writes the line; absent: anybody"),
        "server": _listed(_text(), "names of profiles; absent: any server"),
        "since": _text("first version of the server that prints it, inclusive"),
        "until": _text("last version of the server that prints it, inclusive"),
        "line": _text("regular expression over one message, in linear time"),
        "captures": {"type": "object", "additionalProperties": {"enum": list(TYPES)}, "description": "types of the named groups of 'line'"},
        "when": _text("condition over known facts, instead of 'line'"),
        "where": _text("condition that joins the line with facts"),
        "preceded_by": _listed(_text(), "lines that stand before the cited one, in this order"),
        "followed_by": _listed(_text(), "lines that stand after it, in this order"),
        "not_preceded_by": _listed(_text(), "no such line stands before it"),
        "not_followed_by": _listed(_text(), "no such line stands after it"),
        "scope": {"enum": ["record", "rank", "source"], "description": "where those lines are looked for"},
        "within_lines": {"type": "integer", "minimum": 1, "description": "how far to look for them; 200"},
        "pick": {"enum": ["first", "last", "all"], "description": "which of several hits counts; all"},
        "only_in": _listed({"$ref": "#/$defs/phase"}, "blocks in any other known phase"),
        "phase": _said("phase", "asserted where no mark says it"),
        "direction": _said("direction", "which way the memory share has to go"),
        "over": _listed(_text(), "rules and causes that this one is more specific than"),
        "firm": {"enum": ["established", "supported", "possible"], "description": "the highest status that it may give"},
        "says": _text("one sentence for the report; {capture} and {known.fact} are filled in"),
        "advise": {"type": "array", "items": {"$ref": "#/$defs/advice"}},
        "next": _text("the command that would decide"),
        "source": _text("which program prints it, in which versions; or 'seen in …'"),
        "keep": {"type": "integer", "minimum": 1, "description": "first and last matches kept of each source; 200"},
        "samples": _table({"hit": {"$ref": "#/$defs/samples"}, "miss": {"$ref": "#/$defs/samples"}}, ["hit", "miss"]),
    }
    known = {"from" if field.name == "from_" else field.name for field in fields(Rule)} | {"samples"}
    properties = {key: what for key, what in properties.items() if key in known}
    needs_cause = {"if": {"properties": {"role": {"enum": ["root", "mechanism", "state"]}}, "required": ["role"]}, "then": {"required": ["cause"]}}
    one_of_both = {"oneOf": [{"required": ["line"]}, {"required": ["when"]}]}
    return {**_table(properties, ["id", "role", "samples"]), "allOf": [needs_cause, one_of_both]}


def _profile() -> Json:
    marked = {"hit": {"type": "array", "items": _text(), "minItems": 1}, "miss": {"type": "array", "items": _text()}}
    line = _text("regular expression over one message, without the prefix")
    mark = {
        "mark": _said("mark", "what the line says about the course of a life"),
        "phase": _said("phase", "the phase that it is about"),
        "line": line,
        "from": _said("origin", "who writes it; absent: as the profile says, else the server"),
        "next": _said("phase", "the phase that an end mark opens"),
        "again": _said("phase", "what a second begin on the same rank means"),
        "draft": {"type": "boolean", "description": "belongs to the draft model of speculative decoding"},
        "opens": {"type": "boolean", "description": "opens a life where systemd does not say"},
        "library": {"type": "boolean", "description": "a library writes it, in other programs too: never says which server it is"},
        "up": {"type": "boolean", "description": "written by a server that is up already, and loads on demand"},
        "warms": {"type": "boolean", "description": "the server's own warm-up writes the same"},
        "style": {"enum": ["kwargs", "dict", "map"], "description": "how the captured 'args' are written"},
        "what": _text("what a progress counts; 'frame' for a line of a traceback; the name of a software"),
        "version": _text("versions that write it, as 0.5.4..0.5.9, ..0.5.19 or 0.5.20.."),
        "keep": {"type": "integer", "minimum": 1},
        "samples": _table(marked, ["hit"]),
    }
    figure = {
        "fact": {"enum": list(FIGURES), "description": "which figure it is"},
        "line": {**line, "description": "regular expression with the group 'value'"},
        "unit": {"enum": list(UNITS), "description": "of what a size is printed in; absent: GiB. All count by 1024"},
        "take": _text("first, second, last, min, max, sum, or before:FACT; last"),
        "samples": _table(marked, ["hit"]),
    }
    default = {"value": {"type": "number"}, "since": _text("first version"), "until": _text("last version")}
    lever = {
        "flag": _text("as the versions below spell it"),
        "frees": {**_words(Frees), "description": "what it gives back, as far as it can be reckoned"},
        "text": _text("what to do with it, in words"),
        "argument": _text("its name in the logged arguments; absent: the flag's"),
        "unless": _text("regular expression over its present value: it has been pulled already"),
        "given": _text("the argument without which it frees nothing"),
        "since": _text("first version"),
        "until": _text("last version"),
    }
    memory = {
        "flag": _text("the flag of the memory share"),
        "argument": _text("its name in the logged arguments"),
        "fraction_of": {**_words(BudgetOf), "description": "share of what is free before the weights, of all, or of what remains after the weights"},
        "default": {"type": "number", "description": "the fraction where none is given"},
        "defaults": {"type": "array", "items": _table(default, ["value"])},
        "whole_request": {"type": "boolean", "description": "it refuses to start where the pool holds less than one request of full length"},
        "shaped_by": _listed(_text(), "arguments, beside those of the levers, that change what the GPU holds"),
        "levers": {"type": "array", "items": _table(lever, ["flag", "frees", "text"])},
        "figures": {"type": "array", "items": _table(figure, ["fact", "line", "samples"])},
    }
    accepted = {
        "fact": {"enum": list(ACCEPTED), "description": "tokens a step with the one that the target makes anyway, or the accepted drafts alone"},
        "line": {**line, "description": "regular expression with the group 'value', and 'weight' for how much went into it"},
        "version": _text("versions that mean this by it, as 0.9.0.. or ..0.8.5"),
        "keep": {"type": "integer", "minimum": 1},
        "samples": _table(marked, ["hit"]),
    }
    speculation = {
        "given": _text("the argument without which nothing is drafted"),
        "topk": _listed(_text(), "arguments for how many branches a node of the tree has; the first that is given; absent: one"),
        "budget": _listed(_text(), "arguments for how many drafted tokens the tree holds"),
        "steps": _listed(_text(), "arguments for how deep it is"),
        "paths": _text("the argument that lists its nodes by their paths"),
        "same": _listed(_text(), "arguments that make two starts incomparable where they differ"),
        "figures": {"type": "array", "items": _table(accepted, ["fact", "line", "samples"])},
    }
    endpoint = {
        "path": {"type": "string", "pattern": "^/"},
        "says": {"enum": ["listening", "ready"], "description": "what an answer proves"},
        "limit_s": {"type": "number"},
    }
    properties: Json = {
        "profile": _text("its name, as rules give it under 'server'"),
        "title": _text("its name for people"),
        "from": _said("origin", "who writes the lines of its marks; absent: the server"),
        "launch": _listed(_text(), "regular expressions over a command line: how the server is known"),
        "prefixes": _listed(_text(), "what stands before its messages; groups stamp, rank, pid, proc"),
        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
        "port_flag": _text("the flag that sets its port"),
        "endpoints": {"type": "array", "items": _table(endpoint, ["path", "says"])},
        "exit_codes": {
            "type": "object",
            "patternProperties": {"^-?[0-9]+$": _text()},
            "additionalProperties": False,
            "description": "what its exit codes mean",
        },
        "self_kill": _text("the signal that it sends to its own process tree, SIGKILL"),
        "exit_zero_is_crash": {"type": "boolean"},
        "unbound_while_loading": {"type": "boolean", "description": "its port refuses until it is ready"},
        "memory": _table(memory, []),
        "speculation": _table(speculation, ["given", "figures"]),
        "aliases": {"type": "object", "additionalProperties": _listed(_text()), "description": "flag: its other spellings"},
        "flags": _listed(_text(), "all its flags, where no table beside it lists them by version"),
        "noise": _listed(_text(), "arguments that differ at every start and say nothing: a seed, a port drawn at random"),
        "extra": {"type": "object", "description": "whatever else is worth writing down"},
        "marks": {"type": "array", "items": _table(mark, ["mark", "line", "samples"])},
    }
    return _table(properties, ["profile"])


def _flag_table() -> Json:
    flags = {"type": "array", "items": _text()}
    ways = {way: _text() for way in WAYS}
    replaced = {
        "flags": {**_listed(_text()), "description": "flags that newer versions do not have"},
        "by": _listed(_text(), "flags of today that do it in another way"),
        "says": _text("what is said with those now"),
    }
    pairs = {"type": "object", "additionalProperties": _text()}
    properties: Json = {
        "flags_of": _text("the profile, of the same folder, that the flags are of"),
        "source": _text("where the flags were read, and how"),
        "checked": _listed(_text(), "the versions that were looked at, oldest first"),
        "abbreviations": {"type": "boolean", "description": "its parser takes any unique prefix of a flag"},
        "underscores": {"type": "boolean", "description": "its parser reads _ as -"},
        "dotted": {"type": "boolean", "description": "its parser takes --flag.key for a part of a flag's JSON"},
        "flags": {
            "type": "object",
            "additionalProperties": flags,
            "description": "FIRST..LAST checked version: the flags that those and all between have",
        },
        "renamed": {**pairs, "description": "old: new, with the same values"},
        "replaced": {"type": "array", "items": _table(replaced, ["flags", "says"]), "description": "what is said otherwise now"},
        "elsewhere": {**pairs, "description": "a flag of another server: what it is called here"},
        "costs": {"type": "object", "additionalProperties": _table(ways), "description": "flag: what it costs to raise, lower or set it"},
    }
    return _table(properties, ["flags_of", "source", "checked", "flags"])


def _columns() -> Json:
    names = {meaning: _listed(_text(), about) for meaning, about in ABOUT.items()}
    return _table({"columns": _table(names), "source": _text("which programs write them so")}, ["columns", "source"])


def schema() -> Json:
    """The schema of a rule file: a list of rules, one profile, the flags of one, or columns of results."""
    sample = _table(
        {
            "text": _text("one line, as it is printed, without the prefix"),
            "capture": _text("a folder of evidence, for a 'when' rule"),
            "software": _text("what printed it"),
            "why": _text("why a miss is one"),
            "from": {"$ref": "#/$defs/origin"},
        }
    )
    advice = _table(
        {
            "text": _text(),
            "costs": _text("what is lost by it, in a few words; of a flag the table of flags can say it"),
            "flag": _text("a flag to change, in any of its spellings"),
            "direction": {"$ref": "#/$defs/direction"},
            "to": {"type": ["number", "string"], "description": "a value, {capture}, or the name of a known fact"},
            "command": _text("a command to run; what is filled in is quoted"),
        }
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A rule file of ddforensics: a list of rules, one server profile, the flags of one, or columns of results",
        "if": {"type": "array"},
        "then": {"items": {"$ref": "#/$defs/rule"}},
        "else": {
            "if": {"required": ["flags_of"]},
            "then": {"$ref": "#/$defs/flags"},
            "else": {"if": {"required": ["columns"]}, "then": {"$ref": "#/$defs/columns"}, "else": {"$ref": "#/$defs/profile"}},
        },
        "$defs": {
            "rule": _rule(),
            "profile": _profile(),
            "flags": _flag_table(),
            "columns": _columns(),
            "advice": advice,
            "sample": {**sample, "oneOf": [{"required": ["text"]}, {"required": ["capture"]}]},
            "samples": {"type": "array", "items": {"$ref": "#/$defs/sample"}, "minItems": 1},
            "cause": _words(Cause),
            "role": _words(Role),
            "origin": _words(Origin),
            "phase": _words(Phase),
            "direction": _words(Direction),
            "mark": _words(MarkKind),
        },
    }


def rendered() -> str:
    """As it stands in the file."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(rendered())
