"""Compute the known facts that conditions may name, lazily and by name. Knows where each comes from; judges none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from forensics.model import RETOKENIZED, BenchRun, Cause, Coverage, Direction, EndKind, Evidence, Known, Origin, Role, UnitState
from forensics.reason import around, door, hostknown, pace
from forensics.reason.acceptance import Acceptance, acceptance
from forensics.reason.client import across_restart
from forensics.reason.decoded import intervals
from forensics.reason.drafted import Drafted, drafted
from forensics.reason.figures import whole
from forensics.reason.issue import error_times, failed
from forensics.reason.join import argument, lines_of, not_found, printed
from forensics.reason.manager import kind_of
from forensics.reason.memory import Budget, budget
from forensics.reason.place import Story
from forensics.reason.said import answer, is_asked, signals_of
from forensics.reason.signals import evidence
from forensics.reason.silence import silence
from forensics.reason.sound import Sound, sound

NO_DRAFT = 1.005  # the bonus token alone; printed with two digits
REJECTED = ("http-429", "http-503", "http-413", "too-long")
Value = tuple[object | None, tuple[Evidence, ...]]


@dataclass(eq=False, repr=False)
class KnownFacts:
    """Known facts of one story, computed once each when first named."""

    story: Story
    memory: Budget
    accept: Acceptance | None
    cache: dict[str, Known] = field(default_factory=dict)

    @cached_property
    def drafted(self) -> Drafted | None:
        """What the server's own lines tell of its drafts; asked only where no benchmark has measured their length."""
        return drafted(self.story)

    @cached_property
    def sound(self) -> Sound | None:
        """Whether all that benchmarks have measured by width is in order."""
        return sound(self.story.facts.benches)

    def get(self, name: str) -> Known:
        """The fact of that name; unknown names are unknown facts (the loader refuses them before)."""
        if name not in self.cache:
            value, lines = self._compute(name)
            self.cache[name] = Known(name=name, value=value, evidence=lines)
        return self.cache[name]

    def value(self, name: str) -> object | None:
        """Its value alone; None is unknown."""
        return self.get(name).value

    def settle(self, failed_by: Direction | None) -> None:
        """Drop the bound of the memory fraction that the failure itself contradicts, once it is known which way it failed."""
        self.memory = self.memory.settled(failed_by)
        self.cache = {name: known for name, known in self.cache.items() if not name.startswith("memory.")}

    def _compute(self, name: str) -> Value:
        if is_asked(name):
            story = self.story
            lines = tuple(line for s in signals_of(name, story.signals, story.rules, story.issue)[:1] for line in s.lines)
            return answer(name, story.signals, story.placed, story.rules, story.facts, story.issue), lines
        family, _, rest = name.partition(".")
        if family == "argv" or name.startswith("life.argv."):
            return argument(self.story.issue, name.removeprefix("life.argv.").removeprefix("argv.")), ()
        if family == "memory":
            value = self.memory.known(rest)
            if rest == "held_by_others_gib" and value is None:
                return hostknown.of_gpu(self.story, rest)
            return value, self.memory.lines[:3]
        compute = FAMILIES.get(family)
        return compute(self, rest) if compute else (None, ())


def known_facts(story: Story) -> KnownFacts:
    """The known facts of a story."""
    return KnownFacts(story=story, memory=budget(story), accept=acceptance(story.facts.benches))


# --------------------------------------------------------------------------- unit


def _unit(known: KnownFacts, rest: str) -> Value:
    story = known.story
    state = story.state
    told = _unit_lines(state, rest) if state else ()
    if rest in ("missing", "exists"):
        missing = None if state is None or (state.load is None and state.active is None) else state.load == "not-found"
        if missing is None and any(s.record.origin is Origin.SERVER for s in story.facts.seen):
            missing = False
        return (missing if rest == "missing" or missing is None else not missing), told
    values: dict[str, object | None] = {
        "load_state": state.load if state else None,
        "active_state": state.active if state else None,
        "sub_state": state.sub if state else None,
        "result": (state.result if state and state.result else story.issue.end.result),
        "restarts": story.restarts,
        "start_limit": story.start_limit or None,
        "near_miss": story.pick.how == "mistyped",
        "condition_met": False if state is not None and "condition" in state.lines else None,
        "main_code": state.main_code if state else None,
        "main_status": state.main_status if state else None,
        "failed_command": state.failed_command if state else None,
        "memory_peak_gib": state.memory_peak_gib if state else None,
        "memory_max_gib": state.memory_max_gib if state else None,
        "manager": kind_of(state),
        "health": state.health if state else None,
        "memory_high_gib": state.memory_high_gib if state else None,
        "need_reload": state.need_reload if state else None,
        "oom_kills": story.facts.host.figures.get("cgroup_oom_kills"),
    }
    return values.get(rest), told


SAYS = {
    "missing": ("missing", "loaded"),
    "exists": ("missing", "loaded"),
    "load_state": ("loaded", "missing"),
    "active_state": ("active",),
    "sub_state": ("active",),
    "result": ("result", "active"),
    "condition_met": ("condition",),
    "restarts": ("restarts",),
    "main_code": ("main", "process"),
    "main_status": ("main", "process"),
    "failed_command": ("command",),
    "health": ("health", "check", "active"),
    "need_reload": ("reload",),
    "memory_peak_gib": ("peak",),
    "memory_max_gib": ("limit",),
}


def _unit_lines(state: UnitState, name: str) -> tuple[Evidence, ...]:
    """The lines of status and show that tell a fact."""
    keys = [k for k in SAYS.get(name, ()) if k in state.lines]
    return tuple(Evidence(source=state.line_sources.get(k, state.source), line=state.lines[k][0], text=state.lines[k][1]) for k in keys)


# --------------------------------------------------------------------------- life


def _life(known: KnownFacts, rest: str) -> Value:
    story, life = known.story, known.story.issue
    if rest.startswith("end."):
        part = rest[4:]
        value = getattr(life.end, part, None)
        return (str(value) if part in ("kind", "by") else value), ()
    log_seen = any(s.record.origin is Origin.SERVER for s in story.facts.seen)
    # what it has not said it may have said before the evidence begins: only of a log with its beginning that is a no
    whole = log_seen and bool(life.phases)
    age = story.at - life.last_at if story.at is not None and life.last_at is not None else None
    values: dict[str, object | None] = {
        "alive": life.alive,
        "ready": True if life.ready else False if whole else None,
        "listening": True if life.listening else False if whole else None,
        "served": life.served or (False if whole else None),
        "stalled": _stalled(story, age),
        "lived_s": life.lived_s,
        "started_at": life.started_at,
        "listening_at": life.listening_at,
        "ready_at": life.ready_at,
        "ended_at": life.ended_at,
        "phase": str(life.phase) if life.phase else None,
        "progress": life.progress.done / life.progress.of if life.progress else None,
        "progress_age_s": pace.still_s(story),
        "pids": life.pids or None,
        "version": life.version,
        "server": life.server,
        "port": _port(story),
        "address": _address(story) if rest == "address" else None,
        "not_found_share": not_found(story.placed, story.lives).get(life.index) if rest == "not_found_share" else None,
        "opened": bool(life.arguments) or None,
        "count": len(story.lives),
        "failed_count": sum(failed(x) for x in story.lives),
        "rooted": any(True for s in story.of_issue(Role.ROOT) if s.cause not in (Cause.WRONG_ENDPOINT, Cause.BENCH_OVERLOAD)),
        "mechanism": any(True for _ in story.of_issue(Role.MECHANISM)),
        "cascaded": any(True for _ in story.of_issue(Role.CASCADE)),
        "stop_asked": life.end.kind is EndKind.STOPPED if life.end.kind not in (EndKind.NONE, EndKind.UNKNOWN) else None,
        "core_at_end": around.core_at_end(story),
    }
    return values.get(rest), _life_lines(story, rest)


def _port(story: Story) -> int | None:
    """Where it listens: as it said, else as it was told, else the server's default."""
    said = [p.seen.hit.captures["port"] for p in story.marks if "port" in p.seen.hit.captures]
    port = whole(said[-1]) if said else None
    return port if port is not None else door.port_of(story)


def _address(story: Story) -> str | None:
    """The address that it listens on: as it said, else as the list of sockets has it, else as it was told."""
    said = [p.seen.hit.captures["address"] for p in story.marks if p.seen.hit.captures.get("address")]
    port = _port(story)
    there = {listener.address for listener in story.facts.listeners or () if listener.port == port}
    told = argument(story.issue, "host")
    found = said[-1] if said else there.pop() if len(there) == 1 else told if isinstance(told, str) else None
    return found.strip("[]") if found else None


def _stalled(story: Story, age: float | None) -> bool | None:
    life = story.issue
    if life.ready or life.alive is False:
        return False
    if any(s.cause is Cause.STARTUP_HANG for s in story.of_issue(Role.STATE, Role.ROOT)):
        return True
    if not life.phases and life.alive is None:
        return age > pace.USUAL_S if age is not None else None
    return pace.stalled(story)


def _life_lines(story: Story, rest: str) -> tuple[Evidence, ...]:
    life = story.issue
    if rest == "core_at_end" and (core := around.core_of(story)) is not None:
        return tuple(around.cited(core.source, *core.lines[k]) for k in ("signal", "frame", "pid") if k in core.lines)[:2]
    if rest in ("alive", "ready", "listening", "phase", "stalled", "progress", "served"):
        marks = [p for p in story.placed if p.life == life.index and p.mark is not None and p.seen.record.origin is Origin.SERVER]
        return tuple(evidence(p.seen.record) for p in marks[-1:])
    return ()


# --------------------------------------------------------------------------- client


def _client(known: KnownFacts, rest: str) -> Value:
    benches = _ill(known.story.facts.benches)
    if not benches:
        return None, ()
    kinds = {
        "refused": "refused",
        "reset": "reset",
        "timed_out": "timed-out",
        "not_ready": "not-ready",
        "unconnected": "unconnected",
        "too_long": "too-long",
        "tls": "tls",
        "unresolved": "dns",
    }
    if rest in kinds or rest.startswith("http_"):
        kind = kinds.get(rest, rest.replace("_", "-"))
        lines = tuple(Evidence(source=b.source, line=r.line_no, text=r.text, at=r.at) for b in benches for r in b.rows if r.kind == kind)
        return sum(errors_of(b).get(kind, 0) for b in benches), lines[:1] + lines[-1:] if len(lines) > 1 else lines
    if rest in ("asked", "ok", "failed"):
        return _sum(benches, rest), _rows(benches, good=rest == "ok") if rest != "asked" else ()
    if rest in ("first_error_at", "last_error_at"):
        real = error_times(known.story.facts)
        return (min(real) if rest == "first_error_at" else max(real)) if real else None, ()
    if rest in ("before_ready", "after_ready"):
        ready_at, life = known.story.issue.ready_at, known.story.issue
        times = [r.at for b in benches for r in b.rows if r.kind not in ("", "ok") and r.at is not None]
        if ready_at is None or not times or any(b.errors and not any(r.at is not None for r in b.rows) for b in benches):
            return None, ()  # where only some of them have a time, what the others met is not known
        ended_at = life.ended_at
        return sum(at < ready_at if rest == "before_ready" else at >= ready_at and (ended_at is None or at <= ended_at) for at in times), ()
    if rest == "may_have_meant":
        return _may_have_meant(benches, known.story.unit, known.story.facts.doors), ()
    if rest == "across_restart":
        return (across_restart(known.story) if error_times(known.story.facts) else None), ()
    if rest in ("host", "port", "path", "tool"):
        return next((v for b in benches if (v := getattr(b, rest)) is not None), None), ()
    if rest == "errors":
        return sum(sum(errors_of(b).values()) for b in benches), ()
    return _metric(benches, rest), _figures(benches, rest)


def _ill(benches: tuple[BenchRun, ...]) -> tuple[BenchRun, ...]:
    """The clients that are asked about: of several that asked at different doors, those that met an error. What another was answered elsewhere is no answer to them."""
    doors = [(b.host, b.port, b.path) for b in benches]
    met = {door for b, door in zip(benches, doors, strict=True) if errors_of(b)}
    known = not any(None in door[:2] for door in doors)
    return tuple(b for b, door in zip(benches, doors, strict=True) if door in met) if met and known else benches


def _may_have_meant(benches: tuple[BenchRun, ...], unit: str | None, doors: Mapping[str, frozenset[int]]) -> int:
    """How many other servers those clients may have asked as well: all of them, where one names no port; else those of which no port is known."""
    named = [b.port for b in benches]
    if unit is None or all(port in doors.get(unit, ()) for port in named):
        return 0
    return sum(1 for name, ports in doors.items() if name != unit and (None in named or not ports))


def errors_of(bench: BenchRun) -> Mapping[str, int]:
    """The errors that count: none for a client that asked again until it was answered, and was answered from then on."""
    kinds = [r.kind for r in bench.rows if r.kind]
    answered = kinds[kinds.index("ok") :] if "ok" in kinds else []
    return {} if answered and set(answered) == {"ok"} and not bench.failed else bench.errors


def _metric(benches: tuple[BenchRun, ...], name: str) -> object | None:
    for b in benches:
        m = b.metrics
        if name == "retokenized_share" and b.came_back is not None:
            again, counted = b.came_back
            return again / counted
        if name == "median_ttft_ms" and "median_ttft_ms" in m:
            return m["median_ttft_ms"]
        asked = b.asked or sum(b.errors.values()) + (b.ok or 0)
        if name == "rejected_share" and asked:
            return sum(b.errors.get(k, 0) for k in REJECTED) / asked
        if name in m:
            return m[name]
    return None


def _sum(benches: tuple[BenchRun, ...], name: str) -> int | None:
    if name == "failed":  # where the output does not count them, the errors seen are
        return sum(b.failed if b.failed is not None else sum(errors_of(b).values()) for b in benches)
    values = [v for b in benches if (v := getattr(b, name)) is not None]
    return sum(values) if values else None


def _rows(benches: tuple[BenchRun, ...], *, good: bool) -> tuple[Evidence, ...]:
    """The first and the last attempt that went well, or that failed."""
    counted = ("successful_requests", "completed") if good else ("failed_requests", "failed")
    rows = [(b.source, r) for b in benches for r in b.rows if (r.kind and (r.kind == "ok") is good) or r.metric in counted]
    chosen = [rows[0], rows[-1]] if len(rows) > 1 else rows
    return tuple(Evidence(source=source, line=r.line_no, text=r.text, at=r.at) for source, r in chosen)


def _figures(benches: tuple[BenchRun, ...], name: str) -> tuple[Evidence, ...]:
    """The printed rows that a metric is computed from."""
    names = [printed for pair in RETOKENIZED for printed in pair] if name == "retokenized_share" else [name]
    return tuple(Evidence(source=b.source, line=r.line_no, text=r.text) for n in names for b in benches for r in b.rows if r.metric == n)[:3]


# --------------------------------------------------------------------------- the rest


def _kernel(known: KnownFacts, rest: str) -> Value:
    wanted = {"oom_pids": Cause.HOST_OOM, "xids": None, "segfaults": Cause.SIGNAL_DEATH}
    if rest == "oom_in_life":
        pids, lines = _kernel(known, "oom_pids")
        return (bool(pids & known.story.issue.pids) if isinstance(pids, set) else None), lines
    if rest not in wanted:
        return None, ()
    found = [s for s in known.story.signals if s.record is not None and s.record.origin is Origin.KERNEL]
    key = "xid" if rest == "xids" else "pid"
    chosen = [s for s in found if key in s.captures and (wanted[rest] is None or s.cause is wanted[rest])]
    values = {number for s in chosen if (number := whole(s.captures[key])) is not None}
    read = known.story.facts.coverage.get("kernel") is Coverage.READ  # a kernel log without a line is one that cannot be seen, as in a container
    return (values if values or read else None), tuple(line for s in chosen for line in s.lines)[:3]


def _accept(known: KnownFacts, rest: str) -> Value:
    if rest in ("intervals", "ones_share"):
        told = intervals(known.story, known.story.issue.index)
        ones = [i for i in told if i.length < NO_DRAFT]
        value = len(told) if rest == "intervals" else len(ones) / len(told) if told else None
        return value, tuple(i.line for i in ones[:2])
    if rest in ("sound", "sound_told"):
        held = known.sound
        return (None, ()) if held is None else (held.told is not None if rest == "sound" else held.told, held.lines)
    found = known.accept
    if rest.startswith("log_"):
        by_log = known.drafted if found is None or found.length_chance is None else None
        if by_log is None:
            return None, ()
        told_by = {"log_drop": by_log.drop, "log_chance": by_log.chance, "log_starts": by_log.starts, "log_apart": by_log.apart,
                   "log_told": by_log.told, "log_by_width": dict(by_log.by_width) or None}  # fmt: skip
        return told_by.get(rest), by_log.lines
    if found is None:
        return None, ()
    values: dict[str, object | None] = {
        "narrow": found.narrow,
        "wide": found.wide,
        "narrow_len": found.narrow_len,
        "wide_len": found.wide_len,
        "worst_len": found.wide_len,
        "best_len": found.narrow_len,
        "drop": found.drop,
        "chance": found.chance,
        "length_drop": found.length_drop,
        "length_chance": found.length_chance,
        "told": found.told,
        "first_bad": found.first_bad,
        "by_width": dict(found.by_width) or None,
        "collapses": found.first_bad is not None if found.narrow is not None and found.wide is not None else None,
    }
    return values.get(rest), found.lines


def _probe(known: KnownFacts, rest: str) -> Value:
    probes = known.story.facts.probes
    if not probes or door.intruder(known.story) is not None:
        return None, ()  # what another server answers on that port says nothing about this one
    lines = tuple(Evidence(source="health", line=p.line_no, text=p.text) for p in probes)[:3]
    if rest == "listening":
        return any((p.code or 0) > 0 for p in probes), lines
    if rest == "ready_path_code":
        profile = known.story.profile
        paths = {e.path for e in profile.endpoints if e.says == "ready"} if profile else set()
        return next((p.code for p in probes if p.path in paths), None), lines
    if rest == "code":
        return probes[-1].code, lines
    return None, lines


def _evidence(known: KnownFacts, rest: str) -> Value:
    facts = known.story.facts
    if rest in ("server_lines", "systemd_lines"):
        origin = Origin.SERVER if rest == "server_lines" else Origin.SYSTEMD
        return lines_of(facts, origin), ()
    if rest == "printed":
        return printed(facts), ()
    if rest == "silence":
        found = silence(known.story)
        return (found.kind if found else None), ()
    coverage = facts.coverage.get(rest)
    return (str(coverage) if coverage else str(Coverage.NOT_COLLECTED)), ()


FAMILIES: Mapping[str, Callable[[KnownFacts, str], Value]] = {
    "unit": _unit,
    "life": _life,
    "client": _client,
    "kernel": _kernel,
    "accept": _accept,
    "host": lambda known, rest: hostknown.of_host(known.story, rest),
    "gpu": lambda known, rest: hostknown.of_gpu(known.story, rest),
    "probe": _probe,
    "evidence": _evidence,
}
