"""Ask a host, or this machine, through one shell that reads its script from standard input. Changes nothing over there.

Answers go to disk as they arrive.
What cannot be had in time is left out and said; only where nothing at all could be had is it an error.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType

from forensics import lazily
from forensics.collect import order, script, wire
from forensics.collect.answer import STDERR_BYTES, Answer, not_asked
from forensics.collect.process import ERR, OUT, Pipes, Start
from forensics.collect.question import Question
from forensics.collect.session import Limits
from forensics.collect.spool import Spool
from forensics.errors import ForensicsError
from forensics.model import Capture, Coverage, PartKind, Problem, Section, Target

_AGAIN_S = 0.7
_MOST_S = 253370764800.0  # the year 9999 begins: what is more is no time, nor is "nan"
_OF_SSH = lazily.pattern(
    r"(?:ssh: |client_loop: |Connection to |Connection (?:reset|closed) by |Timeout, server |Read from remote host |Write failed: |packet_write_|Received disconnect |Disconnected from |mux_client_)"
)


class _TurnedAwayError(Exception):
    """The host closed the connection before the login; it may let in who comes again."""


def _refused(said: str) -> str:
    programs, _, why = said.removeprefix("only").partition(":")
    allowed = " and ".join(programs.split())
    what = "nothing was read with more rights than the account has" if allowed == "nothing" else f"only {allowed} could be run with it"
    why = why.strip().removeprefix("sudo: ") or "it did not say why"
    return f"refused ({why}): {what}"


Explain = Callable[[int | None, str, str], ForensicsError]  # exit code, what stderr said, what stood before the first frame


class LiveSession:
    """One process, asked in rounds. ``explain`` turns an end without any answer into an error for a person; ``busy`` says of what was said
    before a login that it is worth one more try."""

    live = True
    changes = True
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
        busy: Callable[[str], bool] = lambda said: False,
        progress: Callable[[str], None] = lambda text: None,
        pack: bool = False,
        sudo: bool = False,
    ) -> None:
        self.target = target
        self.at: float | None = None
        self.offset_s: float | None = None
        self.host: str | None = target.host
        self.took_s: float | None = None
        self.problems: list[Problem] = []
        self._limits, self._clock, self._explain, self._spool = limits, clock, explain, spool
        self._word = secrets.token_hex(16)
        self._frames = wire.FrameReader(self._word, self._on_answer, self._on_said)
        self._said: dict[str, bytearray] = {}
        self._stderr = bytearray()  # of the connection itself, and of the shell over there
        self._before = bytearray()
        self._codes: dict[str, int] = {}
        self._answers: dict[str, Answer] = {}
        self._questions: dict[str, Question] = {}
        self.may_sudo = not sudo
        self._pack, self._sudo, self._progress = pack, sudo, progress
        self._start, self._busy, self._called_again = partial(run, argv), busy, False
        self._round = 0
        self._dead = False
        self._began = time.monotonic()
        self._pipes = Pipes(self._start())

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
        self._answers, self._said, self._codes = {}, {}, {}
        if not self._dead and questions:
            self._round += 1
            text = script.round_script(self._round, questions)
            first = script.first_line(self._word, pack=self._pack, sudo=self._sudo) if self._round == 1 else ""
            try:
                self._exchange(first + text)
            except _TurnedAwayError as turned_away:
                self._call_again(str(turned_away))
                self._exchange(first + text)
            finally:
                for answer in self._answers.values():
                    answer.close()
        return [self._section(q) for q in questions]

    def _exchange(self, text: str) -> None:
        self._pipes.send(text.encode())
        self._listen()

    def _call_again(self, said: str) -> None:
        """Make the connection a second time, a moment later: several of us shall not come back at once."""
        self._pipes.close()
        time.sleep(_AGAIN_S * (1 + random.random()))  # noqa: S311  no secret
        self._stderr.clear()
        self._dead, self._called_again = False, True
        self._pipes = Pipes(self._start())
        self.problems.append(Problem(source="connection", text=f"the first try was turned away before the login ({said}); this is the second"))

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
        """Read until the round is done, the process ends, or it has been silent for too long."""
        open_streams, heard, done = {OUT, ERR}, time.monotonic(), False
        while not done and OUT in open_streams:
            wait_s = self._patience(heard)
            if wait_s <= 0:
                self._give_up()
                return
            for stream, data in self._pipes.receive(wait_s):
                if not data:
                    open_streams.discard(stream)
                elif stream == ERR:
                    self._stderr += data
                    del self._stderr[:-STDERR_BYTES]
                else:
                    heard = time.monotonic()
                    done = self._take(data) or done
        if not done:
            self._lost()

    def _take(self, data: bytes) -> bool:
        done = False
        for event in self._frames.feed(data):
            match event:
                case wire.Begin(name, encoding):
                    self._open(name, encoding)
                case wire.Code(name, exit_code):
                    self._codes[name] = exit_code
                case wire.End(name, took_s) if (answer := self._answers.get(name)) and answer.exit_code is None:  # a second one is none of ours
                    answer.end(self._codes.get(name, script.TIMED_OUT), took_s)
                    self._tell_progress()
                    if answer.question.part is PartKind.CLOCK:
                        self._read_clock(answer)
                case wire.Done(number):
                    done = done or number == self._round
        if done:
            for answer in self._answers.values():
                if answer.exit_code is None:  # its lane was left behind
                    answer.end(script.TIMED_OUT)
        return done

    def _tell_progress(self) -> None:
        still = [name for name in self._questions if name not in self._answers or self._answers[name].exit_code is None]
        if still:
            named = ", ".join(still[:4]) + (" …" if len(still) > 4 else "")
            self._progress(f"{self.target.name}: {len(self._questions) - len(still)} of {len(self._questions)} answers; waiting for {named}")

    def _patience(self, heard: float) -> float:
        """How many seconds of silence are still to be borne."""
        now, limits = time.monotonic(), self._limits
        left = self._began + limits.total_s - now
        if not self._answers and self._round == 1:
            quiet = limits.connect_s + limits.answer_s
        else:
            quiet = script.silence_s(tuple(self._questions.values())) + limits.grace_s
        return min(left, heard + quiet - now)

    def _give_up(self) -> None:
        self._dead = True
        waited = time.monotonic() - self._began
        if not self._answers and self._round == 1:
            self._pipes.close()
            last = next((line.strip() for line in reversed(self._text(self._before).split("\n")) if line.strip()), "")  # a menu, a question
            why = f"no answer within {waited:.0f} s{f'; the last it said: {last[:200]}' if last else ''}"
            raise self._explain(None, self._text(self._stderr), why)
        name = self._frames.open or "the next answer"
        self.problems.append(Problem(source=name, text=f"gave up after {waited:.0f} s: it did not come to an end"))
        self._frames.finish()

    def _lost(self) -> None:
        self._dead = True
        self._frames.finish()
        code = self._pipes.ended(2.0)
        for _, data in self._pipes.receive(0.0):  # the last words
            self._stderr += data
        if not self._answers and self._round == 1:
            said_last = self._text(self._stderr).strip().splitlines()[-1:]
            if not self._called_again and not self._before and self._busy("".join(said_last)):
                raise _TurnedAwayError("".join(said_last))
            self._pipes.close()
            raise self._explain(code, self._text(self._stderr), self._text(self._before))
        said = [line for line in self._text(self._stderr).splitlines() if line.strip()]
        own = [line for line in said if _OF_SSH.match(line)]
        # what the far shell wrote there (its start-up files, a command) is no reason
        why = f": {own[-1]}" if own else f" (the last line on its standard error: {said[-1].strip()})" if said else ""
        self.problems.append(Problem(source=self._frames.open or "connection", text=f"the connection was lost{why}"))

    def _on_answer(self, name: str, piece: bytes) -> None:
        if not name:
            if self._round == 1 and not self._answers:
                self._before += piece[: STDERR_BYTES - len(self._before)]
        elif (answer := self._open(name, self._frames.encoding)) is not None and answer.exit_code is None:  # its Begin may be in the same piece
            answer.write(piece)

    def _on_said(self, name: str, piece: bytes) -> None:
        kept = self._said.setdefault(name, bytearray())
        kept += piece[: max(0, STDERR_BYTES - len(kept))]

    def _open(self, name: str, encoding: str) -> Answer | None:
        if name not in self._answers and name in self._questions:
            self._answers[name] = Answer(self._questions[name], self._spool.path(name), encoding=encoding)
        return self._answers.get(name)

    @staticmethod
    def _text(data: bytes | bytearray) -> str:
        return data.decode("utf-8", "replace")

    def _section(self, question: Question) -> Section:
        answer = self._answers.get(question.name)
        if answer is None:
            return not_asked(question, self._spool.path(question.name))
        return answer.section(self._text(self._said.get(question.name, bytearray())).strip("\n"))

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
        said = dict(line.strip().partition("=")[::2] for line in fields[1:])
        self.host = said.get("hostname") or self.host
        self.may_sudo = self.may_sudo and said.get("uid") != "0"
        if said.get("sudo", "").startswith("only"):
            self.problems.append(Problem(source="sudo", text=_refused(said["sudo"])))
