"""All that is ever sent to a host, held against a list of what may be: commands, their subcommands and options, redirections. What is not on the list is refused."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from forensics.collect import plan, script
from tests.unit.collect.shell import Reader, Refused, Script

UNIT = "sglang-x.service"
READS_IN_SYSTEMCTL = frozenset({"show", "status", "cat", "is-active", "list-units", "list-unit-files"})
JOURNAL_OPTIONS = re.compile(
    r"-u|-n|-o|-r|-q|-b|-k|[0-9]+|export|cat|short-iso-precise|--help|--no-pager|--list-boots|--since=@?\d+|--output-fields=\S+|_PID=1|_TRANSPORT=kernel|_COMM=systemd-journal|\+|\$b"
    r"|_SYSTEMD_INVOCATION_ID=\$i|\$u|\$f|\$after|" + re.escape(UNIT)
)
CURL = {"-q": 0, "-g": 0, "-s": 0, "-o": 1, "-m": 1, "--noproxy": 1, "-w": 1}
WGET = {"-O": 1, "-T": 1, "-t": 1, "--no-proxy": 0, "-S": 0}
OURS = re.compile(r"-9|\$dd_[a-z]+")  # kill: the processes that the script itself has started


@dataclass(frozen=True)
class Endpoint:
    path: str
    limit_s: float = 2.0


def everything() -> Iterator[tuple[str, str]]:
    """Whatever is sent: the functions that go first, each round's frame, and the fragment of each question."""
    yield "the first line", script.first_line("0" * 32)
    yield "the first line with all", script.first_line("0" * 32, pack=True, sudo=True)
    ends = (Endpoint("/v1/models"), Endpoint("/health"))
    rounds = {
        "overview": plan.overview(None),
        "overview of a unit": plan.overview(UNIT),
        "unit": plan.unit(UNIT, ports=(30000,), endpoints=ends, since=1_700_000_000),
        "host": plan.unit(None, since=None),
    }
    for name, questions in rounds.items():
        asked = [q for q in questions if not q.completes]
        yield name, script.round_script(1, asked)
        yield from ((f"{name}: {q.name}", q.script) for q in questions)


SENT = dict(everything())


# ---- the list


def faults(text: str) -> list[str]:
    """What in a script is not on the list."""
    found: list[str] = []
    try:
        read = Reader(text).whole()
    except (Refused, ValueError, IndexError) as error:
        return [f"cannot be followed: {error}"]
    for command in read.commands:
        found += [f"{op} {target}" for op, target in command.redirects if not may_redirect(op, target)]
        found += judged(command.words, read)
    return found


def may_redirect(operator: str, target: str) -> bool:
    if operator in ("<&", ">&"):
        return re.fullmatch(r"[0-9]|-", target) is not None
    return target == "/dev/null" or (operator == "<" and (target.startswith("/proc/") or target == "$d/$n"))  # of a control group


def judged(words: Sequence[str], read: Script) -> list[str]:
    """What is wrong with one simple command; nothing where it is on the list."""
    if not words:
        return []
    name, rest = words[0], list(words[1:])
    if name in read.functions or name in DEFINED:
        return inner(name, rest)
    variable = re.fullmatch(r"\$([a-z]+)", name)
    if variable and read.values.get(variable[1]):
        return [fault for value in read.values[variable[1]] for fault in judged([*value.split(), *rest], read)]
    rule = ALLOWED.get(name)
    if rule is None:
        return [f"{name} is not on the list: {' '.join(words)[:80]}"]
    if callable(rule):
        return rule(rest, read)
    return [] if rule.fullmatch(" ".join(rest)) else [f"{name} with {' '.join(rest)[:80]!r}"]


def inner(name: str, rest: list[str]) -> list[str]:
    """Calls of the script's own functions: those that are given a script or a program to run."""
    if name == "dd_ask":
        cut, text, rights = rest[2], rest[5], rest[6:]
        return [*faults(text), *([] if cut in ("head", "tail") else [f"dd_ask cuts by {cut}"]), *([] if rights in ([], ["su"]) else rights)]
    if name == "dd_run":
        return faults(rest[-1]) if not rest[-1].startswith("$") else []
    return []


def nested(skip: int) -> Callable[[list[str], Script], list[str]]:
    """A command that runs the command in its arguments."""
    return lambda rest, read: judged([w for k, w in enumerate(rest) if k >= skip], read)


def of_exec(rest: list[str], read: Script) -> list[str]:
    return judged(rest, read) if rest else []


def of_sh(rest: list[str], read: Script) -> list[str]:
    if rest[:1] != ["-c"] or len(rest) != 2:
        return [f"sh {rest}"]
    if re.fullmatch(r"\$dd_with(\$dd_trap; )?\$2", rest[1]):  # the argument that dd_ask was called with, looked at where it is
        return []
    return faults(rest[1])


def of_eval(rest: list[str], read: Script) -> list[str]:
    return [fault for value in read.values["dd_env"] for fault in faults(value)] if rest == ["$dd_env"] else [f"eval {rest}"]


def of_as(rest: list[str], read: Script) -> list[str]:
    """What may be run as root: the same, with the language set, or with functions that put sudo before a program."""
    odd = [v for v in read.values["dd_sudo"] if v not in ("", "sudo -n")] + [v for v in read.values["dd_as"] if v not in ("", "$dd_sudo")]
    odd += [v for v in read.values["dd_with"] if v not in ("", "$dd_some")]
    functions = '$dd_some$dd_p() { sudo -n $dd_p "$@"; }; '
    return [*odd, *(v for v in read.values["dd_some"] if v not in ("", "$dd_env\n", functions)), *judged(rest, read)]


def of_trap(rest: list[str], read: Script) -> list[str]:
    return [] if rest[0] == "-" else faults(rest[0])


def of_timeout(rest: list[str], read: Script) -> list[str]:
    while rest and (rest[0].startswith("-") or re.fullmatch(r"[0-9]+|\$1", rest[0])):
        rest = rest[1:]
    return judged(rest, read)


def of_systemctl(rest: list[str], read: Script) -> list[str]:
    if rest == ["--version"]:
        return []
    wrong = [w for w in rest if w.startswith("-") and not re.fullmatch(r"--|-p|-l|-n|--no-pager|--no-legend|--plain|--all|--type=service", w)]
    return wrong if rest[0] in READS_IN_SYSTEMCTL else [f"systemctl {rest[0]}", *wrong]


def of_journalctl(rest: list[str], read: Script) -> list[str]:
    return [f"journalctl {w}" for w in rest if not JOURNAL_OPTIONS.fullmatch(w)]


def of_nvidia(rest: list[str], read: Script) -> list[str]:
    return [f"nvidia-smi {w}" for w in rest if not re.fullmatch(r"--query-(?:gpu|compute-apps)=\S+|--format=\S+|-q|--version", w)]


def fetching(options: dict[str, int]) -> Callable[[list[str], Script], list[str]]:
    """curl and wget: a GET of loopback (or of the address the server itself listens on), the answer thrown away, no file of theirs read."""

    def check(rest: list[str], read: Script) -> list[str]:
        found, k = [], 0
        while k < len(rest):
            word = rest[k]
            if word in options:
                if word in ("-o", "-O") and rest[k + 1] != "/dev/null":
                    found.append(f"{word} {rest[k + 1]}")
                k += 1 + options[word]
                continue
            if word != "http://$h:$1$2":
                found.append(word)
            k += 1
        return found

    return check


def of_python(rest: list[str], read: Script) -> list[str]:
    programs = read.values.get("program", [])
    if rest[:4] != ["-I", "-S", "-c", "$program"] or len(programs) != 1:
        return [f"python3 {rest}"]
    found = []
    for node in ast.walk(ast.parse(programs[0])):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [f"import {a.name}" for a in node.names if a.name not in ("socket", "sys")]
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "?")
            found += (
                [called]
                if called not in ("create_connection", "strip", "int", "float", "sendall", "encode", "recv", "split", "print", "startswith")
                else []
            )
    return found if 'b"' not in programs[0] or "GET %s" in programs[0] else [*found, "no GET"]


def of_cat(rest: list[str], read: Script) -> list[str]:
    return [w for w in rest if not w.startswith("/proc/")]


def of_awk(rest: list[str], read: Script) -> list[str]:
    programs = read.values.get(rest[0][1:], []) if rest[0].startswith("$") and rest[0][1:].isalpha() else [rest[0]]
    writes = [p for p in programs if re.search(r"system|getline|printf? *[^;}]*>|\| *\"", p)]
    return [*writes, *([] if programs else rest[:1]), *(w for w in rest[1:] if w != "/proc/mounts")]


def of_coredumpctl(rest: list[str], read: Script) -> list[str]:
    verbs = [w for w in rest if not w.startswith("-") and "=" not in w]
    return [
        *(v for v in verbs if v not in ("list", "info")),
        *(w for w in rest if w.startswith("-") and w not in ("--no-pager", "-r", "-1", "--version")),
    ]


def of_kill(rest: list[str], read: Script) -> list[str]:
    return [f"kill {w}" for w in rest if not OURS.fullmatch(w)]


ANY = re.compile(r"(?s).*")
# what a shell does within itself, and programs that only print; each with the arguments that it may have
ALLOWED: dict[str, re.Pattern[str] | Callable[[list[str], Script], list[str]]] = {
    "echo": ANY, "exit": ANY, "return": ANY, "[": ANY, "test": ANY, "read": ANY, "shift": ANY, "true": ANY, ":": ANY, "break": ANY, "continue": ANY, "printf": ANY, "wait": ANY,
    "export": re.compile("(?:(?:LC_ALL|TZ|PATH|DD_SUDO|SYSTEMD_[A-Z]+) ?)+"), "unset": re.compile("(?:[A-Z_]+ ?)+|-f [a-z -]+"), "set": re.compile(r"-f|--.*"), "command": re.compile(r"-v \S+"),
    "eval": of_eval, "$dd_as": of_as, "$dd_p": re.compile("--version"), "exec": of_exec, "trap": of_trap, "sh": of_sh, "timeout": of_timeout, "sudo": nested(1),
    "systemctl": of_systemctl, "journalctl": of_journalctl, "nvidia-smi": of_nvidia, "curl": fetching(CURL), "wget": fetching(WGET), "python3": of_python,
    "sleep": re.compile(r"[0-9]+|\$1"), "kill": of_kill, "cat": of_cat,
    "head": re.compile(r"-[cn] \S+"), "tail": re.compile(r"-[cn] \S+(?: \$f| /var/log/[a-z./]+)?"), "grep": re.compile(r"-[qiEF]+ [^/]*(?: /proc/meminfo)?"), "sed": re.compile(r"-n s/\^INVOCATION_ID=//p"), "uniq": re.compile(""),
    "date": re.compile(r"\+[%a-zA-Z.]+"), "uname": re.compile("-[nr]"), "id": re.compile("-u|-Gn"),
    "df": re.compile(r"-P[ki]l?(?: /| \$x| \$m)?"), "awk": of_awk, "ps": re.compile(r"-e?o \S+(?: --sort=-rss| -p \$\$)?"), "stat": re.compile(r"-c file=%Y %n -- \$f"),
    "readlink": re.compile("/etc/localtime"), "chronyc": re.compile("-n tracking"), "cut": re.compile("-c [0-9-]+"), "tr": ANY, "coredumpctl": of_coredumpctl,
    "ss": re.compile("-ltnp?"), "netstat": re.compile("-ltnp"), "dmesg": re.compile("-T"),
    "$1": re.compile(r"-c \$2"),  # dd_cut: by head or tail, which its callers say
    "gzip": re.compile(r"(?:-[0-9c] ?)+"), "zstd": re.compile(r"(?:-[0-9qc] ?)+"),
}  # fmt: skip
DEFINED = Reader(script.first_line("0")).whole().functions


@pytest.mark.parametrize("name", SENT)
def test_all_that_is_sent_to_a_host_is_on_the_list(name: str) -> None:
    assert faults(SENT[name]) == []


@pytest.mark.parametrize("name", SENT)
def test_all_that_is_sent_is_a_shells_own_language(name: str) -> None:
    for shell in ("sh", "bash"):
        done = subprocess.run([shell, "-n"], input=SENT[name], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_list_sees_every_command_of_the_script() -> None:
    """A reader that loses commands would find nothing wrong either."""
    seen = {w for text in SENT.values() for c in Reader(text).whole().commands for w in c.words[:2]}  # the second word: of exec
    assert {
        "systemctl",
        "journalctl",
        "nvidia-smi",
        "curl",
        "wget",
        "python3",
        "ss",
        "dmesg",
        "kill",
        "trap",
        "date",
        "timeout",
        "sh",
        "sed",
        "$j",
    } <= seen


@pytest.mark.parametrize(
    "text",
    [
        "rm -f /tmp/x",
        "echo x > /etc/motd",
        "echo x >> ~/.bashrc",
        "journalctl -u x | tee /tmp/x",
        "systemctl restart sglang-x.service",
        "exec systemctl stop sglang-x.service",
        "systemctl --force show x",
        "journalctl --vacuum-time=1s",
        "journalctl --rotate",
        "journalctl --flush",
        "journalctl --sync",
        "journalctl --cursor-file=/tmp/c",
        "nvidia-smi -r",
        "nvidia-smi --gpu-reset",
        "nvidia-smi -pm 1",
        "dmesg -C",
        "dmesg -c",
        "date -s yesterday",
        "kill 1",
        "kill -9 $p",
        "pkill sglang",
        "mktemp",
        "echo \"$(rm -rf /x)\"",
        "x=$(touch /x)",
        "x=${y:-$(touch /x)}",
        "case $x in a) ;; *) touch /x;; esac",
        "case \"$(touch /x)\" in a) ;; esac",
        "f() { touch /x; }; f",
        "if true; then :; else touch /x; fi",
        "for i in a b; do touch $i; done",
        "( cd /; touch x )",
        "{ touch /x; } </dev/null",
        "true && touch /x",
        "true | touch /x",
        "sleep 1 & touch /x",
        "sh -c 'touch /x'",
        "sh -c \"sh -c 'touch /x'\"",
        "trap 'touch /x' EXIT",
        "timeout -k 1 9 touch /x",
        "dd_ask name 3 head 10 plain 'systemctl reboot'",
        "dd_ask name 3 head 10 plain 'systemctl reboot' su",
        "dd_ask name 3 tee 10 plain 'true'",
        "coredumpctl dump -o /tmp/core",
        "awk 'BEGIN { system(\"touch /x\") }'",
        "awk '{ print > \"/x\" }' /proc/mounts",
        "w='{ print | \"sh\" }'; awk \"$w\"",
        "stat -c %n /root/.ssh",
        "df /net",
        "dd_run 5 'touch /x'",
        "dd_run 5 'exec cat /etc/shadow'",
        "x=`touch /x`",
        "cat <<E\n$(touch /x)\nE",
        "curl -X POST http://$h:$1$2",
        "curl -d x=y http://$h:$1$2",
        "curl -o /tmp/x http://$h:$1$2",
        "curl http://example.org/",
        "wget http://$h:$1$2 -O /root/x",
        "program='import os; os.unlink(\"x\")'; python3 -I -S -c \"$program\"",
        "j='systemctl stop'; $j sglang-x.service",
        "$undefined x",
        "sudo -n systemctl stop x",
        "eval touch /x",
        ". /etc/profile",
        "/bin/rm x",
        "cat >/dev/sda",
        "sed -i s/a/b/ /etc/x",
    ],
)  # fmt: skip
def test_what_would_change_something_is_not_on_the_list(text: str) -> None:
    assert faults(text)
