"""How long does each expression of the rules, and of the package's own, take on the worst that its own words can make? Prints the slowest; tests nothing.

    python fuzz/expressions.py [--most 20]

Strings of 1 KiB, and for the slowest 4 and 8 KiB (what a line is cut to before it is matched): the words of an expression's samples or of its own text, single letters, blanks and digits, again and again, with an end that fits nothing.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from forensics.lazily import LazyPattern

SIZE = 8 << 10
FIRST = 1 << 10
Named = tuple[str, re.Pattern[str], list[str]]


def main() -> None:
    """Measure all and print the slowest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=20)
    options = parser.parse_args()
    tried = [(*worst(pattern, samples), name, pattern) for name, pattern, samples in [*of_rules(), *of_package()]]
    tried.sort(key=lambda one: one[0], reverse=True)
    print(f"{len(tried)} expressions; the slowest on {FIRST >> 10} KiB, in ms on {SIZE >> 10} KiB, and how many times that of the half", flush=True)
    for _, unit, name, pattern in tried[: options.most]:
        spent = _time(pattern, unit, SIZE)
        ratio = spent / max(1e-9, _time(pattern, unit, SIZE // 2))
        print(f"{spent * 1000:9.2f} ms  x{ratio:5.2f}  {name:50} {unit[:40]!r}")


def of_rules() -> Iterator[Named]:
    """Rules, marks, figures and prefixes, each with its samples."""
    from forensics import ruleset

    rules = ruleset.load()
    for rule in rules.rules:
        if rule.line:
            yield rule.id, re.compile(rule.line), [s.text for s in rule.hit if s.text]
    for profile in rules.profiles:
        for mark in profile.marks:
            yield mark.id, re.compile(mark.line), [s.text for s in mark.hit if s.text]
        for figure in profile.memory.figures if profile.memory else ():
            yield figure.id, re.compile(figure.line), [s.text for s in figure.hit if s.text]
        for pattern in (*profile.prefixes, *profile.launch):
            yield f"{profile.name}: {pattern[:30]}", re.compile(pattern), []


def of_package() -> Iterator[Named]:
    """Every compiled expression that is a name of a module."""
    import forensics

    seen: set[str] = set()
    for info in pkgutil.walk_packages(forensics.__path__, "forensics."):
        if "__main__" in info.name or "rules" in info.name.split(".") or "samples" in info.name.split("."):
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            for number, one in enumerate(_patterns(value)):
                if one.pattern not in seen and not isinstance(getattr(one, "pattern", None), bytes):
                    seen.add(one.pattern)
                    yield f"{info.name}.{name}{f'[{number}]' if number else ''}", one, []


def _patterns(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, LazyPattern):
        yield re.compile(value.pattern, value.asked)  # type: ignore[arg-type]  # of bytes or of str
    elif isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _patterns(inner)


def worst(pattern: re.Pattern[str], samples: list[str]) -> tuple[float, str]:
    """The longest time on the smaller size, and what was repeated."""
    return max((_time(pattern, unit, FIRST), unit) for unit in units(pattern.pattern, samples))


def units(pattern: str, samples: list[str]) -> set[str]:
    """What is repeated."""
    words = re.findall(r"[A-Za-z_][\w .:-]{2,30}", re.sub(r"\\[a-zA-Z]|\(\?[^)]{0,12}", " ", pattern))[:6]
    found = {
        "a",
        "1",
        " ",
        ".",
        "a.",
        "a ",
        "1 ",
        "a/",
        "=",
        "'",
        '"',
        "(",
        "[",
        "{",
        "-",
        "a=",
        "a:",
        "::",
        "_1",
        "x,",
        "\t",
        *words,
        *(f"{word} " for word in words),
    }
    for sample in samples[:2]:
        found |= {sample[:200], sample[: len(sample) // 2][:200]}
    return {unit for unit in found if unit}


def _time(pattern: re.Pattern[str], unit: str, size: int) -> float:
    text = (unit * (size // len(unit) + 1))[:size] + "\x01"
    began = time.process_time()
    for _ in pattern.finditer(text):
        pass
    return time.process_time() - began


if __name__ == "__main__":
    main()
