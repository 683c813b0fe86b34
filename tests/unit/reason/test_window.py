"""Between which fractions a server can start: bounds and suggestions out of figures alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import BudgetOf, Direction
from forensics.reason.window import Window, window


@pytest.mark.parametrize(
    ("low", "high", "fits"), [(0.7, 0.9, True), (0.9, 0.8, False), (None, 0.9, None), (0.7, None, None)], ids=["room", "none", "no-low", "no-high"]
)
def test_whether_any_fraction_fits(low: float | None, high: float | None, fits: bool | None) -> None:
    assert Window(low=low, high=high).fits is fits


def test_a_suggestion_is_never_above_what_fits() -> None:
    assert Window(fraction=0.9, low=0.935, high=0.958).suggest(Direction.RAISE) == 0.95
    assert Window(fraction=0.94, low=0.935, high=0.942).suggest(Direction.RAISE) is None


def test_a_bound_that_the_failure_itself_contradicts_gives_no_number() -> None:
    enough = Window(fraction=0.9, low=0.5).believed(Direction.RAISE)  # 0.5 should have done, and 0.9 did not: the weights are not what lacks room
    assert (enough.low, enough.suggest(Direction.RAISE)) == (None, None)
    little = Window(fraction=0.7, high=0.95).believed(Direction.LOWER)
    assert (little.high, little.suggest(Direction.LOWER)) == (None, None)


def test_a_fraction_that_nobody_knows_is_not_said_to_be_lowered_to_more_than_the_pool_left() -> None:
    found = window(
        BudgetOf.FREE,
        {"free_before_gib": 78.5, "free_after_weights_gib": 43.0, "free_after_pool_gib": 9.1, "asked_gib": 0.48, "free_at_failure_gib": 0.6},
        whole_request=False,
        after_pool=True,
    )
    assert found.most == pytest.approx(1 - 9.1 / 78.5)
    assert found.suggest(Direction.LOWER) is None


# --------------------------------------------------------------------------- whatever the figures

shares = st.none() | st.floats(0, 1)
gib = st.floats(0, 300)
figures = st.dictionaries(
    st.sampled_from(
        (
            "free_before_gib", "free_after_weights_gib", "free_after_pool_gib", "free_when_ready_gib", "total_gib", "free_at_start_gib", "kv_available_gib",
            "asked_gib", "free_at_failure_gib", "weights_gib", "activation_gib", "non_torch_gib", "request_gib",
        )
    ),
    gib,
)  # fmt: skip
ways = st.sampled_from((Direction.RAISE, Direction.LOWER, Direction.REBALANCE))


def holds(w: Window, way: Direction) -> None:
    to = w.suggest(way)
    if to is None:
        return
    assert w.low is None or w.low <= to + 1e-9
    assert w.high is None or to <= w.high + 1e-9
    assert not (way is Direction.RAISE and w.fraction is not None and to <= w.fraction)
    assert not (way is Direction.LOWER and w.fraction is not None and to >= w.fraction)


@given(fraction=shares, low=shares, high=shares, useful=shares, way=ways)
def test_a_suggestion_lies_within_the_window_and_on_the_right_side(
    fraction: float | None, low: float | None, high: float | None, useful: float | None, way: Direction
) -> None:
    w = Window(fraction=fraction, low=low, high=high, useful=useful, base_gib=80.0)
    holds(w, way)
    holds(w.believed(way), way)


@given(kind=st.sampled_from(BudgetOf), v=figures, fraction=shares, whole=st.booleans(), after=st.booleans(), way=ways)
def test_no_figures_give_a_number_outside_of_their_own_window(
    kind: BudgetOf, v: dict[str, float], fraction: float | None, whole: bool, after: bool, way: Direction
) -> None:
    w = window(kind, {**v, **({"fraction": fraction} if fraction is not None else {})}, whole_request=whole, after_pool=after)
    holds(w.believed(way), way)
    assert w.high is None or 0 <= w.high <= 1


@given(fraction=shares, low=shares, high=shares)
def test_nobody_is_sent_from_one_failure_into_the_other(fraction: float | None, low: float | None, high: float | None) -> None:
    w = Window(fraction=fraction, low=low, high=high)
    if fraction is not None and low is not None and fraction < low:
        assert w.direction(Direction.LOWER) is not Direction.LOWER
    if fraction is not None and high is not None and fraction > high:
        assert w.direction(Direction.RAISE) is not Direction.RAISE
    if low is not None and high is not None and w.believed(Direction.RAISE).fits is False:
        assert w.direction(Direction.RAISE) is Direction.REBALANCE
