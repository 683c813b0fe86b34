"""Change an input the way logs go wrong: lines doubled, swapped, cut, spliced, and hostile tokens put in. Deterministic for a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

from fuzz.corpus import TOKENS

Line = list[bytes]


def mutate(data: bytes, max_size: int, seed: int, plain: Callable[[bytes, int], bytes]) -> bytes:
    """Half of the time libFuzzer's own change (``plain``), else one to four of ours."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        return plain(data, max_size)
    for _ in range(rng.randint(1, 4)):
        data = _once(data, rng)
    return data[:max_size]


def crossed(one: bytes, two: bytes, max_size: int, seed: int) -> bytes:
    """Lines of one input and then lines of another, or the one within the other."""
    rng = random.Random(seed)
    a, b = one.split(b"\n"), two.split(b"\n")
    i, j = rng.randrange(len(a)), rng.randrange(len(b))
    return b"\n".join(a[:i] + b[j : j + rng.randint(1, 40)] + (a[i:] if rng.random() < 0.5 else []))[:max_size]


def _once(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.35 or not data:
        at = rng.randint(0, len(data))
        token = rng.choice(TOKENS)
        skip = rng.choice((0, 0, 0, len(token), 1))
        return data[:at] + token * rng.choice((1, 1, 1, 2, 40)) + data[at + skip :]
    lines = data.split(b"\n")
    changed = rng.choice(_CHANGES)(lines, rng)
    return b"\n".join(changed)


def _double(lines: Line, rng: random.Random) -> Line:
    i = rng.randrange(len(lines))
    return lines[:i] + lines[i : i + rng.randint(1, 5)] * rng.choice((2, 2, 3, 50)) + lines[i:]


def _swap(lines: Line, rng: random.Random) -> Line:
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return lines


def _drop(lines: Line, rng: random.Random) -> Line:
    i = rng.randrange(len(lines))
    return lines[:i] + lines[i + rng.randint(1, 8) :]


def _turn(lines: Line, rng: random.Random) -> Line:
    return lines[::-1] if rng.random() < 0.5 else lines[: len(lines) // 2] + lines[len(lines) // 2 :][::-1]


def _cut(lines: Line, rng: random.Random) -> Line:
    i = rng.randrange(len(lines))
    lines[i] = lines[i][: rng.randint(0, len(lines[i]))]
    return lines


def _join(lines: Line, rng: random.Random) -> Line:
    i = rng.randrange(len(lines))
    return [*lines[:i], rng.choice((b"\r", b" ", b"")).join(lines[i : i + rng.randint(2, 4)]), *lines[i + 4 :]]


def _begin_with(lines: Line, rng: random.Random) -> Line:
    """A service writes a line that begins like another's."""
    i = rng.randrange(len(lines))
    lines[i] = rng.choice(TOKENS) + lines[i]
    return lines


def _end_with(lines: Line, rng: random.Random) -> Line:
    i = rng.randrange(len(lines))
    lines[i] += rng.choice(TOKENS)
    return lines


def _digits(lines: Line, rng: random.Random) -> Line:
    """One number becomes another, or one that is too large for anything."""
    i = rng.randrange(len(lines))
    line = lines[i]
    places = [at for at, c in enumerate(line) if 48 <= c <= 57]
    if places:
        at = rng.choice(places)
        lines[i] = line[:at] + rng.choice((b"0", b"9", b"00", b"9" * 20, b"9" * 4400, b"-1", b".", b"\xc2\xb2")) + line[at + 1 :]
    return lines


_CHANGES: tuple[Callable[[Line, random.Random], Line], ...] = (_double, _swap, _drop, _turn, _cut, _join, _begin_with, _end_with, _digits)
