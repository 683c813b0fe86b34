"""Lines that mean nothing for a case: what a host says all day, and what healthy servers say. Each server's lines are real, from its healthy cases."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from functools import lru_cache

from tests.cases.evidence import JOURNAL, RECORD, Case, case, lines, said
from tests.cases.stamps import read, written, year_of

# one process each, with its number; {n} is a small number that grows
HOST = (
    "CRON[{n}71]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
    "CRON[{n}72]: (root) CMD (   cd / && run-parts --report /etc/cron.hourly)",
    "CRON[{n}71]: pam_unix(cron:session): session closed for user root",
    "sshd[{n}80]: Connection closed by invalid user admin 203.0.113.7 port 51{n}2 [preauth]",
    "sshd[{n}81]: Failed password for invalid user oracle from 203.0.113.9 port 41{n}0 ssh2",
    "sshd[{n}82]: error: kex_exchange_identification: Connection closed by remote host",
    "sshd[{n}83]: Accepted publickey for ops from 198.51.100.4 port 50{n}4 ssh2: ED25519 SHA256:0pJ1cYc2q9r8Qe0mX5Zl3uVvT7bKd1nFhW6aRsGtYxE",
    "systemd-logind[812]: New session {n} of user ops.",
    "systemd-logind[812]: Session {n} logged out. Waiting for processes to exit.",
    "systemd[1]: Started session-{n}.scope - Session {n} of User ops.",
    "systemd[1]: session-{n}.scope: Deactivated successfully.",
    "systemd[1]: Starting logrotate.service - Rotate log files...",
    "systemd[1]: logrotate.service: Deactivated successfully.",
    "systemd[1]: Finished logrotate.service - Rotate log files.",
    "systemd[1]: Starting apt-daily.service - Daily apt download activities...",
    "systemd[1]: apt-daily.service: Deactivated successfully.",
    "systemd[1]: Started systemd-tmpfiles-clean.timer - Daily Cleanup of Temporary Directories.",
    "systemd-timesyncd[701]: Contacted time server 192.0.2.10:123 (2.debian.pool.ntp.org).",
    "systemd-resolved[702]: Server returned error NXDOMAIN, mitigating potential DNS violation DVE-2018-0001, retrying transaction with reduced feature level UDP.",
    'dockerd[1033]: time="2025-01-01T00:00:00.000000000Z" level=info msg="ignoring event" container=4f1c topic=/tasks/delete type="*events.TaskDelete"',
    'containerd[955]: time="2025-01-01T00:00:00.000000000Z" level=info msg="shim disconnected" id=4f1c namespace=moby',
    'nginx[1320]: 2025/01/01 00:00:00 [error] 1321#1321: *{n}9 open() "/var/www/html/robots.txt" failed (2: No such file or directory), client: 203.0.113.20',
    '203.0.113.21 nginx[1320]: 203.0.113.21 - - "GET /wp-login.php HTTP/1.1" 404 153 "-" "Mozilla/5.0"',
    'node_exporter[1400]: ts=2025-01-01T00:00:00.000Z caller=collector.go:173 level=error msg="collector failed" name=rapl duration_seconds=0.001 err="permission denied"',
    'snapd[1210]: storehelpers.go:1004: cannot refresh: snap has no updates available: "core22"',
    "dbus-daemon[760]: [system] Activating via systemd: service name='org.freedesktop.hostname1' unit='dbus-org.freedesktop.hostname1.service'",
    "postfix/smtpd[{n}44]: connect from unknown[203.0.113.30]",
    "postfix/smtpd[{n}44]: lost connection after AUTH from unknown[203.0.113.30]",
    'rsyslogd[790]: [origin software="rsyslogd" swVersion="8.2302.0" x-pid="790"] rsyslogd was HUPed',
    "smartd[745]: Device: /dev/sda [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from 67 to 66",
    "sudo[{n}90]:      ops : TTY=pts/0 ; PWD=/home/ops ; USER=root ; COMMAND=/usr/bin/tail -n 50 /var/log/syslog",
    "sudo[{n}90]: pam_unix(sudo:session): session opened for user root(uid=0) by ops(uid=1000)",
)
KERNEL = (
    'kernel: audit: type=1400 audit(1735689600.123:{n}): apparmor="STATUS" operation="profile_replace" name="snap.lxd.lxc" pid={n}55 comm="apparmor_parser"',
    "kernel: [UFW BLOCK] IN=eth0 OUT= MAC=00:00:5e:00:53:01 SRC=203.0.113.5 DST=198.51.100.9 LEN=40 TTL=244 ID={n} PROTO=TCP SPT=4{n} DPT=23 WINDOW=1024 RES=0x00 SYN URGP=0",
    "kernel: usb 1-2: new high-speed USB device number {n} using xhci_hcd",
    "kernel: usb 1-2: USB disconnect, device number {n}",
    "kernel: docker0: port 1(veth3f2a1b0) entered forwarding state",
    "kernel: eth0: renamed from veth9c1d2e3",
    "kernel: EXT4-fs (sdb1): mounted filesystem with ordered data mode. Quota mode: none.",
    "kernel: TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.",
    "kernel: perf: interrupt took too long (2505 > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
    "kernel: mce: [Hardware Error]: Machine check events logged",
    "kernel: clocksource: timekeeping watchdog on CPU{n}: Marking clocksource 'tsc' as unstable because the skew is too large:",
)
# whose lines are the healthy ones of which server
HEALTHY = {
    "sglang": ("samples/healthy", "given/sglang-7515", "made/ev-h-sglang-log", "made/sg-healthy-noisy", "made/e-healthy-sglang-400"),
    "vllm": ("given/vllm-21728", "made/ev-h-vllm", "made/vllm-healthy-mem-notes", "made/omni-916", "made/vllm-17650"),
    "ollama": ("made/ev-docker-healthy", "made/e-healthy-restart-counter-1"),
    "llama-cpp": ("made/ev-h-llamacpp",),
    "tgi": ("made/ev-h-tgi",),
    "triton": ("made/ev-h-triton",),
}


@lru_cache(maxsize=8)
def healthy_lines(server: str) -> tuple[str, ...]:
    """What healthy runs of a server say without saying how far they are: lines that are neither a mark of a life nor a figure of it, without their stamps' days."""
    found: list[str] = []
    for name in HEALTHY.get(server, ()):
        one = case(name)
        # how far it is, what it has, and what a client saw belong to that run; what a rule of a failure would catch stays: it is harmless here
        telling = {(s.source, s.line) for s in said(one) if s.role is None or str(s.role) in ("context", "state", "symptom")}
        # of a line that comes again and again only some are matched one by one
        alike = {_words(lines(one.files[source])[number - 1]) for source, number in telling if source in one.files}
        for file, text in one.files.items():
            if file.endswith((".json", "bench.txt")) or file in ("status.txt", "is-active.txt"):
                continue
            for line in lines(text):
                bare = JOURNAL.match(line)
                if bare is not None and not bare["pid"]:
                    continue
                message = bare["text"] if bare is not None else line
                # one that begins no record belongs to the one above it
                if _words(line) not in alike and RECORD.match(message) and "\r" not in message and "HTTP/1.1" not in message and len(message) < 2000:
                    found.append(message)
    return tuple(dict.fromkeys(found))


def _words(line: str) -> str:
    return re.sub(r"[\d\W]+", " ", line)[:60]


def host_noise(one: Case, rng: random.Random) -> Case | None:
    """A whole host's journal: lines of other units and of the kernel between those of a journal with its hosts. None where no file is one."""
    year, files, changed = year_of(one), {}, False
    # 247 and older give a unit's description alone
    nameless = any(re.search(r"systemd\[1\]: Start(?:ed|ing) (?!\S+\.(?:service|scope))", t) for t in one.files.values())
    for name, text in one.files.items():
        out: list[str] = []
        for line in lines(text):
            found = JOURNAL.match(line)
            at = read(found["stamp"], year) if found and name not in ("status.txt", "kernel.txt") else None
            if found is not None and at is not None:
                for _ in range(rng.choice((0, 1, 1, 3))):
                    other = rng.choice(HOST + KERNEL).replace("{n}", str(rng.randint(2, 8)))
                    if nameless:
                        other = re.sub(r"(?<=systemd\[1\]: )(Start\w+|Finished) \S+ - ", r"\1 ", other)
                    out.append(f"{found['stamp']} {found['host']} {other}")
                    changed = True
            out.append(line)
        files[name] = "\n".join(out)
    return one.having(**files) if changed else None


def server_noise(one: Case, server: str | None, rng: random.Random) -> Case | None:
    """Healthy lines of the same server between the records of its own. None for a server whose healthy lines are not known."""
    pool = healthy_lines(server or "")
    if not pool:
        return None
    files, changed = {}, False
    for name, text in one.files.items():
        if name in ("status.txt", "kernel.txt", "is-active.txt", "bench.txt", "health.txt") or name.endswith((".json", ".service")):
            files[name] = text
            continue
        out: list[str] = []
        above: re.Match[str] | None = None
        for line in lines(text):
            found = JOURNAL.match(line)
            if (
                found is not None
                and above is not None
                and found["pid"]
                and above["ident"] == found["ident"]
                and found["pid"] != "1"
                and rng.random() < 0.4
            ):
                out.append(line[: found.start("text")] + _at(rng.choice(pool), found["text"]))
                changed = True
            elif found is None and out and RECORD.match(line) and RECORD.match(out[-1]) and not JOURNAL.match(out[-1]) and rng.random() < 0.4:
                out.append(_at(rng.choice(pool), line))
                changed = True
            above = found
            out.append(line)
        files[name] = "\n".join(out)
    return one.having(**files) if changed else None


_OWN = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?<=[A-Z] )\d\d-\d\d \d\d:\d\d:\d\d")


def _at(line: str, beside: str) -> str:
    """A line with the time of the one it stands beside; the other again where that writes none, or another kind."""
    for stamp in _OWN.finditer(line):
        same = next((m for m in _OWN.finditer(beside) if len(m[0]) == len(stamp[0])), None)
        if same is not None:
            return line[: stamp.start()] + same[0] + line[stamp.end() :]
        return beside
    return line


_SERVED = {
    "sglang": (
        (8, "[{at}] server_args=ServerArgs(model_path='/models/m', tokenizer_path='/models/m', mem_fraction_static=0.85, tp_size=1, host='0.0.0.0', port=30000, watchdog_timeout=300)"),
        (14, "[{at} TP0] Init torch distributed begin."),
        (15, "[{at} TP0] Init torch distributed ends. mem usage=0.09 GB"),
        (16, "[{at} TP0] Load weight begin. avail mem=78.60 GB"),
        (36, "[{at} TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=62.40 GB, mem usage=16.20 GB."),
        (38, "[{at} TP0] KV Cache is allocated. #tokens: 350210, K size: 24.10 GB, V size: 24.10 GB"),
        (38, "[{at} TP0] Memory pool end. avail mem=13.40 GB"),
        (39, "[{at} TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=13.20 GB"),
        (48, "[{at} TP0] Capture cuda graph end. Time elapsed: 9.10 s. mem usage=1.20 GB. avail mem=12.00 GB."),
        (50, "[{at}] INFO:     Started server process [{pid}]"),
        (50, "[{at}] INFO:     Waiting for application startup."),
        (50, "[{at}] INFO:     Application startup complete."),
        (50, "[{at}] INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"),
        (52, '[{at}] INFO:     127.0.0.1:50210 - "POST /generate HTTP/1.1" 200 OK'),
        (52, "[{at}] The server is fired up and ready to roll!"),
        (100, "[{at} TP0] Prefill batch. #new-seq: 1, #new-token: 31, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0"),
        (101, '[{at}] INFO:     10.0.0.5:41468 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
        (160, "[{at} TP0] Decode batch. #running-req: 1, #token: 64, token usage: 0.00, cuda graph: True, gen throughput (token/s): 84.79, #queue-req: 0"),
        (161, '[{at}] INFO:     10.0.0.5:41470 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
        (400, "[{at} TP0] Prefill batch. #new-seq: 1, #new-token: 211, #cached-token: 0, token usage: 0.01, #running-req: 0, #queue-req: 0"),
        (402, '[{at}] INFO:     10.0.0.5:41490 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
        (700, '[{at}] INFO:     10.0.0.5:41502 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
    ),
    "vllm": (
        (8, "(APIServer pid={pid}) INFO {at} [utils.py:233] non-default args: {{'model_tag': '/models/m', 'model': '/models/m', 'gpu_memory_utilization': 0.9}}"),
        (9, "(APIServer pid={pid}) INFO {at} [model.py:547] Resolved architecture: Qwen3ForCausalLM"),
        (16, "(EngineCore_DP0 pid={pid}) INFO {at} [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='/models/m', speculative_config=None"),
        (20, "(EngineCore_DP0 pid={pid}) INFO {at} [gpu_model_runner.py:2602] Starting to load model /models/m..."),
        (40, "(EngineCore_DP0 pid={pid}) INFO {at} [default_loader.py:267] Loading weights took 18.51 seconds"),
        (41, "(EngineCore_DP0 pid={pid}) INFO {at} [gpu_model_runner.py:2653] Model loading took 15.2683 GiB and 19.204113 seconds"),
        (55, "(EngineCore_DP0 pid={pid}) INFO {at} [gpu_worker.py:298] Available KV cache memory: 54.70 GiB"),
        (55, "(EngineCore_DP0 pid={pid}) INFO {at} [kv_cache_utils.py:1087] GPU KV cache size: 398,304 tokens"),
        (63, "(EngineCore_DP0 pid={pid}) INFO {at} [gpu_model_runner.py:3480] Graph capturing finished in 6 secs, took 0.83 GiB"),
        (64, "(EngineCore_DP0 pid={pid}) INFO {at} [core.py:210] init engine (profile, create kv cache, warmup model) took 22.60 seconds"),
        (66, "(APIServer pid={pid}) INFO {at} [api_server.py:1971] Starting vLLM API server 0 on http://0.0.0.0:8000"),
        (66, "(APIServer pid={pid}) INFO:     Started server process [{pid}]"),
        (66, "(APIServer pid={pid}) INFO:     Waiting for application startup."),
        (66, "(APIServer pid={pid}) INFO:     Application startup complete."),
        (100, '(APIServer pid={pid}) INFO:     10.0.0.5:41468 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
        (110, "(APIServer pid={pid}) INFO {at} [loggers.py:127] Engine 000: Avg prompt throughput: 241.0 tokens/s, Avg generation throughput: 24.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%, Prefix cache hit rate: 0.0%"),
        (160, '(APIServer pid={pid}) INFO:     10.0.0.5:41470 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
        (400, '(APIServer pid={pid}) INFO:     10.0.0.5:41490 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
        (410, "(APIServer pid={pid}) INFO {at} [loggers.py:127] Engine 000: Avg prompt throughput: 11.0 tokens/s, Avg generation throughput: 54.2 tokens/s, Running: 2 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.2%, Prefix cache hit rate: 0.0%"),
        (700, '(APIServer pid={pid}) INFO:     10.0.0.5:41502 - "POST /v1/chat/completions HTTP/1.1" 200 OK'),
    ),
    "ollama": (
        (1, 'time={at}Z level=INFO source=routes.go:1250 msg="Listening on 127.0.0.1:11434 (version 0.6.2)"'),
        (2, 'time={at}Z level=INFO source=gpu.go:217 msg="looking for compatible GPUs"'),
        (3, 'time={at}Z level=INFO source=types.go:130 msg="inference compute" id=GPU-1 library=cuda variant=v12 compute=8.9 driver=12.4 name="NVIDIA L4" total="22.0 GiB" available="21.8 GiB"'),
        (100, '[GIN] {gin} | 200 |  1.243240001s |       127.0.0.1 | POST     "/api/chat"'),
        (160, '[GIN] {gin} | 200 |  2.143240001s |       127.0.0.1 | POST     "/api/chat"'),
        (400, '[GIN] {gin} | 200 |  1.143240001s |       127.0.0.1 | POST     "/api/chat"'),
        (700, '[GIN] {gin} | 200 |  1.143240001s |       127.0.0.1 | POST     "/api/chat"'),
    ),
    "": (
        (1, "loading configuration from /etc/app.yaml"),
        (2, "listening on 0.0.0.0:9000"),
        (100, "request 1 done in 12 ms"),
        (160, "request 2 done in 14 ms"),
        (400, "request 3 done in 11 ms"),
        (700, "request 4 done in 10 ms"),
    ),
}  # fmt: skip
LIVED_S = 900.0  # of a life that was served and then stopped
DESCRIBED = "Inference server"


def life(
    server: str | None,
    unit: str,
    start: float,
    pid: int,
    *,
    ends: bool,
    host: str = "gpu01",
    style: str = "short-iso",
    told: tuple[tuple[float, str], ...] = (),
    ident: str | None = None,
) -> list[str]:
    """A whole healthy life of a unit as its journal has it, from its start (epoch seconds) to an operator's stop if it ends; ``told`` are further messages, each after some seconds."""
    from datetime import datetime, timezone

    ident = f"{ident or ('ollama' if server == 'ollama' else 'python')}[{pid}]"
    rows: list[tuple[float, str]] = [(0.0, f"systemd[1]: Started {unit} - {DESCRIBED}.")]
    for after, message in _SERVED[server if server in _SERVED else ""]:
        rows.append((after, f"{ident}: {message}"))
    rows += [(after, f"{ident}: {message}") for after, message in told]
    if ends:
        rows += [
            (LIVED_S, f"systemd[1]: Stopping {unit} - {DESCRIBED}..."),
            (LIVED_S + 2, f"systemd[1]: {unit}: Deactivated successfully."),
            (LIVED_S + 2, f"systemd[1]: Stopped {unit} - {DESCRIBED}."),
        ]
    out = []
    for at_s, row in sorted(rows, key=lambda r: r[0]):
        at = datetime.fromtimestamp(start, timezone.utc) + timedelta(seconds=at_s)
        own = f"{at:%m-%d %H:%M:%S}" if server == "vllm" else f"{at:%Y-%m-%dT%H:%M:%S.000}" if server == "ollama" else f"{at:%Y-%m-%d %H:%M:%S}"
        row = row.replace("{at}", own).replace("{pid}", str(pid)).replace("{gin}", f"{at:%Y/%m/%d - %H:%M:%S}").replace("{{", "{").replace("}}", "}")
        out.append(f"{written(at, style)} {host} {row}")
    return out
