"""Logs of starts that fail for memory, as far as their figures go."""

from __future__ import annotations

from pathlib import Path

CASES = Path(__file__).resolve().parents[2] / "cases"

HEAD = "[2026-05-09 10:00:00] server_args=ServerArgs(model_path='/m', mem_fraction_static={fraction}, tp_size=1, port=30000)\n"


def failed_start(fraction: float, free: float, after: float, error: str) -> str:
    return (
        HEAD.format(fraction=fraction)
        + f"[2026-05-09 10:00:10 TP0] Load weight begin. avail mem={free:.2f} GB\n"
        + f"[2026-05-09 10:00:40 TP0] Load weight end. type=X, dtype=torch.bfloat16, avail mem={after:.2f} GB, mem usage={free - after:.2f} GB.\n"
        + error
    )


RAISE = "[2026-05-09 10:00:40 TP0] Scheduler hit an exception: Traceback (most recent call last):\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n\n[2026-05-09 10:00:41] Received sigquit from a child process. It usually means the child failed.\n"
