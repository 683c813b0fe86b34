"""Read a binary journal file (``system.journal``) through ``journalctl --file``. Never reads the format itself, changes no file."""

from __future__ import annotations

import time
from pathlib import Path

from forensics.collect.answer import STDERR_BYTES, Answer
from forensics.collect.process import ERR, OUT, Pipes, Start
from forensics.collect.question import Question
from forensics.model import Coverage, PartKind, Problem, Section

LIMIT_S = 120.0
MAX_BYTES = 256 << 20


def section(name: str, file: Path, *, path: Path, run: Start, since: float | None, problems: list[Problem]) -> Section | None:
    """All its entries as an export at ``path``, the newest where there are too many; None (and a problem) where there is no journalctl."""
    after = (f"--since=@{int(since)}",) if since is not None else ()
    argv = ("journalctl", f"--file={file}", "-o", "export", "--no-pager", "-r", *after)
    question = Question(
        name=name, part=PartKind.JOURNAL_EXPORT, script="", argv=" ".join(argv), limit_s=LIMIT_S, max_bytes=MAX_BYTES, newest_first=True
    )
    try:
        process = run(argv)
    except FileNotFoundError:
        text = "a journal file: there is no journalctl here to read it (elsewhere: journalctl --file=FILE -o export > TEXT)"
        problems.append(Problem(source=name, text=text))
        return None
    answer = Answer(question, path)
    pipes, stderr = Pipes(process), bytearray()
    try:
        streams, until = {OUT, ERR}, time.monotonic() + LIMIT_S
        while streams and time.monotonic() < until and not answer.full:
            for stream, data in pipes.receive(1.0):
                if not data:
                    streams.discard(stream)
                elif stream == OUT:
                    answer.write(data)
                else:
                    stderr += data[: STDERR_BYTES - len(stderr)]
        code = None if streams else pipes.ended(5.0)
        if code is not None:
            answer.end(code)
    finally:
        pipes.close()
        answer.close()
    made = answer.section(stderr.decode("utf-8", "replace"))
    if made.coverage not in (Coverage.READ, Coverage.EMPTY):
        problems.append(Problem(source=name, text=f"not all of the journal file could be read: {' '.join(made.stderr.split())[:200]}"))
    return made
