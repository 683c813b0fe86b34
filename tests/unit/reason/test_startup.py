"""Start-up phases of one life, and active, listening and ready as three times."""

from __future__ import annotations

from pathlib import Path

from forensics.model import Phase
from tests.unit.reason.telling import folder, story

ARGS = "server_args=ServerArgs(model_path='/models/m', mem_fraction_static=0.88, tp_size=2, port=30000)"


def log(*lines: tuple[str, str]) -> str:
    return "".join(f"[2026-05-09 10:{stamp}] {text}\n" for stamp, text in lines)


def test_a_rank_that_is_slower_has_its_own_seconds(tmp_path: Path) -> None:
    text = log(
        ("00:00", ARGS),
        ("00:10 TP0", "Load weight begin. avail mem=78.58 GB"),
        ("00:10 TP1", "Load weight begin. avail mem=78.58 GB"),
        ("00:20 TP0", "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB."),
        ("00:40 TP1", "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB."),
        ("00:41 TP1", "KV Cache is allocated. #tokens: 433920, K size: 26.48 GB, V size: 26.48 GB"),
    )
    told = story(folder(tmp_path / "e", server=text))
    took = {s.rank: s.took_s for s in told.issue.phases if s.phase is Phase.WEIGHTS}
    assert took == {"TP0": 10.0, "TP1": 30.0}
    assert told.issue.phase is Phase.KV_POOL


def test_the_launch_ends_with_the_first_word_of_a_rank(tmp_path: Path) -> None:
    told = story(folder(tmp_path / "e", server=log(("00:00", ARGS), ("00:12 TP0", "Init torch distributed begin."))))
    (launch,) = [s for s in told.issue.phases if s.phase is Phase.LAUNCH]
    assert launch.took_s == 12.0


def test_the_second_weights_of_a_rank_are_the_draft_model(tmp_path: Path) -> None:
    text = log(
        ("00:00", ARGS),
        ("00:10 TP0", "Load weight begin. avail mem=44.08 GB"),
        ("00:20 TP0", "Load weight end. type=LlamaForCausalLM, dtype=torch.float16, avail mem=28.97 GB, mem usage=15.11 GB."),
        ("00:20 TP0", "KV Cache is allocated. #tokens: 178164, K size: 11.17 GB, V size: 11.17 GB"),
        ("00:20 TP0", "Memory pool end. avail mem=6.01 GB"),
        ("00:21 TP0", "Load weight begin. avail mem=5.49 GB"),
    )
    assert story(folder(tmp_path / "e", server=text)).issue.phase is Phase.DRAFT_WORKER


def test_listening_and_ready_are_two_times(tmp_path: Path) -> None:
    text = log(
        ("00:00", ARGS),
        ("01:00", "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"),
        ("01:30", "The server is fired up and ready to roll!"),
    )
    life = story(folder(tmp_path / "e", server=text)).issue
    assert life.started_at is not None
    assert life.listening_at is not None
    assert life.ready_at is not None
    assert (life.listening_at - life.started_at, life.ready_at - life.started_at) == (60.0, 90.0)


def test_the_warm_up_request_does_not_make_it_serve(tmp_path: Path) -> None:
    text = log(
        ("00:00", ARGS),
        ("01:00", "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"),
        ("01:01 TP0", "Prefill batch. #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, "),
    )
    life = story(folder(tmp_path / "e", server=text)).issue
    assert (life.ready, life.served, life.phase) == (False, False, Phase.WARMUP)


def test_progress_is_the_last_update_of_a_bar_that_overwrites_itself(tmp_path: Path) -> None:
    bar = "\r".join(f"Loading safetensors checkpoint shards: {k * 25:3d}% Completed | {k}/4 [00:0{k}<00:0{4 - k},  1.00it/s]" for k in range(4))
    text = log(("00:00", ARGS), ("00:10 TP0", "Load weight begin. avail mem=78.58 GB")) + bar + "\n"
    progress = story(folder(tmp_path / "e", server=text)).issue.progress
    assert progress is not None
    assert (progress.done, progress.of, progress.what) == (3, 4, "shards")


def test_the_ready_line_of_another_kind_of_server_does_not_count(tmp_path: Path) -> None:
    """One server is ready when its HTTP library has started, the other only when it says so itself."""
    text = log(("00:00", ARGS), ("00:30 TP0", "Load weight begin. avail mem=78.58 GB"), ("01:00", "INFO:     Application startup complete."))
    assert story(folder(tmp_path / "e", server=text)).issue.ready is False
