"""Bring what a server was started with into one spelling, so that two starts can be compared: names by the profile's aliases, values by what they mean. Judges no value."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from forensics import lazily
from forensics.model import Noun
from forensics.ruleset import flags
from forensics.ruleset.schema import Profile

LONG = 30  # a dump of more arguments than this holds the defaults as well: what it lacks, that version does not have
MOST_SHOWN = 120  # characters of a value
_MOST_READ = 8192  # of a value that is read as a list or a mapping
_NUMBER = lazily.pattern(r"[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,3})?")
_ROUND = lazily.pattern(r"\d{1,12}(?:\.\d{1,6})?[kKmMgG]i?")  # 32k: by 1000 or by 1024, that is the server's own business
_UNSET = frozenset({"", "none", "null"})
_WORDS = {"true": "true", "false": "false"}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Given(Noun):
    """The arguments of one start by their canonical flag (no dashes). ``shown`` has the spelling that was used, and the value as it stood."""

    values: Mapping[str, str | None]
    shown: Mapping[str, tuple[str, str]]
    command: str = ""  # what stands before the flags; "" where only a dump is known
    dumped: bool = False
    whole: bool = False  # whether it holds the defaults as well

    def __bool__(self) -> bool:
        return bool(self.values)


def of_dump(arguments: Mapping[str, str], profile: Profile | None) -> Given:
    """What a server itself has logged."""
    names = _names(profile)
    values: dict[str, str | None] = {}
    shown: dict[str, tuple[str, str]] = {}
    for name, text in arguments.items():
        _put(name, text, names, values, shown)
    return Given(values=values, shown=shown, dumped=True, whole=len(arguments) > LONG)


def of_command(argv: Sequence[str], profile: Profile | None) -> Given:
    """What a command line gives: ``--tp 4``, ``--tp=4`` and ``-tp 4`` are one; all values of a flag count; what stands before the server's own flags is its command."""
    words = _after_launch(_words(argv), profile)
    names = _names(profile)
    values: dict[str, str | None] = {}
    shown: dict[str, tuple[str, str]] = {}
    before, flag, taken = [], "", list[str]()

    def close() -> None:
        if flag:
            _put(flag, " ".join(taken) if taken else "true", names, values, shown)

    for word in words.flags:
        name, equals, value = word.partition("=")
        if (word.startswith("--") and len(name) > 2) or (name.startswith("-") and name in names.short):
            close()
            flag, taken = name if name in names.short else name[2:], [value] if equals else []
        elif flag:
            taken.append(word)
        else:
            before.append(word)
    close()
    return Given(values=values, shown=shown, command=" ".join([*words.command, *before]))


class Differs(NamedTuple):
    """An argument that two starts have not alike; None is not given. ``flag`` as the later start spells it, ``name`` as the profile does; both "" for the command."""

    name: str
    flag: str
    before: str | None
    after: str | None


def differences(before: Given, after: Given, noise: frozenset[str] = frozenset()) -> list[Differs]:
    """What was given otherwise, in the order of the later start. Of two kinds of record (a dump, a command line) only what both name is compared.

    A dump that holds the defaults lacks what its version does not know: no change that somebody made. One that holds only what is no default says by a lack that
    it is the default, but not whether a command line gave it.
    """
    if not before or not after:
        return []
    alike = before.dumped == after.dumped and not before.whole and not after.whole
    found = []
    for name in dict.fromkeys([*after.values, *before.values]):
        if name in noise:
            continue
        old, new = before.values.get(name), after.values.get(name)
        if old == new or ((name not in before.values or name not in after.values) and not alike):
            continue
        if before.dumped != after.dumped and not (_plain(old) and _plain(new)):
            continue  # what a dump makes of a list, a mapping or "32k" cannot be read back
        flag = (after.shown.get(name) or before.shown[name])[0]
        found.append(Differs(name, flag, _shown(before, name), _shown(after, name)))
    if alike and before.command and after.command and before.command != after.command:
        found.insert(0, Differs("", "", _cut(before.command), _cut(after.command)))
    return found


def value(text: str) -> str | None:
    """A value as it compares: 0.90 is 0.9, ``'x'`` is x, ``[1, 2]`` is ``1 2``, None is nothing; order in a mapping does not count."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    lowered = text.lower()
    if lowered in _UNSET:
        return None
    if lowered in _WORDS:
        return _WORDS[lowered]
    if _NUMBER.fullmatch(text):
        return repr(float(text)) if abs(float(text)) < 2**53 else text
    if text[0] in "[{(" and text[-1] in "]})" and (read := _read(text)) is not None:
        return read
    if "," in text or " " in text:
        parts = text.replace(",", " ").split()
        if len(parts) > 1 and all(_NUMBER.fullmatch(p) for p in parts):
            return " ".join(repr(float(p)) for p in parts)
    return text.rstrip("/") if len(text) > 1 and "/" in text else text


def _read(text: str) -> str | None:
    if len(text) > _MOST_READ:
        return None
    found: Any = None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    try:
        if isinstance(found, list | tuple) and all(isinstance(v, str | int | float | bool) for v in found):
            return " ".join(value(str(v)) or "" for v in found)  # a number of hexadecimal digits may be too long to be written in decimal ones
        return json.dumps(found, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return None


def names(flags: Iterable[str], profile: Profile | None) -> set[str]:
    """How those flags are called here."""
    known = _names(profile)
    return {known.short.get(flag) or _own(flag.lstrip("-").replace("_", "-"), known) for flag in flags}


def _plain(text: str | None) -> bool:
    return text is None or not (text[:1] in "[{(" or "(" in text or "<" in text or _ROUND.fullmatch(text))


# --------------------------------------------------------------------------- names


class _Names(NamedTuple):
    canonical: Mapping[str, str]  # every spelling → the flag, without dashes
    short: Mapping[str, str]  # -tp → the flag


def _names(profile: Profile | None) -> _Names:
    canonical: dict[str, str] = {}
    short: dict[str, str] = {}
    if profile is not None:
        for flag, others in profile.aliases.items():
            own = flag.lstrip("-")
            canonical[own] = own
            for other in others:
                if other.startswith("--") or not other.startswith("-"):
                    canonical[other.lstrip("-").replace("_", "-")] = own
                else:
                    short[other] = own
        for old, new in (profile.flags.renamed if profile.flags is not None else {}).items():
            canonical.setdefault(old.lstrip("-"), canonical.get(new.lstrip("-"), new.lstrip("-")))
        for flag in sorted(flags.all_flags(profile)):
            if flag.startswith("--"):
                canonical.setdefault(flag.lstrip("-"), flag.lstrip("-"))
    return _Names(canonical, short)


def _put(name: str, text: str, names: _Names, values: dict[str, str | None], shown: dict[str, tuple[str, str]]) -> None:
    setting = name.isupper() and not name.startswith("-")  # of the environment
    spelled = name if setting or name.startswith("-") else "--" + name.replace("_", "-")
    own = name if setting else names.short.get(name) or _own(name.replace("_", "-"), names)
    read = value(text)
    if own.startswith("no-") and read in ("true", "false"):
        positive = _own(own[3:], names)
        if positive in names.canonical or own not in names.canonical:
            own, read = positive, "false" if read == "true" else "true"
    values[own] = read  # the last one counts, as for argparse
    shown[own] = spelled, text.strip()


def _own(name: str, names: _Names) -> str:
    known = names.canonical.get(name)
    if known is None and len(name) > 3:  # argparse takes a beginning that only one flag has
        begun = {own for spelled, own in names.canonical.items() if spelled.startswith(name)}
        known = begun.pop() if len(begun) == 1 else None
    return known or name


def _shown(given: Given, name: str) -> str | None:
    if given.values.get(name) is None:
        return None
    spelled, text = given.shown[name]
    if spelled.startswith("--no-") and given.values[name] == "false":
        return "false"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"


# --------------------------------------------------------------------------- command lines


class _Words(NamedTuple):
    command: tuple[str, ...]
    flags: tuple[str, ...]


def _words(argv: Sequence[str]) -> list[str]:
    """The words of a command line; one that is a shell's whole command is taken apart."""
    words: list[str] = []
    for word in argv:
        if " -" in word and not word.lstrip().startswith(("{", "[", "-")):
            try:
                words += shlex.split(word)
            except ValueError:
                words += word.split()
        else:
            words.append(word)
    return words


def _after_launch(words: list[str], profile: Profile | None) -> _Words:
    """The words up to and with the one by which the server is known, and its own ones: ``numactl --membind=0 python -m server.launch``."""
    found = next((m for e in (profile.launch if profile else ()) if (m := re.search(e, " ".join(words)))), None)
    ends = accumulate(len(word) + 1 for word in words)
    at = next((n for n, end in enumerate(ends, 1) if found is not None and end > found.end()), 0)
    return _Words(tuple(words[:at]), tuple(words[at:]))
