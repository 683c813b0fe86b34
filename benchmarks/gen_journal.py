#!/usr/bin/env python3
"""Deterministic synthetic journal of an SGLang service, in up to three formats at once.

    gen_journal.py -n 1000000 --seed 7 --text bench/1m.txt --json bench/1m.json \
                   --export bench/1m.export --manifest bench/1m.manifest.json

Same (n, seed) -> byte-identical files on every CPython >= 3.8 (only Random.random() and integer arithmetic are used).

  --text    journalctl -o short-iso          (continuation lines of a multi-line MESSAGE indented as journalctl does)
  --json    journalctl -o json               (a MESSAGE that is not printable text is an array of byte values)
  --export  journalctl -o export             (a MESSAGE with a newline or ESC is in the binary form)
  --manifest  what was planted and where: entry index (0-based), text line (1-based), kind, the line to be found

n counts journal ENTRIES. Text has a few lines more (multi-line messages). Planted faults (each at a fixed fraction
of n): CUDA OOM while serving (12 %), sigquit from a child (28 %), scheduler watchdog (45 %), kernel OOM killer + KILL
(61 %), NVRM Xid 79 (74 %), 'Not enough memory' at start-up with a death by signal (88 %), start-limit-hit at the end
(99 %). After each the unit restarts and the start-up phases are logged again. Harmless noise: recoverable tracebacks
(about 1 entry in 900), words such as error/window/draft in harmless lines, kernel and systemd lines, tqdm bars with ESC.
"""
import argparse, json, random, struct, sys, time, calendar

HOST = "gpu01"
UNIT = "sglang-qwen.service"
BOOT = "3f0c2b6d7e8a4c51b2d39a60f1e2c3d4"
MACHINE = "9a8b7c6d5e4f40312233445566778899"
T0 = calendar.timegm((2026, 5, 1, 10, 15, 0)) * 1_000_000
CMD = ("/opt/sglang/bin/python -m sglang.launch_server --model-path /models/Qwen3-32B --tp 2 --host 0.0.0.0 --port 30000 "
       "--mem-fraction-static 0.88 --speculative-algorithm DDTREE --speculative-num-draft-tokens 32")

ARGS = ", ".join("%s_%s=%s" % (a, b, v) for a, v in (("enable", "False"), ("disable", "False"), ("lora", "None"), ("moe", "'auto'"), ("dist", "None"),
                 ("hicache", "1.5"), ("mamba", "0.9"), ("torchao", "''")) for b in ("overlap_schedule", "radix_cache", "backend", "timeout", "port", "metrics",
                 "policy", "size", "ratio", "path", "mode", "interval", "config", "limit"))

TB_RECOVER = [
    'Traceback (most recent call last):',
    '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/entrypoints/http_server.py", line 611, in openai_v1_chat_completions',
    '    return await raw_request.app.state.openai_serving_chat.handle_request(request, raw_request)',
    '           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^',
    '  File "/opt/sglang/lib/python3.11/site-packages/starlette/requests.py", line 213, in stream',
    '    raise ClientDisconnect()',
    'starlette.requests.ClientDisconnect',
]
TB_OOM = [
    'Traceback (most recent call last):',
    '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 2311, in run_scheduler_process',
    '    scheduler.event_loop_overlap()',
    '  File "/opt/sglang/lib/python3.11/site-packages/torch/utils/_contextlib.py", line 116, in decorate_context',
    '    return func(*args, **kwargs)',
    '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 702, in event_loop_overlap',
    '    result = self.run_batch(batch)',
    '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/layers/logits_processor.py", line 498, in _get_logits',
    '    logits = torch.matmul(hidden_states.to(lm_head.weight.dtype), lm_head.weight.T)',
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 94.97 GiB of which '
    '1.87 GiB is free. Process 2511 has 93.09 GiB memory in use. Of the allocated memory 90.11 GiB is allocated by PyTorch, '
    'and 1.02 GiB is reserved by PyTorch but unallocated.',
]
TB_INIT = [
    'Traceback (most recent call last):',
    '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 2297, in run_scheduler_process',
    '    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, pp_rank, dp_rank)',
    '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/model_executor/model_runner.py", line 1189, in init_memory_pool',
    '    raise RuntimeError(',
    'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.',
]


class Gen:
    def __init__(self, n, seed, text, js, export, chunk=20000):
        self.n, self.text, self.js, self.export, self.chunk = n, text, js, export, chunk
        self.rnd = random.Random(seed).random
        self.us, self.mono, self.i, self.line = T0, 61_000_000, 0, 1
        self.sec, self.iso, self.stamp = -1, "", ""
        self.bt, self.bj, self.bx = [], [], []
        self.planted = []
        self.pid, self.tppid, self.inv = 2400, 2511, 0
        self._consts()

    # ---- constant parts of the json / export records, rebuilt at each restart
    def _consts(self):
        inv = "%032x" % (0x5a17c0ffee0000000000000000000000 + self.inv)
        def fields(kind, ident, pid, prio):
            if kind == "kernel":
                return [("PRIORITY", str(prio)), ("SYSLOG_FACILITY", "0"), ("SYSLOG_IDENTIFIER", "kernel"), ("_TRANSPORT", "kernel"),
                        ("_BOOT_ID", BOOT), ("_MACHINE_ID", MACHINE), ("_HOSTNAME", HOST)]
            if kind == "systemd":
                return [("PRIORITY", str(prio)), ("SYSLOG_FACILITY", "3"), ("SYSLOG_IDENTIFIER", "systemd"), ("_TRANSPORT", "journal"),
                        ("_PID", "1"), ("_UID", "0"), ("_GID", "0"), ("_COMM", "systemd"), ("_EXE", "/usr/lib/systemd/systemd"),
                        ("_CMDLINE", "/sbin/init"), ("_SYSTEMD_CGROUP", "/init.scope"), ("_SYSTEMD_UNIT", "init.scope"),
                        ("UNIT", UNIT), ("INVOCATION_ID", inv), ("CODE_FILE", "src/core/unit.c"), ("CODE_LINE", "6208"),
                        ("_BOOT_ID", BOOT), ("_MACHINE_ID", MACHINE), ("_HOSTNAME", HOST)]
            return [("PRIORITY", str(prio)), ("SYSLOG_FACILITY", "3"), ("SYSLOG_IDENTIFIER", ident), ("_TRANSPORT", "stdout"),
                    ("_STREAM_ID", "c0de" + inv[4:]), ("_PID", str(pid)), ("_UID", "1001"), ("_GID", "1001"), ("_COMM", "python"),
                    ("_EXE", "/opt/sglang/bin/python3.11"), ("_CMDLINE", CMD), ("_CAP_EFFECTIVE", "0"), ("_SELINUX_CONTEXT", "unconfined\n"),
                    ("_SYSTEMD_CGROUP", "/system.slice/" + UNIT), ("_SYSTEMD_UNIT", UNIT), ("_SYSTEMD_SLICE", "system.slice"),
                    ("_SYSTEMD_INVOCATION_ID", inv), ("_BOOT_ID", BOOT), ("_MACHINE_ID", MACHINE), ("_HOSTNAME", HOST)]
        self.k = {}
        for key, f, ident in (("p", fields("p", "python", self.pid, 6), "python[%d]" % self.pid),
                              ("t", fields("p", "python", self.tppid, 6), "python[%d]" % self.tppid),
                              ("s", fields("systemd", "systemd", 1, 6), "systemd[1]"),
                              ("sw", fields("systemd", "systemd", 1, 4), "systemd[1]"),
                              ("k", fields("kernel", "kernel", 0, 4), "kernel"), ("ke", fields("kernel", "kernel", 0, 3), "kernel")):
            j = "".join(',"%s":%s' % (a, json.dumps(b)) for a, b in f) + "}\n"
            x = "".join("%s=%s\n" % (a, b) if "\n" not in b else self._bin(a, b.encode()) for a, b in f) + "\n"
            self.k[key] = (ident, j, x.encode("latin-1"))

    @staticmethod
    def _bin(name, data):
        return (name.encode() + b"\n" + struct.pack("<Q", len(data)) + data + b"\n").decode("latin-1")

    def tick(self, us):
        self.us += us
        self.mono += us
        s = self.us // 1_000_000
        if s != self.sec:
            self.sec = s
            t = time.gmtime(s)
            self.iso = "%04d-%02d-%02dT%02d:%02d:%02d+0000" % t[:6]
            self.stamp = "%04d-%02d-%02d %02d:%02d:%02d" % t[:6]

    def emit(self, kind, msg, special=False):
        """one journal entry"""
        if self.i >= self.n:
            return
        ident, j, x = self.k[kind]
        i, us = self.i, self.us
        if self.text:
            if special and "\n" in msg:
                head = "%s %s %s: " % (self.iso, HOST, ident)
                self.bt.append(head + msg.replace("\n", "\n" + " " * len(head)) + "\n")
            elif special and "\x1b" in msg:
                self.bt.append("%s %s %s: [%dB blob data]\n" % (self.iso, HOST, ident, len(msg)))
            else:
                self.bt.append("%s %s %s: %s\n" % (self.iso, HOST, ident, msg))
        if self.js:
            if special and "\x1b" in msg:
                m = "[" + ",".join(map(str, msg.encode())) + "]"
            elif special or '"' in msg or "\\" in msg or not msg.isascii():
                m = json.dumps(msg, ensure_ascii=False)
            else:
                m = '"' + msg + '"'
            self.bj.append('{"__CURSOR":"s=77aa;i=%x;b=%s;m=%x;t=%x;x=%x","__REALTIME_TIMESTAMP":"%d","__MONOTONIC_TIMESTAMP":"%d","MESSAGE":%s%s'
                           % (i + 1, BOOT, self.mono, us, (i * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF, us, self.mono, m, j))
        if self.export:
            h = "__CURSOR=s=77aa;i=%x;b=%s;m=%x;t=%x;x=%x\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_SOURCE_REALTIME_TIMESTAMP=%d\n" % (
                i + 1, BOOT, self.mono, us, (i * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF, us, self.mono, us)
            b = msg.encode()
            if special:
                self.bx.append(h.encode() + b"MESSAGE\n" + struct.pack("<Q", len(b)) + b + b"\n" + x)
            else:
                self.bx.append(h.encode() + b"MESSAGE=" + b + b"\n" + x)
        self.i += 1
        self.line += 1 + (msg.count("\n") if special else 0)
        if self.i % self.chunk == 0:
            self.flush()

    def flush(self):
        if self.text: self.text.write("".join(self.bt).encode()); self.bt.clear()
        if self.js: self.js.write("".join(self.bj).encode()); self.bj.clear()
        if self.export: self.export.write(b"".join(self.bx)); self.bx.clear()

    def plant(self, kind, needle):
        if self.i < self.n:
            self.planted.append({"kind": kind, "entry": self.i, "line": self.line, "time": self.iso, "needle": needle})

    def startup(self, ready=True, until=None):
        self.inv += 1; self.pid += 311; self.tppid = self.pid + 111; self._consts()
        self.tick(4_000_000); e, p = self.emit, "p"
        e("s", "Started %s - SGLang inference server (Qwen)." % UNIT)
        self.tick(9_000_000)
        e(p, "[%s] server_args=ServerArgs(model_path='/models/Qwen3-32B', tokenizer_mode='auto', host='0.0.0.0', port=30000, mem_fraction_static=0.88, "
             "max_running_requests=64, tp_size=2, context_length=131072, attention_backend='fa3', speculative_algorithm='DDTREE', "
             "speculative_num_draft_tokens=32, cuda_graph_max_bs=64, log_level='info', log_level_http=None, enable_metrics=True, "
             "watchdog_timeout=300, window_size=None, disable_cuda_graph=False, %s)" % (self.stamp, ARGS))
        for tp in (0, 1):
            self.tick(400_000)
            e("t", "[%s TP%d] Attention backend not explicitly specified. Use fa3 backend by default." % (self.stamp, tp))
            e("t", "[%s TP%d] Init torch distributed begin." % (self.stamp, tp))
        self.tick(1_200_000)
        e("t", "[%s TP0] sglang is using nccl==2.27.3" % self.stamp)
        for tp in (0, 1):
            e("t", "[%s TP%d] Init torch distributed ends. mem usage=0.82 GB" % (self.stamp, tp))
            e("t", "[%s TP%d] Load weight begin. avail mem=94.30 GB" % (self.stamp, tp))
        for k in range(0, 18):
            self.tick(700_000)
            e("t", "\rLoading safetensors checkpoint shards: %3d%% Completed | %d/17 [00:%02d<00:%02d,  1.42it/s]\x1b[A" % (k * 100 // 17, k, k, 17 - k), True)
        for tp in (0, 1):
            self.tick(60_000)
            e("t", "[%s TP%d] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=63.12 GB, mem usage=31.18 GB." % (self.stamp, tp))
        if until == "weights":
            return
        for tp in (0, 1):
            e("t", "[%s TP%d] KV Cache is allocated. #tokens: 412877, K size: 25.20 GB, V size: 25.20 GB" % (self.stamp, tp))
            e("t", "[%s TP%d] Memory pool end. avail mem=10.98 GB" % (self.stamp, tp))
        for tp in (0, 1):
            self.tick(300_000)
            e("t", "[%s TP%d] Capture cuda graph begin. This can take up to several minutes. avail mem=10.41 GB" % (self.stamp, tp))
        e("t", "[%s TP0] Capture cuda graph bs [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]" % self.stamp)
        for tp in (0, 1):
            self.tick(6_300_000)
            e("t", "[%s TP%d] Capture cuda graph end. Time elapsed: 6.61 s. mem usage=1.94 GB. avail mem=8.47 GB." % (self.stamp, tp))
        e("t", "[%s TP0] max_total_num_tokens=412877, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, context_len=131072, available_gpu_mem=8.47 GB" % self.stamp)
        for m in ("Started server process [%d]" % self.pid, "Waiting for application startup.", "Application startup complete.",
                  "Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"):
            e(p, "[%s] INFO:     %s" % (self.stamp, m))
        self.tick(1_500_000)
        e(p, '[%s] INFO:     127.0.0.1:40112 - "GET /get_model_info HTTP/1.1" 200 OK' % self.stamp)
        e(p, "[%s] The server is fired up and ready to roll!" % self.stamp)

    def died(self, result, code, restart=3):
        self.tick(700_000)
        self.emit("sw", "%s: Main process exited, code=%s" % (UNIT, code))
        self.emit("sw", "%s: Failed with result '%s'." % (UNIT, result))
        self.emit("s", "%s: Consumed 3min 12.114s CPU time." % UNIT)
        self.tick(5_000_000)
        self.emit("s", "%s: Scheduled restart job, restart counter is at %d." % (UNIT, restart))

    def fault(self, kind):
        e = self.emit
        self.tick(20_000)
        if kind == "cuda-oom":
            self.plant(kind, TB_OOM[-1])
            e("t", "[%s TP0] Scheduler hit an exception: %s" % (self.stamp, TB_OOM[0]))
            for l in TB_OOM[1:]: e("t", l)
            e("p", "[%s] Received sigquit from a child process. It usually means the child failed." % self.stamp)
            self.died("signal", "killed, status=9/KILL")
            self.startup()
        elif kind == "sigquit":
            self.plant(kind, "Received sigquit from a child process")
            e("p", "[%s] Received sigquit from a child process. It usually means the child failed." % self.stamp)
            self.died("exit-code", "exited, status=131/n/a", 2)
            self.startup()
        elif kind == "watchdog":
            self.plant(kind, "Watchdog timeout (self.watchdog_timeout=300)")
            self.tick(300_000_000)
            e("t", "[%s TP1] Watchdog timeout (self.watchdog_timeout=300)" % self.stamp)
            e("t", "[%s TP1] Pyspy dump for PID %d:\nThread %d (idle): \"MainThread\"\n    forward (model_runner.py:1620)\n    forward_batch_generation (tp_worker.py:214)\n    event_loop_overlap (scheduler.py:702)" % (self.stamp, self.tppid, self.tppid), True)
            e("p", "[%s] Received sigquit from a child process. It usually means the child failed." % self.stamp)
            self.died("signal", "killed, status=9/KILL", 4)
            self.startup()
        elif kind == "host-oom":
            self.plant(kind, "Out of memory: Killed process")
            e("k", "python invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0")
            e("k", "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/%s,task=python,pid=%d,uid=1001" % (UNIT, self.tppid))
            e("ke", "Out of memory: Killed process %d (python) total-vm:214748364kB, anon-rss:120331120kB, file-rss:0kB, shmem-rss:0kB, UID:1001 pgtables:240000kB oom_score_adj:0" % self.tppid)
            e("sw", "%s: A process of this unit has been killed by the OOM killer." % UNIT)
            self.died("oom-kill", "killed, status=9/KILL", 5)
            self.startup()
        elif kind == "xid":
            self.plant(kind, "NVRM: Xid (PCI:0000:41:00): 79")
            e("ke", "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
            e("t", "[%s TP1] Scheduler hit an exception: Traceback (most recent call last):" % self.stamp)
            e("t", "torch.AcceleratorError: CUDA error: unspecified launch failure")
            e("p", "[%s] Received sigquit from a child process. It usually means the child failed." % self.stamp)
            self.died("signal", "killed, status=9/KILL", 6)
            self.startup()
        elif kind == "init-oom":
            self.plant(kind, TB_INIT[-1])
            e("sw", "%s: Main process exited, code=killed, status=15/TERM" % UNIT)
            self.startup(until="weights")
            e("t", "[%s TP0] Scheduler hit an exception: %s" % (self.stamp, TB_INIT[0]))
            for l in TB_INIT[1:]: e("t", l)
            e("p", "[%s] Received sigquit from a child process. It usually means the child failed." % self.stamp)
            self.died("signal", "killed, status=9/KILL", 7)
            self.startup()
        elif kind == "start-limit":
            self.plant(kind, "Start request repeated too quickly")
            e("sw", "%s: Start request repeated too quickly." % UNIT)
            e("sw", "%s: Failed with result 'start-limit-hit'." % UNIT)
            e("sw", "Failed to start %s - SGLang inference server (Qwen)." % UNIT)
            self.startup()

    def run(self):
        n, rnd, e = self.n, self.rnd, self.emit
        plan = [(int(n * f), k) for f, k in ((.12, "cuda-oom"), (.28, "sigquit"), (.45, "watchdog"), (.61, "host-oom"), (.74, "xid"),
                                             (.88, "init-oom"), (.99, "start-limit"))]
        self.tick(0)
        self.startup()
        nxt = 0
        while self.i < n:
            if nxt < len(plan) and self.i >= plan[nxt][0]:
                self.fault(plan[nxt][1]); nxt += 1
                continue
            r = rnd()
            self.tick(int(r * 90_000) % 60_000 + 2_000)
            a = int(rnd() * 1_000_000)
            if r < .50:
                run = 1 + a % 63
                e("t", "[%s TP0] Decode batch. #running-req: %d, #token: %d, token usage: %.2f, accept len: %.2f, cuda graph: %s, gen throughput (token/s): %d.%02d, #queue-req: %d, "
                  % (self.stamp, run, run * 511 + a % 977, (a % 97) / 100, 1 + (a % 613) / 100, "False" if a % 211 == 0 else "True", 60 * run + a % 53, a % 100, a % 5))
            elif r < .68:
                e("t", "[%s TP0] Prefill batch. #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, #queue-req: %d, "
                  % (self.stamp, 1 + a % 4, 64 + a % 8000, a % 4096, (a % 97) / 100, a % 63, a % 7))
            elif r < .96:
                st = "200 OK" if a % 400 else ("400 Bad Request" if a % 800 else "499 Client Closed Request")
                path = ("POST /v1/chat/completions", "POST /v1/completions", "GET /v1/models", "GET /health", "GET /metrics")[a % 5]
                e("p", '[%s] INFO:     10.0.%d.%d:%d - "%s HTTP/1.1" %s' % (self.stamp, a % 4, 1 + a % 250, 32768 + a % 28000, path, st))
            elif r < .975:
                e("t", "[%s TP%d] Cache flushed successfully! #evicted: %d" % (self.stamp, a % 2, a % 9000))
            elif r < .983:
                e("p", "[%s] Health check: no error in the last %d s, draft window ok" % (self.stamp, a % 60))
            elif r < .990:
                e("t", "[%s TP0] Truncated. Prompt %d exceeds the context window of request, rid=%08x" % (self.stamp, a % 131072, a * 2654435761 & 0xffffffff))
            elif r < .9945:
                e("k", ("audit: type=1400 audit(%d.%03d:%d): apparmor=\"ALLOWED\" operation=\"open\" profile=\"sglang\"" % (self.sec, a % 1000, a),
                        "perf: interrupt took too long (%d > %d), lowering kernel.perf_event_max_sample_rate" % (2500 + a % 999, 2400 + a % 999),
                        "eth0: renamed from veth%06x" % a, "TCP: request_sock_TCP: Possible SYN flooding on port 30000. Sending cookies.")[a % 4])
            elif r < .9985:
                e("s", ("Started session-%d.scope - Session %d of User ops." % (a, a), "logrotate.service: Deactivated successfully.",
                        "Starting sysstat-collect.service - system activity accounting tool...")[a % 3])
            elif r < .9989:
                for l in TB_RECOVER: e("p", l)
            elif r < .9994:
                e("p", "[%s] WARNING: Tokenizer: caf\u00e9 \u2014 special tokens differ (%d)" % (self.stamp, a))
            else:
                e("p", "[%s] Request dump rid=%08x\nmessages: [{'role': 'user', 'content': 'why does it say error: killed?'}]\nsampling: {'temperature': 0.%d}" % (self.stamp, a, a % 10), True)
        self.flush()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-n", type=int, default=100_000)
    ap.add_argument("--seed", type=int, default=7)
    for f in ("text", "json", "export", "manifest"):
        ap.add_argument("--" + f)
    a = ap.parse_args()
    op = lambda p: open(p, "wb", buffering=1 << 20) if p else None
    t, j, x = op(a.text), op(a.json), op(a.export)
    g = Gen(a.n, a.seed, t, j, x)
    g.run()
    for f in (t, j, x):
        if f: f.close()
    m = {"n": a.n, "seed": a.seed, "entries": g.i, "text_lines": g.line - 1, "planted": g.planted}
    if a.manifest:
        with open(a.manifest, "w") as f: json.dump(m, f, indent=1)
    else:
        json.dump(m, sys.stdout, indent=1); print()


if __name__ == "__main__":
    main()
