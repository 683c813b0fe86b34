"""Fuzz one target in this process: notes each kind of finding once, with its smallest input, and goes on. Forked by run.py.

A finding is an exception that is not the project's own, something that must hold and does not, or an input that takes longer than ``LIMIT_S`` of processor time.
"""

from __future__ import annotations

import hashlib
import re
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

LIMIT_S = 5.0  # of processor time for one input: others use the machine too
HANG_S = 60  # of wall time, after which libFuzzer ends the process
RSS_MB = 2048


class Hang(BaseException):
    """One input has taken too long. No Exception: nothing in the code under test may catch it."""


def prepare() -> None:
    """Import all that is fuzzed, instrumented: once, it takes seconds."""
    import atheris

    with atheris.instrument_imports(include=["forensics"]):
        import forensics.reason  # which the pipeline imports when it needs it  # noqa: F401  for its instrumentation
        from fuzz import files, targets  # noqa: F401  for their instrumentation

        files.rules()


def fuzz(name: str, *, seconds: int, seed: int, place: Path) -> None:
    """Fuzz in this process, and end it."""
    import atheris

    from fuzz import corpus, mutate, targets

    target = targets.by_name(name)
    place.mkdir(parents=True, exist_ok=True)
    seeds = place / "corpus"
    corpus.write((data[: target.max_len] for data in target.inputs()), seeds)
    corpus.dictionary(place / "tokens.dict")
    one = Guarded(target.run, place)
    argv = [
        "fuzz", str(seeds), f"-max_total_time={seconds}", f"-max_len={target.max_len}", f"-timeout={HANG_S}", f"-rss_limit_mb={RSS_MB}", f"-dict={place / 'tokens.dict'}",
        f"-artifact_prefix={place}/", f"-seed={seed}", "-print_final_stats=1", "-len_control=0", "-reload=0",
    ]  # fmt: skip
    atheris.Setup(argv, one, custom_mutator=lambda data, size, seed: mutate.mutate(data, size, seed, atheris.Mutate), custom_crossover=mutate.crossed)
    atheris.Fuzz()


class Guarded:
    """A target that never stops the fuzzing: what it raises is written down once for each place it comes from."""

    def __init__(self, run: Callable[[bytes], None], place: Path) -> None:
        self.run = run
        self.place = place
        self.known: dict[str, int] = {}
        signal.signal(signal.SIGPROF, _too_long)

    def __call__(self, data: bytes) -> None:
        """One input."""
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        try:
            self.run(data)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001  a finding, whatever it is: kept with its input
            signal.setitimer(signal.ITIMER_PROF, 0)
            self._note(data, error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _note(self, data: bytes, error: BaseException) -> None:
        key = key_of(error)
        if len(data) >= self.known.get(key, 1 << 30):
            return
        new = key not in self.known
        self.known[key] = len(data)
        name = f"finding-{hashlib.sha1(key.encode(), usedforsecurity=False).hexdigest()[:10]}"
        (self.place / f"{name}.bin").write_bytes(data)
        told = "".join(traceback.format_exception(error))
        (self.place / f"{name}.txt").write_text(f"{key}\n{len(data)} bytes\n\n{told}", encoding="utf-8", errors="backslashreplace")
        if new:
            print(f"FINDING {name} {key}", file=sys.stderr, flush=True)


def key_of(error: BaseException) -> str:
    """What makes a finding another one: the kind, the place in the package, the wording without its figures."""
    places = [f for f in traceback.extract_tb(error.__traceback__) if "/forensics/" in f.filename]
    last = places[-1] if places else traceback.extract_tb(error.__traceback__)[-1]
    hung = isinstance(error, Hang)
    place = f"{Path(last.filename).name}:{last.name if hung else last.lineno}"
    return f"{type(error).__name__} {place} {'' if hung else re.sub(r'[^A-Za-z ]+', '#', str(error))[:40]}"


def _too_long(_: int, __: FrameType | None) -> None:
    raise Hang(f"more than {LIMIT_S} s of processor time")
