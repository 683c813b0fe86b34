"""All that is fuzzed: a visible tuple. Each target takes bytes, and raises only where something that must hold does not.

A target's name is its own in the command line and the folder of its findings. What it must stand is in its function; what all must stand is in ``checks``.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import zstandard

from forensics import api, clock, collect, parse, redact, ruleset, units
from forensics.collect import answer, binary, bundle, order, packed, wire
from forensics.collect.question import Question
from forensics.collect.targets import parse_targets
from forensics.errors import BundleError, ForensicsError, RuleError, TargetError, UsageError
from forensics.model import Capture, Coverage, Origin, PartKind, Section, Target, TargetKind
from forensics.parse import (
    asked,
    bench,
    client,
    container,
    dress,
    endings,
    export,
    host,
    machine,
    packages,
    pod,
    processes,
    prompt,
    shipped,
    sniff,
    systemd,
    turned,
    unitnow,
    unitstate,
)
from forensics.parse.unwrap import ServerPrefixes, Unwrapper, clean
from forensics.ruleset import condition
from fuzz import corpus
from fuzz.checks import diagnosis_holds, facts_hold, hold, lines_of, problems_in

SCRATCH = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
NOW = 1_800_000_000.0
_EVERY = 8  # folder of evidence: a thousand of them would take all the time to be read once


@dataclass(frozen=True, kw_only=True)
class FuzzTarget:
    """``seeds`` are words in the paths of the files that the corpus begins with; ``needs`` is a module without which the target is skipped."""

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[str, ...] = ()
    max_len: int = 16 << 10
    whole_folders: bool = False
    needs: str = ""
    extra: tuple[bytes, ...] = ()

    def missing(self) -> bool:
        """Whether what is to be fuzzed is not there."""
        try:
            return bool(self.needs) and importlib.util.find_spec(self.needs) is None
        except ModuleNotFoundError:
            return True

    def inputs(self) -> Iterator[bytes]:
        """What the corpus begins with."""
        yield from self.extra
        yield from islice(corpus.folders(), 0, None, _EVERY) if self.whole_folders else corpus.pieces(self.seeds)


@contextmanager
def folder() -> Iterator[Path]:
    """A folder of its own for one input."""
    made = Path(tempfile.mkdtemp(prefix="ddf-fuzz-", dir=SCRATCH))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


# --------------------------------------------------------------------------- parsers of texts


def text_parser(read: Callable[..., Any], data: bytes) -> None:
    """A parser of the text of one part: total, the same twice, problems with lines of the text."""
    text = data.decode("utf-8", "replace")
    result = read(text, source="s", first_line=11)
    problems_in(result[-1], first=11, last=10 + len(text.split("\n")), source="s")
    hold(repr(read(text, source="s", first_line=11)) == repr(result), "not the same twice")


def unit_lists(data: bytes) -> None:
    """``list-units`` has no place of its own: its lines are not cited."""
    unitstate.list_units(data.decode("utf-8", "replace"), source="s")


def results(data: bytes) -> None:
    """Both readers of a client's results; what they cite stands in the text."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    for read in (bench.read, bench.read_json):
        runs, problems = read(text, source="s")
        problems_in(problems, first=1, last=len(lines))
        for run in runs:
            for line in (*(row.line_no for row in run.rows), *(m.line_no for m in run.matrix)):
                hold(1 <= line <= len(lines), "a row beyond the text")
            json.dumps([dict(run.metrics), run.asked, run.ok, run.failed, run.port], allow_nan=False)
    for run in bench.read(text, source="s")[0]:
        for row in run.rows:
            hold(row.text in lines[row.line_no - 1], f"a row that is not in its line: {row}")
    client.read(text, source="s", latest=NOW)


def statuses(data: bytes) -> None:
    """Status, and what it cites."""
    text_parser(systemd.status, data)
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    for state in systemd.status(text, source="s")[0]:
        for line, cited in state.lines.values():
            hold(cited in systemd.ANSI.sub("", lines[line - 1]), f"a state cites what is not there: {cited!r}")
    unitstate.merge([(PartKind.STATUS, state) for state in systemd.status(text, source="s")[0]])


def commands(data: bytes) -> None:
    """What was typed."""
    for line in data.decode("utf-8", "replace").split("\n"):
        unit = asked.asked_unit(line)
        hold(unit is None or units.UNIT_NAME.fullmatch(unit), f"no unit name: {unit!r}")
        for one in asked.simples(line):
            asked.filters(one)
        systemd.words(line)


def host_answers(data: bytes) -> None:
    """All that a host says of itself: memory, disks, processes, packages, cores, boots, a unit's files."""
    for read in (processes.processes, packages.packages, endings.boot_ends, endings.coredumps, machine.disks):
        text_parser(read, data)
    text = data.decode("utf-8", "replace")
    last = 10 + len(text.split("\n"))
    problems_in(machine.machine(text, machine.Said(), source="s", first_line=11), first=11, last=last, source="s")
    problems_in(unitnow.unit_now(text, machine.Said(), source="s", first_line=11)[1], first=11, last=last, source="s")


def containers(data: bytes) -> None:
    """What engines and clusters say, as JSON and described."""
    text = data.decode("utf-8", "replace")
    for read in (container.inspect, pod.pod):
        found = read(text, source="s", first_line=11)
        problems_in(found.problems, first=11, last=10 + len(text.split("\n")), source="s")
        hold(repr(read(text, source="s", first_line=11)) == repr(found), "not the same twice")
    pod.described(text)


def pasted(data: bytes) -> None:
    """What is put in place of a paste or an export has as many lines, and is not undressed again for ever."""
    bare = dress.undressed(data)
    hold(bare is None or bare.count(b"\n") <= data.count(b"\n") + 1, "a paste with more lines than it had")
    lines = data.decode("utf-8", "replace").split("\n")
    for at in range(min(len(lines), 50)):
        prompt.typed(lines, at)
        prompt.command_in(lines[at])
    if shipped.looks(data):
        shipped.export_of(data)


def unpacked(data: bytes) -> None:
    """What is packed on its way: damage is damage, pieces are small, and it does not matter how it arrives."""
    for encoding in ("gzip", "zstd"):

        def fed(size: int, encoding: str = encoding) -> tuple[bytes, bool]:
            out, unpack = b"", packed.unpacker(encoding)
            try:
                for at in range(0, len(data), size):
                    for piece in unpack.feed(data[at : at + size]):
                        hold(len(piece) <= 64 << 20, "a piece without measure")
                        out += piece[:1024]
            except packed.BrokenError:
                return out, True
            return out, False

        fed(1 + len(data) // 3)
        fed(max(1, len(data)))


# --------------------------------------------------------------------------- files

PARTS: tuple[PartKind | None, ...] = (None, *PartKind)


@lru_cache(maxsize=1)
def rules() -> ruleset.RuleSet:
    return ruleset.load()


@lru_cache(maxsize=1)
def prefixes() -> ServerPrefixes:
    return ServerPrefixes(rules().prefixes)


def frames(data: bytes) -> None:
    """The first byte says what the section is taken for; the rest is framed to its end, every line at its place."""
    part, raw = PARTS[data[0] % len(PARTS)] if data else None, data[1:]
    with folder() as made:
        path = made / "x"
        path.write_bytes(raw)
        section = Section(name="x", path=path, part=part)
        found = sniff.parts(section)
        covered = [(p.start, p.end if p.end is not None else len(raw)) for p in found]
        hold(all(0 <= a <= b <= len(raw) for a, b in covered), f"a part beyond its file: {covered}")
        hold(all(before[1] <= after[0] for before, after in pairwise(covered)), f"parts that overlap: {covered}")
        for one in found:
            _turned(section, one, raw)
        last = raw.count(b"\n") + 1
        capture = Capture(target=Target(kind=TargetKind.FILES, name="x"), sections=(section,))
        in_order = True  # a turned journal counts from its end
        for block in parse.frames(capture, rules().prefixes):
            in_order = in_order and not any(p.text == turned.TURNED for p in block.problems)
            for i in range(len(block.keys)):
                block.raw(i)
                frame = block.frame(i)
                hold(1 <= frame.line_no <= last and 0 <= frame.start <= len(raw), f"a frame beyond its file: {frame}")
                hold("\n" not in frame.text, f"a frame of two lines: {frame}")
                hold(not in_order or raw.count(b"\n", 0, frame.start) == frame.line_no - 1, f"a frame whose bytes are of another line: {frame}")
                parse.record(frame, year=2026, latest=NOW)
            problems_in(block.problems, first=1, last=last, source="x")


def _turned(section: Section, part: sniff.Part, raw: bytes) -> None:
    if part.kind in (PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.KERNEL) and len(raw) < 1 << 16 and turned.newest_first(section, part):
        pieces = list(turned.turned(section, part))
        end = len(raw) if part.end is None else part.end
        size = sum(len(piece.data) for piece in pieces)
        hold(
            end - part.start <= size <= end - part.start + 1 + len(b"-- Reboot --\n") + sum(4096 for p in pieces if p.problems),
            "lines lost or doubled by turning",
        )


def openers(data: bytes) -> None:
    """Every line by itself, under every kind."""
    for line in data.decode("utf-8", "replace").split("\n")[:50]:
        hold("\0" not in clean(line), "a NUL is left")
        for kind in (PartKind.JOURNAL_TEXT, PartKind.KERNEL, PartKind.SERVER, PartKind.CLIENT, PartKind.NOTICE, PartKind.STATUS):
            opened = Unwrapper(kind, prefixes(), has_init=lambda: True).open(line)
            hold(kind is not PartKind.SERVER or opened.origin is Origin.SERVER, f"a line of a server's own log became another's: {opened}")


def exports(data: bytes) -> None:
    """One entry, field by field."""
    for name, value in export.fields_of(data):
        hold(b"\n" not in name and len(name) + len(value) <= len(data), "a field larger than its entry")


def _given(data: bytes, made: Path) -> Capture | None:
    """The capture; None where there is nothing in it that is text."""
    for name, body in corpus.several(data):
        (made / name).write_bytes(body)
        os.utime(made / name, (NOW, NOW))
    try:
        with collect.open_target(Target(kind=TargetKind.FILES, name="fuzzed", paths=(made,))) as session:
            return collect.capture_from(session, session.ask(()))
    except TargetError:
        return None


def gathered(data: bytes) -> None:
    """Facts of several files, without a rule; the same twice."""
    with folder() as made:
        capture = _given(data, made)
        if capture is None:
            return
        sources = {s.name: lines_of(s.path.read_bytes()) for s in capture.sections}

        def once() -> Any:
            blocks, tails = parse.watch(parse.frames(capture, ()))
            for _ in blocks:
                pass
            return parse.facts(capture, SimpleNamespace(hits=[], counts={}), tails=tails)

        facts = once()
        facts_hold(facts, sources)
        hold(repr(facts) == repr(once()), "facts are not the same twice")


def diagnosed(data: bytes) -> None:
    """The whole of it, on several files."""
    with folder() as made:
        if capture := _given(data, made):
            _diagnose(capture, twice=len(data) % 8 == 0)


def _diagnose(capture: Capture, *, twice: bool = False) -> None:
    facts, _ = api.facts_of(capture, rules())
    sources = {s.name: lines_of(s.path.read_bytes()) for s in capture.sections}
    facts_hold(facts, sources)
    diagnosis = api.diagnose_capture(capture, rules())
    diagnosis_holds(diagnosis, facts, sources)
    hold(api.code_of(diagnosis) in (0, 1, 3, 4, 5), "no such exit code")
    if twice:
        hold(repr(api.diagnose_capture(capture, rules())) == repr(diagnosis), "the diagnosis is not the same twice")


# --------------------------------------------------------------------------- bundles, archives, the wire


def bundles(data: bytes) -> None:
    """A folder whose manifest and answers are anything: the project's own error, or a capture of files within it that survives being saved."""
    manifest, _, rest = data.partition(corpus.NEXT_FILE)
    with folder() as made:
        saved = made / "saved"
        saved.mkdir()
        for name, body in corpus.several(corpus.NEXT_FILE + rest) if rest else []:
            (saved / name).write_bytes(body)
        (saved / "manifest.json").write_bytes(manifest)
        try:
            capture = bundle.load(saved)
        except BundleError:
            return
        for section in capture.sections:
            hold(section.path.resolve().parent == saved.resolve(), f"a file that is not its own: {section.path}")
        _diagnose(capture)
        bundle.save(capture, made / "again")
        again = bundle.load(made / "again")
        hold(again.at == capture.at and len(again.sections) == len(capture.sections), "not the same capture when it is saved again")


def archives(data: bytes) -> None:
    """A file that calls itself an archive, through the front door."""
    with folder() as made:
        path = made / "x.tar.zst"
        path.write_bytes(data)
        try:
            [target] = parse_targets([str(path)])
            with collect.open_target(target, spool=made) as session:
                capture = collect.capture_from(session, session.ask(()))
                for section in capture.sections:
                    hold(made.resolve() in section.path.resolve().parents, f"a file outside: {section.path}")
                    hold(not section.path.is_symlink(), f"a link: {section.path}")
        except (TargetError, BundleError, UsageError):
            return


WORD = "0123456789abcdef"


def wired(data: bytes) -> None:
    """However a stream is cut into pieces: the same events, the same bytes."""
    size = 1 + (data[0] if data else 0) % 61
    raw = data[1:].replace(b"\x01", b"\n@" + WORD.encode() + b" ")

    def fed(pieces: Sequence[bytes]) -> tuple[list[Any], bytes]:
        given: dict[str, bytes] = {}
        reader = wire.FrameReader(
            WORD,
            lambda name, piece: given.__setitem__(name, given.get(name, b"") + piece),
            lambda name, piece: given.__setitem__(name + "!", given.get(name + "!", b"") + piece),
        )
        events = [event for piece in pieces for event in reader.feed(piece)]
        reader.finish()
        return events, repr(sorted(given.items())).encode()

    whole = fed([raw])
    hold(fed([raw[at : at + size] for at in range(0, len(raw), size)]) == whole, f"other events in pieces of {size}")


def ordered(data: bytes) -> None:
    """Exports that are turned round and completed: whole entries, none twice, none made up."""
    spans = list(order.export_entries(data))
    hold(all(0 <= a < b <= len(data) for a, b in spans), "an entry beyond the data")
    hold(all(before[1] <= after[0] for before, after in pairwise(spans)), "entries that overlap")
    with folder() as made:
        one, two = made / "one", made / "two"
        half = len(data) // 2
        one.write_bytes(data)
        hold(0 <= order.reverse_export(one) <= len(data), "more was dropped than there was")
        hold(one.stat().st_size <= len(data), "an export that grew")
        one.write_bytes(data[:half])
        two.write_bytes(data[half:])
        order.complete_export(one, two)
        hold(one.read_bytes().endswith(data[:half]), "what was there is not there any more")
        order.drop_first_line(two)


def answered(data: bytes) -> None:
    """An answer as it arrives, and its worth."""
    flags, raw = (data[0], data[1:]) if data else (0, b"")
    with folder() as made:
        question = Question(
            name="x", part=PARTS[1 + flags % (len(PARTS) - 1)] or PartKind.STATUS, script="", argv="x", max_bytes=1 + (flags * 7), keep_end=bool(flags & 1), newest_first=bool(flags & 2)
        )  # fmt: skip
        one = answer.Answer(question, made / "x")
        for at in range(0, len(raw), 50):
            one.write(raw[at : at + 50])
        one.end(flags & 127) if flags & 4 else one.close()
        section = one.section(raw[:300].decode("utf-8", "replace"))
        # where its end is kept one byte more tells that there was more; it stays where no line ends
        hold(section.size() <= question.max_bytes + question.keep_end, "an answer over its limit")
        hold(
            section.cut
            or section.coverage is not Coverage.CUT
            or "ermi" in section.stderr
            or "denied" in section.stderr
            or "authent" in section.stderr,
            "cut, and nothing is missing",
        )


def targeted(data: bytes) -> None:
    """Words of a command line: a target, or a word to the user; never an option for ssh."""
    words = data.decode("utf-8", "surrogateescape").replace("\0", "").split("\n")[:6]
    try:
        found = parse_targets(words)
    except (UsageError, TargetError):
        return
    for target in found:
        hold(target.kind is not TargetKind.SSH or not (target.host or "-").startswith("-"), f"an option for ssh: {target}")
        hold(
            target.kind is not TargetKind.SSH or not set(target.host or "") & set("`$;&|<>()'\"\n \\*?!{}") - {"\\"},
            f"a host that a shell could read: {target}",
        )


# --------------------------------------------------------------------------- words and times


def times(data: bytes) -> None:
    """Stamps, spans and what a person types."""
    text = data.decode("utf-8", "replace")
    for line in text.split("\n")[:20]:
        at = clock.parse_stamp(line, year=2024, zone_s=3600.0)
        if at is not None:
            again = clock.parse_stamp(clock.iso(at))
            hold(
                clock.iso(at).startswith("@") or (again is not None and abs(at - again) < 1.1e-3),
                f"a time that is another when it is read again: {line!r}",
            )
            clock.hms(at)
        clock.lacks_year(line)
        clock.year_for(line, latest=NOW)
        span = clock.parse_span(line)
        if span is not None:
            hold(span >= 0 and clock.span(span), "no span")
        systemd.stamp(line)
        systemd.gib(line)
        try:
            typed = clock.parse_typed(line, now=NOW)
            hold(0 <= typed <= NOW + clock.DAY_S, "a time that was not to be had")
        except UsageError:
            pass


def redacted(data: bytes) -> None:
    """Masking and neutralising: harmless, and the same when done again."""
    text = data.decode("utf-8", "surrogateescape")
    shown = redact.neutralise(text)
    hold(shown.isprintable(), "a control character is left")
    hold(redact.neutralise(shown) == shown, "not the same when neutralised again")
    for one in (text, shown):
        masked = redact.secrets(one)
        hold(redact.secrets(masked) == masked, "not the same when masked again")
        hold(masked.count("\n") == one.count("\n") or "PRIVATE KEY" in one or len(masked) != len(one), "lines are lost")
    hold(redact.secrets_in_bytes(redact.secrets_in_bytes(data)) == redact.secrets_in_bytes(data), "not the same when the bytes are masked again")


def named(data: bytes) -> None:
    """Unit names, near and far."""
    words = data.decode("utf-8", "replace").split()
    for word in words[:4]:
        try:
            name = units.full_name(word)
        except UsageError:
            continue
        units.near(name, words[:50])
    binary.kind(data[:4096])


def conditions(data: bytes) -> None:
    """A condition of a rule that a user wrote."""
    with suppress(RuleError):
        condition.parse(data.decode("utf-8", "replace"))


MANIFEST = (corpus.ROOT / "tests/data/rules/answers/manifest.json").read_bytes()
_ANSWERS = b"".join(
    corpus.NEXT_FILE + p.name.encode() + b"\n" + p.read_bytes()[:2000] for p in sorted((corpus.ROOT / "tests/data/rules/answers").iterdir()) if p.name != "manifest.json"
)  # fmt: skip
JOURNAL = ("journal", ".export", "kernel")

PACKED = (gzip.compress(b"journal\n" * 50), zstandard.compress(b"journal\n" * 50))

TARGETS: tuple[FuzzTarget, ...] = (
    FuzzTarget(name="status", run=statuses, seeds=("status", "terminal", "show", "is-active")),
    FuzzTarget(name="show", run=partial(text_parser, systemd.show), seeds=("show", "status")),
    FuzzTarget(name="is-active", run=partial(text_parser, systemd.is_active), seeds=("is-active", "active"), max_len=4096),
    FuzzTarget(name="unit-file", run=partial(text_parser, unitstate.unit_file), seeds=(".service", "unit")),
    FuzzTarget(name="list-units", run=unit_lists, seeds=("units", "list")),
    FuzzTarget(name="units", run=partial(text_parser, host.units), seeds=("units", "show", "list")),
    FuzzTarget(name="sockets", run=partial(text_parser, host.listeners), seeds=("ss", "sockets", "listen", "netstat")),
    FuzzTarget(name="probes", run=partial(text_parser, host.probes), seeds=("health", "probe")),
    FuzzTarget(name="clock-answer", run=partial(text_parser, host.clock), seeds=("clock", "date"), max_len=4096, extra=(b"1778321718.123456789\nuptime_s=5\nhostname=h\n",)),
    FuzzTarget(name="boots", run=partial(text_parser, host.boots), seeds=("boots",)),
    FuzzTarget(name="gpus", run=partial(text_parser, host.gpus), seeds=("gpu", "smi")),
    FuzzTarget(name="host", run=host_answers, seeds=("beside", "df", "meminfo", "core", "dpkg", "processes", "boot")),
    FuzzTarget(name="containers", run=containers, seeds=("inspect", "pod", "describe")),
    FuzzTarget(name="pastes", run=pasted, seeds=("terminal", "paste", "issue", "csv", "json")),
    FuzzTarget(name="unpacked", run=unpacked, seeds=(), max_len=4096, extra=PACKED),
    FuzzTarget(name="bench", run=results, seeds=("bench", "health", "client", "eval")),
    FuzzTarget(name="client", run=partial(text_parser, client.read), seeds=("bench", "health", "client", "curl")),
    FuzzTarget(name="asked", run=commands, seeds=("terminal", "ssh"), max_len=4096),
    FuzzTarget(name="times", run=times, seeds=("clock", "show"), max_len=1024, extra=corpus.TOKENS),
    FuzzTarget(name="redact", run=redacted, seeds=(), max_len=4096, extra=corpus.TOKENS),
    FuzzTarget(name="names", run=named, seeds=("units", "list"), max_len=2048),
    FuzzTarget(name="conditions", run=conditions, max_len=512, extra=(b"client.refused > 0 and life.alive and not life.ready", b"memory.fraction in (0.5, 0.9) or life.phase == 'weights'")),
    FuzzTarget(name="openers", run=openers, seeds=()),
    FuzzTarget(name="export-fields", run=exports, seeds=(".export", "export")),
    FuzzTarget(name="frames", run=frames, seeds=(*JOURNAL, "log", "terminal", "json", "verbose", "pretty")),
    FuzzTarget(name="facts", run=gathered, whole_folders=True, max_len=32 << 10),
    FuzzTarget(name="diagnosis", run=diagnosed, whole_folders=True, max_len=32 << 10),
    FuzzTarget(name="bundle", run=bundles, extra=(MANIFEST + _ANSWERS,), seeds=("manifest",)),
    FuzzTarget(name="archive", run=archives, needs="forensics.collect.archive", seeds=("manifest",)),
    FuzzTarget(name="wire", run=wired, seeds=(), max_len=8192, extra=(b"\x07\x01begin journal\nabc\n\x01end journal 0\n\x01done 1\n", b"\x01\x01begin a\n\x01end b 0\n\x01end a 5\n")),
    FuzzTarget(name="order", run=ordered, seeds=(".export", "export")),
    FuzzTarget(name="answer", run=answered, seeds=(".export", "status", "denied")),
    FuzzTarget(name="targets", run=targeted, max_len=512, extra=(b"gpu01\nlocal\nssh:u@h", b"ssh://u@h:22/\n-\n-oProxyCommand=x", b"docker:x", b"/etc/passwd", b"./x.txt")),
)  # fmt: skip

OURS = (ForensicsError,)


def by_name(name: str) -> FuzzTarget:
    """The target of that name; SystemExit with the names where there is none."""
    found = next((target for target in TARGETS if target.name == name), None)
    if found is None:
        raise SystemExit(f"there is no target {name!r}; there are: {', '.join(t.name for t in TARGETS)}")
    return found
