"""Change cases in ways that must not change the verdict, and in ways that must, and count what changed.

``python -m tests.cases.mutations [--set given|made|samples] [--kind K] [--every N]`` runs them; the seed is the case's name, so that each run is the same.
A mutation is ``None`` where it would say nothing of the case, or would take away what the answer rests on.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from forensics import api, collect
from forensics.redact.redactor import Redactor
from tests.cases import background, renamed, stamps, telling
from tests.cases.evidence import JOURNAL, RECORD, SETS, Answer, Case, answer, cases, is_json, lines, sure, verdict
from tests.cases.judge import rules
from tests.cases.traced import untraced

Mutation = Callable[[Case, Answer, random.Random], "Case | None"]
LOGS = re.compile(r"(?!status|is-active|health|bench|df|nvidia-smi|show|inspect|pod|describe).*\.(?:txt|log)$")
_TERMINAL = re.compile(r"^(?:\S{0,60}[$#%>] |❯ )", re.MULTILINE)


def _each(one: Case, change: Callable[[str, str], str], only: re.Pattern[str] | None = None) -> Case | None:
    """Every file that is text changed by ``change(name, text)``; None where nothing came of it."""
    files = {n: t if is_json(t) or (only and not only.match(n)) else change(n, t) for n, t in one.files.items()}
    return None if files == one.files else replace(one, files=files)


def _by_line(one: Case, change: Callable[[str], str], only: re.Pattern[str] | None = None) -> Case | None:
    return _each(one, lambda _, text: "\n".join(map(change, lines(text))), only)


# ---- (a) stamps


def other_days(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Everything happened some days earlier or later."""
    days, year = rng.choice((-33, -8, -1, 3, 9, 40)), stamps.year_of(one)
    files = {n: stamps.moved(t, days, year) for n, t in one.files.items()}
    return None if files == one.files else replace(one, files=files)


def other_zone(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The journal was printed in another zone."""
    return stamps.in_zone(one, rng.choice((-7, 2, 9)))


def journal_short(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """``journalctl -o short``, or short-iso where it was that."""
    return stamps.restyled(one, "short") or stamps.restyled(one, "short-iso")


def journal_other(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Another of journalctl's formats."""
    return stamps.restyled(one, rng.choice(("short-precise", "short-full", "short-unix", "short-iso-precise")))


_SERVER_STAMP = re.compile(
    r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:TP|DP|PP|EP)\d+)*\] |^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[\w./-]+:\d+\] )?"
)


def without_stamps(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The server writes no times of its own. Only in a journal, which has them: a plain log would lose the order of its lives."""

    def bare(line: str) -> str:
        found = JOURNAL.match(line)
        return line[: found.start("text")] + _SERVER_STAMP.sub("", found["text"]) if found and found["pid"] and found["pid"] != "1" else line

    return _by_line(one, bare, LOGS)


# ---- (d) noise


def server_noise(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Lines of healthy runs of the same server mixed in."""
    return background.server_noise(one, base["server"], rng)


def host_noise(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The journal of the whole host."""
    return background.host_noise(one, rng)


# ---- (e) cuts


def _cited(base: Answer) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in base["evidence"]:
        found.setdefault(one["source"], []).append(one["line"])
    return found


def _rests_on(one: Case, base: Answer) -> dict[str, list[int]]:
    """Lines of each log that the answer may rest on: those that it cites, and those with marks, figures and facts, as far as a cut would take them from one side only."""
    found = _cited(base)
    for s in telling.said_of(one):
        if s.role is None or str(s.role) in ("context", "state", "root", "mechanism"):
            found.setdefault(s.source, []).append(s.line)
    return found


# what these say is how things went: the first lines of it are their ground as well (of memory, what was loaded before it ran out says which way to turn)
_OF_A_COURSE = (
    "startup-race", "startup-hang", "startup-timeout", "healthy", "operator-stop", "evidence-missing", "host-reboot", "wrong-endpoint", "unknown", "bench-overload", "gpu-oom-init",
)  # fmt: skip


def _pasted(text: str) -> bool:
    """Whether a cut would take a command or a head from what stands below it: a terminal's text, a state, a description, a report of a core."""
    first = next((x for x in lines(text) if x.strip()), "")
    logged = any(JOURNAL.match(x) or RECORD.match(x) for x in lines(text))
    return bool(_TERMINAL.search(text)) or not logged or bool(re.match(r"[●×x○*] |\s*PID:|Name:\s", first))


def cut_above(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The logs begin later: what stands above the first line that the answer cites is partly gone."""
    cited = _rests_on(one, base) if base["cause"] in _OF_A_COURSE else _cited(base)

    def cut(name: str, text: str) -> str:
        if _pasted(text):
            return text
        first = min(cited.get(name, [0])) - 1
        return "\n".join(lines(text)[rng.randint(1, first) :]) if first > 0 else text

    return _each(one, cut, LOGS)


def cut_below(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The logs end earlier: what stands below the last line that matters is partly gone. Marks matter here: how it ended, and that it went on."""
    kept = _rests_on(one, base)

    def cut(name: str, text: str) -> str:
        if _pasted(text):
            return text
        all_lines = lines(text.rstrip("\n"))
        last = max(kept.get(name, [len(all_lines)]))
        return "\n".join(all_lines[: rng.randint(last, len(all_lines) - 1)]) + "\n" if last < len(all_lines) else text

    return _each(one, cut, LOGS)


# ---- (f) doubled lines


def doubled(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Each line of a log came twice, as from two handlers."""
    return _each(one, lambda _, text: "\n".join(x for line in lines(text.rstrip("\n")) for x in (line, line)) + "\n", LOGS)


def root_thrice(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The root came three times."""
    roots = {(e["source"], e["line"]) for e in base["evidence"] if e["role"] == "root"}

    def thrice(name: str, text: str) -> str:
        return "\n".join(x for number, line in enumerate(lines(text), 1) for x in [line] * (3 if (name, number) in roots else 1))

    return _each(one, thrice, LOGS)


# ---- (g) another life


def life_before(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """A healthy life of the same unit came before. Only where the evidence shows where this one begins: else nobody could tell the two apart."""
    unit, year = base["unit"], stamps.year_of(one)
    if not unit or not unit.endswith(".service"):
        return None
    for name, text in one.files.items():
        rows = lines(text)
        found = JOURNAL.match(rows[0]) if name not in ("status.txt", "kernel.txt") else None
        at = stamps.read(found["stamp"], year) if found else None
        begins = found is not None and found["ident"] == "systemd[1]" and re.match(r"Start(?:ed|ing) ", found["text"])
        if found is None or at is None or not begins or not all(JOURNAL.match(r) for r in rows if r):
            continue
        described = re.sub(rf"^Start(?:ed|ing) (?:{re.escape(unit)} - )?|\.+$", "", found["text"])
        style = "short" if found["stamp"][0].isalpha() and len(found["stamp"]) < 20 else "short-iso"
        if found["stamp"][0].isalpha() and style != "short":
            return None
        # all that a unit prints is named alike
        own = next((m["ident"].partition("[")[0] for r in rows if (m := JOURNAL.match(r)) and m["pid"] and m["pid"] != "1"), None)
        before = background.life(base["server"], unit, at.timestamp() - 4 * 3600, 1411, ends=True, host=found["host"], style=style, ident=own)
        told = [
            row.replace(f"{unit} - {background.DESCRIBED}", described if unit not in found["text"] else f"{unit} - {described}") for row in before
        ]
        return one.having(**{name: "\n".join([*told, text])})
    return None


# ---- (h) redaction


def redacted(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """As a bundle whose names were masked."""
    with tempfile.TemporaryDirectory() as work:
        telling.write(one, Path(work) / "evidence")
        (target,) = collect.parse_targets([str(Path(work) / "evidence")])
        with collect.open_target(target) as session:
            (capture,) = api.look(session, rules(), unit=one.unit, since=None, progress=lambda text: None)
            collect.save(capture, Path(work) / "saved", mask=Redactor.for_capture(capture))
            session.discard()
        files = {f.name: f.read_bytes().decode("utf-8", "surrogateescape") for f in sorted((Path(work) / "saved").iterdir())}
    return replace(one, files=files)


# ---- (i) how it was copied


def crlf(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Through a Windows editor: CRLF, and spaces at the ends."""
    return _each(
        one, lambda _, text: "\n".join(f"{line}{rng.choice(('', '', ' ', '   '))}\r" if line else "\r" for line in lines(text.rstrip("\n"))) + "\n"
    )


def coloured(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """With the colours of a terminal."""

    def colour(line: str) -> str:
        found = JOURNAL.match(line)
        if not found and not RECORD.match(line):
            return line  # who describes a pod, or shows a state, to a file writes no colours
        at = found.start("text") if found else 0
        body = re.sub(r"\b(INFO|WARNING|ERROR|CRITICAL)\b", "\x1b[33m\\1\x1b[0m", line[at:])
        return line[:at] + (body if "\x1b" in body else f"\x1b[1;31m{body}\x1b[0m" if body and rng.random() < 0.5 else body)

    return _by_line(one, colour, LOGS)


def wrapped(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """With a container's prefix, as ``docker compose logs``, ``docker logs -t`` or ``kubectl logs --prefix`` print it. Only plain logs: a journal has its own."""
    kind = rng.choice(("compose", "docker", "pod"))
    plain = {
        n: t
        for n, t in one.files.items()
        if n in ("log.txt", "server.log") and not re.search(r"^\S+\.service: ", t, re.MULTILINE) and not _TERMINAL.search(t) and not is_json(t)
    }
    if not plain or any(
        JOURNAL.match(x) or re.match(r"\d{4}-\d\d-\d\dT\S+Z |\S+ +\| |\[pod/|\[\s*\d+\.\d|Name: |\{", x) for t in plain.values() for x in lines(t)
    ):
        return None

    def wrap(name: str, text: str) -> str:
        if kind == "compose":
            return "\n".join(f"llm-1  | {line}" for line in lines(text.rstrip("\n"))) + "\n"
        if kind == "pod":
            return "\n".join(f"[pod/llm-0/server] {line}" for line in lines(text.rstrip("\n"))) + "\n"
        at, out = "", []
        for line in lines(text.rstrip("\n")):
            own = re.search(r"(20\d\d)-(\d\d)-(\d\d)[ T](\d\d:\d\d:\d\d)", line)
            at = f"{own[1]}-{own[2]}-{own[3]}T{own[4]}.123456789Z" if own else at
            if not at:
                return text  # nothing says when its first lines came
            out.append(f"{at} {line}")
        return "\n".join(out) + "\n"

    return _each(one, wrap, re.compile("|".join(map(re.escape, plain))))


def no_hostname(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """``journalctl --no-hostname``."""

    def bare(line: str) -> str:
        found = JOURNAL.match(line)
        return line[: found.start("host")] + line[found.start("ident") :] if found and (found["pid"] or found["ident"] == "kernel") else line

    return _by_line(one, bare, LOGS)


def fenced(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """Pasted into an issue: each file in a Markdown fence."""
    if any("```" in t for t in one.files.values()):
        return None
    return _each(one, lambda _, text: f"```{rng.choice(('', 'text', 'shell'))}\n{text.rstrip()}\n```\n", LOGS)


# ---- (j) files


def file_names(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """The files have other names. Not where a name says what its content cannot: a word alone, a kernel's lines without stamps."""
    files = {}
    for number, (name, text) in enumerate(one.files.items(), 1):
        keeps = (
            len(lines(text.strip())) < 2
            or (name == "kernel.txt" and not re.match(r"\[ *\d|\[[A-Z][a-z]{2} [A-Z][a-z]{2} |[A-Z][a-z]{2} |\d{4}-", text))
            or "." not in name
        )
        files[
            name if keeps or name.startswith(("bench", "health")) or name.endswith((".json", ".service")) else f"{number}-saved{Path(name).suffix}"
        ] = text
    return None if list(files) == list(one.files) else replace(one, files=files)


_ASKED = {
    "status.txt": "systemctl status {unit}",
    "journal.txt": "journalctl -u {unit} --no-pager",
    "kernel.txt": "dmesg -T",
    "is-active.txt": "systemctl is-active {unit}",
}


def one_file(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """All files pasted into one, each below the command that printed it."""
    if len(one.files) < 2 or any(is_json(t) or _TERMINAL.search(t) for t in one.files.values()):
        return None
    out = [f"ops@gpu01:~$ {_ASKED.get(n, 'cat ' + n).format(unit=base['unit'] or 'server.service')}\n{t.rstrip()}\n" for n, t in one.files.items()]
    return replace(one, files={"paste.txt": "".join(out)})


def newest_first(one: Case, base: Answer, rng: random.Random) -> Case | None:
    """``journalctl -r``. Only a journal whose every line has its stamp, and that tells an order: more than one time."""

    def turn(name: str, text: str) -> str:
        rows = lines(text.rstrip("\n"))
        found = [JOURNAL.match(r) for r in rows]
        times = {m["stamp"] for m in found if m}
        return "\n".join(reversed(rows)) + "\n" if all(found) and len(times) > 2 else text

    return _each(one, turn, re.compile(r"journal\.txt|paste\.txt"))


# the verdict stays
HARMLESS: Mapping[str, Mutation] = {
    "other-days": other_days,
    "other-zone": other_zone,
    "journal-short": journal_short,
    "journal-other": journal_other,
    "without-stamps": without_stamps,
    "other-ranks": renamed.ranks,
    "other-names": renamed.names,
    "other-numbers": renamed.numbers,
    "server-noise": server_noise,
    "host-noise": host_noise,
    "cut-above": cut_above,
    "cut-below": cut_below,
    "doubled": doubled,
    "root-thrice": root_thrice,
    "life-before": life_before,
    "redacted": redacted,
    "crlf": crlf,
    "coloured": coloured,
    "wrapped": wrapped,
    "no-hostname": no_hostname,
    "fenced": fenced,
    "file-names": file_names,
    "one-file": one_file,
    "newest-first": newest_first,
}
# the old cause must not be called sure any more
TELLING: Mapping[str, Mutation] = {
    "root-cut": telling.root_cut,
    "cited-cut": telling.cited_cut,
    "earlier-life": telling.earlier_life,
    "quoted": telling.quoted,
    "elsewhere": telling.elsewhere,
    "survived": telling.survived,
}


# these would take half a line for a line
OF_WHOLE_LINES = frozenset({"cut-above", "cut-below", "doubled", "root-thrice", "coloured", "wrapped"})


def _broken(text: str) -> bool:
    """Whether a terminal has broken the lines of a text at its edge: several are as long as the longest, and what follows them begins no record."""
    rows = lines(text)
    edge = max(map(len, rows))
    return edge >= 80 and sum(len(row) == edge and not RECORD.match(below) for row, below in pairwise(rows)) > 1


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One case under one mutation: ``bad`` where the verdict changed that must not, or stayed sure that must not."""

    case: str
    kind: str
    bad: bool
    before: tuple[str, str | None, str | None]  # cause, status, direction
    after: tuple[str, str | None, str | None]
    untraced: tuple[str, ...] = ()  # cited lines that are not where the answer says

    def __str__(self) -> str:
        return f"{self.kind} {self.case}: {'/'.join(map(str, self.before))} → {'/'.join(map(str, self.after))}"


def _brief(found: Answer) -> tuple[str, str | None, str | None]:
    return found["cause"], found["status"], found["direction"]


def seeded(one: Case, kind: str) -> random.Random:
    """The chance of one case under one kind: the same in every run."""
    return random.Random(f"{kind} {one.id}")


def outcomes(some: Iterable[Case], kinds: Iterable[str]) -> Iterator[Outcome]:
    """Run mutations of cases, one after the other."""
    wanted = list(kinds)
    for one in some:
        base = answer(one)
        for kind in wanted:
            mutation = HARMLESS.get(kind) or TELLING[kind]
            if kind in OF_WHOLE_LINES and any(map(_broken, one.files.values())):
                continue
            changed = mutation(one, base, seeded(one, kind))
            if changed is None:
                continue
            found = answer(changed)
            yield Outcome(
                case=one.id, kind=kind, bad=_bad(kind, base, found), before=_brief(base), after=_brief(found), untraced=tuple(untraced(changed, found))
            )  # fmt: skip


def _bad(kind: str, base: Answer, found: Answer) -> bool:
    if kind in HARMLESS:
        return verdict(found) != verdict(base)
    if kind == "cited-cut":  # what is left may still hint at it
        return bool(found["cause"] == base["cause"] and found["status"] == "established")
    return sure(found, base["cause"])


def main(arguments: list[str]) -> int:
    """Print what changed, and how much of each kind; 1 where it is too much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=[*SETS], action="append", help="only the cases of this set")
    parser.add_argument("--kind", choices=[*HARMLESS, *TELLING], action="append", help="only this kind")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth case")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="begin with case K of each set, counted from 0")
    parser.add_argument("--only", default="", help="only cases with this in their name")
    chosen = parser.parse_args(arguments)
    kinds = chosen.kind or [*HARMLESS, *TELLING]
    some = [c for which in chosen.set or SETS for i, c in enumerate(cases(which)) if i % chosen.every == chosen.first and chosen.only in c.id]
    total, bad, firmer, lost = Counter[str](), Counter[str](), Counter[str](), 0
    for out in outcomes(some, kinds):
        for line in out.untraced:
            print("LINE", out.kind, line, flush=True)
        lost += len(out.untraced)
        total[out.kind] += 1
        bad[out.kind] += out.bad
        other = out.kind in HARMLESS and not out.bad and out.before[1] != out.after[1]
        firmer[out.kind] += other
        if out.bad or other:
            print("status" if other else "BAD", out, flush=True)
    print(f"\n{'kind':16} {'changed':>8} {'of':>6} {'only the status':>16}")
    for kind in kinds:
        print(f"{kind:16} {bad[kind]:8} {total[kind]:6} {firmer[kind]:16}")
    stays = [k for k in kinds if k in HARMLESS]
    of = sum(total[k] for k in stays)
    print(f"{'must stay':16} {sum(bad[k] for k in stays):8} {of:6}   {100 * sum(bad[k] for k in stays) / max(1, of):.2f} %")
    too_many = sum(bad[k] for k in stays) >= 0.02 * max(1, of) and of > 0
    print(f"{'cited, not there':16} {lost:8}")
    return 1 if too_many or lost or any(bad[k] for k in kinds if k in TELLING) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
