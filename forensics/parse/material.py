"""Say in a few words what a text is that nobody recognised as a service's: a novel, a compiler's output, a web server's requests. Looks for no cause.

For whoever has given the wrong file: "no line says what is wrong" reads as if a service had been seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from forensics import lazily
from forensics.model import BenchRun, Capture, Material, MaterialKind, Section, Tail
from forensics.model.counted import counted
from forensics.parse import written
from forensics.parse.shape import LOGGED
from forensics.parse.unwrap import clean, journal_line

MOST_BYTES = 1 << 18  # of a text that is looked at; of a larger one, its first

_REQUEST = lazily.pattern(r"\"(?:GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH|CONNECT|[^\"\s]{0,20}) [^\"]*\" (?P<status>[1-5]\d\d)\b")
_ACCESS = lazily.pattern(r"\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] \"")
_COMPILED = lazily.pattern(
    r"(?:[\w./+-]+:\d+(?::\d+)?: (?:fatal )?(?P<a>error|warning)\b|(?P<b>error|warning)(?:\[[A-Z]?\d+\])?: |[\w./-]+\(\d+(?:,\d+)?\): (?P<c>error|warning) )"
)
_MAKE = lazily.pattern(
    r"make(?:\[\d+\])?: \*\*\* |gcc |g\+\+ |cc |clang |\s+\|\s|\s*\d+ \| |\s*--> |[\w./+-]+: In (?:function|member)|\s+\^|ninja: |\s+Compiling |cargo |\d+ errors?$"
)
_TESTS = lazily.pattern(
    r"=*\s*(?:(?:\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?)),? ?){1,6} in [\d.]+s|Ran \d+ tests? in |test result: \w+\. |FAILED \S+::|PASSED\b"
)
_TESTED = lazily.pattern(r"=*\s*((?:\d+ (?:failed|passed|errors?|skipped|xfailed|xpassed|deselected|warnings?)(?:, )?){1,6}) in [\d.]+s")
_CALL = lazily.pattern(
    r"(?:\[pid +\d+\] |\d+ +)?(?:\d\d:\d\d:\d\d(?:\.\d+)? |\d+\.\d+ )?(?:\w+\(.*(?:\) += |<unfinished \.\.\.>)|<\.\.\. \w+ resumed>|--- SIG|\+\+\+ (?:exited|killed))"
)
_PACKAGES = lazily.pattern(
    r"(?:\((?:Reading database|\.\.\.)|Setting up \S|Unpacking \S|Preparing to unpack|Selecting previously|Processing triggers|Get:\d+ |Hit:\d+ |Reading package lists|Building dependency|Start-Date:"
    r"|Commandline:|Install: |Upgrade: |Requested-By|End-Date:|Log (?:started|ended): |Inst \S|Conf \S|The following |Collecting \S|Downloading \S|Installing collected|Successfully installed|debconf:)"
)
_COMMIT = lazily.pattern(r"commit [0-9a-f]{7,40}\b")
_COMMITS = lazily.pattern(r"commit [0-9a-f]{7,40}\b|Author: |Date:  |Merge: |    \S")
_SQL = lazily.pattern(
    r"(?i)(?:--( |$)|INSERT INTO|CREATE \w+|SELECT\b|COPY \w|ALTER |SET \w+|UPDATE |DELETE FROM|COMMIT;|BEGIN;|\\\.|\);?$|    \w+ \w+,?)"
)
_METRIC = lazily.pattern(r"# (?:HELP|TYPE) \w|[a-z_:]\w+(?:\{[^}]*\})? [\d.eE+-]+$")
_MAIL = lazily.pattern(r"(?:From|To|Subject|Message-ID|Date): \S")
_KERNEL = lazily.pattern(r"(?:<\d+>)?\[ *\d{1,7}\.\d{3,6}\]")


def saw(capture: Capture, tails: dict[str, Tail]) -> dict[str, Material]:
    """Source → what it is, of files that were given and hold text; nothing where a shape of their own says what they are."""
    found = {}
    for section in capture.sections:
        if section.part is None and section.entries is None:
            found[section.name] = _of(section, tails.get(section.name))
    return found


def measured(benches: Iterable[BenchRun]) -> dict[str, Material]:
    """The sources that hold measured configurations: a table of them is no log, and nobody's code."""
    return {run.source: Material(MaterialKind.OTHER, f"{len(run.matrix)} measured configurations of a benchmark") for run in benches if run.matrix}


def _of(section: Section, tail: Tail | None) -> Material:
    raw = section.head(MOST_BYTES)
    whole = len(raw) < MOST_BYTES
    texts = [clean(line) for line in raw.decode("utf-8", "replace").split("\n")]
    lines = [t for t in texts if t.strip("\0 \t\r")]
    if not lines:  # what only moves a cursor or colours nothing is no text
        return Material(MaterialKind.EMPTY, "there is nothing in it but blank lines" if raw else "there is nothing in it")
    if (
        whole
        and lines[0].lstrip()[:1] in "{["
        and lines[-1].rstrip()[-1:] in "}]"
        and not any(LOGGED.match(t) for t in lines[:20])
        and _spread(lines)
    ):
        return Material(MaterialKind.OTHER, f"JSON of {counted(len(lines), 'line')}, no log")
    for share, pattern, say in _KINDS:
        met = sum(1 for t in lines if pattern.match(t))
        if met and met >= share * len(lines) and (said := say(lines)):
            return Material(MaterialKind.OTHER, said if whole else f"{said} (by its first {MOST_BYTES >> 10} KiB)")
    count = len(lines) if whole or tail is None else tail.lines
    return _log_or_text(texts, lines, count)


def _log_or_text(texts: Sequence[str], lines: Sequence[str], count: int) -> Material:
    stamped = sum(1 for t in lines if LOGGED.match(t) or journal_line(t) is not None or _DATED.search(t[:100]))
    if 2 * stamped >= len(lines):
        kernel = sum(1 for t in lines if _KERNEL.match(t))
        return Material(MaterialKind.LOG, f"a {'kernel ' if 2 * kernel >= len(lines) else ''}log of {counted(count, 'line')}")
    text = f"a text of {counted(count, 'line')} without log stamps"
    page = written.Page(texts)
    if page.is_code and page.share.code + page.share.keys >= page.share.prose:
        return Material(MaterialKind.OTHER, f"code, a table or a configuration of {counted(count, 'line')}, which no program printed")
    if page.is_prose:
        return Material(MaterialKind.OTHER, f"{text}; nothing in it was printed by a service")
    if page.share.printed < 0.2:
        return Material(MaterialKind.TEXT, text)
    return Material(MaterialKind.OUTPUT, f"a program's output of {counted(count, 'line')} without times")


_DATED = lazily.pattern(
    r"\d{4}[-/.]\d\d[-/.]\d\d.{1,3}\d\d[:.]\d\d|\w{3} +\d{1,2} \d\d:\d\d:\d\d|\d{2}/\w{3}/\d{4}:\d\d|[IWEF]\d{4} \d\d:|\[ *\d{1,7}\.\d{3,6}\]"
)


def _spread(lines: Sequence[str]) -> bool:
    return len(lines) == 1 or not all(t.startswith("{") for t in lines[:3])


def _requests(lines: Sequence[str]) -> str:
    statuses = [m["status"][0] for t in lines if (m := _REQUEST.search(t))]
    if not statuses:
        return ""
    of = {digit: 100 * statuses.count(digit) / len(statuses) for digit in "45"}
    missing = sum(1 for t in lines if (m := _REQUEST.search(t)) and m["status"] == "404")
    shares = f"{of['5']:.0f} % 5xx, {of['4']:.0f} % 4xx" + (f" ({missing} times 404)" if missing else "")
    return f"a web server's access log: {counted(len(statuses), 'request')}, {shares}; no service's life is in it"


def _compiled(lines: Sequence[str]) -> str:
    kinds = [
        m["a"] or m["b"] or m["c"]
        for t in lines
        if (m := _COMPILED.match(t)) and not re.match(r"(?:error|warning): (?:could not compile|aborting|build failed|\d+ warn)", t)
    ]
    errors, warnings = kinds.count("error"), kinds.count("warning")
    counts = ", ".join(counted(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n)
    return f"a compiler's output: {counts}; no service ran" if counts else ""


def _tested(lines: Sequence[str]) -> str:
    counts = next((m[1] for t in reversed(lines) if (m := _TESTED.match(t))), "")
    return f"a test run's output{': ' + counts.rstrip(', ') if counts else ''}; no service ran"


def _plain(words: str) -> Callable[[Sequence[str]], str]:
    return lambda lines: words.format(count=len(lines))


# from what share of the lines on a text is of that kind: the surest first
_KINDS: tuple[tuple[float, re.Pattern[str], Callable[[Sequence[str]], str]], ...] = (
    (0.7, _ACCESS, _requests),
    (0.6, _CALL, _plain("a trace of system calls, {count} lines: most that fail in one are tried in vain, and mean nothing")),
    (
        0.01,
        _COMMIT,
        lambda lines: _plain("a history of commits, {count} lines")(lines) if sum(1 for t in lines if _COMMITS.match(t)) >= 0.7 * len(lines) else "",
    ),
    (0.01, _TESTS, lambda lines: _tested(lines) if any(_TESTED.match(t) for t in lines[-3:]) else ""),
    (0.1, _COMPILED, lambda lines: _compiled(lines) if sum(1 for t in lines if _COMPILED.match(t) or _MAKE.match(t)) >= 0.4 * len(lines) else ""),
    (0.02, written.DIFF, _plain("a diff of {count} lines, which no program printed while it ran")),
    (0.5, _PACKAGES, _plain("what a package manager did, {count} lines; no service's life is in it")),
    (0.9, _METRIC, _plain("metrics, {count} lines; no log")),
    (0.6, _SQL, _plain("SQL of {count} lines, no log")),
)
