"""Start-up phases of one life, and active, listening and ready as three times."""

from __future__ import annotations

from pathlib import Path

from forensics.model import MarkKind, Origin, Phase, Record
from forensics.reason.startup import MOST_RANKS, Startup
from tests.cases.judge import rules
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


# ---------------------------------------------------------------- ranks

WEIGHTS_END = "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB."


def loading(ranks: int, *lines: tuple[str, str]) -> str:
    return log(("00:00", ARGS), *((f"00:10 TP{r}", "Load weight begin. avail mem=78.58 GB") for r in range(ranks)), *lines)


def test_the_one_rank_that_the_others_wait_for_is_named_with_its_phase_and_since_when_it_is_silent(tmp_path: Path) -> None:
    text = loading(
        4,
        *((f"00:30 TP{r}", WEIGHTS_END) for r in (0, 1, 2)),
        *((f"00:31 TP{r}", "KV Cache is allocated. #tokens: 433920, K size: 26.48 GB, V size: 26.48 GB") for r in (0, 1, 2)),
    )
    life = story(folder(tmp_path / "e", server=text)).issue
    assert life.behind is not None
    assert (life.behind.rank, life.behind.phase, life.behind.others) == ("TP3", Phase.WEIGHTS, Phase.KV_POOL)
    assert life.started_at is not None
    assert life.behind.since == life.started_at + 10


def test_several_that_stand_at_the_same_place_are_all_named(tmp_path: Path) -> None:
    text = loading(8, *((f"00:30 TP{r}", WEIGHTS_END) for r in (0, 1, 2, 4, 6, 7)))
    behind = story(folder(tmp_path / "e", server=text)).issue.behind
    assert behind is not None
    assert behind.ranks == ("TP3", "TP5")


def test_no_rank_is_behind_while_all_are_in_the_same_phase(tmp_path: Path) -> None:
    assert story(folder(tmp_path / "e", server=loading(4))).issue.behind is None


def test_a_server_whose_first_rank_speaks_for_all_has_nobody_behind(tmp_path: Path) -> None:
    """Three that say nothing may well be further than they say."""
    assert story(folder(tmp_path / "e", server=loading(4, ("00:30 TP0", WEIGHTS_END)))).issue.behind is None


def test_of_two_ranks_the_second_is_behind_only_where_it_has_said_in_another_life_what_comes_next(tmp_path: Path) -> None:
    half = loading(2, ("00:30 TP0", WEIGHTS_END))
    assert story(folder(tmp_path / "one", server=half)).issue.behind is None
    before = log(("00:00", ARGS), *((f"00:10 TP{r}", "Load weight begin. avail mem=78.58 GB") for r in (0, 1)), *((f"00:20 TP{r}", WEIGHTS_END) for r in (0, 1)),
                 *((f"00:21 TP{r}", "KV Cache is allocated. #tokens: 433920, K size: 26.48 GB, V size: 26.48 GB") for r in (0, 1)))  # fmt: skip
    behind = story(folder(tmp_path / "two", server=before + half.replace("10:0", "11:0"))).lives[-1].behind
    assert behind is not None
    assert (behind.rank, behind.phase) == ("TP1", Phase.WEIGHTS)


def test_the_first_rank_is_behind_where_the_second_has_gone_on(tmp_path: Path) -> None:
    behind = story(folder(tmp_path / "e", server=loading(2, ("00:30 TP1", WEIGHTS_END)))).issue.behind
    assert behind is not None
    assert behind.rank == "TP0"


def test_a_rank_that_never_spoke_is_missed_by_its_number(tmp_path: Path) -> None:
    text = log(("00:00", ARGS), *((f"00:12 TP{r}", "Init torch distributed begin.") for r in (0, 2, 3)))
    behind = story(folder(tmp_path / "e", server=text)).issue.behind
    assert behind is not None
    assert (behind.rank, behind.phase, behind.others) == ("TP1", None, Phase.DISTRIBUTED_INIT)


def test_nobody_is_behind_once_it_is_ready(tmp_path: Path) -> None:
    text = loading(4, *((f"00:30 TP{r}", WEIGHTS_END) for r in (0, 1, 2)), ("01:00", "The server is fired up and ready to roll!"))
    assert story(folder(tmp_path / "e", server=text)).issue.behind is None


# ---------------------------------------------------------------- processes that direct ranks

ENGINE = """\
(APIServer pid=1) INFO 05-09 10:00:00 [utils.py:233] non-default args: {'model': '/m', 'tensor_parallel_size': 2}
(EngineCore pid=2) INFO 05-09 10:00:05 [core.py:105] Initializing a V1 LLM engine (v0.20.2) with config: model='/m'
(Worker_TP0 pid=3) INFO 05-09 10:00:10 [gpu_model_runner.py:4100] Starting to load model /m...
(Worker_TP1 pid=4) INFO 05-09 10:00:10 [gpu_model_runner.py:4100] Starting to load model /m...
(Worker_TP0 pid=3) INFO 05-09 10:00:20 [gpu_model_runner.py:4188] Model loading took 70.81 GiB memory and 9.1 seconds
(Worker_TP1 pid=4) INFO 05-09 10:00:20 [gpu_model_runner.py:4188] Model loading took 70.81 GiB memory and 9.1 seconds
(EngineCore pid=2) ERROR 05-09 10:00:21 [core.py:1101] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
"""


def test_an_engine_that_fails_for_its_workers_fails_in_their_phase_and_not_in_the_last_it_named(tmp_path: Path) -> None:
    told = story(folder(tmp_path / "e", server=ENGINE))
    (found,) = [s for s in told.signals if s.rule == "vllm.no-cache-blocks"]
    assert (found.rank, found.phase) == ("EngineCore", Phase.KV_POOL)
    assert [s.took_s for s in told.issue.phases if s.rank == "EngineCore"] == [5.0]
    assert told.issue.behind is None


# ---------------------------------------------------------------- what follows what


def test_draft_weights_that_come_before_the_pool_leave_the_pool_to_come(tmp_path: Path) -> None:
    text = log(
        ("00:00", ARGS),
        ("00:10 TP0", "Load weight begin. avail mem=78.50 GB"),
        ("00:20 TP0", "Load weight end. elapsed=10.0 s, type=LlamaForCausalLM, avail mem=17.10 GB, mem usage=61.40 GB."),
        ("00:21 TP0", "Load weight begin. avail mem=17.10 GB"),
        ("00:25 TP0", "Load weight end. elapsed=3.8 s, type=LlamaEagle, avail mem=10.19 GB, mem usage=6.91 GB."),
    )
    life = story(folder(tmp_path / "e", server=text)).issue
    assert life.phase is Phase.KV_POOL
    assert [s.phase for s in life.phases] == [Phase.LAUNCH, Phase.WEIGHTS, Phase.DRAFT_WORKER, Phase.KV_POOL]


def test_what_is_compiled_once_the_port_is_bound_belongs_to_the_warm_up(tmp_path: Path) -> None:
    text = log(
        ("00:00", ARGS),
        ("01:00", "INFO:     Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)"),
        ("01:02 TP0", "Entering DeepGEMM JIT Pre-Compile session. It may take a long time (typically 10-20 mins)"),
        ("01:30 TP0", "DeepGEMM warmup:  37%|███       | 6170/16384 [00:28<02:45, 61.70it/s]"),
    )
    life = story(folder(tmp_path / "e", server=text)).issue
    assert life.phase is Phase.WARMUP
    assert life.progress is not None
    assert (life.progress.done, life.progress.left_s) == (6170, 165.0)


def test_systemd_says_when_it_is_active_which_is_not_when_it_was_started(tmp_path: Path) -> None:
    journal = "May 09 10:00:00 gpu01 systemd[1]: Starting llm.service - LLM...\nMay 09 10:01:40 gpu01 systemd[1]: Started llm.service - LLM.\n"
    life = story(folder(tmp_path / "e", journal=journal)).issue
    assert life.started_at is not None
    assert life.active_at == life.started_at + 100


def test_a_server_that_has_not_said_a_word_since_its_restart_is_in_its_launch(tmp_path: Path) -> None:
    """It imports for up to a minute; in this evidence it is heard, so its silence is its own."""
    before = "".join(
        f"May 09 10:{line[15:20]} gpu01 python[7]: {line}\n" for line in log(("00:01", ARGS), ("00:12", "Init torch distributed begin.")).splitlines()
    )
    journal = (
        "May 09 10:00:00 gpu01 systemd[1]: Started llm.service - LLM.\n" + before + "May 09 10:05:00 gpu01 systemd[1]: Stopping llm.service - LLM...\n"
        "May 09 10:05:02 gpu01 systemd[1]: Stopped llm.service - LLM.\nMay 09 10:05:03 gpu01 systemd[1]: Started llm.service - LLM.\n"
    )  # fmt: skip
    status = "● llm.service - LLM\n     Loaded: loaded (/etc/systemd/system/llm.service; enabled)\n     Active: active (running) since Sat 2026-05-09 10:05:03 UTC; 12s ago\n   Main PID: 9 (python)\n"
    assert story(folder(tmp_path / "a", journal=journal, status=status, is_active="active\n"), unit="llm.service").issue.phase is Phase.LAUNCH
    alone = journal.split("\n", 1)[0] + "\n"
    assert story(folder(tmp_path / "b", journal=alone, status=status, is_active="active\n"), unit="llm.service").issue.phase is None


def test_ranks_that_a_log_makes_up_are_counted_up_to_a_bound() -> None:
    """A line can name any rank, and what is done for each must not grow with what a stranger writes."""
    profile = rules().profile("sglang")
    assert profile is not None
    fold, mark = Startup(), next(m for m in profile.marks if m.kind is MarkKind.BEGIN and m.phase is Phase.WEIGHTS)
    for number in range(5 * MOST_RANKS):
        fold.feed(mark, Record(at=1.0 + number, source="log", line_no=number, text="x", origin=Origin.SERVER, rank=f"TP{number}"), {})
    assert len(fold.open_of) <= MOST_RANKS + 1
    assert fold.phase_of("TP7") is mark.phase
