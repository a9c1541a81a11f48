"""Windows over values from a cut: each is reported once, and no needed cell is deleted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.arrays import EVER, NEVER
from muntin.operators.rows.cut_values import ValueCut
from muntin.specs.axis import TICK_LIMIT, Axis, Domain
from muntin.specs.windows import Edges
from tests.operators.progressed import progressed, run, told

INTEGER = Axis(Domain.INTEGER)


#   0         5         10        15
#       3                 11                complete up to 12
#   [---------)                             reported
#        [2.5 ...
def test_windows_are_told_when_they_are_complete() -> None:
    cut = ValueCut(Edges(10, 5, 0, clipped=False), INTEGER)
    cutting = cut.windows(run((0, 3), (0, 11)), progressed(complete=[12]), None)
    assert told(cutting) == [(0, -5, 5, True), (0, 0, 10, True)]
    assert cutting.needed.tolist() == [5]
    assert {name: of.tolist() for name, of in cutting.memory.items()} == {"next": [2], "last": [11]}
    ended = progressed(complete=[12], next=[2], last=[11], ended=True, largest=11)
    assert told(cut.windows(run(), ended, None)) == [(0, 5, 15, False), (0, 10, 20, False)]


@pytest.mark.parametrize("origin", [0, -(2**50)])
def test_windows_far_from_the_origin_keep_what_they_need(origin: int) -> None:
    """With a slide of a microsecond, the windows of today have numbers near 10**15."""
    cut = ValueCut(Edges(100, 1, origin, clipped=False), INTEGER)
    now = 2**51
    cutting = cut.windows(run((0, now - 3)), progressed(complete=[now]), None)
    assert [end for _, _, end, _ in told(cutting)] == [now - 2, now - 1, now]
    assert cutting.needed.tolist() == [now + 1 - 100]


def test_without_punctuation_nothing_is_told_or_forgotten() -> None:
    cut = ValueCut(Edges(10, 5, 0, clipped=False), INTEGER)
    cutting = cut.windows(run((0, 3)), progressed(), None)
    assert told(cutting) == []
    assert cutting.needed.tolist() == [NEVER]


def test_an_input_without_rows_ends_without_windows() -> None:
    cut = ValueCut(Edges(5, 5, 0, clipped=True, landmark=True), INTEGER)
    cutting = cut.windows(run(), progressed(ended=True), None)
    assert told(cutting) == []
    assert cutting.needed.tolist() == [EVER]


def test_the_whole_axis_in_two_windows() -> None:
    length = TICK_LIMIT - 1
    cut = ValueCut(Edges(length, length, -length, clipped=True), INTEGER)
    rows = run((0, -length), (0, length))
    cutting = cut.windows(rows, progressed(complete=[TICK_LIMIT]), None)
    assert told(cutting) == [(0, -length, 0, True)]
    assert cutting.needed.tolist() == [length]


WINDOWS = st.builds(Edges, st.integers(1, 9), st.integers(1, 6), st.integers(-4, 4), st.just(False))


@given(WINDOWS, st.lists(st.tuples(st.integers(-9, 20), st.integers(0, 9)), max_size=6))
def test_every_window_is_told_once(edges: Edges, rows: list[tuple[int, int]]) -> None:
    """Rows come in order, each with the distance from it to the punctuation after it."""
    cut, reported, ticks = ValueCut(edges, INTEGER), [], []
    memory: dict[str, list[int]] = {}
    complete, needed = -20, NEVER
    for tick, further in rows:
        tick = max(tick, complete)
        complete = tick + further
        ticks.append(tick)
        keys = progressed(complete=[complete], **memory)
        cutting = cut.windows(run((0, tick)), keys, None)
        assert all(low >= needed for low in cutting.low.tolist())
        reported += told(cutting)
        memory = {name: of.tolist() for name, of in cutting.memory.items()}
        needed = int(cutting.needed[0])
    ended = progressed(complete=[complete], ended=True, largest=max(ticks, default=NEVER), **memory)
    reported += told(cut.windows(run(), ended, None))
    wids = {w for w in range(-40, 60) for tick in ticks if edges.start(w) <= tick < edges.end(w)}
    assert [(start, end) for _, start, end, _ in reported] == [
        (edges.start(w), edges.end(w)) for w in sorted(wids)
    ]
