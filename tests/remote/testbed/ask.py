"""A small benchmark client, to be run by hand or by a test: it asks one address again and again, and writes what urllib says with the stamps of ``logging``.

    ask.py URL --count 10 --every 0.5 [--get] [--model NAME] [--clock-off SECONDS] [--truth FILE]

The stamps have no zone and are in the local one (TZ), as logging's are. ``--clock-off`` is how far this client's clock is ahead of the machine's.
``--truth`` takes what really happened, by the machine's clock: a line of epoch seconds and status an answer (0: none). Always exits with 0 or 1.
"""

from __future__ import annotations

import argparse
import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--every", type=float, default=0.5)
    parser.add_argument("--get", action="store_true")
    parser.add_argument("--model", default="fake")
    parser.add_argument("--clock-off", type=float, default=0.0)
    parser.add_argument("--truth")
    told = parser.parse_args()
    failed = 0
    say(told.clock_off, "INFO", f"{told.count} requests to {told.url}")
    happened = []
    for number in range(1, told.count + 1):
        begun = time.time()
        status, text = ask(told.url, told.get, told.model)
        happened.append(f"{time.time():.3f} {status}")
        failed += status != 200
        say(told.clock_off, "INFO" if status == 200 else "ERROR", f"request {number}: {text}")
        if number < told.count:
            time.sleep(max(0.0, begun + told.every - time.time()))
    say(told.clock_off, "INFO", f"{told.count - failed} of {told.count} requests were answered")
    if told.truth:
        Path(told.truth).write_text("\n".join(happened) + "\n", encoding="utf-8")
    return 1 if failed else 0


def ask(url: str, get: bool, model: str) -> tuple[int, str]:
    """The status of one request, 0 where there was no answer, and what is written about it."""
    body = None if get else json.dumps({"model": model, "prompt": "The capital of France is", "max_tokens": 4}).encode()
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    insecure = ssl.create_default_context()
    insecure.check_hostname = False
    insecure.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=insecure))
    try:
        with opener.open(request, timeout=5) as answer:
            answer.read()
            return answer.status, f"HTTP/1.1 {answer.status} {answer.reason}"
    except urllib.error.HTTPError as error:
        return error.code, f"HTTPError: {error}: {error.read(300).decode('utf-8', 'replace')}"
    except OSError as error:
        return 0, f"{type(error).__name__}: {error}"


def say(off_s: float, level: str, text: str) -> None:
    now = time.time() + off_s
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    print(f"{stamp},{int(now * 1000) % 1000:03d} {level} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
