"""Write a log in which no line comes twice: every line ends in words drawn at random, as where a server logs its prompts. Never uses a clock: one seed gives one file.

    python benchmarks/gen_free_text.py -n 200000 --hot 0.02 free.txt

``--hot`` is the share of lines that are no prompts but what an engine says all the time (batches, answers), with such words behind them as well: those match marks.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "2026-05-01T{time}+0000 gpu01 python[2711]: [2026-05-01 {time}] "
_PROMPTS = (
    "Receive: obj=GenerateReqInput(rid='{rid:032x}', max_new_tokens={n}, text='",
    "Received request cmpl-{rid:032x}-0: params: SamplingParams(n=1, temperature=0.7, max_tokens={n}), prompt: '",
    "Finish: rid={rid:032x} output_tokens={n} text='",
)
_HOT = (
    "Decode batch. #running-req: {n}, #token: 14699, token usage: 0.14, accept len: 1.83, cuda graph: True, gen throughput (token/s): 301.25, #queue-req: 0 ",
    'INFO:     10.0.1.182:{n} - "POST /v1/completions HTTP/1.1" 200 OK ',
    "Prefill batch. #new-seq: 1, #new-token: {n}, #cached-token: 2804, token usage: 0.02, #running-req: 27, #queue-req: 0 ",
)
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvw", "aeiou"
_WORDS = 50_000
_WORDS_A_LINE = 12


def lines(count: int, *, hot: float = 0.02, seed: int = 7) -> Iterator[bytes]:
    """The lines, each with its line feed."""
    draw = random.Random(seed)
    words = [_word(draw) for _ in range(_WORDS)]
    for number in range(count):
        time = f"{number // 36_000 % 24:02}:{number // 600 % 60:02}:{number // 10 % 60:02}"
        form = draw.choice(_HOT if draw.random() < hot else _PROMPTS)
        text = _PREFIX.format(time=time) + form.format(rid=draw.getrandbits(128), n=draw.randrange(1, 4096))
        yield (text + " ".join(draw.choices(words, k=_WORDS_A_LINE)) + "\n").encode()


def _word(draw: random.Random) -> str:
    return "".join(draw.choice(_CONSONANTS) + draw.choice(_VOWELS) for _ in range(draw.randint(1, 4))) + draw.choice(["", "n", "s", "t", "r"])


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("-n", "--lines", type=int, default=200_000)
    parser.add_argument("--hot", type=float, default=0.02, help="share of lines that match marks (default: 0.02)")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    with given.path.open("wb") as stream:
        stream.writelines(lines(given.lines, hot=given.hot, seed=given.seed))


if __name__ == "__main__":
    main()
