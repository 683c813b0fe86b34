"""Say what changed between the last good life and the life at issue: arguments, versions, the machine, its memory, files. Never guesses which change matters."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from forensics import clock, lazily
from forensics.model import LAST_GOOD, Change, Life, MarkKind, Origin
from forensics.reason import arguments, beside, figures, software
from forensics.reason.arguments import Given
from forensics.reason.good import last_good
from forensics.reason.place import Story
from forensics.reason.verdict import Verdict
from forensics.ruleset.schema import Profile

ATTEMPT = "the attempt before"
LOGGED = ", of which one start is known by its command line and the other by its log"
MOST_ARGUMENTS = 12
FREE_GIB, FREE_SHARE = 0.5, 0.01  # what is free at start differs by less from one start to the next
COMMAND, VERSION = "command", "version of"
DERIVED = 6  # characters of a value that two arguments have by no accident
NAMED = lazily.pattern(r"--[a-z][a-z0-9-]{1,60}|\b[a-z][a-z0-9]{1,30}(?:_[a-z0-9]{1,30}){1,8}\b")  # a flag, or its name in a dump
TEXT = 2000  # characters of a line
SETTING = lazily.pattern(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")  # of the environment
FREE_FACTS = ("free_before_gib", "free_at_start_gib")


def changes(story: Story, verdict: Verdict | None = None) -> tuple[Change, ...]:
    """What differs, the most telling kind first: what was typed, what was installed, the machine, files. Of the flags those first that the verdict is about."""
    good = last_good(story)
    before = good or (story.lives[story.issue.index - 1] if story.issue.index else None)
    since = LAST_GOOD if good is not None else ATTEMPT
    found: list[Change] = []
    if before is not None:
        found += _arguments(story, before, since, verdict)
        found += _software(story, before, since)
        found += _machine(story, before, since)
    return (*found, *beside.changes(story, before.started_at if before is not None else None, since))


def undoable(changed: Sequence[Change]) -> tuple[Change, ...]:
    """Those that somebody can take back by hand: what was typed, the server's version, a file. Not a boot, and not what is free on a GPU."""
    return tuple(c for c in changed if c.what.startswith(("-", "/", COMMAND, VERSION)) or SETTING.fullmatch(c.what))


# --------------------------------------------------------------------------- arguments


def _arguments(story: Story, before: Life, since: str, verdict: Verdict | None) -> Iterator[Change]:
    profile = story.profile
    noise = frozenset(n.replace("_", "-") for n in profile.noise) if profile is not None else frozenset()
    old, new = given(story, before), given(story, story.issue)
    # a like record of both, the command line first: what somebody typed; a dump has what the server made of it as well
    pairs = [(a, b) for a in old for b in new if a and b]
    pairs.sort(key=lambda pair: (pair[0].dumped != pair[1].dumped, pair[0].dumped or pair[1].dumped))
    found = arguments.differences(*pairs[0], noise) if pairs else []
    told: set[tuple[str | None, str | None]] = set()
    kept = []
    for differs in found:
        values = differs.before, differs.after
        if values in told and all(v is not None and len(v) >= DERIVED for v in values):
            continue  # one of them was made of the other: the name it is served by of the path of the model
        told.add(values)
        kept.append(differs)
    about, telling = _about(verdict, story.profile), _telling(story)
    kept.sort(key=lambda d: (d.name not in about, d.name not in telling))
    if pairs and pairs[0][0].dumped != pairs[0][1].dumped:
        since += LOGGED  # a server adjusts some of its settings before it logs them
    for differs in kept[:MOST_ARGUMENTS]:
        yield Change(what=differs.flag or COMMAND, before=differs.before, after=differs.after, since=since)


def _about(verdict: Verdict | None, profile: Profile | None) -> set[str]:
    """The flags that stand in the lines of the verdict, or in what is advised about them."""
    if verdict is None:
        return set()
    texts = [s.record.text[:TEXT] for s in verdict.signals if s.record is not None]
    texts += [f"{a.flag or ''} {a.text or ''}" for a in (verdict.rule.advise if verdict.rule is not None else ())]
    return arguments.names([word.replace("_", "-") for text in texts for word in NAMED.findall(text)], profile)


def _telling(story: Story) -> set[str]:
    """The flags that some rule about this server has a word on: those can bring it down."""
    server = story.issue.server
    rules = [r for r in story.rules.rules if server is None or server in (r.server or (server,))]
    memory = story.profile.memory if story.profile is not None else None
    flags = [a.flag for r in rules for a in r.advise if a.flag] + ([memory.flag] if memory is not None and memory.flag is not None else [])
    return arguments.names(flags, story.profile)


def given(story: Story, life: Life) -> list[Given]:
    """What is known of the arguments of a life: a command line, the server's own dump, or both."""
    found = []
    argv = _argv(story, life)
    if argv:
        found.append(arguments.of_command(argv, story.profile))
    if life.arguments and _dumped(story, life):
        found.append(arguments.of_dump(life.arguments, story.profile))
    return found


def _dumped(story: Story, life: Life) -> bool:
    return any(
        p.life == life.index and p.mark is not None and p.mark.kind is MarkKind.ARGUMENTS and "args" in p.seen.hit.captures for p in story.placed
    )


def _argv(story: Story, life: Life) -> tuple[str, ...]:
    """The command line of a life: of its process, else what systemd would start it with as long as nothing says that this was changed since, else of a unit made on the spot."""
    last = life is story.lives[-1] or life.index == len(story.lives) - 1
    state = story.state
    process = story.facts.host.process(state.main_pid) if last and state is not None and life.alive else None
    if process is not None and " -" in process.args:
        return tuple(_split(process.args))
    written = [f.changed_at for f in story.facts.host.unit_files]
    stale = life.started_at is not None and any(at > life.started_at for at in written) and not (state is not None and state.need_reload)
    if last and not stale and (line := state.argv if state is not None and state.argv else story.facts.argv):
        return tuple(line)
    for p in story.placed:
        described = p.seen.hit.captures.get("description", "")
        starts = p.mark is not None and p.mark.kind in (MarkKind.STARTING, MarkKind.STARTED) and p.seen.record.origin is Origin.SYSTEMD
        if p.life == life.index and starts and " --" in described:  # systemd-run calls a unit what it runs
            return tuple(_split(described.partition(" - ")[2] or described))
    return ()


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def flag(name: str, profile: Profile | None) -> str:
    """The flag that sets an argument: ``--tensor-parallel-size`` for ``tp_size`` where the profile says so."""
    if profile is not None:
        for spelled, others in profile.aliases.items():
            if name == spelled.lstrip("-").replace("-", "_") or name in others or f"--{name.replace('_', '-')}" in others:
                return spelled
    return "--" + name.replace("_", "-")


# --------------------------------------------------------------------------- what it ran on


def _software(story: Story, before: Life, since: str) -> Iterator[Change]:
    life = story.issue
    if software.other_version(before, life):
        yield Change(what=f"{VERSION} {life.server or 'the server'}", before=before.version, after=life.version, since=since)
    old, new = software.ran_on(story, before), software.ran_on(story, life)
    for name, value in new.items():
        if name in old and old[name] != value:
            yield Change(what=name, before=old[name], after=value, since=since)


def _machine(story: Story, before: Life, since: str) -> Iterator[Change]:
    life = story.issue
    free, then = _free(story, life), _free(story, before)
    if free is not None and then is not None and abs(free - then) > max(FREE_GIB, FREE_SHARE * then):
        yield Change(what="GPU memory free at start", before=f"{then:.2f} GiB", after=f"{free:.2f} GiB", since=since)
    restarted, at = software.restarted_at(story, before, life)
    if restarted:
        ago = (
            f", {clock.span(life.started_at - at)} before this life"
            if at is not None and life.started_at is not None and at <= life.started_at
            else ""
        )
        when = f" at {clock.iso(float(int(at)))}" if at is not None else ""
        yield Change(what="boot", before="the boot before", after=f"the machine was started anew{when}{ago}", since=since)


def _free(story: Story, life: Life) -> float | None:
    """What the GPU that had least had free when the server began, by its own word."""
    model = story.profile.memory if story.profile is not None else None
    facts = {f.id: f for f in model.figures if f.fact in FREE_FACTS} if model is not None else {}
    first: dict[str, float] = {}  # by rank: a draft model that is loaded later finds less
    for p in story.placed:
        figure = facts.get(p.seen.hit.rule)
        value = figures.figure(p.seen.hit.captures.get("value")) if figure is not None and p.life == life.index else None
        if figure is not None and value is not None:
            first.setdefault(p.seen.record.rank, value / 1024 if figure.unit in ("MiB", "MB") else value)
    return min(first.values(), default=None)
