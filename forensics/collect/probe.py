"""Ask a server's endpoints from inside its own host, with what the host has: curl, wget, python3 or nothing. Only GET, only the host itself.

The answer is one line a question, ``PORT PATH CODE [WORD]``: ``30000 /v1/models 200``, ``30000 /health 000 refused``,
``30000 /health -1 no-answer``, ``30000 /health - unasked``.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from forensics import lazily
from forensics.collect.question import Question
from forensics.errors import UsageError
from forensics.model import PartKind

_PATH = lazily.pattern(r"/[A-Za-z0-9_.~/?=&%:+-]{0,200}")

# Sockets alone: Debian's python3-minimal has no http.client.
_PYTHON = """\
import socket, sys
host, port, path, limit = sys.argv[1:]
try:
    s = socket.create_connection((host.strip("[]"), int(port)), float(limit))
    s.sendall(("GET %s HTTP/1.0\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n" % path).encode())
    line = s.recv(64).split()
    print(int(line[1]) if line[:1] and line[0].startswith(b"HTTP/") else "-1 no-http")
except ConnectionRefusedError:
    print("000 refused")
except socket.timeout:
    print("-1 no-answer")
except (OSError, ValueError, IndexError):
    print("-1 broken")
"""

# one probe in the background each: a server that hangs costs one limit, not one a path
_ASK = """\
ask() {
  h=127.0.0.1
  if command -v ss >/dev/null 2>&1; then
    # a server bound to one address only refuses on loopback
    a=$(ss -ltn 2>/dev/null | while read -r s q w l rest; do case $l in *:"$1") echo "${l%:*}"; break;; esac; done)
    case $a in ''|'*'|0.0.0.0|'[::]'|127.*|*%*) ;; *) h=$a;; esac
  fi
  case $with in
  curl)
    c=$(curl -q -g -s -o /dev/null -m "$3" --noproxy '*' -w '%{http_code}' "http://$h:$1$2"); r=$?
    case $r in 0) ;; 7) c='000 refused';; 28) c='-1 no-answer';; *) [ "$c" != 000 ] || c='-1 broken';; esac;;
  wget)
    t=$(wget -O /dev/null -T "$3" -t 1 --no-proxy -S "http://$h:$1$2" 2>&1)
    case $t in
    *'HTTP/'*' '[1-5][0-9][0-9]*) c=${t#*HTTP/*\\ }; c=${c%%[!0-9]*};;
    *refused*) c='000 refused';;
    *'timed out'*) c='-1 no-answer';;
    *) c='- unasked';;
    esac;;
  python3) c=$(python3 -I -S -c "$program" "$h" "$1" "$2" "$3");;
  *) c='- unasked';;
  esac
  echo "$1 $2 ${c:-- unasked}"
}
with=none; for w in curl wget python3; do if command -v $w >/dev/null 2>&1; then with=$w; break; fi; done
"""


def health(probes: Sequence[tuple[int, str, float]]) -> tuple[Question, ...]:
    """One question that asks each (port, path, limit in seconds), all at the same time; none where there is nothing to ask."""
    if not probes:
        return ()
    calls = []
    for port, path, limit_s in probes:
        if not (0 < port < 65536 and _PATH.fullmatch(path)):
            raise UsageError(f"no endpoint to ask: port {port}, path {path!r}")
        calls.append(f"ask {port} {shlex.quote(path)} {max(1, round(limit_s))} &")
    script = f"program={shlex.quote(_PYTHON)}\n{_ASK}" + "\n".join(calls) + "\nwait\nexit 0"
    longest = max(limit_s for _, _, limit_s in probes)
    return (
        Question(
            name="health",
            part=PartKind.HEALTH,
            argv="curl http://127.0.0.1:PORT/PATH",
            script=script,
            limit_s=longest + 4,
            max_bytes=65536,
            lane="probe",
        ),
    )
