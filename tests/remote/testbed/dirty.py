"""Prints what a log may hold that its reader does not expect, plays systemd, and leaves with 3. Needs no more than Debian's python3-minimal."""

import socket
import sys
import time

LINES = (
    b"[2026-01-01 00:00:00] plain line first\n",
    b"\x1b[32mINFO\x1b[0m:     Started server process [\x1b[36m1234\x1b[0m]\n",  # the colours of uvicorn
    b"\x1b[2J\x1b[H\x1b]0;owned title\x07terminal control: clear, home, title\n",
    b"\x1b]8;;http://127.0.0.1/\x1b\\link\x1b]8;;\x1b\\ \x1b[8mhidden\x1b[0m \x1bP1$r0m\x1b\\ \x9b31m C1 csi\n",
    b"progress  10%\rprogress  50%\rprogress 100%\n",
    "unicode: Gr\u00fc\u00dfe \u65e5\u672c\u8a9e \U0001f600 rtl \u202egnp.exe zero\u200bwidth bom \ufeff nel \x85 ls \u2028 ps \u2029 end\n".encode(),
    b"latin-1 (not UTF-8): Gr\xfc\xdfe, lone \xff\xfe, cut \xe2\x82 end\n",
    b"nul inside: before\0after nul\n",
    b"\0\0\0\n",
    bytes(b for b in range(1, 32) if b != 10) + b" all control bytes\n",
    b"   leading spaces and trailing spaces   \n\n\n",  # empty lines vanish
    b"\ttab first\n",
    b"<3>priority prefix: error level\n<7>debug level\n<9>not a level\n",
    b"Nov 29 19:59:18 tb1 systemd[1]: sglang-dirty-log.service: Main process exited, code=killed, status=9/KILL\n",  # looks like journald's own
    b"-- Boot 0123456789abcdef0123456789abcdef --\n-- No entries --\n-- Reboot --\n",
    b"A" * 5000 + b" end5000\n",  # over 4096 bytes: null in -o json without -a
    b"B" * 70000 + b" end70000\n",  # over LineMax=48K: cut in two
    b"C" * 70000 + b"\xff bad end\n",
    b"no newline at the end, then silence",
    b" ...and it goes on\n",
)


def field(name: bytes, value: bytes) -> bytes:
    return name + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"


NATIVE = (
    field(b"MESSAGE", b"native: first line\nsecond line\n  third line, indented") + b"PRIORITY=3\nSYSLOG_IDENTIFIER=sglang native\n",
    field(b"MESSAGE", b"native: binary \0\1\2\xff inside") + field(b"BLOB", bytes(range(256))) + b"PRIORITY=4\nTWICE=a\nTWICE=b\n",
    b"PRIORITY=5\nNO_MESSAGE_FIELD=yes\n",
    b"MESSAGE=\nPRIORITY=5\n",
    b"MESSAGE=native: message with identifier, pid forged\nSYSLOG_PID=1\nSYSLOG_IDENTIFIER=systemd\nPRIORITY=6\n",
    # as systemd's own, with the fields that systemd's own have
    b"MESSAGE=sglang-dirty-log.service: Main process exited, code=killed, status=9/KILL\nSYSLOG_IDENTIFIER=systemd\nSYSLOG_PID=1\nUNIT=sglang-dirty-log.service\n"
    b"EXIT_CODE=killed\nEXIT_STATUS=9\nPRIORITY=5\n",
)


def main() -> None:
    for line in LINES:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        time.sleep(0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
        journal.connect("/run/systemd/journal/socket")
        for entry in NATIVE:
            journal.send(entry)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.connect("/dev/log")
        log.send(b"<11>Jan  1 00:00:00 sglang[42]: over /dev/log with a forged old time stamp")
    sys.stderr.write("stderr line of the same unit\n")
    sys.stderr.flush()
    sys.stdout.write('Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nValueError: bad\n')
    sys.stdout.flush()
    sys.exit(3)


if __name__ == "__main__":
    main()
