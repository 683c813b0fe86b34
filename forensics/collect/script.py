"""Write the POSIX sh script of one round of questions. Leaves no file, no process and no setting behind on the host.

Frames are lines that begin with ``@`` and a random word that only this run knows; it goes over standard input and is never in
an argument, an environment or a file, so that no log can hold it and no quoting or spooling of the answers is needed:

    @WORD begin NAME ENCODING   plain, gzip or zstd
    …bytes, as they are…
    @WORD said NAME             what it wrote to standard error follows; in it, on a line of its own:
    @WORD code EXIT_CODE
    @WORD end NAME FROM TO      the host's uptime in seconds, where it has one
    @WORD done ROUND

Each frame is preceded by a line end of its own, which is no part of the answer.

Lanes run side by side without a file to keep their answers in: each is a stage of one pipeline, that gives its own answers first and then
what the stages before it have given. What a broken link must not cost (the unit's state) is last and so arrives first, the lane that gives most
(the journal) is passed on by that one alone, and the one that may never end is first.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from forensics import lazily
from forensics.collect.question import Question

TIMED_OUT = 124  # of timeout(1), and of the stand-in below

# Pipelines of one round, in the order of their stages.
LANES = ("gpu", "probe", "disk", "kernel", "host", "journal", "unit")
_NAME = lazily.pattern(r"[a-z][a-z-]{0,40}")
_LATE_S = 3  # what ends a command may itself take so long

# Everything that is started gets its standard input from elsewhere: ours is the script.
_PRELUDE = """\
dd_env='LC_ALL=C TZ=UTC SYSTEMD_PAGER= SYSTEMD_COLORS=0 SYSTEMD_URLIFY=0 PATH=${PATH:-/usr/bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export LC_ALL TZ SYSTEMD_PAGER SYSTEMD_COLORS SYSTEMD_URLIFY PATH
unset LANGUAGE GREP_OPTIONS'
eval "$dd_env"
# functions of that name that a login has exported
unset -f timeout head tail cat sleep zstd gzip systemctl journalctl coredumpctl ss ps df awk grep sed date id uname stat >/dev/null 2>&1
dd_sudo= dd_some= dd_as= dd_with=
# The shell outlives a TERM until its command has ended: timeout sends the KILL to the group only while its own child is there.
dd_trap="trap 'exit 124' TERM"
if timeout -k 1 9 true </dev/null >/dev/null 2>&1; then dd_run() { $dd_as timeout -k 2 "$1" sh -c "$dd_with$dd_trap; $2"; }
elif timeout 9 true </dev/null >/dev/null 2>&1; then dd_run() { $dd_as timeout "$1" sh -c "$dd_with$dd_trap; $2"; }
else
  dd_run() {
    $dd_as sh -c "$dd_with$2" & dd_p=$!
    { trap 'kill "$dd_s"; exit 0' TERM; sleep "$1" & dd_s=$!; wait "$dd_s"
      dd_c=$(cat "/proc/$dd_p/task/$dd_p/children"); kill $dd_c "$dd_p"
      sleep 1 & dd_s=$!; wait "$dd_s"; kill -9 $dd_c "$dd_p"; } >/dev/null 2>&1 </dev/null & dd_w=$!
    wait "$dd_p"; dd_r=$?; kill "$dd_w" 2>/dev/null
    case $dd_r in 137|143|265|271|393|399) dd_r=124;; esac
    return "$dd_r"
  }
fi
if head -c 1 </dev/null >/dev/null 2>&1; then dd_head() { "$1" -c "$2"; }; else dd_head() { cat; }; fi
dd_cut() {
  case $3 in
  zstd) dd_head "$1" "$2" | zstd -q -1 -c;;
  gzip) dd_head "$1" "$2" | gzip -1 -c;;
  *) dd_head "$1" "$2";;
  esac
}
dd_few() { dd_head head 2048; cat >/dev/null; }
dd_now() { read -r dd_t dd_x </proc/uptime || dd_t=-; } 2>/dev/null
dd_ask() {
  dd_now; dd_0=$dd_t
  case ${7-} in su) dd_as=$dd_sudo dd_with=$dd_some;; *) dd_as= dd_with=;; esac
  printf '\\n%s begin %s %s\\n' "$dd_word" "$1" "$5"
  dd_said=$({ { { dd_run "$2" "$6" </dev/null 3>&- 4>&- 5<&-; printf '\\n%s code %s\\n' "$dd_word" "$?" >&3; } | dd_cut "$3" "$4" "$5" >&4 3>&- 4>&- 5<&-
    } 2>&1 | dd_few 3>&- 4>&- 5<&-; } 3>&1)
  dd_now
  printf '\\n%s said %s\\n%s\\n\\n%s end %s %s %s\\n' "$dd_word" "$1" "$dd_said" "$dd_word" "$1" "$dd_0" "$dd_t"
}
dd_pass() { dd_as= dd_with=; dd_run "$1" 'exec cat <&6' 6<&5; }
dd_done() { printf '\\n%s done %s\\n' "$dd_word" "$1"; }
"""

_PACK = """\
if printf x | zstd -q -1 -c >/dev/null 2>&1; then dd_pack=zstd; elif printf x | gzip -1 -c >/dev/null 2>&1; then dd_pack=gzip; else dd_pack=plain; fi
"""
_NO_PACK = "dd_pack=plain\n"

# All of it where sudo lets a shell run; else the programs that it lets run, each tried in a way that does nothing.
_SUDO = """\
DD_SUDO=
if [ "$(id -u)" != 0 ]; then
  if dd_e=$(sudo -n true 2>&1 </dev/null); then DD_SUDO=all dd_sudo='sudo -n' dd_some="$dd_env
"
  else
    for dd_p in journalctl coredumpctl; do
      if sudo -n "$dd_p" --version </dev/null >/dev/null 2>&1; then
        DD_SUDO="$DD_SUDO $dd_p" dd_some="$dd_some$dd_p() { sudo -n $dd_p \\"\\$@\\"; }; "
      fi
    done
    DD_SUDO="only${DD_SUDO:- nothing}: $(printf '%s' "$dd_e" | dd_head head 200 | tr '\\n' ' ')"
  fi
fi
export DD_SUDO
"""


def first_line(word: str, *, pack: bool = False, sudo: bool = False) -> str:
    """What goes before the first round: the frames' word and the functions. ``pack``: large answers are compressed; ``sudo``: sudo -n is tried."""
    return f"dd_word=@{word}\n{_PRELUDE}{_PACK if pack else _NO_PACK}{_SUDO if sudo else ''}"


def round_script(number: int, questions: Sequence[Question]) -> str:
    """The questions as one compound command: a shell that gets only half of it runs nothing."""
    if odd := {q.lane for q in questions} - set(LANES):
        raise ValueError(f"no lane: {odd}")
    lanes = [lane for name in LANES if (lane := [q for q in questions if q.lane == name])]
    stages, patience_s = [], 0
    for at, lane in enumerate(lanes):
        # What even KILL cannot end holds its pipe open: what is passed on has a limit of its own, and the round is done whatever becomes of it.
        passed = f"dd_pass {patience_s}\n" if at else ""
        done = f"dd_done {number}\n" if lane is lanes[-1] else ""
        asked = "\n".join(_ask(q) for q in lane)
        stages.append(f"{{ exec 4>&1 5<&0 </dev/null\n{asked}\n{passed}{done}}}")
        patience_s = max(patience_s, sum(math.ceil(q.limit_s) + _LATE_S for q in lane))
    # in the background, so that the shell can leave, or hear the next round, whatever becomes of a stage
    return " | ".join(stages) + " &\n"


def silence_s(questions: Sequence[Question]) -> float:
    """How long a host that does as it is told may be silent in between: the slowest lane, one question of it after the other."""
    lanes = {q.lane for q in questions}
    return max((sum(q.limit_s + _LATE_S for q in questions if q.lane == lane) for lane in lanes), default=0.0)


def _ask(question: Question) -> str:
    if not _NAME.fullmatch(question.name):
        raise ValueError(f"no name of a section: {question.name!r}")
    end = "tail" if question.keep_end else "head"
    packed = '"$dd_pack"' if question.pack else "plain"
    rights = " su" if question.sudo else ""
    # one byte more than wanted: its arrival is how a cut is known
    return f"dd_ask {question.name} {math.ceil(question.limit_s)} {end} {question.max_bytes + 1} {packed} {shlex.quote(question.script)}{rights}"
