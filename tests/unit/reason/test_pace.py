"""When a start-up will be ready, and from when on it hangs: by its own pace, by earlier lives, and by nothing where neither is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics import clock
from forensics.model import Cause, Diagnosis, Health
from forensics.reason.figures import bar_seconds
from tests.unit.reason.telling import diagnosed, folder

UNIT = "sglang-a.service"
ARGS = "server_args=ServerArgs(model_path='/models/m', mem_fraction_static=0.88, tp_size=1, port=30000)"


def at(second: float, day: int = 9) -> str:
    whole = int(second)
    return f"2026-05-{day:02d} {10 + whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def entry(second: float, text: str, *, day: int = 9, ident: str = "python[7]", own: bool = True) -> str:
    said = f"[{at(second, day)}] {text}" if own else text
    return f"{at(second, day).replace(' ', 'T')}+0000 gpu01 {ident}: {said}\n"


def begun(day: int = 9) -> str:
    return (
        entry(0, f"Started {UNIT} - SGLang.", day=day, ident="systemd[1]", own=False)
        + entry(10, ARGS, day=day)
        + entry(20, "Load weight begin. avail mem=94.30 GB", day=day)
    )


def bars(done: int, of: int, pace: float, *, day: int = 9) -> str:
    return "".join(
        entry(20 + k * pace, f"Loading safetensors checkpoint shards: {k * 100 // of:3d}% Completed | {k}/{of}", day=day, own=False)
        for k in range(done + 1)
    )


def good(day: int = 8, shards: int = 20, pace: float = 5.0) -> str:
    """A life before, ready 60 s after its weights were there, and stopped."""
    end = 20 + shards * pace
    return (
        begun(day)
        + bars(shards, shards, pace, day=day)
        + entry(end, "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB.", day=day)
        + entry(end + 1, "KV Cache is allocated. #tokens: 433920, K size: 26.48 GB, V size: 26.48 GB", day=day)
        + entry(end + 2, "Memory pool end. avail mem=11.02 GB", day=day)
        + entry(end + 3, "Capture cuda graph begin. This can take up to several minutes. avail mem=10.90 GB", day=day)
        + entry(end + 50, "Capture cuda graph end. Time elapsed: 47.10 s. mem usage=1.21 GB. avail mem=9.69 GB.", day=day)
        + entry(end + 60, "The server is fired up and ready to roll!", day=day)
        + entry(3000, f"Stopping {UNIT} - SGLang...", day=day, ident="systemd[1]", own=False)
        + entry(3002, f"Stopped {UNIT} - SGLang.", day=day, ident="systemd[1]", own=False)
    )


def look(tmp_path: Path, journal: str, after_s: float) -> Diagnosis:
    """The diagnosis so many seconds after the start."""
    status = f"● {UNIT} - SGLang\n     Loaded: loaded (/etc/systemd/system/{UNIT}; enabled)\n     Active: active (running) since Sat {at(0)} UTC; {int(after_s)}s ago\n   Main PID: 7 (python)\n"
    return diagnosed(folder(tmp_path / "e", journal=journal, status=status, is_active="active\n"), unit=UNIT)


def second(time: float | None) -> float | None:
    start = clock.parse_stamp(at(0))
    assert start is not None
    return None if time is None else time - start


# ---------------------------------------------------------------- when it will be ready


def test_nothing_is_expected_where_no_life_has_become_ready(tmp_path: Path) -> None:
    assert look(tmp_path, begun() + bars(5, 20, 5.0), 50).ready_expected_at is None


def test_the_pace_of_this_start_counts_and_not_that_of_the_last(tmp_path: Path) -> None:
    """Five shards of twenty at 10 s each, then the 60 s that came after the weights last time: 20 + 200 + 60."""
    found = look(tmp_path, good(pace=5.0) + begun() + bars(5, 20, 10.0), 75)
    assert second(found.ready_expected_at) == pytest.approx(280, abs=1)


def test_without_a_bar_the_last_good_life_says_what_is_left_from_the_present_phase_on(tmp_path: Path) -> None:
    """It was slow up to the weights' end (170 s instead of 120); what is left is what it was."""
    slow = begun() + entry(170, "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB.")
    found = look(tmp_path, good() + slow, 180)
    assert second(found.ready_expected_at) == pytest.approx(230, abs=1)


def test_what_should_have_been_ready_by_now_has_no_time_any_more(tmp_path: Path) -> None:
    slow = begun() + entry(170, "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB.")
    found = look(tmp_path, good() + slow, 300)
    assert (found.cause, found.ready_expected_at) == (Cause.STARTUP_RACE, None)


@pytest.mark.parametrize(("text", "wanted"), [("01:40", 100.0), ("1:31:04", 5464.0), ("?", None), ("99:99", None), ("", None), (None, None)])
def test_a_bar_tells_its_own_time(text: str | None, wanted: float | None) -> None:
    assert bar_seconds(text) == wanted


# ---------------------------------------------------------------- slow, and hung


def test_a_slow_start_is_no_hang_while_its_steps_go_on(tmp_path: Path) -> None:
    """A shard takes two minutes: after nine minutes without one it is slow, not hung."""
    found = look(tmp_path, begun() + bars(5, 86, 130.0), 20 + 5 * 130 + 540)
    assert (found.cause, found.health) == (Cause.STARTUP_RACE, Health.STARTING)


def test_a_bar_that_stands_for_fifty_times_its_slowest_step_hangs(tmp_path: Path) -> None:
    found = look(tmp_path, begun() + bars(5, 64, 6.0), 20 + 5 * 6 + 420)
    assert (found.cause, str(found.status)) == (Cause.STARTUP_HANG, "supported")
    assert "nothing has moved for 7m00s, where one of its shards took 6s at most" in found.headline


def test_a_bar_that_stands_for_a_while_is_still_starting_but_that_is_said(tmp_path: Path) -> None:
    found = look(tmp_path, begun() + bars(5, 64, 6.0), 20 + 5 * 6 + 200)
    assert found.cause is Cause.STARTUP_RACE
    assert "nothing has moved for 3m20s" in found.headline


def test_a_phase_hangs_that_takes_far_longer_than_it_did_in_the_last_good_life(tmp_path: Path) -> None:
    """The pool took two seconds; a first compilation is allowed for."""
    stuck = begun() + entry(120, "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB.")
    assert look(tmp_path / "a", good() + stuck, 120 + 900).cause is Cause.STARTUP_RACE
    found = look(tmp_path / "b", good() + stuck, 120 + 1500)
    assert found.cause is Cause.STARTUP_HANG
    assert "in the last good life" in found.headline


def test_weights_of_which_nothing_is_known_may_be_silent_for_half_an_hour(tmp_path: Path) -> None:
    """A bar that overwrites itself reaches the journal only when it is full."""
    assert look(tmp_path / "a", begun(), 1500).cause is Cause.STARTUP_RACE
    assert look(tmp_path / "b", begun(), 2400).cause is Cause.STARTUP_HANG


def test_the_same_step_said_again_is_no_step(tmp_path: Path) -> None:
    again = "".join(entry(50 + 60 * k, "Loading safetensors checkpoint shards:   7% Completed | 5/64", own=False) for k in range(1, 9))
    assert look(tmp_path, begun() + bars(5, 64, 6.0) + again, 560).cause is Cause.STARTUP_HANG


def test_where_one_rank_is_waited_for_its_phase_is_the_measure(tmp_path: Path) -> None:
    """The weights took twenty seconds in the last good life; the pool, where the others wait, might take longer than that without being hung."""

    def ranks(day: int, ended: tuple[int, ...]) -> str:
        began = entry(0, f"Started {UNIT} - SGLang.", day=day, ident="systemd[1]", own=False) + entry(10, ARGS, day=day)
        said = "".join(entry(20, "Load weight begin. avail mem=94.30 GB", day=day).replace("] Load", f" TP{r}] Load") for r in range(4))
        end = entry(40, "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.44 GB, mem usage=15.14 GB.", day=day)
        return began + said + "".join(end.replace("] Load", f" TP{r}] Load") for r in ended)

    before = ranks(8, (0, 1, 2, 3)) + entry(90, "The server is fired up and ready to roll!", day=8)
    before += entry(3000, f"Stopping {UNIT} - SGLang...", day=8, ident="systemd[1]", own=False) + entry(
        3002, f"Stopped {UNIT} - SGLang.", day=8, ident="systemd[1]", own=False
    )
    found = look(tmp_path, before + ranks(9, (0, 1, 3)), 700)
    assert found.cause is Cause.STARTUP_HANG
    assert found.behind is not None
    assert found.behind.rank == "TP2"
    assert "all of weights took 20s in the last good life; TP2 is behind" in found.headline
