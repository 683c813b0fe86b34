"""Fuzzed on its way from a host: what is packed, framed, turned round and cut off, and the words that say whom to ask. Each function says what it must stand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from forensics.collect import answer, order, packed, wire
from forensics.collect.question import Question
from forensics.collect.targets import parse_targets
from forensics.errors import TargetError, UsageError
from forensics.model import Coverage, PartKind, TargetKind
from fuzz.checks import hold
from fuzz.files import PARTS, folder

WORD = "0123456789abcdef"


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
