"""Say the diagnosis in one sentence: what, when, after how long, in which phase, why. Every word comes from the story; nothing is weighed here."""

from __future__ import annotations

import re

from forensics import clock
from forensics.model import (
    Behind,
    Cause,
    ClientView,
    Coverage,
    Direction,
    EndBy,
    EndKind,
    Life,
    MarkKind,
    MaterialKind,
    Origin,
    PartKind,
    Phase,
    Pick,
    Status,
)
from forensics.reason import door, pace
from forensics.reason.advice import filled, told
from forensics.reason.cite import last_words
from forensics.reason.client import FAIR_S, TURNED_AWAY, across_restart, down_since
from forensics.reason.earlier import before_stop, met_stopped, stop_of
from forensics.reason.fallen import fallen
from forensics.reason.join import printed
from forensics.reason.known import KnownFacts
from forensics.reason.ledger import OF_A_GPU
from forensics.reason.manager import name_of
from forensics.reason.place import Story
from forensics.reason.remedy import between, taken_meanwhile
from forensics.reason.verdict import Verdict
from forensics.reason.weigh import nobody_meant
from forensics.reason.writers import several

QUOTED = 120
WAITED = (
    Cause.STARTUP_TIMEOUT,
    Cause.STARTUP_HANG,
    Cause.COLLECTIVE_FAILURE,
    Cause.WATCHDOG_TIMEOUT,
    Cause.SIGNAL_DEATH,
    Cause.EXIT_CODE_DEATH,
)
NOTABLE_S, NOTABLE = 60.0, 0.2  # a silence that is worth a word: so long, and such a part of what would be a hang
SHORT = 80
LONG_UP_S = 300.0  # nothing that nobody described is started for so long


def headline(
    story: Story, known: KnownFacts, verdict: Verdict, client: ClientView | None, direction: Direction | None, pick: Pick, phase: Phase | None
) -> str:
    """The sentence that stands on top of every report. ``phase`` is the verdict's: the life may have begun the next one before it fell."""
    name, life, cause = story.name, story.issue, verdict.cause
    why = _why(verdict, known, direction)
    if cause is Cause.MISTYPED_UNIT:
        return f"{pick.asked or name} does not exist: {pick.unit or 'another unit'} is meant"
    if cause is Cause.UNIT_MISSING:
        near = f"; names like it: {', '.join(pick.candidates[:5])}" if pick.candidates else ", and no unit has a name near it"
        return f"{name} does not exist on this host{near}"
    if cause is Cause.EVIDENCE_MISSING and pick.how in ("missing", "elsewhere") and pick.why:
        return pick.why
    if cause is Cause.EVIDENCE_MISSING:
        return _empty(story) or f"nothing can be said of {name}: {why}"
    if cause in (Cause.UNKNOWN, Cause.STARTUP_RACE, Cause.STARTUP_HANG) and before_stop(story) is not None:
        return _met_before(story, client, cause)
    if cause is Cause.UNKNOWN:
        return _unknown(story, pick, client, known)
    if cause is Cause.HEALTHY:
        return _healthy(story, verdict, known)
    if cause is Cause.OPERATOR_STOP:
        return _stopped(story, verdict, why) + _met_down(story, client)
    if cause in (Cause.STARTUP_RACE, Cause.STARTUP_HANG):
        return _starting(story, name, client, verdict)
    if life.end.kind is EndKind.STOPPED and cause is Cause.HOST_REBOOT:
        return f"{_subject(story)} was stopped{_after(story, life)}: {why}"
    # one that did not leave in time was killed for it, and not for what the client met
    if life.end.kind is EndKind.STOPPED or (life.stop_asked and verdict.by != "mechanism" and before_stop(story) is not None):
        return f"{_subject(story)} was stopped{_after(story, life)}; before that: {why}"
    return _failed(story, verdict, why, phase)


def _failed(story: Story, verdict: Verdict, why: str, phase: Phase | None) -> str:
    name, life = story.name, story.issue
    if life.end.kind is not EndKind.NONE and life.alive is not True:
        loop = "" if _says_loop(story, verdict) else _loop(story)
        return f"{_subject(story)} {_died(story, life, phase)}: {_own_name(story, why)}{_left_behind(life, verdict.cause)}{loop}"
    if verdict.status is Status.POSSIBLE and nobody_meant(story) and (saw := _saw(story, verdict)):
        return f"{saw.partition(';')[0]}, perhaps of a failure ({why}): whose lines they are, and whether that ended anything, is not known"
    if _nameless(story) and verdict.by == "root" and (line := _line(verdict)):
        return f"{name}: {why}{_loop(story)}; {line}"
    later = f"; it was stopped later, at {clock.hms(stopped_at)} UTC" if before_stop(story) and (stopped_at := stop_of(story)[1]) is not None else ""
    return f"{name}: {why}{_loop(story)}{later}"


def _nameless(story: Story) -> bool:
    """Whether all that there is to call it by is the file that it wrote into."""
    return story.unit is None and story.profile is None and story.name in {source.rpartition("/")[2] for source in story.facts.kinds}


def _subject(story: Story) -> str:
    """What dies, stops or hangs: no file does."""
    return f"the service in {story.name}" if _nameless(story) else story.name


def _line(verdict: Verdict) -> str | None:
    """Which line says so, and its words: of a service without a name, that is what there is to go by."""
    record = verdict.signals[0].record if verdict.signals else None
    if record is None:
        return None
    text = " ".join(record.text.split())
    return f"line {record.line_no} says: {text[:SHORT]}{'…' if len(text) > SHORT else ''}"


def _saw(story: Story, verdict: Verdict | None = None) -> str:
    """What was given, where it is of no service that somebody named or described; what the verdict rests on first."""
    record = verdict.signals[0].record if verdict is not None and verdict.signals else None
    given = sorted(story.facts.material.items(), key=lambda item: record is not None and item[0] != record.source)
    found = [(source.rpartition("/")[2], material.words) for source, material in given]
    several_ = [source for source in story.facts.material if several(story.facts.tails.get(source))]
    if len(found) == 1:
        (source, words), by = found[0], " by several programs, none of which was named (--unit)" if several_ else ""
        return f"{source if source != '-' else story.name}: {words}{by}"
    return "; ".join(f"{source}: {words}" for source, words in found[:3]) + ("; …" if len(found) > 3 else "")


def _empty(story: Story) -> str | None:
    """An empty file is no journal that had no entries."""
    facts = story.facts
    if facts.asked or story.unit or not facts.material or not all(set(k) <= {PartKind.EMPTY} for k in facts.kinds.values()):
        return None
    return f"{_saw(story)}: nothing can be said" if all(m.kind is MaterialKind.EMPTY for m in facts.material.values()) else None


def _why(verdict: Verdict, known: KnownFacts, direction: Direction | None) -> str:
    plain = _plain(verdict.cause, known.story)
    said = filled(verdict.rule.says, told(known.story, verdict.signals[0]), known) if verdict.rule and verdict.signals else None
    record = verdict.signals[0].record if verdict.signals else None
    by_systemd = verdict.by == "mechanism" and (record is None or record.origin is Origin.SYSTEMD)
    # what ended the main process is in the life, and more exact there than in a rule for all signals
    says = plain if not said or (by_systemd and plain != str(verdict.cause)) else " ".join(said.split()).rstrip(".")
    if direction is Direction.REBALANCE:
        says += f"; {between(known.memory)}"
    elif verdict.cause in OF_A_GPU and direction is None and taken_meanwhile(known.memory):
        return f"an allocation on the GPU found no room: others took {known.memory.taken_meanwhile_gib:.1f} GiB of it after this server had begun"
    return says


def _plain(cause: Cause, story: Story) -> str:
    end = story.issue.end
    if cause is Cause.SIGNAL_DEATH and end.signal:
        who = {
            EndBy.UNKNOWN: ", by whom is not known",
            EndBy.ITSELF: ", its own doing",
            EndBy.OPERATOR: f", sent through {name_of(story.state)} on somebody's request",
        }.get(end.by, f" by {end.by}")
        return f"killed by {end.signal}{who}"
    if cause is Cause.EXIT_CODE_DEATH and end.status is not None:
        return f"it left with exit status {end.status}{_words(story)}"
    plain = {
        Cause.HOST_OOM: "systemd-oomd ended it, as memory ran short" if end.by is EndBy.SYSTEMD else "the kernel's out-of-memory killer ended it",
        Cause.STARTUP_TIMEOUT: f"{name_of(story.state)} gave up waiting for it to start",
        Cause.WATCHDOG_TIMEOUT: "its watchdog was not fed in time",
        Cause.HOST_REBOOT: "the machine went down under it",
    }
    return plain.get(cause, str(cause))


def _words(story: Story) -> str:
    """Its last words; where there are none, why not."""
    if story.facts.coverage.get("journal") is Coverage.DENIED:
        return "; this account may not read its journal, so why is not known"
    said = last_words(story)
    if said is None:
        return ", and no line says why"
    text = " ".join(said.text.split())
    return f"; its last words: {text[:QUOTED]}{'…' if len(text) > QUOTED else ''}"


def _after(story: Story, life: Life) -> str:
    if life.lived_s is None:
        return ""
    if life.lived_s >= 1:
        return f" after {clock.span(life.lived_s)}"
    kinds = {p.mark.kind for p in story.placed if p.life == life.index and p.mark is not None}
    begun = kinds & {MarkKind.STARTING, MarkKind.STARTED, MarkKind.ARGUMENTS}
    return f" after {clock.span(life.lived_s)}" if begun or story.state is not None else ""  # else the excerpt is that short, not the life


def _died(story: Story, life: Life, phase: Phase | None) -> str:
    starting = phase is not None and phase not in (Phase.READY, Phase.SERVING)
    return f"died{_after(story, life)}" + (f" in {phase}" if starting else " while serving" if life.ready else "")


def _says_loop(story: Story, verdict: Verdict) -> bool:
    return verdict.cause is Cause.RESTART_LOOP and story.start_limit


def _own_name(story: Story, why: str) -> str:
    """The unit's own control group, a path of six folders, is itself."""
    return re.sub(rf"\S*/{re.escape(story.unit)}(?=[\s,;]|$)", "it", why) if story.unit else why


def _loop(story: Story) -> str:
    if story.start_limit:
        return f"; {name_of(story.state)} has given up restarting it"
    if (story.restarts or 0) >= 3:
        return f"; {name_of(story.state)} has restarted it {story.restarts} times"
    return ""


def _healthy(story: Story, verdict: Verdict, known: KnownFacts) -> str:
    life = story.issue
    if life.alive and not life.ready and not verdict.signals:
        since = f" since {clock.iso(life.started_at)}" if life.started_at is not None else ""
        return f"{story.name} is running{since}, and nothing wrong was found; whether it answers is not known"
    ready = f"; ready since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else ""
    name = _saw(story) if nobody_meant(story) and not ready else ""
    answered = sum(b.ok or 0 for b in story.facts.benches)
    ready += f"; {answered} requests of the client were answered" if answered and not ready else ""
    ready += f"; {known.sound.told}" if known.sound is not None and known.sound.told is not None else ""
    return f"{name or story.name}{';' if name else ':'} nothing wrong was found{ready}" + (
        "" if life.alive else " (whether it still runs is not in this evidence)"
    )


def _stopped(story: Story, verdict: Verdict, why: str) -> str:
    name, life = _subject(story), story.issue
    after = _after(story, life)
    if verdict.by == "health":
        if _never(story):
            return f"{name} is not running: its journal has no line of it, and {name_of(story.state)} knows of no start, so it was never started as far as they go back"
        return f"{name} is not running, and {name_of(story.state)} knows of no failure: it was stopped, ended cleanly, or was never started"
    if life.end.kind is EndKind.TIMEOUT and life.stop_asked:
        return f"{name} was stopped{after}, but did not leave in time: {name_of(story.state)} killed it"
    if life.stop_asked or life.end.by is EndBy.OPERATOR:
        return f"{name} was stopped{after}, not a crash"
    if life.end.kind is EndKind.STOPPED and not re.search(r"\bstop|SIGTERM|SIGINT", why):
        return f"{name} ended cleanly{after}, by itself or by a stop signal: not a crash"
    return f"{name} ended{after}, not a crash: {why}"


def _met_down(story: Story, client: ClientView | None) -> str:
    """What came of the stop for the client that somebody asks about: no fault of the service is one of the client."""
    if client is None or not client.failed:
        return ""
    down_at, first = story.issue.ended_at, client.first_error_at
    if client.refused and down_at is not None and first is not None and first >= down_at - FAIR_S:
        return "; the client asked it when it was down, and was refused"
    when = ", whether before or after the stop is not known" if client.refused and met_stopped(story) is None else ""
    how = ", ".join(sorted(client.errors, key=lambda kind: -client.errors[kind])[:3])
    return f"; of the client's requests {client.failed}{f' of {client.asked}' if client.asked else ''} failed ({how}){when}"


def _met_before(story: Story, client: ClientView | None, cause: Cause) -> str:
    """What the client met of a service that was stopped since, and not for it."""
    life, (_, stopped_at) = story.issue, stop_of(story)
    stopped = f"stopped at {clock.hms(stopped_at)} UTC" if stopped_at is not None else "stopped"
    if cause is Cause.UNKNOWN:
        failed_ = f"{client.failed}{f' of {client.asked}' if client.asked else ''} requests" if client is not None else "requests"
        return f"{story.name} was {stopped}, not a crash, after {failed_} of the client had failed; no line in this evidence says why they did"
    if cause is Cause.STARTUP_HANG:
        return f"{story.name} was {stopped}, in a start-up that had stopped making progress when the client came"
    if life.ready_at is None:
        return f"no crash: the client came while {story.name} was starting, and it was {stopped}, later than that"
    early = f" {clock.span(client.early_s)} too early" if client is not None and client.early_s is not None else " before it was ready"
    return f"no crash: the client came{early}; {story.name} was ready at {clock.hms(life.ready_at)} UTC, and was {stopped}, later than that"


def _never(story: Story) -> bool:
    """Whether nothing knows of a start: no stamp of a state that it left, and a journal that was asked and is empty."""
    state, facts = story.state, story.facts
    silent = not story.placed and all(facts.coverage.get(kind) in (None, Coverage.EMPTY, Coverage.NOT_COLLECTED) for kind in ("journal", "log"))
    asked = facts.coverage.get("journal") is Coverage.EMPTY
    return silent and asked and state is not None and (state.since, state.started_at, state.exited_at) == (None, None, None)


def _starting(story: Story, name: str, client: ClientView | None, verdict: Verdict) -> str:
    life = story.issue
    up = story.at - life.started_at if story.at is not None and life.started_at is not None else None
    where = f"in phase {life.phase}" if life.phase else "starting"
    steps = _steps(life)
    if life.ready and client is not None:
        early = f" {clock.span(client.early_s)} too early" if client.early_s is not None else " before it was ready"
        if across_restart(story) and (stopped_at := down_since(story)) is not None:
            until = f", {clock.span(client.early_s)} after the client's first error" if client.early_s is not None else ""
            since = f" since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else ""
            return f"no crash: {name} was restarted at {clock.hms(stopped_at)} UTC, under the client; it is ready again{since}{until}"
        fell = fallen(story)
        how = f"{fell.text}; the client came{early}" if fell is not None else f"the client came{early}"
        return f"{'no crash: ' if fell is None else f'{name}: '}{how}; {name if fell is None else 'it'} is ready" + (
            f" since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else ""
        )
    if story.profile is None and life.alive and up is not None and up > LONG_UP_S and verdict.status is Status.POSSIBLE:
        return f"no crash: {name} is up for {clock.span(up)}; a client was turned away, and whether {name} listens where it asked is not known"
    lasting = f"up for {clock.span(up)}, " if up is not None and up >= 0 else ""
    if verdict.cause is Cause.STARTUP_HANG:
        if life.alive is False or life.end.kind is not EndKind.NONE:
            return f"{name} {_died(story, life, life.phase)}: its start-up stopped making progress"
        return f"{name} hangs in its start-up: {lasting}{where}{steps}{_stuck(story)}"
    met = "; the client came before it listened" if client is not None and client.refused else ""
    if life.listening and not life.ready:
        since = f" since {clock.hms(life.listening_at)}" if life.listening_at is not None else ""
        met = f"; it listens{since}, but is not ready"
    held = door.intruder(story)
    if held is not None:
        met = f"; port {held.listener.port} is held by {held.who}, which is not this server"
    fell = fallen(story)
    again = f"; {fell.text}" if fell is not None else ""
    return (
        f"{'no crash: ' if fell is None else ''}{name} is still starting ({lasting}{where}{steps}){_waiting(story)}{met}{again}{_other_port(story)}"
    )


def _other_port(story: Story) -> str:
    """That the client asked a port that is not the one this server is to take: waiting alone will not help it."""
    own, asked = door.port_of(story), {bench.port for bench in story.facts.benches if bench.errors}
    if own is None or None in asked or len(asked) != 1 or own in asked:
        return ""
    return f"; it is to listen on {own}, and the client asked port {next(iter(asked))}"


def _waiting(story: Story) -> str:
    """Which rank the others wait for, and for how long nothing has moved, where that is worth a word."""
    life = story.issue
    behind, still, allowed = life.behind, pace.still_s(story), pace.patience(story)
    told = f"; {_behind(behind)}" if behind is not None else ""
    if still is not None and life.phase is not None and still > max(NOTABLE_S, NOTABLE * allowed.limit_s):
        told += f"; nothing has moved for {clock.span(still)}" + (f", where {allowed.by}" if allowed.by else "")
    return told


def _left_behind(life: Life, cause: Cause) -> str:
    """Of an end that says no more than that somebody waited too long: for which rank."""
    if life.behind is None or cause not in WAITED:
        return ""
    behind, many = life.behind, len(life.behind.ranks) > 1
    names = ", ".join(behind.ranks[:4]) + (f" and {len(behind.ranks) - 4} more" if len(behind.ranks) > 4 else "")
    where = f"still in {behind.phase}" if behind.phase is not None else "never heard of"
    return f"; {names} {'were' if many else 'was'} behind, {where}, while the others were in {behind.others}"


def _behind(behind: Behind) -> str:
    """``TP3 is behind: still in weights, while the others are in kv-pool``."""
    names = ", ".join(behind.ranks[:4]) + (f" and {len(behind.ranks) - 4} more" if len(behind.ranks) > 4 else "")
    verb = "are" if len(behind.ranks) > 1 else "is"
    others = f", while the others are in {behind.others}" if behind.others else ""
    if behind.phase is None:
        return f"{names} {'have' if verb == 'are' else 'has'} not been heard of{others}"
    return f"{names} {verb} behind: still in {behind.phase}{f', silent since {clock.hms(behind.since)}' if behind.since is not None else ''}{others}"


def _stuck(story: Story) -> str:
    still, allowed = pace.still_s(story), pace.patience(story)
    behind = f"; {_behind(story.issue.behind)}" if story.issue.behind is not None else ""
    if still is None or still < NOTABLE_S:
        return f", and nothing moves{behind}"
    return f", and nothing has moved for {clock.span(still)}" + (f", where {allowed.by}" if allowed.by else "") + behind


def _steps(life: Life) -> str:
    return f", {life.progress.done} of {life.progress.of} {life.progress.what}".rstrip() if life.progress else ""


def _unknown(story: Story, pick: Pick, client: ClientView | None, known: KnownFacts) -> str:
    name, life = story.name, story.issue
    if story.unit is None and pick.why and story.profile is None:
        count = f" (looked at {len(story.facts.unit_names)} units)" if story.facts.unit_names else ""
        return f"{pick.why}{count}; name the one that is meant with --unit"
    if life.end.kind is EndKind.NONE and life.phase is not None and not life.ready:
        alive = "it is alive" if life.alive else "this evidence does not say whether it is alive"
        return f"{name} was last seen starting (phase {life.phase}{_steps(life)}); {alive}"
    if nobody_meant(story) and not life.ready and (saw := _saw(story)):
        if known.sound is not None and known.sound.doubt is not None:
            return f"{saw}; {known.sound.doubt}"
        return f"{saw}; no line in it says what is wrong" if printed(story.facts) else saw
    if (
        client is not None
        and any(client.errors.get(kind) for kind in TURNED_AWAY)
        and client.first_error_at is None
        and life.alive
        and life.ready
        and life is story.lives[-1]
    ):
        since = f" since {clock.hms(life.ready_at)} UTC" if life.ready_at is not None else ""
        return f"{name} is ready{since}, and a client was turned away at a time that is not known: before that it was too early, since then it asked elsewhere"
    if life.end.kind is EndKind.NONE and life.alive is None and life.ready_at is not None and client is not None and client.refused:
        return f"{name} was ready at {clock.hms(life.ready_at)} UTC, and a client was refused; its log says nothing of an end, nor of what is wrong"
    if life.end.kind is EndKind.NONE:
        return f"{name}: no line in this evidence says what is wrong"
    said = _words(story)
    return f"{name} {_died(story, life, life.phase)}{said if said.startswith(';') else ', and no line in this evidence says why'}"
