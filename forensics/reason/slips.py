"""Which flag a word is a slip of, and how the two differ. Knows no server and no version: it is given the flags that may be meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from forensics.units import edit

MOST_LETTERS = 100
# a word that turns the meaning round is no slip
_OPPOSITES = (frozenset({"enable", "disable"}), frozenset({"min", "max"}), frozenset({"prefill", "decode"}), frozenset({"encoder", "decoder"}))


def either(words: Sequence[str]) -> str:
    """``a, b or c``."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


def begun(word: str, names: Iterable[str]) -> str | None:
    """The one flag that begins so."""
    found = [name for name in names if len(word) > 4 and name.startswith(word)]
    return found[0] if len(found) == 1 else None


def turned_round(word: str, names: Iterable[str]) -> str | None:
    """The flag that switches the same thing the other way."""
    for on, off in (("--enable-", "--disable-"), ("--disable-", "--enable-"), ("--no-", "--")):
        if word.startswith(on) and (other := off + word[len(on) :]) in names:
            return other
    return None


def slip(word: str, names: Iterable[str]) -> tuple[str, str, int] | None:
    """The flag that a word is a slip of, how the two differ, and by how many letters; None where none is near. Of several that are as near, "--a or --b"."""
    from rapidfuzz.distance import OSA

    stem = word.lstrip("-")[:MOST_LETTERS].lower().replace("_", "-")
    stems = {name: name.lstrip("-").lower() for name in names if name.startswith("--")}
    same = [name for name, other in stems.items() if other == stem]
    if same:
        return same[0], _dressed(word, same[0]), 1
    starts = [name for name, other in stems.items() if len(stem) > 3 and other.startswith(stem)]
    if len(starts) == 1:
        return starts[0], "what is written is only its beginning", 1
    turned = [name for name, other in stems.items() if "-" in stem and sorted(other.split("-")) == sorted(stem.split("-"))]
    if len(turned) == 1:
        return turned[0], "the same words in another order", 1
    allowed = 0 if len(stem) < 4 else 1 if len(stem) < 8 else 2 if len(stem) < 14 else 3
    scored = sorted(
        (distance, name)
        for name, other in stems.items()
        if (distance := OSA.distance(stem, other, score_cutoff=allowed)) <= allowed and not _opposite(stem, other)
    )
    if scored and (len(scored) == 1 or scored[0][0] < scored[1][0]):
        distance, name = scored[0]
        return name, edit(stem, stems[name]), distance
    if scored:
        nearest = [name for distance, name in scored if distance == scored[0][0]]
        return either(nearest[:3]), "as near to each", scored[0][0]
    return _begun_wrongly(stem, stems)


def _begun_wrongly(stem: str, stems: dict[str, str]) -> tuple[str, str, int] | None:
    """An abbreviation with a slip in it."""
    from rapidfuzz.distance import OSA

    if len(stem) < 8:
        return None
    found = {
        name
        for name, other in stems.items()
        for cut in (len(stem) - 1, len(stem), len(stem) + 1)
        if len(other) > cut and OSA.distance(stem, other[:cut], score_cutoff=1) <= 1
    }
    found = {name for name in found if not _opposite(stem, stems[name])}
    return (min(found), "what is written is its beginning, with a slip in it", 2) if len(found) == 1 else None


def _opposite(one: str, other: str) -> bool:
    """Whether two flags differ by what turns the one into the contrary of the other."""
    a, b = one.split("-"), other.split("-")
    if (a[0] == "no") is not (b[0] == "no"):
        return True
    return len(a) == len(b) and any({x, y} == pair for x, y in zip(a, b, strict=True) for pair in _OPPOSITES)


def _dressed(word: str, name: str) -> str:
    told = [
        "with dashes, not underscores" if "_" in word else "",
        "in small letters" if word.lower() != word else "",
        "with two dashes" if not word.startswith("--") else "",
    ]
    return ", ".join(filter(None, told)) or f"as {name}"
