"""Follow what an answer cites back to the files: is each line there, as it is shown, and does the answer fall with them. Judges no cause."""

from __future__ import annotations

import re

from tests.cases.evidence import Answer, Case, is_json, lines

_WRAPPED = re.compile(r"\x1b(?:\[[0-9:;<=>?]*[ -/]*[@-~]|[\]_P^][^\x07\x1b\n]*(?:\x07|\x1b\\))")
ENTRY_LINES = 80  # that an entry takes in a file where each of its fields has a line of its own


def _even(text: str) -> str:
    """Without colours and spaces: what is documented to be taken off. A terminal breaks long lines, and data is written over several."""
    return re.sub(r"\s+", "", _WRAPPED.sub("", text).replace("\0", "\ufffd"))


def untraced(one: Case, found: Answer) -> list[str]:
    """The cited lines that do not begin in the file and at the number that is given, but for prefixes, colours, spaces and masked secrets."""
    missing = []
    # the program says of such a file that it read it from its end, and counts its lines from there
    turned = {w["text"].split(":")[0] for w in found["warnings"] if "newest line comes first" in w["text"]}
    for cited in found["evidence"]:
        text = _file(one, cited["source"])
        # of a log that is all in one line of data, the lines are its entries
        entries = re.split(r"\"message\": ?", text)[1:] if not text.strip().count("\n") and is_json(text) else []
        rows = entries if entries and not cited["text"].startswith("{") else lines(text)
        if cited["source"] in turned:
            rows = rows[-2::-1] if rows[-1:] == [""] else rows[::-1]
        # what was turned by a viewer keeps a line without a stamp below the one that it belongs to: in an entry of two lines they are counted the other way
        places = (0, 1, -1) if cited["source"] in turned else (0,)
        if not any(_begins_at(rows, cited["line"] - 1 + more, cited["text"]) for more in places):
            missing.append(f"{one.id}: {cited['source']}:{cited['line']}: {cited['text'][:200]}")
    return missing


def _begins_at(rows: list[str], at: int, text: str) -> bool:
    if not 0 <= at < len(rows):
        return False
    wanted = re.compile(".+?".join(re.escape(_even(piece)) for piece in text.split("[masked]")), re.DOTALL)
    entry = rows[at : at + ENTRY_LINES]
    # an entry of data that is written over several lines stands where its bracket opens
    indent = entry[0][: len(entry[0]) - len(entry[0].lstrip())]
    closes = (n for n, row in enumerate(entry) if row.startswith((indent + "}", indent + "]")))
    head = next(closes, 0) if entry[0].strip()[-1:] in ("{", "[") else 0
    for written in (str, _unescaped):
        found = wanted.search(_even(written("".join(entry))))
        if found is not None and found.start() < len(_even(written("".join(entry[: head + 1])))):
            return True
    return False


def _unescaped(text: str) -> str:
    """A message whose quotes or breaks a format has escaped: JSON with a backslash, CSV by doubling."""
    return re.sub(r"\\([\"\\/])", r"\1", text.replace("\\n", " ").replace("\\t", " ")).replace('""', '"')


def _file(one: Case, source: str) -> str:
    """The file of a source; a saved bundle has numbered them."""
    return next((t for n, t in one.files.items() if n == source or re.fullmatch(r"(?:.*/)?\d+-" + re.escape(source) + r"(?:\.txt)?", n)), "")
