"""A stand-in for an SGLang server, to be run by systemd on a test host as ``python3 -m sglang.launch_server …``: its lines, its port, its ends.

How it plays comes from the environment, so that the command line looks like a real one:

    FAKE_PLAY     serve  loads, listens, is ready and serves until it is told to stop (default)
                  crash  loads, finds nothing left for the KV cache, and kills its own process tree (incident A)
                  hang   loads half of the shards and says nothing more
    FAKE_LOAD_S   seconds that loading the weights takes (default 2); the other steps take a twentieth each
    FAKE_SHARDS   number of shards (default 14)
    FAKE_WARM_S   seconds between the bound port and readiness, in which every request for text is answered with 503 (default 0)
    FAKE_MODEL    the one model name that is served; a request for another is answered with 404 (default: any)
    FAKE_BUSY     of so many requests for text all but the first are turned away with 503, as the queue is full (default: none is)

Needs no more than Debian's python3-minimal. Start-up before the first shard takes about a tenth of FAKE_LOAD_S.
"""

# ruff: noqa: UP031, PLW0603 - the lines as printf would write them; one pipe between the two processes

import os
import signal
import socket
import sys
import time

PLAY = os.environ.get("FAKE_PLAY", "serve")
LOAD_S = float(os.environ.get("FAKE_LOAD_S", "2"))
SHARDS = int(os.environ.get("FAKE_SHARDS", "14"))
STEP_S = LOAD_S / 20
WARM_S = float(os.environ.get("FAKE_WARM_S", "0"))
MODEL = os.environ.get("FAKE_MODEL", "")
BUSY = int(os.environ.get("FAKE_BUSY", "0"))
ASKED = ("/generate", "/v1/completions", "/v1/chat/completions")


def say(text: str, who: str = "") -> None:
    sys.stderr.write("[%s%s] %s\n" % (time.strftime("%Y-%m-%d %H:%M:%S"), who, text))
    sys.stderr.flush()


def plain(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def arguments(argv: list[str]) -> dict[str, str]:
    """--flag value pairs; a flag without a value is "True"."""
    given: dict[str, str] = {}
    flag = ""
    for word in argv:
        if word.startswith("--"):
            flag, _, value = word[2:].partition("=")
            given[flag] = value or "True"
        elif flag:
            given[flag] = word
    return given


def quoted(value: object) -> str:
    return "None" if value is None else "'%s'" % value


def announce(given: dict[str, str]) -> None:
    model, algorithm = given.get("model-path", "/models/none"), given.get("speculative-algorithm")
    say(
        "server_args=ServerArgs(model_path='%s', tokenizer_path='%s', host='%s', port=%s, tp_size=%s, mem_fraction_static=%s, speculative_algorithm=%s, "
        "speculative_draft_model_path=%s, watchdog_timeout=300)"
        % (
            model,
            model,
            given.get("host", "127.0.0.1"),
            given.get("port", "30000"),
            given.get("tp", "1"),
            given.get("mem-fraction-static", "0.88"),
            quoted(algorithm),
            quoted(given.get("speculative-draft-model-path")),
        )
    )


def load() -> None:
    """The scheduler's part, up to the loaded weights."""
    time.sleep(STEP_S)
    say("Attention backend not explicitly specified. Use fa3 backend by default.", " TP0")
    say("Init torch distributed begin.", " TP0")
    time.sleep(STEP_S)
    say("Init torch distributed ends. mem usage=0.00 GB", " TP0")
    say("Load weight begin. avail mem=94.30 GB", " TP0")
    pause = LOAD_S / max(1, SHARDS)
    for k in range(SHARDS + 1):
        if PLAY == "hang" and k > SHARDS // 2:
            while True:
                time.sleep(60)
        plain(
            "Loading safetensors checkpoint shards: %3d%% Completed | %d/%d [00:%02d<00:%02d,  1.10it/s]"
            % (k * 100 // SHARDS, k, SHARDS, int(k * pause) % 60, int((SHARDS - k) * pause) % 60)
        )
        time.sleep(pause if k < SHARDS else 0)


def scheduler() -> None:
    """The child: loads, then fails, or says that it is ready and waits."""
    load()
    if PLAY == "crash":
        say("Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=10.92 GB, mem usage=83.38 GB.", " TP0")
        say("Scheduler hit an exception: Traceback (most recent call last):", " TP0")
        for line in (
            '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/managers/scheduler.py", line 2297, in run_scheduler_process',
            "    scheduler = Scheduler(server_args, port_args, gpu_id, tp_rank, pp_rank, dp_rank)",
            '  File "/opt/sglang/lib/python3.11/site-packages/sglang/srt/model_executor/model_runner.py", line 1189, in init_memory_pool',
            "    raise RuntimeError(",
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
        ):
            plain(line)
        plain("")
        os.kill(os.getppid(), signal.SIGQUIT)
        time.sleep(30)
        return
    say("Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=30.86 GB.", " TP0")
    say("KV Cache is allocated. #tokens: 433920, K size: 20.48 GB, V size: 20.48 GB", " TP0")
    time.sleep(STEP_S)
    say("Capture cuda graph begin. This can take up to several minutes. avail mem=21.90 GB", " TP0")
    time.sleep(STEP_S)
    say("Capture cuda graph end. Time elapsed: %.2f s. mem usage=0.83 GB. avail mem=21.07 GB." % STEP_S, " TP0")
    say("max_total_num_tokens=433920, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072", " TP0")
    os.write(READY[1], b"1")
    while True:
        time.sleep(60)


def judged(method: str, path: str, body: str, count: int, warm: bool) -> tuple[str, str]:
    """The status and the body of the answer, as the real servers word them."""
    known = path in ASKED if method == "POST" else path in ("/health", "/health_generate", "/v1/models", "/get_model_info", "/generate")
    if not known:
        return "404 Not Found", '{"detail":"Not Found"}'
    if method == "GET":
        ready = warm or not path.startswith("/health")
        return "200 OK" if ready else "503 Service Unavailable", '{"object":"list","data":[{"id":"%s"}]}' % (MODEL or "fake") if ready else ""
    named = body.partition('"model"')[2].split('"')[1:2]
    if not warm:
        return "503 Service Unavailable", '{"detail":"Service Unavailable"}'
    if MODEL and named != [MODEL]:
        return (
            "404 Not Found",
            '{"object":"error","message":"The model `%s` does not exist.","type":"NotFoundError","param":null,"code":404}' % "".join(named),
        )
    if BUSY and count % BUSY:
        return "503 Service Unavailable", '{"object":"error","message":"The request queue is full.","type":"503","param":null,"code":503}'
    return "200 OK", '{"object":"text_completion","choices":[{"index":0,"text":" Paris."}]}'


def answer(connection: socket.socket, peer: int, count: int, warm: bool) -> None:
    raw = connection.recv(65536)
    if not raw[:1].isalpha():  # TLS begins with 0x16
        plain("WARNING:  Invalid HTTP request received.")
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 30\r\nConnection: close\r\n\r\nInvalid HTTP request received.")
        return
    head, _, body = raw.partition(b"\r\n\r\n")
    length = int((head.lower().partition(b"content-length:")[2].split() or [b"0"])[0])
    while len(body) < min(length, 65536):
        more = connection.recv(65536)
        if not more:
            break
        body += more
    method, path = [*head.decode("latin-1").split(), "?", "?"][:2]
    status, text = judged(method, path.split("?")[0], body.decode("utf-8", "replace"), count, warm)
    connection.sendall(
        ("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(text), text)).encode()
    )
    plain('INFO:     127.0.0.1:%d - "%s %s HTTP/1.1" %s' % (peer, method, path, status))


def serve(given: dict[str, str]) -> None:
    host, port = str(given.get("host", "127.0.0.1")), int(str(given.get("port", "30000")))
    plain("INFO:     Started server process [%d]\nINFO:     Waiting for application startup.\nINFO:     Application startup complete." % os.getpid())
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        plain("ERROR:    [Errno %s] error while attempting to bind on address ('%s', %d): address already in use" % (error.errno, host, port))
        plain("INFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.")
        sys.exit(1)
    listening.listen(16)
    plain("INFO:     Uvicorn running on http://%s:%d (Press CTRL+C to quit)" % (host, port))
    plain('INFO:     127.0.0.1:40000 - "GET /get_model_info HTTP/1.1" 200 OK')
    count, warm_at = 0, time.monotonic() + WARM_S
    warm = False
    while True:
        if not warm and time.monotonic() >= warm_at:
            warm = True
            listening.settimeout(None)
            say("The server is fired up and ready to roll!")
        elif not warm:
            listening.settimeout(max(0.01, warm_at - time.monotonic()))
        try:
            connection, peer = listening.accept()
        except socket.timeout:  # noqa: UP041 - its own name before Python 3.10
            continue
        with connection:
            connection.settimeout(5)
            try:
                answer(connection, peer[1], count, warm)
            except OSError:
                continue
            finally:
                count += 1


def kill_tree(child: int) -> None:
    """As kill_process_tree does: the children first, then itself, with SIGKILL."""
    os.kill(child, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def leave(child: int) -> None:
    plain("INFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.")
    os.kill(child, signal.SIGKILL)
    sys.exit(0)


READY = (-1, -1)


def main() -> None:
    global READY
    given = arguments(sys.argv[1:])
    announce(given)
    READY = os.pipe()
    child = os.fork()
    if child == 0:
        scheduler()
        os._exit(1)
    os.close(READY[1])

    def on_quit(*_: object) -> None:
        say("Received sigquit from a child process. It usually means the child failed.")
        kill_tree(child)

    signal.signal(signal.SIGQUIT, on_quit)
    signal.signal(signal.SIGTERM, lambda *_: leave(child))
    if os.read(READY[0], 1):
        serve(given)
    time.sleep(60)


if __name__ == "__main__":
    main()
