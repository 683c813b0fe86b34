"""The memory fraction: which way, and to what number, from the log's own figures; what else could be given; the host's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.model import Cause, Direction
from forensics.reason.absurd import absurd
from forensics.reason.memory import budget
from tests.unit.reason.memorylogs import CASES, RAISE, failed_start
from tests.unit.reason.telling import diagnosed, folder, story


def test_what_the_weights_take_is_the_lower_bound(tmp_path: Path) -> None:
    found = budget(story(folder(tmp_path / "e", server=failed_start(0.8, 78.50, 10.20, RAISE))))
    assert found.window.fraction == 0.8
    assert found.window.low == pytest.approx(1 - 10.20 / 78.50)
    assert found.window.suggest(Direction.RAISE) == 0.9


def test_a_model_that_takes_all_of_it_gets_no_number(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.9, 23.20, 0.40, RAISE)))
    (advice, *_) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert advice.to is None
    assert "more GPUs" in advice.text


def test_the_number_that_the_server_prints_itself_is_taken(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:40 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. Raise --mem-fraction-static above 0.871 "
        "(minimum viable = 1 - available/pre = 0.8701). If using speculative decoding, draft weights are now counted.\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.8, 78.50, 10.20, error)))
    assert (found.direction, found.advice[0].to) == (Direction.RAISE, 0.9)


def test_graphs_that_find_no_room_lower_it_although_the_hint_list_is_printed_for_everything(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:41 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 401234, K size: 24.49 GB, V size: 24.49 GB\n"
        "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=1.10 GB\n"
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.05 GB\n"
        "[2026-05-09 10:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which "
        "100.06 MiB is free. \nPossible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.88, 78.50, 40.00, error)))
    assert (found.cause, found.direction, found.phase) == ("gpu-oom-init", Direction.LOWER, "cuda-graph")
    (advice, *_) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert isinstance(advice.to, float)
    assert 0.8 <= advice.to < 0.88


def test_the_figures_are_read_where_pytorch_misspells_its_capacity(tmp_path: Path) -> None:  # 2.0 … 2.2
    error = (
        "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=1.10 GB\n"
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.05 GB\n"
        "[2026-05-09 10:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacty of 79.25 GiB of which 100.06 MiB is free. \n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.88, 78.50, 40.00, error)))
    (advice, *_) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert isinstance(advice.to, float)
    assert 0.8 <= advice.to < 0.88


def test_the_same_hint_list_after_another_failure_is_no_matter_of_memory(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=21.05 GB\n"
        "[2026-05-09 10:00:45 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "Exception: Capture cuda graph failed: CUDA error: operation not permitted when stream is capturing\n"
        "Possible solutions:\n1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.88, 78.50, 40.00, error)))
    assert (found.cause, found.direction) == ("cuda-graph-capture", None)


def test_opposite_failures_of_two_attempts_are_one_story(tmp_path: Path) -> None:
    oom = (
        "[2026-05-09 10:00:41 TP0] KV Cache is allocated. #tokens: 178164, K size: 11.17 GB, V size: 11.17 GB\n"
        "[2026-05-09 10:00:41 TP0] Memory pool end. avail mem=1.01 GB\n"
        "[2026-05-09 10:00:42 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.05 GB\n"
        "[2026-05-09 10:00:43 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 44.42 GiB of which 817.38 MiB is free.\n\n"
        "[2026-05-09 10:00:43] Received sigquit from a child process. It usually means the child failed.\n"
    )
    second = failed_start(0.60, 44.08, 16.0, RAISE).replace("10:00:", "10:05:")
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.66, 44.08, 16.0, oom) + second))
    assert (found.cause, found.direction, len(found.lives)) == ("gpu-oom-init", Direction.REBALANCE, 2)


# --------------------------------------------------------------------------- what else could be given


def engine(needed: float, available: float, *, version: str = "0.11.0", more: str = "") -> str:
    return (
        f"(APIServer pid=1) INFO 05-09 10:00:00 [api_server.py:1839] vLLM API server version {version}\n"
        f"(EngineCore_DP0 pid=7) INFO 05-09 10:00:20 [gpu_model_runner.py:2653] Model loading took 40.00 GiB and 18.2 seconds\n{more}"
        f"(EngineCore_DP0 pid=7) INFO 05-09 10:00:40 [gpu_worker.py:298] Available KV cache memory: {available:.2f} GiB\n"
        "(EngineCore_DP0 pid=7) ERROR 05-09 10:00:41 [core.py:708] EngineCore failed to start.\n"
        "(EngineCore_DP0 pid=7) ERROR 05-09 10:00:41 [core.py:708] ValueError: To serve at least one request with the models's max seq len (131072), "
        f"({needed:.2f} GiB KV cache is needed, which is larger than the available KV cache memory ({available:.2f} GiB). Try increasing\n"
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}\n"
    )


TOTAL = "(EngineCore_DP0 pid=7) INFO 05-09 10:00:30 [gpu_worker.py:300] Free memory on device (78.40/80.00 GiB) on startup. Desired GPU memory utilization is (0.9, 72.00 GiB).\n"


def test_a_request_that_does_not_fit_gets_a_fraction_or_a_length_out_of_the_log(tmp_path: Path) -> None:
    # 16.00 GiB for 131072 tokens are 128 KiB each; 12.00 GiB hold 98304. To hold 16.00: 0.9 + (16 - 12)/80 = 0.95, and 78.40/80 = 0.98 of it are free
    found = diagnosed(folder(tmp_path / "e", server=engine(16.0, 12.0, more=TOTAL)))
    assert found.memory is not None
    assert (found.memory.fraction_min, found.memory.fraction_max, found.memory.fits) == (0.95, 0.98, True)
    numbers = {a.flag: a.to for a in found.advice if a.to is not None}
    assert numbers == {"--gpu-memory-utilization": 0.97, "--max-model-len": 98304}


def test_where_no_fraction_fits_the_levers_are_told_with_what_they_free(tmp_path: Path) -> None:
    # 0.9 + (32 - 12)/80 = 1.15: more than there is
    found = diagnosed(folder(tmp_path / "e", server=engine(32.0, 12.0, more=TOTAL)))
    assert found.memory is not None
    assert (found.memory.fraction_min, found.memory.fits, found.direction) == (1.15, False, Direction.REBALANCE)
    levers = {lever.flag: (lever.to, lever.frees_gib) for lever in found.memory.levers}
    assert levers["--max-model-len"] == (49152, 20.0)  # 12.00 GiB at 256 KiB a token
    assert levers["--kv-cache-dtype"] == (None, 16.0)
    assert levers["--tensor-parallel-size"] == (None, 20.0)
    assert levers["--max-num-seqs"] == (None, None)
    assert "--max-cudagraph-capture-size" not in levers  # as 0.20 spells it


def test_a_version_whose_default_nobody_knows_gets_no_number(tmp_path: Path) -> None:
    found = diagnosed(folder(tmp_path / "e", server=engine(16.0, 12.0, version="0.15.0")))
    assert found.memory is not None
    assert (found.memory.fraction, found.memory.fraction_min) == (None, None)
    (advice,) = [a for a in found.advice if a.flag == "--gpu-memory-utilization"]
    assert (advice.direction, advice.to) == (Direction.RAISE, None)


def test_the_largest_batch_that_does_not_fit_beside_the_weights_has_no_direction() -> None:
    found = diagnosed(CASES / "made" / "vllm-mm-profile-oom")
    assert (found.cause, found.direction) == (Cause.GPU_OOM_INIT, None)
    assert any(a.flag == "--max-num-batched-tokens" for a in found.advice)


@pytest.mark.parametrize(("given", "told"), [("", []), (" --cuda-memory-fraction 0.6", ["raise"])], ids=["all of it", "less"])
def test_nobody_is_told_to_raise_what_is_all_of_it_already(given: str, told: list[str], tmp_path: Path) -> None:
    log = (
        "2024-04-15T12:01:19.487153Z  INFO text_generation_router: router/src/main.rs:251: Warming up model\n"
        'Error: Warmup(Generation("CUDA out of memory"))\n'
        "2024-04-15T12:01:22.233531Z ERROR text_generation_launcher: Webserver Crashed\n"
    )
    unit = f"[Service]\nExecStart=/usr/bin/text-generation-launcher --model-id /m{given}\n"
    evidence = folder(tmp_path / "e", log=log)
    (evidence / "tgi.service").write_text(unit, encoding="utf-8")
    found = diagnosed(evidence)
    assert found.cause is Cause.GPU_OOM_INIT
    assert [str(a.direction) for a in found.advice if a.flag == "--cuda-memory-fraction"] == told


def test_a_bound_that_was_dropped_is_not_given_by_a_rule_either() -> None:
    found = diagnosed(CASES / "given" / "sglang-4330")
    assert [a.to for a in found.advice if a.flag == "--mem-fraction-static"] == [None]


# --------------------------------------------------------------------------- the host


def test_a_limit_that_was_met_is_told_with_what_the_machine_has_left(tmp_path: Path) -> None:
    status = (
        "× s.service - S\n     Loaded: loaded (/etc/systemd/system/s.service; enabled)\n     Active: failed (Result: oom-kill) since Sat 2026-05-09 10:02:00 UTC; 1min ago\n"
        "   Main PID: 1817 (code=killed, signal=KILL)\n     Memory: 0B (max: 64.0G peak: 64.0G)\n"
    )
    meminfo = "MemTotal:       528280576 kB\nMemAvailable:   314572800 kB\nSwapTotal:             0 kB\n"
    kernel = "2026-05-09T10:01:59+0000 h kernel: Memory cgroup out of memory: Killed process 1817 (python) total-vm:99kB, anon-rss:67108864kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0\n"
    found = diagnosed(folder(tmp_path / "e", status=status, meminfo=meminfo, kernel=kernel))
    assert found.cause is Cause.HOST_OOM
    assert found.memory is not None
    rows = {r.what: r.gib for r in found.memory.rows if r.on == "host"}
    assert (rows["peak of the unit"], rows["limit of the unit"], rows["available on it"]) == (64.0, 64.0, 300.0)
    assert any("300.0 GiB of it available now" in a.text for a in found.advice)


def test_evidence_without_a_figure_has_no_ledger(tmp_path: Path) -> None:
    assert diagnosed(folder(tmp_path / "e", notes="the server is down again\n")).memory is None


def test_weights_that_fill_the_gpu_leave_no_direction_but_both(tmp_path: Path) -> None:
    error = (
        "[2026-05-09 10:00:40 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.8. Raise --mem-fraction-static above 1.000 "
        "(minimum viable = 1 - available/pre = 1.0000).\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=failed_start(0.8, 30.06, 0.0, error)))
    assert (found.cause, found.direction) == ("gpu-oom-init", Direction.REBALANCE)
    (advice,) = [a for a in found.advice if a.flag == "--mem-fraction-static"]
    assert (advice.to, advice.direction) == (None, Direction.REBALANCE)
    assert "more GPUs" in advice.text


@pytest.mark.parametrize(("needed", "room"), [("24.0", "over 209 GiB"), ("3.53", "over 4 GiB")])
def test_how_far_a_larger_share_can_reach_is_told_where_the_size_of_the_gpu_is_not(tmp_path: Path, needed: str, room: str) -> None:
    log = (
        "(APIServer pid=1) INFO 02-08 14:20:11 [utils.py:325] non-default args: {'model_tag': '/m', 'gpu_memory_utilization': 0.9}\n"
        f"(EngineCore_DP0 pid=2) ValueError: To serve at least one request with the models's max seq len (262144), ({needed} GiB KV cache is needed, "
        "which is larger than the available KV cache memory (3.18 GiB). Based on the available memory, the estimated maximum model length is 34736. "
        "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
    )
    found = diagnosed(folder(tmp_path / "e", server=log))
    (advice,) = [a for a in found.advice if a.flag == "--gpu-memory-utilization"]
    assert found.direction is Direction.RAISE
    assert room in advice.text
    assert any(a.flag == "--max-model-len" for a in found.advice)


ABSURD = """[2026-05-09 10:15:10] server_args=ServerArgs(model_path='/models/x', mem_fraction_static=0.88, tp_size=1)
[2026-05-09 10:15:12 TP0] Load weight begin. avail mem={before} GB
[2026-05-09 10:15:40 TP0] Load weight end. type=M, dtype=torch.bfloat16, avail mem={after} GB, mem usage=74.10 GB.
[2026-05-09 10:15:50 TP0] Scheduler hit an exception: Traceback (most recent call last):
RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.
"""


@pytest.mark.parametrize(("before", "why"), [("99999.10", "more than any GPU has"), ("123456789012345678.5", "more than any GPU has")])
def test_a_figure_that_no_gpu_has_is_said_and_not_reckoned_with(before: str, why: str, tmp_path: Path) -> None:
    sane = diagnosed(folder(tmp_path / "sane", log=ABSURD.format(before="78.50", after="4.30")))
    assert sane.memory is not None
    assert sane.memory.fraction_min is not None
    assert not [w for w in sane.warnings if w.kind == "absurd-figure"]
    found = diagnosed(folder(tmp_path / "odd", log=ABSURD.format(before=before, after="4.30")))
    assert found.memory is not None
    assert all(row.gib < 100 for row in found.memory.rows)
    (warned,) = [w.text for w in found.warnings if w.kind == "absurd-figure"]
    assert warned.startswith("log.txt:2 says ")
    assert why in warned


def test_more_cannot_be_free_than_the_gpu_has(tmp_path: Path) -> None:
    asked = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which {} GiB is free.\n"
    )
    log = ABSURD.format(before="78.50", after="4.30").replace(
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n", asked
    )
    found = diagnosed(folder(tmp_path, log=log.format("812.00")))
    assert found.memory is not None
    assert "free then" not in {row.what for row in found.memory.rows}
    assert [w.text for w in found.warnings if w.kind == "absurd-figure"] == [
        "log.txt:5 says 812 GiB (free at failure): more than the 79.1 GiB that the GPU has, so nothing is reckoned with it"
    ]


@pytest.mark.parametrize(
    ("fact", "value", "true"),
    [
        ("free_before_gib", -0.1, False),
        ("total_gib", 5000.0, False),
        ("weights_gib", 1400.0, True),  # over several GPUs, or of a machine that shares its memory
        ("kv_available_gib", -3.2, True),  # what a server says is lacking
        ("graph_gib", -0.4, True),
        ("asked_gib", 1048576.0, True),  # asked for in earnest, by a fault
        ("pool_tokens", -1.0, False),
        ("fraction", 1.2, False),
        ("fraction", 1.0, True),
    ],
)
def test_what_is_absurd_depends_on_what_it_is_of(fact: str, value: float, true: bool) -> None:
    assert (absurd(fact, value) is None) is true
