"""What somebody could come to harm by who does as the advice says: commands that do not parse, blanks, flags that this version does not have, the wrong way."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from forensics.ruleset import flags
from forensics.ruleset.schema import RuleSet

_BLANK = re.compile(r"(?<!\{)\{[A-Za-z_][\w.]*\}(?!\})")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
_NEVER = re.compile(
    r"\brm\b|\bkill -(?:9|KILL)\b|\bp?killall?\b(?! -TERM)|\bmkfs|\bdd\b|\breboot\b|\bshutdown\b|\brmmod\b|\bprune\b|--gpu-reset|nvidia-smi -r\b"
    r"|systemctl (?:restart|kill|disable|mask|daemon-reexec)\b|docker (?:rm|stop|kill)\b|kubectl delete\b|>\s*/"
)
# what changes something has to be said in the sentence above it
_SAID = {
    r"systemctl stop\b": "stop",
    r"docker stop\b": "stop",
    r"\bkill -TERM\b": r"end (?:it|that)",
    r"systemctl start\b": "start",
    r"systemctl unmask\b": "unmask",
    r"systemctl reset-failed\b": "clear",
}


def harms(found: dict[str, Any], rules: RuleSet) -> Iterator[str]:
    """One line a fault, of a diagnosis as JSON."""
    for advice in found["advice"]:
        text, command = advice["text"], advice["command"]
        if _BLANK.search(text) or not text.strip() or text == "run the command":
            yield f"a blank in a sentence: {text}"
        if command is not None:
            yield from _command(command, text, found["unit"])
        yield from _way(advice, found)
    yield from _flags(found, rules)
    for hypothesis in found["hypotheses"]:
        if hypothesis["next"] is not None:
            yield from _command(hypothesis["next"], "", None)


def _command(command: str, text: str, unit: str | None) -> Iterator[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        yield f"{error}: {command}"
        return
    if not words or "\n" in command or _BLANK.search(command):
        yield f"a blank: {command}"
    if unit is not None and not unit.startswith("-") and re.search(r"\bUNIT\b", command):
        yield f"the unit is known: {command}"
    if _NEVER.search(command):
        yield f"changes or destroys something: {command}"
    for pattern, said in _SAID.items():
        if re.search(pattern, command) and not re.search(said, text):
            yield f"not said in '{text}': {command}"


def _way(advice: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """A memory share moved against what was found out."""
    contrary = {"raise": "lower", "lower": "raise"}.get(found["direction"])
    if contrary is not None and advice["direction"] == contrary and advice["flag"] == next((a["flag"] for a in found["advice"] if a["flag"]), None):
        yield f"{contrary}, where the direction is {found['direction']}: {advice['text']}"


def _flags(found: dict[str, Any], rules: RuleSet) -> Iterator[str]:
    """Flags that this version, or this server, does not have; one that the evidence names may be spoken of."""
    profile = rules.profile(found["server"])
    if profile is None:
        return
    quoted = " ".join(e["text"] for e in found["evidence"]) + " ".join(c["what"] for c in found["changed"])
    for advice in found["advice"]:
        named = [advice["flag"].partition(".")[0].partition("=")[0]] if advice["flag"] else []
        for flag in dict.fromkeys([*named, *_FLAG.findall(advice["text"])]):
            ours = profile.flags is not None and flag in flags.all_flags(profile)
            known = ours or any(flag in flags.all_flags(p) for p in rules.profiles)
            lacks = flags.has(profile, flag, found["server_version"]) is False if profile.flags is not None else known
            if known and lacks and (flag in named or flag not in quoted):
                yield f"{profile.name} {found['server_version'] or ''} has no {flag}: {advice['text']}"
