"""Turn the verdict's rules into things to do: which flag, which way, to what number. Numbers come from the memory figures, never from a printed hint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from forensics import clock
from forensics.model import Advice, Cause, Change, Direction, EndBy, Phase
from forensics.reason import beside
from forensics.reason.changes import flag
from forensics.reason.known import KnownFacts
from forensics.reason.manager import SYSTEMD, fitting, kind_of, name_of, operand
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.ruleset.schema import AdviceRule

# nothing that a file of the unit could have brought about
OF_THE_HOST = (Cause.HOST_REBOOT, Cause.OPERATOR_STOP, Cause.PORT_IN_USE, Cause.DISK_FULL, Cause.GPU_HARDWARE)
BARE = "run the command"
_WORDS = r"\b(?:UNIT|HOST|PORT|PID|MODEL)\b"
_SINCE = r"--since[= ](?:\"-1h\"|'-1h'|-1h)"


def direction_of(story: Story, verdict: Verdict) -> Direction | None:
    """Which way the memory fraction has to go; ``rebalance`` where neighbouring attempts failed in opposite ways."""
    if verdict.cause is not Cause.GPU_OOM_INIT:
        return None
    ways: dict[int, str] = {}
    for signal in story.signals:
        rule = story.rules.rule(signal.rule)
        if signal.cause is Cause.GPU_OOM_INIT and rule is not None and rule.direction and signal.life is not None:
            ways.setdefault(signal.life, rule.direction)
    index = story.issue.index
    near = {ways[i] for i in (index - 1, index, index + 1) if i in ways}
    if {"raise", "lower"} <= near:
        return Direction.REBALANCE
    own = verdict.rule.direction if verdict.rule else None
    own = own or next((r.direction for s in verdict.signals if (r := story.rules.rule(s.rule)) is not None and r.direction), None)
    if (
        own == str(Direction.LOWER)
        and verdict.signals[0].phase is Phase.DRAFT_WORKER
        and not any(s.phase is Phase.KV_POOL for s in story.issue.phases)
    ):
        return None  # the draft model is loaded before the pool here: a smaller pool would free nothing yet
    return Direction(own) if own else None


def advise(story: Story, known: KnownFacts, verdict: Verdict, direction: Direction | None, changed: Sequence[Change]) -> tuple[Advice, ...]:
    """What to do, the most direct first."""
    found: list[Advice] = []
    memory = known.memory
    if direction is not None and memory.flag is not None:
        found.extend(_fraction(known, direction))
    captures = {k: v for s in verdict.signals for k, v in s.captures.items()}
    sender = _sender(story, verdict)
    beheld = [replace(a, command=fitting(a.command, story.state)) for a in beside.advice(story, verdict)]
    named = verdict.cause in (Cause.PORT_IN_USE, Cause.SIGNAL_DEATH) and bool(beheld)  # more exact than what a rule for all can say
    found = [*beheld, *found]
    if sender is not None and not (named and "coredumpctl" in (sender.command or "")):
        found.append(sender)
    for rule in verdict.rule.advise if verdict.rule and sender is None and not named else ():
        if direction is not None and rule.flag is not None and rule.flag == memory.flag:
            continue  # said above, with the number
        made = _advice(rule, captures, known)
        if made is None:
            continue
        if made.text == BARE and found and found[-1].command is None:
            found[-1] = replace(found[-1], command=made.command)  # a step and its command are one
        else:
            found.append(made)
    since_good = [c for c in changed if c.since == "the last good life" and not (c.what.startswith("/") and verdict.cause in OF_THE_HOST)]
    if verdict.by in ("root", "mechanism") and since_good:
        what = ", ".join(c.what if c.what.startswith("/") else f"{c.what} {c.before or 'unset'} → {c.after or 'unset'}" for c in since_good[:3])
        found.append(Advice(text=f"or roll back what changed since the last good life: {what}"))
    if verdict.cause is Cause.STARTUP_RACE and not any(a.command for a in found):
        command = fitting(concrete("ddforensics wait HOST --unit UNIT", known), story.state)
        found.append(Advice(text="start the client only when the server says it is ready", command=command))
    if verdict.cause is Cause.MISTYPED_UNIT and story.unit:
        found.append(Advice(text=f"ask for {story.unit}", command=f"journalctl -u {shlex.quote(story.unit)}"))
    return tuple(found)


def _sender(story: Story, verdict: Verdict) -> Advice | None:
    """What to do about a signal whose sender is known; a rule for all signals cannot say it."""
    end = story.issue.end
    if verdict.cause is not Cause.SIGNAL_DEATH or verdict.by != "mechanism":
        return None
    if end.by is EndBy.OPERATOR and kind_of(story.state) != SYSTEMD:
        return Advice(text=f"somebody sent it through {name_of(story.state)} (kill): the log of sudo or of the deployment tool says who")
    if end.by is EndBy.OPERATOR:
        return Advice(
            text="somebody sent it through systemd (systemctl kill): the log of sudo or of the deployment tool says who",
            command="journalctl -n 50 _COMM=sudo",
        )
    if end.by is EndBy.ITSELF and end.signal in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP"):
        unit = f" -u {shlex.quote(story.unit)}" if story.unit else ""
        return Advice(text="it crashed by itself: the stack of its core names the function", command=fitting(f"coredumpctl info{unit}", story.state))
    return None


def _fraction(known: KnownFacts, direction: Direction) -> list[Advice]:
    memory = known.memory
    low, high = memory.fraction_min, memory.fraction_max
    if direction is Direction.REBALANCE or memory.fits is False:
        bounds = (
            f" (at least {low:.3f} for the weights, at most {high:.3f} for what comes after the pool)" if low is not None and high is not None else ""
        )
        text = f"no single value of {memory.flag} fits{bounds}: make the model smaller on each GPU (more tensor parallelism, quantization, a smaller draft model) or what follows the pool (fewer or smaller CUDA graphs, shorter chunks)"
        return [Advice(text=text, flag=memory.flag, direction=Direction.REBALANCE, from_=memory.fraction)]
    to = memory.suggest(direction)
    if direction is Direction.RAISE:
        why = f": the weights alone need {low:.3f} of the free memory" if low is not None else ""
        text = f"raise {memory.flag} to at least {to}{why}" if to is not None else f"raise {memory.flag}{why}"
        if to is None and low is not None:
            text = f"{memory.flag} would have to be above {low:.3f}, which leaves no room for anything else: use more GPUs or a smaller (quantized) model"
    else:
        why = f": above {high:.3f} there is no room for what comes after it" if high is not None else ""
        text = f"lower {memory.flag} to at most {to}{why}" if to is not None else f"lower {memory.flag}{why}"
    return [Advice(text=text, flag=memory.flag, direction=direction, from_=memory.fraction, to=to)]


def _advice(rule: AdviceRule, captures: dict[str, str], known: KnownFacts) -> Advice | None:
    to: str | float | None = rule.to
    if isinstance(to, str) and re.fullmatch(r"[a-z]+\.[a-z_.]+", to):
        value = known.value(to)
        to = value if isinstance(value, (str, float, int)) else None
    direction = Direction(rule.direction) if rule.direction in {str(d) for d in Direction} else None
    text = filled(rule.text, captures, known)
    command = command_of(rule.command, captures, known)
    blank = command is None and rule.command is not None and kind_of(known.story.state) == SYSTEMD
    if (text is None and rule.text is not None) or blank:
        return None  # half a step with a blank in it helps nobody
    if text is None:
        verb = {Direction.RAISE: "raise", Direction.LOWER: "lower"}.get(direction, "change") if direction else "change"
        if rule.flag is None and command is None:
            return None
        text = f"{verb} {rule.flag}" + (f" to {to}" if to is not None else "") if rule.flag else BARE
    current = known.story.issue.arguments.get((rule.flag or "").lstrip("-").replace("-", "_")) if rule.flag else None
    return Advice(
        text=text,
        flag=flag(rule.flag.lstrip("-").replace("-", "_"), None) if rule.flag else None,
        direction=direction,
        from_=current,
        to=to,
        command=command,
    )


def command_of(text: str | None, captures: Mapping[str, str], known: KnownFacts) -> str | None:
    """A command with its blanks filled, safe to paste: what came out of a log is quoted, however it looks."""
    return fitting(filled(text, captures, known, quote=shlex.quote), known.story.state)


def filled(text: str | None, captures: Mapping[str, str], known: KnownFacts, *, quote: Callable[[str], str] = str) -> str | None:
    """Fill ``{capture}``, ``{known.fact}`` and the names that ``concrete`` knows; a text whose blanks cannot be filled is not shown.

    In one pass: what was put in is never looked at again, or a log could name a blank and break out of its quotes.
    """
    if text is None:
        return None
    missing = False

    def put(match: re.Match[str]) -> str:
        nonlocal missing
        name = match.group("blank")
        if name is None:
            return concrete(match[0], known)
        value = (
            captures.get(name) if name in captures else (known.story.unit if name.lower() == "unit" else known.value(name) if "." in name else None)
        )
        if value is None or (quote is not str and str(value).startswith("-")):  # no quoting keeps a program from taking it for an option
            missing = True
            return ""
        return quote(f"{value:g}" if isinstance(value, float) else str(value))

    text = re.sub(rf"\{{(?P<blank>[A-Za-z_][\w.]*)\}}|{_WORDS}|{_SINCE}", put, text)
    return None if missing else text


def concrete(text: str, known: KnownFacts) -> str:
    """Put the names of this case where a rule says UNIT, HOST, PORT, PID or MODEL; a word that is not known stays, for a person to fill in."""
    story = known.story
    arguments = story.issue.arguments
    names = {
        "UNIT": operand(story.unit),
        "HOST": _plain(story.host),
        "PORT": known.value("life.port"),
        "PID": story.state.main_pid if story.state else None,
        "MODEL": _plain(arguments.get("model_path") or arguments.get("model")),
    }
    text = re.sub(_WORDS, lambda m: str(names[m[0]] or m[0]), text)
    if story.issue.started_at is None:
        return text
    since = clock.iso(story.issue.started_at).replace("T", " ").removesuffix("Z")
    return re.sub(_SINCE, f"--since '{since} UTC'", text)


def _plain(word: str | None) -> str | None:
    """A word out of the evidence that a shell takes as it stands: rules put it within quotes of their own, and no quoting would hold in all of them."""
    return word if word and shlex.quote(word) == word and not word.startswith("-") else None
