"""A stand-in for an SGLang server that starts up, serves for a while, and then ends as ``--die`` says. Needs no more than Debian's python3-minimal (3.9 or newer)."""

# ruff: noqa: UP031 - the lines as printf would write them

import argparse
import faulthandler
import os
import signal
import socket
import sys
import time
import traceback
from types import FrameType
from typing import Optional

SHARDS = 4
ABORTS = (
    "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: device-side assert triggered\n"
    "Exception raised from c10_cuda_check_implementation at /pytorch/c10/cuda/CUDAException.cpp:43 (most recent call first):\n"
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f2b6f16c788 in /usr/local/lib/python3.10/dist-packages/torch/lib/libc10.so)\n"
)


def say(text: str, who: str = "") -> None:
    plain("[%s%s] %s" % (time.strftime("%Y-%m-%d %H:%M:%S"), who, text))


def plain(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def notify(text: str) -> None:
    """Tell systemd, where it listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as kept:
            kept.connect("\0" + address[1:] if address[0] == "@" else address)
            kept.send(text.encode())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="launch_server.py")
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--die", default="no")
    parser.add_argument("--after", type=float, default=6)
    parser.add_argument("--load", type=float, default=2)
    return parser.parse_args()


def load(given: argparse.Namespace) -> None:
    """The lines of a start-up, up to where a server would listen."""
    say(
        "server_args=ServerArgs(model_path='%s', tokenizer_path='%s', host='%s', port=%d, tp_size=%d, mem_fraction_static=0.88, device='cuda')"
        % (given.model_path, given.model_path, given.host, given.port, given.tp)
    )
    say("Init torch distributed begin.", " TP0")
    say("Init torch distributed ends. mem usage=0.00 GB", " TP0")
    say("Load weight begin. avail mem=78.58 GB", " TP0")
    for k in range(SHARDS + 1):
        plain(
            "\rLoading safetensors checkpoint shards: %3d%% Completed | %d/%d [00:0%d<00:0%d,  1.89it/s]"
            % (100 * k // SHARDS, k, SHARDS, k, SHARDS - k)
        )
        time.sleep(given.load / (SHARDS + 1))
    say("Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB.", " TP0")
    say("KV Cache is allocated. #tokens: 433920, K size: 26.48 GB, V size: 26.48 GB", " TP0")
    say("Capture cuda graph begin. This can take up to several minutes. avail mem=9.90 GB", " TP0")
    say("Capture cuda graph end. Time elapsed: 0.62 s. mem usage=0.83 GB. avail mem=9.07 GB.", " TP0")
    say("max_total_num_tokens=433920, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072", " TP0")


def listen(given: argparse.Namespace) -> socket.socket:
    plain("INFO:     Started server process [%d]\nINFO:     Waiting for application startup.\nINFO:     Application startup complete." % os.getpid())
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((given.host, given.port))
    except OSError as error:
        plain(
            "ERROR:    [Errno %s] error while attempting to bind on address ('%s', %d): address already in use"
            % (error.errno, given.host, given.port)
        )
        plain("INFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.")
        sys.exit(1)
    listening.listen(16)
    plain("INFO:     Uvicorn running on http://%s:%d (Press CTRL+C to quit)" % (given.host, given.port))
    say("The server is fired up and ready to roll!")
    return listening


def serve(listening: socket.socket, seconds: float) -> None:
    end, count, next_at = time.time() + seconds, 0, 0.0
    listening.settimeout(0.5)
    while time.time() < end:
        if time.time() > next_at:
            count, next_at = count + 1, time.time() + 1
            say(
                "Decode batch. #running-req: %d, #token: %d, token usage: 0.%02d, gen throughput (token/s): 143.%02d, #queue-req: 0"
                % (count % 7 + 1, 200 * count, count % 99, count % 100),
                " TP0",
            )
        try:
            connection, _ = listening.accept()
        except socket.timeout:  # noqa: UP041 - another exception before Python 3.10
            continue
        with connection:
            connection.settimeout(5)
            try:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                continue
        sys.stdout.write('INFO:     127.0.0.1:40%03d - "GET /health HTTP/1.1" 200 OK\n' % (count % 1000))
        sys.stdout.flush()


class Scheduler:
    """So that a traceback has a few frames."""

    def event_loop_overlap(self) -> None:
        self.run_batch()

    def run_batch(self) -> None:
        raise RuntimeError(
            "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
            "stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
            "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
        )


def with_child(listening: socket.socket, after: float, *, segv: bool) -> None:
    """A scheduler in a process of its own that crashes or is killed; the parent ends itself, as SGLang's does."""
    child = os.fork()
    if child == 0:
        faulthandler.enable()
        say("Scheduler started.", " TP0")
        time.sleep(after if segv else 3600)
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(5)
    if segv:

        def on_quit(number: int, frame: Optional[FrameType]) -> None:  # noqa: UP045 - 3.9
            say("Received sigquit from a child process. It usually means the child failed.")
            os.kill(os.getpid(), signal.SIGKILL)

        signal.signal(signal.SIGQUIT, on_quit)
    else:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            say("Rank 0 scheduler is dead. Please check if there are relevant logs.")
            say("Exit code: %d" % -(status & 127))
            os.kill(os.getpid(), signal.SIGQUIT)
            time.sleep(3)
        serve(listening, 0.5)


def end(die: str) -> None:
    """The end that was asked for."""
    if die == "abort":
        plain(ABORTS.rstrip("\n"))
        os.abort()
    if die == "segv":
        faulthandler.enable()
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(5)
    if die == "traceback":
        try:
            Scheduler().event_loop_overlap()
        except RuntimeError:
            say("Scheduler hit an exception: " + traceback.format_exc(), " TP0")
            raise
    if die.startswith("exit"):
        sys.exit(int(die[4:]))
    os.kill(os.getpid(), int(die[3:]))  # sig9
    time.sleep(5)


def on_term(number: int, frame: Optional[FrameType]) -> None:  # noqa: UP045
    plain("INFO:     Shutting down")
    os._exit(143)


def main() -> None:
    given = arguments()
    if given.die == "loading":  # active for systemd, long before it listens
        say("server_args=ServerArgs(model_path='%s', port=%d, tp_size=%d, mem_fraction_static=0.88)" % (given.model_path, given.port, given.tp))
        say("Load weight begin. avail mem=78.58 GB", " TP0")
        for k in range(3000):
            say("Loading safetensors checkpoint shards: %d/191" % min(k, 190), " TP0")
            time.sleep(1.1)
    load(given)
    if given.die == "never-ready":
        time.sleep(3600)
    listening = listen(given)
    if given.die == "watchdog":
        notify("READY=1\nWATCHDOG=1\nSTATUS=serving 3 requests")
        serve(listening, given.after)
        say("(hangs now)")
        time.sleep(3600)
    if given.die == "term-143":
        signal.signal(signal.SIGTERM, on_term)
    if given.die == "ignore-term":
        signal.signal(signal.SIGTERM, lambda *_: say("SIGTERM received. draining requests..."))
    if given.die in ("child-segv", "child-killed"):
        with_child(listening, given.after, segv=given.die == "child-segv")
    serve(listening, 1e9 if given.die in ("no", "term-143", "ignore-term") else given.after)
    end(given.die)


if __name__ == "__main__":
    main()
