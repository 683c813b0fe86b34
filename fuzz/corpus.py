"""Seeds out of the repository's own samples, cases and test data, and the tokens of the formats. Writes only into the folder it is given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIECE = 4096
LARGE_PIECE = 12 << 10
NOW = 1_800_000_000.0  # when all of it was collected
NEXT_FILE = b"\n=-=-= "  # in the input of a target that takes several files: then a name, a line feed, and the file's bytes

_TEXTS = frozenset({".txt", ".log", ".json", ".jsonl", ".export", ".service", ".md", ".verbose", ".out", ""})
_PLACES = ("samples", "tests/data", "tests/cases/given", "tests/cases/made")

# what these formats are made of; each is a word of the dictionary and a thing that the mutator puts in
TOKENS: tuple[bytes, ...] = tuple(
    token.encode("latin-1")
    for token in (
        # systemd
        "systemd[1]: ", "kernel: ", "-- Boot 422dae7d88114a028ac813fbcfa2bbc5 --", "-- No entries --", "-- Reboot --", "-- Journal begins at Fri 2026-05-08 --", "-- Logs begin",
        "Main process exited, code=killed, status=9/KILL", "Main process exited, code=exited, status=1/FAILURE", "Failed with result 'signal'.", "Failed with result 'oom-kill'.",
        "Started x.service - X.", "Starting x.service...", "Stopping x.service...", "Scheduled restart job, restart counter is at 5.", "Start request repeated too quickly.",
        "A process of this unit has been killed by the OOM killer.", "Deactivated successfully.", "Consumed 1min 2.3s CPU time.", "start operation timed out. Terminating.",
        "Unit x.service could not be found.", "     Loaded: loaded (/etc/systemd/system/x.service; enabled)", "     Active: failed (Result: signal) since Sat 2026-05-09 10:15:51 UTC; 9min ago",
        "     Active: active (running) since ", "   Duration: 32.969s", "   Main PID: 4822 (code=killed, signal=KILL)", "    Process: 1 ExecStart=/bin/x (code=exited, status=1/FAILURE)",
        "     CGroup: /system.slice/x.service", "             \xe2\x94\x94\xe2\x94\x804822 /bin/x", "\xc3\x97 x.service - X", "Memory: 1.0G (peak: 2.0G)", "Status: \"", "Condition: start condition failed",
        "ActiveState=failed", "SubState=dead", "LoadState=not-found", "Result=signal", "ExecMainCode=2", "ExecMainStatus=9", "MainPID=1", "NRestarts=5", "Id=x.service", "FragmentPath=/x",
        "ExecStart={ path=/bin/x ; argv[]=/bin/x --a b ; ignore_errors=no }", "ActiveEnterTimestamp=Sat 2026-05-09 10:15:18 UTC", "ActiveEnterTimestampMonotonic=1", "MemoryPeak=18446744073709551615",
        "[Unit]", "[Service]", "ExecStart=", "ExecStart=/bin/x \\", "# /etc/systemd/system/x.service", "# /etc/systemd/system/x.service.d/a.conf", "Description=", "Environment=", "MemoryMax=infinity",
        "UNIT LOAD ACTIVE SUB DESCRIPTION", "x.service loaded failed failed X", "UNIT FILE STATE", "x.service enabled", "@1747298118", "@nan", "@inf", "@1e400", "@-1", "n/a", "infinity",
        "Hint: You are currently not seeing messages from other users and the system.", "No journal files were opened due to insufficient permissions.",
        # stamps
        "May 09 10:15:34 gpu01 python[4822]: ", "2026-05-09T10:15:34+0000 gpu01 x[1]: ", "2026-05-09T10:15:34.123456+02:00 h x[1]: ", "Sat 2026-05-09 10:15:34 UTC", "1778321734.123456 h x[1]: ",
        "[    5.123456] h x[1]: ", "[ 7063.247407] ", "[Sat May  9 10:15:34 2026] ", "2026-05-09T10:15:34Z ", "[2026-05-09 10:15:34 TP0] ", "05-09 10:15:18 ", "0509 10:15:18.123456", "Feb 29 10:15:34 h x: ",
        "CEST", "CST", "+99:99", "-23:59", "60", "1min 34.9s", "2h 3min", "1 week 2 days", "9999-12-31", "0001-01-01",
        # journal formats
        '{"MESSAGE":"', '"MESSAGE":[27,91,', '"MESSAGE":null', '"_PID":"1"', '"_COMM":"systemd"', '"__REALTIME_TIMESTAMP":"1778321718000001"', '"_TRANSPORT":"kernel"', '"UNIT":"x.service"', '"PRIORITY":"3"',
        '"_SYSTEMD_INVOCATION_ID":"', '"}', "\x1e", "__CURSOR=s=1\n", "__REALTIME_TIMESTAMP=1778321718000001\n", "MESSAGE=", "_PID=1\n", "_COMM=systemd\n", "\n\n", "MESSAGE\n\x03\0\0\0\0\0\0\0abc\n",
        "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\x7f", "MESSAGE\n\x0a\0\0\0\0\0\0\0", "_SELINUX_CONTEXT\n\x0b\0\0\0\0\0\0\0unconfined\n\n", "DD_PIECE=1\n", "Sat 2026-05-09 10:15:34.000000 UTC [s=a;i=1;b=2;m=3;t=4;x=5]",
        "    MESSAGE=", "    _PID=1", "[1.2K blob data]", "{\n", "\t\"MESSAGE\" : \"x\",", "},\n{",
        # wrappers
        "  | ", "web-1  | ", "[pod/a/b] ", '{"log":"x\\n","stream":"stderr","time":"2026-05-09T10:15:34Z"}', "stderr F ", "\x1b_bk;t=1778321734000\x07", "#033[31m", "job\tstep\t2026-05-09T10:15:34.1Z ", "<6>",
        # prompts and commands
        "user@h:~$ ", "root@h:~# ", "[user@h dir]$ ", "$ journalctl -u x", "# systemctl status x", "sudo ", " | grep -i error", "--since -1h", "systemctl is-active x", "curl -s http://127.0.0.1:30000/v1/models", "'", "\"",
        # clients
        "curl: (7) Failed to connect to 127.0.0.1 port 30000: Connection refused", "ConnectionRefusedError(111, 'Connection refused')", "<urlopen error [Errno 111] Connection refused>", "Traceback (most recent call last):",
        "HTTPConnectionPool(host='127.0.0.1', port=30000): Max retries exceeded with url: /v1/models", "HTTP Error 503", "Connect call failed ('127.0.0.1', 30000)", "GET /health HTTP/1.1\" 200 OK",
        "============ Serving Benchmark Result ============", "==================================================", "Successful requests:                     9", "Namespace(host='127.0.0.1', port=30000, num_prompts=9)", "9s unhealthy ",
        "HumanEval/1 ERROR ", "Error 1: ", "During handling of the above exception", "budget=32 topk=4 accept_len=2.8 coding_pass=0.125", '"accept_len": 2.8', '"completed": 9', '"errors": ["', "|gsm8k|", "nan", "inf", "1e999",
        "100%|##########| 23/64 [00:01<00:00]", "Loading safetensors checkpoint shards:  36% Completed | 23/64 [00:21<00:36]",
        # host
        "LISTEN 0 128 0.0.0.0:30000 0.0.0.0:* users:((\"python\",pid=1,fd=3))", "tcp 0 0 0.0.0.0:30000 0.0.0.0:* LISTEN 1/python", "30000 /health 200", "30000 /health 000", "pid, process_name, used_gpu_memory [MiB]",
        "index, name, uuid, memory.total [MiB], memory.used [MiB]", "| NVIDIA-SMI ", "IDX BOOT ID", " -1 422dae7d88114a028ac813fbcfa2bbc5 Sat 2026-05-09 10:15:18 UTC\xe2\x80\x94Sat 2026-05-09 10:16:18 UTC",
        "NVRM: Xid (PCI:0000:01:00): 79, pid=4822, GPU has fallen off the bus.", "Out of memory: Killed process 4822 (python) total-vm:1kB, anon-rss:1kB", "python invoked oom-killer: gfp_mask=0x", "python[4822]: segfault at 0",
        # servers
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "The server is fired up and ready to roll!",
        "server_args=ServerArgs(model_path='x', port=30000)", "Received sigquit from a child process", "Uvicorn running on http://0.0.0.0:8000", "avail mem=79.15 GB, mem usage=1.00 GB", "accept len: 2.85",
        # secrets
        "hf_abcdefghijklmnopqrstuvwx", "sk-abcdefghijklmnopqrstuvwx", "AKIAABCDEFGHIJKLMNOP", "Authorization: Bearer abcdefghijklmnop", "password=", "--api-key ", "http://user:pass@h/", "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----", "token: ", "[masked]", "Cookie: a=b; c=d", "SecretStr('", "\\\"",
        # what no log should hold
        "\0", "\0" * 64, "\r", "\r\n", "\x1b[31m", "\x1b]0;title\x07", "\x1b[2J", "\x1b", "\xe2\x80\xae", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xef\xbb\xbf", "\xc2\xb2", "\xd9\xa3", "\x0b", "\x0c", "\x1c", "\xe2\x80\xa8",
        "9" * 30, "9" * 4400, "a" * 300, "[" * 200, "{\"a\":" * 100, "\\" * 64, "=" * 64, "-", "--", "%s", "../", "/etc/passwd", "\n=-=-= bench.txt\n", "\n=-=-= status.txt\n", "\n=-=-= kernel.txt\n",
    )
)  # fmt: skip


def files() -> Iterator[tuple[str, list[Path]]]:
    """The folders with evidence, each with its files."""
    for place in _PLACES:
        folders = sorted({path.parent for path in (ROOT / place).rglob("*") if path.is_file()})
        for folder in folders:
            found = [p for p in sorted(folder.iterdir()) if p.is_file() and p.suffix in _TEXTS and p.name not in ("case.yaml", "README.md")]
            if found:
                yield str(folder.relative_to(ROOT)), found


def pieces(names: Iterable[str] = (), *, size: int = PIECE) -> Iterator[bytes]:
    """The beginnings (and one piece out of the middle) of files, of those whose path holds one of the names; of all without names."""
    wanted = tuple(names)
    for _, found in files():
        for path in found:
            if wanted and not any(name in str(path.relative_to(ROOT)) for name in wanted):
                continue
            data = path.read_bytes()
            yield data[:size]
            if len(data) > 2 * size:
                middle = data.find(b"\n", len(data) // 2) + 1
                yield data[middle : middle + size]


def folders(*, size: int = LARGE_PIECE) -> Iterator[bytes]:
    """Whole folders as one input of several files, each file cut to its share."""
    for _, found in files():
        share = size // len(found)
        yield b"".join(NEXT_FILE + path.name.encode() + b"\n" + path.read_bytes()[:share] for path in found[:6])


def several(data: bytes) -> list[tuple[str, bytes]]:
    """The files in such an input: at most four, with harmless names; data without a mark is one file."""
    parts = (b"\n" + data).split(NEXT_FILE) if NEXT_FILE.strip() in data[:16] else data.split(NEXT_FILE)
    found: list[tuple[str, bytes]] = []
    for part in parts:
        if not part.strip():
            continue
        head, feed, body = part.partition(b"\n")
        name = head.decode("ascii", "ignore")
        if not feed or not (0 < len(name) <= 40 and name.replace(".", "").replace("-", "").replace("_", "").isalnum()):
            name, body = "given.txt", part
        found.append((f"{len(found)}-{name.lstrip('.-')}" if any(name == n for n, _ in found) else name.lstrip(".-") or "x", body))
        if len(found) == 4:
            break
    return found


def write(inputs: Iterable[bytes], folder: Path, *, most: int = 1500) -> int:
    """Write inputs as a corpus; the same input once. How many."""
    folder.mkdir(parents=True, exist_ok=True)
    known: set[str] = set()
    for data in inputs:
        name = hashlib.sha1(data, usedforsecurity=False).hexdigest()[:16]
        if data and name not in known and len(known) < most:
            known.add(name)
            (folder / name).write_bytes(data)
    return len(known)


def dictionary(path: Path) -> None:
    """The tokens as a dictionary of libFuzzer."""
    lines = []
    for number, token in enumerate(token for token in TOKENS if len(token) <= 100):
        text = "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else f"\\x{c:02x}" for c in token)
        lines.append(f't{number}="{text}"\n')
    path.write_text("".join(lines), encoding="ascii")
