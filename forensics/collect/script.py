"""Write the POSIX sh script of one round of questions. Leaves no file, no process and no setting behind on the host.

Frames are lines that begin with ``@`` and a random word that only this run knows; it goes over standard input and is never in
an argument, an environment or a file, so that no log can hold it and no quoting or spooling of the answers is needed:

    @WORD begin NAME     on standard output and standard error
    …bytes, as they are…
    @WORD end NAME EXIT_CODE
    @WORD done ROUND     on both

Each frame is preceded by a line end of its own, which is no part of the answer.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

from forensics.collect.question import Question

TIMED_OUT = 124  # of timeout(1), and of the stand-in below

_NAME = re.compile(r"[a-z][a-z-]{0,40}")

# Everything that is started gets its standard input from elsewhere: ours is the script.
_PRELUDE = """\
LC_ALL=C TZ=UTC SYSTEMD_PAGER= SYSTEMD_COLORS=0 SYSTEMD_URLIFY=0 PATH=${PATH:-/usr/bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export LC_ALL TZ SYSTEMD_PAGER SYSTEMD_COLORS SYSTEMD_URLIFY PATH
unset LANGUAGE GREP_OPTIONS
exec 4>&1
dd_end() { echo; echo "$dd_word end $1 $2"; }
dd_done() { echo; echo "$dd_word done $1"; { echo; echo "$dd_word done $1"; } >&2; }
# The shell outlives a TERM until its command has ended: timeout sends the KILL to the group only while its own child is there.
dd_trap="trap 'exit 124' TERM"
if timeout -k 1 9 true </dev/null >/dev/null 2>&1; then dd_run() { timeout -k 2 "$1" sh -c "$dd_trap; $2"; }
elif timeout 9 true </dev/null >/dev/null 2>&1; then dd_run() { timeout "$1" sh -c "$dd_trap; $2"; }
else
  dd_run() {
    sh -c "$2" & dd_p=$!
    { trap 'kill "$dd_s"; exit 0' TERM; sleep "$1" & dd_s=$!; wait "$dd_s"
      dd_c=$(cat "/proc/$dd_p/task/$dd_p/children"); kill $dd_c "$dd_p"
      sleep 1 & dd_s=$!; wait "$dd_s"; kill -9 $dd_c "$dd_p"; } >/dev/null 2>&1 </dev/null & dd_w=$!
    wait "$dd_p"; dd_r=$?; kill "$dd_w" 2>/dev/null
    case $dd_r in 137|143) dd_r=124;; esac
    return "$dd_r"
  }
fi
if head -c 1 </dev/null >/dev/null 2>&1; then dd_cut() { "$1" -c "$2"; }; else dd_cut() { cat; }; fi
dd_ask() {
  echo; echo "$dd_word begin $1"; { echo; echo "$dd_word begin $1"; } >&2
  dd_rc=$({ { dd_run "$2" "$5" </dev/null 3>&- 4>&- 5<&-; echo "$?" >&3; } | dd_cut "$3" "$4" >&4 4>&- 3>&- 5<&-; } 3>&1)
  dd_end "$1" "${dd_rc:-124}"
}
"""


def first_line(word: str) -> str:
    """What goes before the first round: the frames' word and the functions."""
    return f"dd_word=@{word}\n{_PRELUDE}"


def round_script(number: int, questions: Sequence[Question]) -> str:
    """The questions as one compound command: a shell that gets only half of it runs nothing."""
    front = [q for q in questions if not q.background]
    back = [q for q in questions if q.background]
    asked = "\n".join(_ask(q) for q in front)
    if not back:
        return f"{{\n{asked}\ndd_done {number}\n}} </dev/null\n"
    if len(back) > 1:
        raise ValueError("one question in the background is what a round can hold")
    slow = back[0]
    # The pipe keeps the slow answer (and its frames) until its turn comes. A process that even KILL cannot end holds the pipe
    # open, so the reading end has a limit of its own, and the round is done whatever becomes of the other end.
    return (
        f"{{ exec 4>&1 2>/dev/null; {_ask(slow)}\n}} </dev/null | {{ exec 5<&0 </dev/null\n{asked}\n"
        f"dd_run {math.ceil(slow.limit_s) + 3} 'exec cat <&5'; dd_end {slow.name} {TIMED_OUT}\ndd_done {number}\n}}\n"
    )


def _ask(question: Question) -> str:
    if not _NAME.fullmatch(question.name):
        raise ValueError(f"no name of a section: {question.name!r}")
    end = "tail" if question.keep_end else "head"
    # one byte more than wanted: its arrival is how a cut is known
    return f"dd_ask {question.name} {math.ceil(question.limit_s)} {end} {question.max_bytes + 1} {shlex.quote(question.script)}"
