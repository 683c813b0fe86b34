"""All that is fuzzed: a visible tuple. Each target takes bytes, and raises only where something that must hold does not.

A target's name is its own in the command line and the folder of its findings. What it must stand is in its function (``texts``, ``files``, ``transit``); what all must
stand is in ``checks``.
"""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

import zstandard

from forensics.parse import client, host, systemd, unitstate
from fuzz import corpus, files, texts, transit

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


MANIFEST = (corpus.ROOT / "tests/data/rules/answers/manifest.json").read_bytes()
_ANSWERS = b"".join(
    corpus.NEXT_FILE + p.name.encode() + b"\n" + p.read_bytes()[:2000] for p in sorted((corpus.ROOT / "tests/data/rules/answers").iterdir()) if p.name != "manifest.json"
)  # fmt: skip
JOURNAL = ("journal", ".export", "kernel")

PACKED = (gzip.compress(b"journal\n" * 50), zstandard.compress(b"journal\n" * 50))

TARGETS: tuple[FuzzTarget, ...] = (
    FuzzTarget(name="status", run=texts.statuses, seeds=("status", "terminal", "show", "is-active")),
    FuzzTarget(name="show", run=partial(texts.text_parser, systemd.show), seeds=("show", "status")),
    FuzzTarget(name="is-active", run=partial(texts.text_parser, systemd.is_active), seeds=("is-active", "active"), max_len=4096),
    FuzzTarget(name="unit-file", run=partial(texts.text_parser, unitstate.unit_file), seeds=(".service", "unit")),
    FuzzTarget(name="list-units", run=texts.unit_lists, seeds=("units", "list")),
    FuzzTarget(name="units", run=partial(texts.text_parser, host.units), seeds=("units", "show", "list")),
    FuzzTarget(name="sockets", run=partial(texts.text_parser, host.listeners), seeds=("ss", "sockets", "listen", "netstat")),
    FuzzTarget(name="probes", run=partial(texts.text_parser, host.probes), seeds=("health", "probe")),
    FuzzTarget(name="clock-answer", run=partial(texts.text_parser, host.clock), seeds=("clock", "date"), max_len=4096, extra=(b"1778321718.123456789\nuptime_s=5\nhostname=h\n",)),
    FuzzTarget(name="boots", run=partial(texts.text_parser, host.boots), seeds=("boots",)),
    FuzzTarget(name="gpus", run=partial(texts.text_parser, host.gpus), seeds=("gpu", "smi")),
    FuzzTarget(name="host", run=texts.host_answers, seeds=("beside", "df", "meminfo", "core", "dpkg", "processes", "boot")),
    FuzzTarget(name="containers", run=texts.containers, seeds=("inspect", "pod", "describe")),
    FuzzTarget(name="pastes", run=texts.pasted, seeds=("terminal", "paste", "issue", "csv", "json")),
    FuzzTarget(name="unpacked", run=transit.unpacked, seeds=(), max_len=4096, extra=PACKED),
    FuzzTarget(name="bench", run=texts.results, seeds=("bench", "health", "client", "eval")),
    FuzzTarget(name="client", run=partial(texts.text_parser, client.read), seeds=("bench", "health", "client", "curl")),
    FuzzTarget(name="asked", run=texts.commands, seeds=("terminal", "ssh"), max_len=4096),
    FuzzTarget(name="times", run=texts.times, seeds=("clock", "show"), max_len=1024, extra=corpus.TOKENS),
    FuzzTarget(name="redact", run=texts.redacted, seeds=(), max_len=4096, extra=corpus.TOKENS),
    FuzzTarget(name="names", run=texts.named, seeds=("units", "list"), max_len=2048),
    FuzzTarget(name="conditions", run=texts.conditions, max_len=512, extra=(b"client.refused > 0 and life.alive and not life.ready", b"memory.fraction in (0.5, 0.9) or life.phase == 'weights'")),
    FuzzTarget(name="openers", run=files.openers, seeds=()),
    FuzzTarget(name="export-fields", run=files.exports, seeds=(".export", "export")),
    FuzzTarget(name="frames", run=files.frames, seeds=(*JOURNAL, "log", "terminal", "json", "verbose", "pretty")),
    FuzzTarget(name="facts", run=files.gathered, whole_folders=True, max_len=32 << 10),
    FuzzTarget(name="diagnosis", run=files.diagnosed, whole_folders=True, max_len=32 << 10),
    FuzzTarget(name="bundle", run=files.bundles, extra=(MANIFEST + _ANSWERS,), seeds=("manifest",)),
    FuzzTarget(name="archive", run=files.archives, needs="forensics.collect.archive", seeds=("manifest",)),
    FuzzTarget(name="wire", run=transit.wired, seeds=(), max_len=8192, extra=(b"\x07\x01begin journal\nabc\n\x01end journal 0\n\x01done 1\n", b"\x01\x01begin a\n\x01end b 0\n\x01end a 5\n")),
    FuzzTarget(name="order", run=transit.ordered, seeds=(".export", "export")),
    FuzzTarget(name="answer", run=transit.answered, seeds=(".export", "status", "denied")),
    FuzzTarget(name="targets", run=transit.targeted, max_len=512, extra=(b"gpu01\nlocal\nssh:u@h", b"ssh://u@h:22/\n-\n-oProxyCommand=x", b"docker:x", b"/etc/passwd", b"./x.txt")),
)  # fmt: skip


def by_name(name: str) -> FuzzTarget:
    """The target of that name; SystemExit with the names where there is none."""
    found = next((target for target in TARGETS if target.name == name), None)
    if found is None:
        raise SystemExit(f"there is no target {name!r}; there are: {', '.join(t.name for t in TARGETS)}")
    return found
