"""Turn the verdict's rules into things to do: which flag, which way, to what number. Numbers come from the memory figures, never from a printed hint."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from forensics import clock, lazily
from forensics.model import Advice, Cause, Change, Direction, EndBy, Signal
from forensics.reason import beside, mistyped, remedy, rollback
from forensics.reason.cite import last_words
from forensics.reason.earlier import before_stop, met_stopped
from forensics.reason.issue import error_times, failed
from forensics.reason.known import KnownFacts
from forensics.reason.manager import SYSTEMD, fitting, kind_of, name_of, operand
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.ruleset import flags
from forensics.ruleset.quantities import spoken
from forensics.ruleset.schema import AdviceRule, Profile, Rule

T = TypeVar("T")
BARE = "run the command"
THE_SHARE = "memory.flag"  # in a rule for any server: whatever flag its profile names for the memory share
_WORDS = r"\b(?:UNIT|HOST|PORT|PID|MODEL)\b"
_FLAG = lazily.pattern(r"(?<![\w{-])--[a-z][a-z0-9-]+(?![\w-])")
MOST_FILLED = 240  # characters of a capture in a sentence
_SINCE = r"--since[= ](?:\"-1h\"|'-1h'|-1h)"


def advise(story: Story, known: KnownFacts, verdict: Verdict, direction: Direction | None, changed: Sequence[Change]) -> tuple[Advice, ...]:
    """What to do, the most direct first."""
    # of the rule that the verdict rests on; its first line says it, as the headline does
    captures = {k: v for s in reversed(verdict.signals) if verdict.rule is not None and s.rule == verdict.rule.id for k, v in told(story, s).items()}
    sender = _sender(story, verdict)
    beheld = [replace(a, command=fitting(a.command, story.state)) for a in beside.advice(story, verdict)]
    # more exact than what a rule for all can say
    named = verdict.cause in (Cause.PORT_IN_USE, Cause.SIGNAL_DEATH, Cause.STARTUP_RACE) and bool(beheld)
    found = [*mistyped.advice(story, verdict.signals), *beheld, *remedy.advice(story, verdict, known.memory, direction, told=bool(beheld))]
    said = {advice.flag for advice in found if advice.flag}
    if sender is not None and not (named and "coredumpctl" in (sender.command or "")):
        found.append(sender)
    gone = _since_stopped(story, verdict)
    found += gone
    for rule in verdict.rule.advise if verdict.rule and sender is None and not named and not gone else ():
        asked = known.memory.flag if rule.flag == THE_SHARE else rule.flag
        own = spell(asked, verdict.rule, story)
        if asked in said or (own is not None and own.flag in said) or _left_room(rule, known):
            continue  # said above, with the number, or not at fault
        if (
            asked is not None
            and asked == known.memory.flag
            and rule.direction == str(Direction.RAISE)
            and (known.memory.window.fraction or 0.0) >= 1.0
        ):
            continue  # there is no more than all of it
        made = _advice(rule._replace(flag=None) if rule.flag == THE_SHARE else rule, verdict.rule, captures, known)
        if made is None:
            continue
        if made.text == BARE and found and found[-1].command is None:
            found[-1] = replace(found[-1], command=made.command)  # a step and its command are one
        else:
            found.append(made)
    back = rollback.advice(story, verdict, changed)
    if back is not None:
        found.append(back)
    if verdict.cause is Cause.STARTUP_RACE and not gone and not any(a.command for a in found):
        command = fitting(concrete("ddforensics wait HOST --unit UNIT", known), story.state)
        found.append(Advice(text="start the client only when the server says it is ready", command=command))
    if verdict.cause is Cause.UNKNOWN and failed(story.issue) and (end := last_words(story)) is not None:
        command = fitting(f"journalctl -u {operand(story.unit)} --since=-1h -n 200", story.state) if story.unit else None
        text = f"no rule knows this failure: read what stands before {end.source}:{end.line}, and look for those words among the reports to the program's makers"
        found.append(Advice(text=text, command=concrete(command, known) if command else None))
    found += _ask_again(story, verdict)
    if verdict.cause is Cause.OPERATOR_STOP and story.issue is story.lives[-1] and _was_refused(story) and met_stopped(story) is not False:
        command = fitting(f"systemctl start {shlex.quote(story.unit)}", story.state) if story.unit else None
        why = "the client was refused because it does not run" if _met_down(story, verdict) else "if the client was refused after the stop"
        found.append(Advice(text=f"{why}: start it, wait until it is ready, then start the client", command=command))
    if verdict.cause is Cause.MISTYPED_UNIT and story.unit:
        found.append(Advice(text=f"ask for {story.unit}", command=f"journalctl -u {shlex.quote(story.unit)}"))
    return tuple(_finished(a, story, first=a is next((x for x in found if x.flag), None)) for a in found)


def _since_stopped(story: Story, verdict: Verdict) -> list[Advice]:
    """What to do about a server that was ready soon after the client came, and is not there any more."""
    if verdict.cause is not Cause.STARTUP_RACE or story.issue is not story.lives[-1] or before_stop(story) is None:
        return []
    command = fitting(f"systemctl start {shlex.quote(story.unit)}", story.state) if story.unit else None
    return [Advice(text="it was stopped since: start it again, wait until it is ready, then start the client", command=command)]


def _ask_again(story: Story, verdict: Verdict) -> list[Advice]:
    """What to do where a client was turned away, by a stop or at a time that nobody knows, and the server is ready now."""
    last = story.lives[-1]
    if verdict.cause is Cause.OPERATOR_STOP and story.issue is not last and last.ready and last.alive and met_stopped(story):
        return [Advice(text="run the client again: the unit has been started since, and is ready")]
    known = error_times(story.facts) or not any(b.errors for b in story.facts.benches)
    if verdict.cause is not Cause.UNKNOWN or known or not (story.issue.alive and story.issue.ready):
        return []
    return [Advice(text="run it again, as the server is ready now; refused again, it asks another port or another machine")]


def _left_room(rule: AdviceRule, known: KnownFacts) -> bool:
    """Whether that is to lower a share of the memory that had left room enough, until others took it."""
    share = rule.flag is not None and rule.flag in (THE_SHARE, known.memory.flag) and rule.direction != str(Direction.RAISE)
    return share and remedy.taken_meanwhile(known.memory)


def _was_refused(story: Story) -> bool:
    """Whether a client was refused by a service that does not run now."""
    return story.issue.alive is not True and any(b.errors.get("refused") for b in story.facts.benches)


def _met_down(story: Story, verdict: Verdict) -> bool:
    """Whether it is known that the client asked when it did not run: after the stop, or of a unit that nothing knows a start of."""
    return bool(met_stopped(story)) or (verdict.by == "health" and story.issue.alive is False and story.issue.started_at is None)


def _finished(advice: Advice, story: Story, *, first: bool) -> Advice:
    """With what a change of that flag costs, and the first change of a flag with the command that opens the place of it."""
    costs = advice.costs or flags.cost_of(story.profile, advice.flag, str(advice.direction) if advice.direction else None)
    command = advice.command or (rollback.place_to_edit(story) if first and story.unit else None)
    return replace(advice, costs=costs, command=command)


def told(story: Story, signal: Signal) -> dict[str, str]:
    """The captures of a signal as a text may hold them: figures with their unit, and without what could not be read by its type."""
    rule = story.rules.rule(signal.rule)
    return spoken(rule.captures, signal.captures) if rule is not None and rule.captures else dict(signal.captures)


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


def _advice(rule: AdviceRule, of: Rule | None, captures: dict[str, str], known: KnownFacts) -> Advice | None:
    to: str | float | None = rule.to
    if isinstance(to, str) and re.fullmatch(r"[a-z]+\.[a-z_.]+", to):
        value = known.value(to)
        to = value if isinstance(value, (str, float, int)) else None
    elif isinstance(to, str):
        to = filled(to, captures, known)
    to = _whole(to)
    direction = Direction(rule.direction) if rule.direction in {str(d) for d in Direction} else None
    spelling = spell(rule.flag, of, known.story) if rule.flag is not None else None
    fitted = fit(rule.text, of, known.story) if rule.text is not None else None
    text = filled(fitted, captures, known)
    command = command_of(rule.command, captures, known)
    blank = command is None and rule.command is not None and kind_of(known.story.state) == SYSTEMD
    if (text is None and rule.text is not None) or blank:
        return None  # half a step with a blank in it helps nobody
    if text is None:
        verb = {Direction.RAISE: "raise", Direction.LOWER: "lower"}.get(direction, "change") if direction else "change"
        if spelling is None and command is None:
            return None
        text = f"{verb} {_on_any(rule.flag, of, known.story) or spelling}" + (f" to {to}" if to is not None else "") if spelling is not None else BARE
    return Advice(
        text=text,
        costs=filled(rule.costs, captures, known),
        flag=spelling.flag if spelling is not None else None,
        direction=direction if spelling is not None else None,
        from_=current(rule.flag, known.story) if spelling is not None else None,
        to=to if spelling is not None else None,
        command=command,
    )


def _whole(value: T) -> T | int:
    """A whole number as somebody types it: a program that counts takes no ``64.0``, and a million no ``1e+06``."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def spell(flag: str | None, rule: Rule | None, story: Story) -> flags.Spelling | None:
    """A flag as the version at hand writes it; None where that version has none, or the server is one that nobody says has it."""
    if flag is None:
        return None
    profile = _profile(rule, story)
    name = flag.partition("=")[0].split()[0]
    if profile is None:
        return flags.Spelling(flag=flag)
    if profile.flags is None:
        foreign = any(name in flags.all_flags(p) for p in story.rules.profiles)
        return None if foreign and not _is_of(rule, profile) and name not in flags.spellings(profile, name)[1:] else flags.Spelling(flag=flag)
    found = flags.called_here(profile, name, story.issue.version)
    return found._replace(flag=found.flag + flag[len(name) :]) if found is not None else None


def _on_any(flag: str | None, rule: Rule | None, story: Story) -> str | None:
    """``--a (Acme) or --b (Other)`` where nobody knows which server it is; None where that is known, or no list of flags has it."""
    if flag is None or _profile(rule, story) is not None:
        return None
    named = [
        (found.flag, p.title or p.name)
        for p in story.rules.profiles
        if p.flags is not None and (found := flags.called_here(p, flag, None)) is not None
    ]
    alike = {name: [title for other, title in named if other == name] for name, _ in named}
    told = [f"{name} ({', '.join(titles)})" for name, titles in alike.items()]
    return f"{', '.join(told[:-1])} or {told[-1]}" if len(told) > 1 else told[0] if told else None


def fit(text: str, rule: Rule | None, story: Story) -> str | None:
    """A rule's sentence with its flags as the version at hand writes them. One that this version, or this server, does not have is left out of a list.

    None where the sentence is nothing without it.
    """
    known = {
        name for name in _FLAG.findall(text) if any(name in flags.all_flags(p) for p in story.rules.profiles)
    }  # others are of some other program
    spellings: dict[str, flags.Spelling | str | None] = {name: spell(name, rule, story) for name in known}
    if (named := {name: told for name in known if (told := _on_any(name, rule, story)) is not None and " or " in told}) and "{" not in text:
        spellings |= named  # it is called differently, and nobody knows by whom
    for name in sorted(name for name, found in spellings.items() if found is None):
        text, out = re.subn(rf" \({name}\)|{name}, |, {name}(?=[,) ]|$)", "", text, count=1)
        if not out:
            return None
    return _FLAG.sub(lambda match: str(spellings.get(match[0], match[0])), text)


def _profile(rule: Rule | None, story: Story) -> Profile | None:
    """The server at hand; where that is not known, the one that the rule is of."""
    if story.profile is not None or rule is None:
        return story.profile
    return next((p for p in story.rules.profiles if _is_of(rule, p)), None)


def _is_of(rule: Rule | None, profile: Profile) -> bool:
    return rule is not None and (rule.server == (profile.name,) or (not rule.server and rule.id.split(".")[0] == profile.name))


def current(flag: str | None, story: Story) -> str | None:
    """What a flag is set to in the life at issue, under any of its names."""
    if flag is None:
        return None
    name = flag.partition("=")[0].split()[0]
    names = flags.spellings(story.profile, name) if story.profile is not None else [name]
    return next((value for n in names if (value := story.issue.arguments.get(n.lstrip("-").replace("-", "_"))) not in (None, "None", "")), None)


def command_of(text: str | None, captures: Mapping[str, str], known: KnownFacts) -> str | None:
    """A command with its blanks filled, safe to paste: what came out of a log is quoted, however it looks."""
    return fitting(filled(text, captures, known, quote=shlex.quote), known.story.state)


def filled(text: str | None, captures: Mapping[str, str], known: KnownFacts, *, quote: Callable[[str], str] = str) -> str | None:
    """Fill ``{capture}``, ``{known.fact}`` and the names that ``concrete`` knows; a text whose blanks cannot be filled is not shown.

    In one pass: what was put in is never looked at again, or a log could name a blank and break out of its quotes. Where the blank of a command stands within
    quotes already, those of ``quote`` would end them: there only a word is put in that a shell takes as it stands.
    """
    if text is None:
        return None
    missing = False
    within = _within_quotes(text) if quote is not str else frozenset()

    def put(match: re.Match[str]) -> str:
        nonlocal missing
        name = match.group("blank")
        inside = match.start() in within
        if name is None:
            made = concrete(match[0], known)
            return made if not inside or _plain(made) else match[0]
        value = (
            captures.get(name) if name in captures else (known.story.unit if name.lower() == "unit" else known.value(name) if "." in name else None)
        )
        if value is None or (quote is not str and str(value).startswith("-")):  # no quoting keeps a program from taking it for an option
            missing = True
            return ""
        value = _whole(value)
        word = f"{value:g}" if isinstance(value, float) else str(value)
        if quote is str and len(word) > MOST_FILLED:
            word = f"{word[:MOST_FILLED].rstrip()}…"
        if inside and _plain(word) is None:
            missing = True
            return ""
        return quote(word)

    text = re.sub(rf"\{{(?P<blank>[A-Za-z_][\w.]*)\}}|{_WORDS}|{_SINCE}", put, text)
    return None if missing else text


def _within_quotes(command: str) -> frozenset[int]:
    """The places of a command that stand within quotes of its own, as a shell sees them."""
    places: set[int] = set()
    opened, escaped = "", False
    for at, char in enumerate(command):
        if opened:
            places.add(at)
        if escaped:
            escaped = False
        elif char == "\\" and opened != "'":
            escaped = True
        elif char == opened:
            opened = ""
        elif not opened and char in "'\"":
            opened = char
    return frozenset(places)


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
    start = since_start(story)
    return re.sub(_SINCE, start, text) if start else text


def since_start(story: Story) -> str:
    """``--since '2026-05-09 10:15:18 UTC'``, as journalctl takes the start of the life at issue, or the first that was heard of it; "" where no time is known."""
    at = story.issue.started_at
    if at is None:
        at = min((p.seen.record.at for p in story.placed if p.life == story.issue.index and p.seen.record.at is not None), default=None)
    return "" if at is None else since(story, at)


def since(story: Story, at: float) -> str:
    """``--since`` a moment of the life at issue, as journalctl takes it on that host.

    Without UTC where the evidence has it by the host's own clock, in a zone that is not known: journalctl reads it in that zone.
    """
    return f"--since '{clock.iso(at).replace('T', ' ').removesuffix('Z')}{'' if _by_local_clock(story) else ' UTC'}'"


def _by_local_clock(story: Story) -> bool:
    """Whether the start of the life at issue was read off the host's own clock: by the sources that have it, or its end, else by all that tell of units."""
    life, facts = story.issue, story.facts
    told = [(seen.record.source, seen.record.at) for seen in facts.seen]
    told += [(state.source, at) for state in facts.units.values() for at in (state.started_at, state.since, state.exited_at)]
    for moment in (life.started_at, life.ended_at):
        if moment is not None and (sources := {source for source, at in told if at == moment}):
            return sources <= facts.local
    return bool(facts.local) and {source for source, at in told if at is not None} <= facts.local


def _plain(word: str | None) -> str | None:
    """A word out of the evidence that a shell takes as it stands: rules put it within quotes of their own, and no quoting would hold in all of them."""
    return word if word and shlex.quote(word) == word and not word.startswith("-") else None
