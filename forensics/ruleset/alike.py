"""Group the lines of a block that are alike, equal but for their digits, by a table in C (``_alike.c``). Never judges a line and never holds a block.

Where the package was installed without a compiler there is no table, and the scan looks up each line by itself: the outcome is the same, in twice the time.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forensics.ruleset.learnt import LONGEST, ZEROS
from forensics.ruleset.shapes import COLD, Shape

_VERSION = 2  # of what is asked of the table: one that an older source was compiled to is not used
_MAX_BYTES = 8 << 20  # of the lines that the table remembers
_NONE = -1

try:
    from forensics.ruleset import _alike
except ImportError:
    AVAILABLE = False
else:
    AVAILABLE = _alike.VERSION == _VERSION

Fresh = dict[bytes, tuple[Shape, int]]  # a shape's lines with their digits as 0 → the shape, and the first of its lines


class Groups(NamedTuple):
    """The lines of a text by their shapes."""

    starts: memoryview
    """Where each line begins; and the size of the text."""
    of: list[tuple[Shape, Sequence[int]]]
    """Shapes with the numbers of their lines; without those that are known to match nothing."""
    fresh: Fresh
    """Shapes that nobody knew: what they may match is still to be found out."""


class Alike:
    """The shapes of the lines that have been seen, by the numbers that the table gives them."""

    def __init__(self) -> None:
        self._table = _alike.Table(os.urandom(16), LONGEST, _MAX_BYTES)
        self._shapes: list[Shape] = []
        self._settled = 0  # so many of them are no longer fresh
        self._full = False

    def __len__(self) -> int:
        """How many shapes are remembered."""
        return len(self._table)

    def clear(self) -> None:
        """Forget all shapes."""
        self._table.clear()
        self._shapes.clear()
        self._settled = 0
        self._full = False

    def grouped(self, text: bytes, known: Mapping[bytes, Shape]) -> Groups:
        """The lines of a text; a shape that the table has not seen is looked up among the ``known`` ones."""
        if self._full:
            self.clear()
        self._settle()
        self._full = True  # until all is known that the table has numbered: if this breaks off, the next text finds it empty
        starts_, order_, groups = self._table.grouped(text)
        starts, order = memoryview(starts_).cast("I"), memoryview(order_).cast("I")
        shapes = self._shapes
        found: list[tuple[Shape, Sequence[int]]] = []
        fresh: Fresh = {}
        full = False

        def shape_of(line: int) -> Shape:
            zeroed = text[starts[line] : starts[line + 1]].translate(ZEROS)
            shape = known.get(zeroed)
            return shape if shape is not None else fresh.setdefault(zeroed, (Shape(()), line))[0]

        for number, begin, end in groups:
            if number == _NONE:
                apart: dict[int, tuple[Shape, list[int]]] = {}
                for line in order[begin:end]:
                    full = full or starts[line + 1] - starts[line] <= LONGEST
                    shape = shape_of(line)
                    apart.setdefault(id(shape), (shape, []))[1].append(line)
                found += apart.values()
                continue
            if number == len(shapes):
                shapes.append(shape_of(order[begin]))
            if (shape := shapes[number]) is not COLD:
                found.append((shape, order[begin:end]))
        self._full = full
        return Groups(starts, found, fresh)

    def _settle(self) -> None:
        """Of shapes that nothing can match one stands for all."""
        shapes = self._shapes
        for number in range(self._settled, len(shapes)):
            if not shapes[number].numbers:
                shapes[number] = COLD
        self._settled = len(shapes)


def cut(text: bytes, starts: memoryview, numbers: Sequence[int], place: slice) -> list[bytes]:
    """What stands at one place of some lines of a text that was grouped."""
    return _alike.cut(text, starts, numbers if isinstance(numbers, memoryview) else memoryview(array("I", numbers)), place.start, place.stop)
