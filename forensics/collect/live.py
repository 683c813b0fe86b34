"""Ask a host, or this machine, through one shell that reads its script from standard input. Changes nothing over there.

Answers go to disk as they arrive.
What cannot be had in time is left out and said; only where nothing at all could be had is it an error.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from forensics.collect import order, script, wire
from forensics.collect.answer import STDERR_BYTES, Answer, not_asked
from forensics.collect.process import ERR, OUT, Pipes, Start
from forensics.collect.question import Question
from forensics.collect.session import Limits
from forensics.collect.spool import Spool
from forensics.errors import ForensicsError
from forensics.model import Capture, Coverage, PartKind, Problem, Section, Target

_MOST_S = 253370764800.0  # the year 9999 begins: what is more is no time, nor is "nan"
_OF_SSH = re.compile(
    r"(?:ssh: |client_loop: |Connection to |Connection (?:reset|closed) by |Timeout, server |Read from remote host |Write failed: |packet_write_|Received disconnect |Disconnected from |mux_client_)"
)
Explain = Callable[[int | None, str, str], ForensicsError]  # exit code, what stderr said, what stood before the first frame


class LiveSession:
    """One process, asked in rounds. ``explain`` turns an end without any answer into an error for a person."""

    live = True
    saved: Capture | None = None

    def __init__(
        self,
        target: Target,
        argv: Sequence[str],
        *,
        spool: Spool,
        limits: Limits,
        run: Start,
        clock: Callable[[], float],
        explain: Explain,
    ) -> None:
        self.target = target
        self.at: float | None = None
        self.offset_s: float | None = None
        self.host: str | None = target.host
        self.took_s: float | None = None
        self.problems: list[Problem] = []
        self._limits, self._clock, self._explain, self._spool = limits, clock, explain, spool
        self._word = secrets.token_hex(16)
        self._out = wire.FrameReader(self._word, self._on_out)
        self._err = wire.FrameReader(self._word, self._on_err)
        self._stderr: dict[str, bytearray] = {}
        self._before = bytearray()
        self._answers: dict[str, Answer] = {}
        self._questions: dict[str, Question] = {}
        self._round = 0
        self._dead = False
        self._began = time.monotonic()
        self._pipes = Pipes(run(argv))

    def ask(self, questions: Sequence[Question]) -> list[Section]:
        """Ask one round and wait for its answers, in the order of the questions. Raises TargetError where the host gives none at all.

        What would complete a section is asked only where that section was cut.
        """
        sections = self._ask([q for q in questions if not q.completes])
        for question in questions:
            whole = next((s for s in sections if s.name == question.completes), None)
            if whole is not None and whole.coverage is Coverage.CUT and whole.cut:
                [extra] = self._ask([question])
                order.complete_export(whole.path, extra.path)
        self.took_s = time.monotonic() - self._began
        return sections

    def _ask(self, questions: Sequence[Question]) -> list[Section]:
        self._questions = {q.name: q for q in questions}
        self._answers = {}
        self._stderr = {"": self._stderr.get("", bytearray())}
        if not self._dead and questions:
            self._round += 1
            text = script.round_script(self._round, questions)
            self._pipes.send(((script.first_line(self._word) if self._round == 1 else "") + text).encode())
            try:
                self._listen()
            finally:
                for answer in self._answers.values():
                    answer.close()
        return [self._section(q) for q in questions]

    def close(self) -> None:
        """End the connection: the far shell sees the end of its script and leaves; what hangs is ended."""
        self._pipes.close(grace_s=0.0 if self._dead else 1.0)
        self._dead = True

    def discard(self) -> None:
        """Remove what was collected."""
        self._spool.remove()

    def __enter__(self) -> LiveSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self._dead = True  # no time for good manners: somebody pressed Ctrl-C
        self.close()
        if kind is not None:
            self.discard()

    def _listen(self) -> None:
        """Read until both streams have said that the round is done, the process ends, or it has been silent for too long."""
        open_streams, heard = {OUT, ERR}, time.monotonic()
        waiting = {OUT, ERR}
        while waiting:
            wait_s = self._patience(waiting, heard)
            if wait_s <= 0:
                if OUT in waiting:
                    self._give_up()
                    return
                break
            for stream, data in self._pipes.receive(wait_s):
                if not data:
                    open_streams.discard(stream)
                    waiting.discard(stream)
                    continue
                if stream == OUT:
                    heard = time.monotonic()
                if self._take(stream, data):
                    waiting.discard(stream)
        if OUT not in open_streams:
            self._lost()

    def _take(self, stream: str, data: bytes) -> bool:
        reader = self._out if stream == OUT else self._err
        done = False
        for event in reader.feed(data):
            done = done or (isinstance(event, wire.Done) and event.round == self._round)
            if stream == OUT and isinstance(event, wire.Begin):
                self._answer(event.name)
            elif stream == OUT and isinstance(event, wire.End) and (answer := self._answers.get(event.name)):
                answer.end(event.exit_code)
                if answer.question.part is PartKind.CLOCK:
                    self._read_clock(answer)
        return done

    def _patience(self, waiting: set[str], heard: float) -> float:
        """How many seconds of silence are still to be borne."""
        now, limits = time.monotonic(), self._limits
        left = self._began + limits.total_s - now
        if OUT not in waiting:
            return min(left, heard + 1.0 - now)  # only the end of stderr is missing
        answer = self._answers.get(self._out.open)
        if not self._answers and self._round == 1:
            quiet = limits.connect_s + limits.answer_s
        elif answer is not None:
            quiet = answer.question.limit_s + limits.grace_s
        else:
            quiet = max((q.limit_s for q in self._questions.values()), default=0.0) + limits.grace_s
        return min(left, heard + quiet - now)

    def _give_up(self) -> None:
        self._dead = True
        waited = time.monotonic() - self._began
        if not self._answers and self._round == 1:
            self._pipes.close()
            heard = self._before.decode("utf-8", "replace").split("\n")
            last = next((line.strip() for line in reversed(heard) if line.strip()), "")  # a menu, a question
            raise self._explain(None, self._said(""), f"no answer within {waited:.0f} s{f'; the last it said: {last[:200]}' if last else ''}")
        name = self._out.open or "the next answer"
        self.problems.append(Problem(source=name, text=f"gave up after {waited:.0f} s: it did not come to an end"))
        self._out.finish()

    def _lost(self) -> None:
        self._dead = True
        self._out.finish()
        self._err.finish()
        code = self._pipes.ended(2.0)
        if not self._answers and self._round == 1:
            self._pipes.close()
            raise self._explain(code, self._said(""), self._before.decode("utf-8", "replace"))
        said = [line for line in (self._said("") + "\n" + self._said(self._err.open)).splitlines() if line.strip()]
        own = [line for line in said if _OF_SSH.match(line)]
        # what the far shell wrote there (its start-up files, a command) is no reason
        why = f": {own[-1]}" if own else f" (the last line on its standard error: {said[-1].strip()})" if said else ""
        self.problems.append(Problem(source=self._out.open or "connection", text=f"the connection was lost{why}"))

    def _on_out(self, name: str, piece: bytes) -> None:
        if not name:
            if self._round == 1 and not self._answers:
                self._before += piece[: STDERR_BYTES - len(self._before)]
            return
        answer = self._answer(name)
        if answer is not None:
            answer.write(piece)

    def _on_err(self, name: str, piece: bytes) -> None:
        kept = self._stderr.setdefault(name, bytearray())
        # the beginning says what went wrong; outside of any section it is the end that does
        kept += piece
        if name:
            del kept[STDERR_BYTES:]
        else:
            del kept[:-STDERR_BYTES]

    def _answer(self, name: str) -> Answer | None:
        if name not in self._answers and name in self._questions:
            self._answers[name] = Answer(self._questions[name], self._spool.path(name))
        return self._answers.get(name)

    def _said(self, name: str) -> str:
        return self._stderr.get(name, b"").decode("utf-8", "replace")

    def _section(self, question: Question) -> Section:
        answer = self._answers.get(question.name)
        if answer is None:
            return not_asked(question, self._spool.path(question.name))
        return answer.section(self._said(question.name))

    def _read_clock(self, answer: Answer) -> None:
        """The host's clock against ours, as of the moment its answer began to arrive; wrong by the way one packet takes."""
        now = self._clock() - (time.monotonic() - answer.began)
        fields = answer.head().splitlines()
        try:
            at = float(fields[0].rstrip("%N"))  # busybox has no %N
            if not 0 <= at < _MOST_S:
                raise ValueError(fields[0])
            self.at = at
            self.offset_s = round(at - now, 3) + 0.0  # no -0.0
        except (IndexError, ValueError):
            self.problems.append(Problem(source="clock", text="the host did not say what time it is"))
        named = [line.partition("=")[2].strip() for line in fields if line.startswith("hostname=")]
        self.host = (named[0] if named else "") or self.host
