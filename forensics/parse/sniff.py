"""Recognise what a section holds, by its content, and cut a pasted mixture into parts. Never opens a line for good, never decides by a file's name alone.

Only sections of at most ``MAX_MIXED`` bytes are cut up; a larger one is one kind of thing, recognised by its head.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from forensics import lazily
from forensics.model import Origin, PartKind, Problem, Section
from forensics.parse import container, junit, matrix, pod, shape
from forensics.parse.asked import simples
from forensics.parse.dress import FENCE, FILLER
from forensics.parse.prompt import Typed, bare_command, typed
from forensics.parse.unwrap import clean, journal_line, separator

MAX_MIXED = 4 << 20
_HEAD = 1 << 16
_LONGEST_COMMAND = 1024  # characters of a command that are looked at for what it asks

_KERNEL_COMMAND = lazily.pattern(r"\bdmesg\b|\bjournalctl\b.* (?:-k\b|--dmesg\b)")
_CLIENT_COMMAND = lazily.pattern(r"\b(?:curl|wget|http|hey|wrk|ab|oha|locust|guidellm|genai-perf|aiperf|k6)\b|bench|client|health|load_?test|eval")
_LOG_COMMAND = lazily.pattern(
    r"\b(?:docker|podman|kubectl|nerdctl)\b.*\blogs?\b|\b(?:tail|cat|less|head|more|zcat|journalctl|grep)\b|\b(?:launch|serve)"
)
_KERNEL_NAME = lazily.pattern(r"kern|dmesg")
_SERVER_NAME = lazily.pattern(r"(?:^|[._-])log(?:[._-]|$)|server|stdout|stderr|container|pod")
_BENCH_KEY = lazily.pattern(r'"(?:request_throughput|output_throughput|total_token_throughput|mean_ttft_ms|median_ttft_ms|mean_tpot_ms|p99_\w+_ms|completed|num_prompts|total_input_tokens'
                        r'|total_output_tokens|request_rate|max_concurrency|accept_len\w*|accept_rate|tok_per_s|coding_pass|greedy_match|accuracy|ttfts|itls|topk|budget|benchmark\w*|successful_requests'
                        r'|failed_requests|output_lens|first_error\w*|pass_rate|latency\w*|throughput\w*|tps|lm_eval_version|request_totals|request_start_ns|tokens_per_second|requests_per_second)"\s*:')  # fmt: skip
_BEFORE_A_TABLE = 8  # lines that may say what a table of measured configurations is of
_STATUS_RECORDS = 10  # what systemctl status shows of the journal, unless told otherwise
_HINTS = frozenset({PartKind.KERNEL, PartKind.CLIENT, PartKind.SERVER})  # what text without a shape of its own can be
_OTHER = None  # a run that has no shape of its own: a server's or a client's


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A stretch of a section. Lines count from 1, ``start`` and ``end`` are byte offsets; ``last_line`` and ``end`` None: to the end of the section.

    ``command`` is what was typed to get it, in a pasted terminal, and ``command_line`` where; the line of the prompt is not in the part.
    """

    kind: PartKind
    first_line: int = 1
    last_line: int | None = None
    start: int = 0
    end: int | None = None
    command: str | None = None
    command_line: int = 0
    entries: bool = False  # its lines are entries of a journal in json, whatever it is evidence of
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class _Run:
    """Lines ``first`` up to ``stop`` of one shape."""

    kind: PartKind | None
    first: int
    stop: int
    problem: str = ""


def parts(section: Section) -> list[Part]:
    """What the section holds, in order; at least one part. Bounded: reads at most ``MAX_MIXED`` bytes."""
    if section.part is not None:
        return [Part(kind=_of_known(section, section.part))]
    if section.entries is not None:
        return [Part(kind=section.entries, entries=True)]
    size = section.size()
    mixed = size <= MAX_MIXED
    raw = section.head(MAX_MIXED if mixed else _HEAD)
    if not mixed:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    if not raw.strip():
        return [Part(kind=PartKind.EMPTY)]
    found = _cut(raw, section.name, section.hint if section.hint in _HINTS else None)
    if not mixed:
        # the head may hold a prompt or two; what it ends with goes on
        last = found[-1]
        found[-1] = replace(last, last_line=None, end=None)
    return found


def _of_known(section: Section, kind: PartKind) -> PartKind:
    """Journals may come in any format, or not at all; other answers are what was asked for."""
    if kind not in (PartKind.JOURNAL_TEXT, PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT, PartKind.KERNEL):
        return kind
    head = section.head().decode("utf-8", "replace").lstrip()
    if not head:
        return PartKind.EMPTY
    first = shape.kind_of(clean(head.split("\n", 1)[0]))
    if first in (PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT, PartKind.NOTICE, PartKind.EMPTY):
        return first
    return PartKind.JOURNAL_TEXT if kind in (PartKind.JOURNAL_JSON, PartKind.JOURNAL_EXPORT) and first is PartKind.JOURNAL_TEXT else kind


def _cut(raw: bytes, source: str, usual: PartKind | None = None) -> list[Part]:
    lines = raw.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    texts = [clean(line.decode("utf-8", "replace")) for line in lines]
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line) + 1)
    offsets[-1] = min(offsets[-1], len(raw))
    found: list[Part] = []
    for command, at, first, stop in _stretches(texts):
        for run in _runs(texts, first, stop, command, source.rpartition("/")[2].lower(), usual):
            found.append(
                Part(
                    kind=run.kind or PartKind.SERVER, first_line=run.first + 1, last_line=run.stop, start=offsets[run.first], end=offsets[run.stop],
                    command=command, command_line=at + 1 if command else 0,
                    problems=(Problem(source=source, line=run.first + 1, text=run.problem),) if run.problem else (),
                )
            )  # fmt: skip
    return found or [Part(kind=PartKind.EMPTY)]


def _stretches(texts: Sequence[str]) -> Iterator[tuple[str | None, int, int, int]]:
    """Between the prompts and the fences of a paste: command, its line, first line of the answer, and the line after it (all from 0)."""
    command, at, first = None, 0, 0
    fenced = _fenced(texts)
    number = 0
    prompts: set[str] = set()
    while number < len(texts):
        found = typed(texts, number, prompts) or (_typed_alone(texts, number) if fenced or number == 0 else None)
        if found is None and not (fenced and FENCE.match(texts[number])):
            number += 1
            continue
        stop = number - _above(texts, first, number) if found is not None else number
        if command or any(t.strip() for t in texts[first:stop]):
            yield command, at, first, stop
        used = found.lines if found is not None else 1
        if found is not None and found.prefix:
            prompts.add(found.prefix)
        command, at, first = found.command if found is not None else None, number, number + used
        number += used
    if command or any(t.strip() for t in texts[first:]):
        yield command, at, first, len(texts)


def _fenced(texts: Sequence[str]) -> bool:
    """Whether the fences in it are those of a paste: a log may hold some too, but it does not begin with one, nor with the words of a person."""
    for text in texts[:200]:
        if FENCE.match(text):
            return True
        if journal_line(text) is not None or shape.LOGGED.match(text):
            return False
    return False


def _typed_alone(texts: Sequence[str], at: int) -> Typed | None:
    """A command without a prompt: after a fence or a blank line, and above what such a command answers."""
    command = bare_command(texts[at])
    if command is None or (at and texts[at - 1].strip() and not FENCE.match(texts[at - 1])):
        return None
    below = next((t for t in texts[at + 1 : at + 4] if t.strip()), "")
    return Typed(command) if FENCE.match(below) or shape.kind_of(below) is not None else None


def _above(texts: Sequence[str], first: int, at: int) -> int:
    """How many lines above a prompt are its own: themes draw the folder on a line above the sign."""
    if at <= first or not texts[at - 1].strip():
        return 0
    over, sign = texts[at - 1], texts[at][:1]
    if over[:1] in "╭┌" and sign in "╰└":
        return 1
    themed = sign in "❯➜λ" and (at - 2 < first or not texts[at - 2].strip() or over[:1] in "~/")
    return 1 if themed and shape.kind_of(over) is None and len(over) < 160 and not shape.LOGGED.match(over) else 0


def _runs(texts: Sequence[str], first: int, stop: int, command: str | None, name: str, usual: PartKind | None) -> list[_Run]:
    """One stretch cut into runs of one kind each."""
    while first < stop and not texts[first].strip():
        first += 1
    if first == stop:
        return [_Run(PartKind.EMPTY, stop, stop)]
    if texts[first].startswith("__"):  # binary fields hold anything: nothing may be cut out of an export
        return [_Run(PartKind.JOURNAL_EXPORT, first, stop)]
    if _is_spread(texts, first, stop):
        return [_Run(PartKind.JOURNAL_JSON, first, stop)]
    deep = ""
    try:
        if (whole := _json_kind(texts, first, stop)) is not None:
            return [_Run(whole, first, stop)]
    except RecursionError:
        deep = "brackets within brackets without end: no JSON that can be read, taken as text"
    runs: list[_Run] = []
    at = first
    while at < stop:
        run = _structured(texts, at, stop, runs) or _Run(_OTHER, at, at + 1)
        if run.kind is _OTHER and runs and runs[-1].kind is _OTHER:
            runs[-1].stop = run.stop
        else:
            runs.append(run)
        at = run.stop
    joined = _joined([decided for run in _healed(texts, runs) for decided in _decided(texts, run, command, name, usual)])
    joined[0].problem = deep
    return joined


# --------------------------------------------------------------------------- runs with a shape


def _structured(texts: Sequence[str], at: int, stop: int, before: Sequence[_Run]) -> _Run | None:
    """The run that begins at this line, where the line has a shape; None for other text and blank lines."""
    text = texts[at]
    if not text.strip():
        return None
    if shape.SHOW_LINE.match(text):
        return _show(texts, at, stop)
    if (described := _described(texts, at, stop)) is not None:
        return described
    kind = shape.kind_of(text)
    if kind is None or kind is PartKind.CLIENT:
        return None
    if kind is PartKind.IS_ACTIVE:
        # a lone "failed" within a log is a word of that log
        begins = not before or before[-1].kind is not _OTHER or not texts[at - 1].strip()
        ends = at + 1 == stop or not texts[at + 1].strip() or shape.kind_of(texts[at + 1]) is not None
        return _Run(kind, at, at + 1) if begins and ends else None
    if kind is PartKind.EMPTY:
        return _Run(_OTHER if _within_a_log(texts, at, at + 1, before) else kind, at, at + 1)
    if kind is PartKind.STATUS:
        return _status(texts, at, stop)
    if kind is PartKind.UNIT_FILE:
        return _unit_file(texts, at, stop)
    if kind is PartKind.JOURNAL_TEXT or (kind is PartKind.KERNEL and journal_line(text)):
        run = _journal(texts, at, stop)
        if not _within_a_log(texts, at, run.stop, before):
            return run
        # as far as nothing parts it from that log: each of its lines would be looked at from there to its end again
        return _Run(_OTHER, at, next((n for n in range(at, run.stop) if not texts[n].strip()), run.stop))
    return _alike(texts, at, stop, kind)


def _within_a_log(texts: Sequence[str], at: int, stop: int, before: Sequence[_Run]) -> bool:
    """A program may write lines that look like the journal's: a few of them, straight after lines of its log, are that log's."""
    if not before or before[-1].kind is not _OTHER or not texts[at - 1].strip() or shape.CLIENT_SURE.match(texts[at - 1]):
        return False
    above = at - before[-1].first
    return stop - at <= above and (above >= 5 or any(shape.LOGGED.match(texts[n]) for n in range(before[-1].first, at)))


def _status(texts: Sequence[str], at: int, stop: int) -> _Run | None:
    if shape.STATUS_HEAD.match(texts[at]) and not any(shape.STATUS_KEY.match(t) for t in texts[at + 1 : at + 3]):
        return None
    end, tail, records = at + 1, 0, 0
    while end < stop:
        text = texts[end]
        if opened := journal_line(text):
            tail, records = tail or end, records + 1
            if records > _STATUS_RECORDS or opened.stamp[0].isdigit():  # status writes "May 09 10:15:51": this is a journal pasted below it
                return _Run(PartKind.STATUS, at, tail)
        elif not text.strip():
            if tail:
                break
        elif shape.STATUS_HEAD.match(text) or shape.MISSING_UNIT.match(text):
            tail = records = 0
        elif not (shape.STATUS_KEY.match(text) or shape.STATUS_TREE.match(text) or text.startswith(("Warning: ", "Hint: Some lines", "Notice: "))):
            break
        end += 1
    return _Run(PartKind.STATUS, at, end)


def _show(texts: Sequence[str], at: int, stop: int) -> _Run | None:
    """The block that begins here; lines of that form which are none are a run without a shape, as a whole."""
    end = at
    while end < stop and (
        shape.SHOW_LINE.match(texts[end])
        or texts[end] == FILLER
        or (not texts[end].strip() and end + 1 < stop and shape.SHOW_LINE.match(texts[end + 1]))
    ):
        end += 1
    sure = sum(1 for t in texts[at:end] if shape.SHOW_SURE.match(t))
    alone = sure and not any(texts[n].strip() for n in range(end, stop))  # show -p Result
    return _Run(PartKind.SHOW if sure >= 2 or alone else _OTHER, at, end)


def _described(texts: Sequence[str], at: int, stop: int) -> _Run | None:
    """``kubectl describe pod``, or a pod as YAML: known by two lines together, and all that is laid out like their own further lines."""
    two = texts[at : min(stop, at + 2)]
    if len(two) < 2:
        return None
    if two[0].startswith("Name:") and two[1].startswith("Namespace:") and all(shape.DESCRIBED.match(t) for t in two):
        end = at + 2
        while end < stop and shape.DESCRIBED_LINE.match(texts[end]):
            end += 1
        return _Run(PartKind.POD, at, end)
    if shape.POD_YAML.match(two[0]) and two[1].strip() == "kind: Pod":
        return _Run(PartKind.POD, at, stop)
    return None


def _unit_file(texts: Sequence[str], at: int, stop: int) -> _Run:
    end = at + 1
    while end < stop and (texts[end - 1].endswith("\\") or shape.UNIT_SECTION.match(texts[end]) or shape.UNIT_LINE.match(texts[end])):
        end += 1
    return _Run(PartKind.UNIT_FILE, at, end)


def _journal(texts: Sequence[str], at: int, stop: int) -> _Run:
    """Journal text with the further lines of its messages; all of it from the kernel makes it a kernel log."""
    end, kernel, others = at, 0, 0
    while end < stop:
        text = texts[end]
        opened = journal_line(text) or separator(text)
        if opened is not None:
            if text.startswith("-- No entries"):
                if not kernel + others:  # "-- Journal begins at … --" stood above it
                    return _Run(PartKind.EMPTY, at, end + 1)
                break
            kernel += opened.origin is Origin.KERNEL
            others += opened.origin is not Origin.KERNEL and opened.ident != "journalctl"
        elif end == at or shape.CLIENT_SURE.match(text) or not (text.startswith((" ", "\t", "░░", "-- ")) or not text.strip()):
            break
        end += 1
    # early systemd and udev write to the kernel's log as well
    return _Run(PartKind.KERNEL if kernel > 9 * others else PartKind.JOURNAL_TEXT, at, end)


_GOES_ON = {
    PartKind.NOTICE: lazily.pattern(r"\s{2,}\S"),
    PartKind.UNITS: shape.UNITS_TAIL,
    PartKind.GPU: lazily.pattern(r"[|+]|(?:\d{1,10}|GPU-[0-9a-f-]{4,40}|[0-9A-Fa-f]{8}:[0-9A-Fa-f:.]{4,10}), \S"),
    PartKind.DISKS: shape.DISKS_TAIL,
    PartKind.MACHINE: lazily.pattern(r"[A-Z]\w{1,30}(?:\(\w{1,16}\))?:\s{1,16}\d"),
    PartKind.PROCESSES: shape.PROCESSES_TAIL,
    PartKind.COREDUMPS: lazily.pattern(r"\s+\S"),
    PartKind.KERNEL: lazily.pattern(r"\s+\S"),
}


def _alike(texts: Sequence[str], at: int, stop: int, kind: PartKind) -> _Run:
    """Lines of the same shape, and those that only ever follow them."""
    follows = _GOES_ON.get(kind)
    end = at + 1
    while end < stop:
        text = texts[end]
        if text.strip() and shape.kind_of(text) is not kind and not (follows and follows.match(text)):
            break
        end += 1
    while not texts[end - 1].strip():
        end -= 1
    return _Run(kind, at, end)


# --------------------------------------------------------------------------- runs without a shape


def _healed(texts: Sequence[str], runs: list[_Run]) -> list[_Run]:
    """Join what a stray line has cut in two: a journal line that a terminal has wrapped, a blank line, the head of a table."""
    healed: list[_Run] = []
    for index, run in enumerate(runs):
        if run.kind is _OTHER and healed:
            blank = not any(t.strip() for t in texts[run.first : run.stop])
            before, after = healed[-1], runs[index + 1] if index + 1 < len(runs) else None
            torn = (
                before.kind in (PartKind.JOURNAL_TEXT, PartKind.KERNEL) and after is not None and after.kind is before.kind
                and run.stop - run.first <= 40 and not any(shape.LOGGED.match(t) or shape.CLIENT_SURE.match(t) for t in texts[run.first : run.stop])
            )  # fmt: skip
            cut_off = after is None and run.stop - run.first == 1 and before.kind is PartKind.JOURNAL_TEXT and run.stop - before.first > 50  # head -c
            if blank or torn or cut_off:
                before.stop = run.stop
                continue
        if healed and healed[-1].kind is run.kind and run.kind in (PartKind.JOURNAL_TEXT, PartKind.KERNEL, PartKind.IS_ACTIVE, PartKind.STATUS):
            healed[-1].stop = run.stop
            continue
        if (
            run.kind is PartKind.UNIT_FILE
            and healed
            and healed[-1].kind is _OTHER
            and all(t[:1] in "#;" for t in texts[healed[-1].first : healed[-1].stop])
        ):
            run.first = healed.pop().first
        if (
            run.kind is PartKind.GPU
            and healed
            and healed[-1].kind is _OTHER
            and all(t[:1] in "+|" or t[:3].istitle() or not t.strip() for t in texts[healed[-1].first : healed[-1].stop])
        ):
            run.first = healed.pop().first
        healed.append(run)
    return healed


def _decided(texts: Sequence[str], run: _Run, command: str | None, name: str, usual: PartKind | None) -> Iterator[_Run]:
    """Whose text a run without a shape is: the client's, the kernel's or the server's; cut at a blank line where one follows the other."""
    if run.kind is not _OTHER:
        yield run
        return
    hinted = usual if usual and not command else _hint(command, name)
    if hinted is None and (border := _border(texts, run)):
        yield from _decided(texts, _Run(_OTHER, run.first, border), command, name, usual)
        yield from _decided(texts, _Run(_OTHER, border, run.stop), command, name, usual)
        return
    lines = texts[run.first : run.stop]
    if any(shape.CLIENT_SURE.match(t) for t in lines) and hinted is not PartKind.KERNEL:
        logged = sum(1 for t in lines if shape.LOGGED.match(t))
        run.kind = PartKind.SERVER if hinted is PartKind.SERVER and logged > len(lines) // 4 else PartKind.CLIENT
    elif hinted is not None:
        run.kind = hinted
    else:
        likely = sum(1 for t in lines if shape.CLIENT_LIKELY.search(t[:4096]))
        logged = sum(1 for t in lines if shape.LOGGED.match(t))
        table = not logged and any(matrix.is_head(t) for t in lines[:_BEFORE_A_TABLE])
        asks = sum(
            1 for t in lines if shape.CLIENT_ASKS.search(t[:4096]) and (shape.CLIENT_LIKELY.search(t[:4096]) or shape.UNANSWERED.search(t[:4096]))
        )
        run.kind = PartKind.CLIENT if (likely and likely > logged) or table or 2 * asks > len(lines) else PartKind.SERVER
    yield run


def _border(texts: Sequence[str], run: _Run) -> int | None:
    """The blank line that has all of a client's own lines on its one side and all of a log's on the other."""
    client = [i for i in range(run.first, run.stop) if shape.CLIENT_SURE.match(texts[i])]
    logged = [i for i in range(run.first, run.stop) if shape.LOGGED.match(texts[i]) and not shape.CLIENT_SURE.match(texts[i])]
    if not client or len(logged) < 2:
        return None
    low, high = (client[-1], logged[0]) if client[-1] < logged[0] else (logged[-1], client[0])
    if low >= high:
        return None
    return next((i + 1 for i in range(low, high) if not texts[i].strip()), None)


def _hint(command: str | None, name: str) -> PartKind | None:
    if command:
        command = command[:_LONGEST_COMMAND]
        if _KERNEL_COMMAND.search(command):
            return PartKind.KERNEL
        if any(simple.tool == "journalctl" for simple in simples(command)):
            return PartKind.SERVER  # whatever the unit is called
        if _CLIENT_COMMAND.search(command):
            return PartKind.CLIENT
        return PartKind.SERVER if _LOG_COMMAND.search(command) else None
    for pattern, kind in ((_KERNEL_NAME, PartKind.KERNEL), (shape.CLIENT_NAME, PartKind.CLIENT), (_SERVER_NAME, PartKind.SERVER)):
        if pattern.search(name):
            return kind
    return None


def _joined(runs: Sequence[_Run]) -> list[_Run]:
    joined: list[_Run] = []
    for run in runs:
        if joined and joined[-1].kind is run.kind and run.kind in (PartKind.SERVER, PartKind.CLIENT):
            joined[-1].stop = run.stop
        else:
            joined.append(run)
    return joined


# --------------------------------------------------------------------------- JSON


def _is_spread(texts: Sequence[str], first: int, stop: int) -> bool:
    """A journal with its fields, an entry over several lines: json-pretty, or verbose."""
    while first < stop and shape.is_head(texts[first]):
        first += 1
    if first == stop:
        return False
    if shape.VERBOSE_HEAD.match(texts[first]):
        return True
    return texts[first].strip() in ("{", "[") and any(shape.PRETTY_FIELD.match(text) for text in texts[first + 1 : min(stop, first + 80)])


_KNOWN_JSON = ((PartKind.CONTAINER, container.is_inspect), (PartKind.POD, pod.is_pod), (PartKind.EVENTS, pod.is_events))


def _json_kind(texts: Sequence[str], first: int, stop: int) -> PartKind | None:
    """CLIENT for a report of tests in XML; BENCH_JSON or CLIENT where all of it is JSON (an array, an object, or one object a line) and no journal; a cut-off array counts by its keys."""
    start = texts[first].lstrip()[:1]
    if start == "<" and junit.is_junit("\n".join(texts[first : min(stop, first + 4)])):
        return PartKind.CLIENT
    if (
        start not in ("[", "{")
        or shape.DOCKER_LOG.match(texts[first])
        or shape.JSON_ENTRY.match(texts[first])
        or shape.LOGGED.match(texts[first])
        or shape.UNIT_SECTION.match(texts[first])
    ):
        return None
    text = "\n".join(texts[first:stop])
    keyed = bool(_BENCH_KEY.search(text))
    try:
        value = json.loads(text)
        for kind, known in _KNOWN_JSON:
            if known(value):
                return kind
    except ValueError:
        if not _is_json_lines(texts[first:stop]) and not (keyed and _breaks_off(texts, first, stop)):
            return None
    return PartKind.BENCH_JSON if keyed else PartKind.CLIENT


def _breaks_off(texts: Sequence[str], first: int, stop: int) -> bool:
    """JSON of which only the head is here: laid out over lines, or one line full of such keys."""
    return texts[first].strip() in ("[", "[{", "{") or (stop - first == 1 and len(_BENCH_KEY.findall(texts[first])) > 2)


def _is_json_lines(texts: Sequence[str]) -> bool:
    full = [t for t in texts if t.strip()]
    for text in full[:20]:
        try:
            if not isinstance(json.loads(text), dict):
                return False
        except ValueError:
            return False
    return all(t.lstrip().startswith("{") for t in full)
