"""A fill holds only the rows that a segment may still ask for.

reading    . . # # # # # # . .        # is above the threshold
filling    o o o o o o o o o o
held           ^ since the open frame began
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.operators.fill.held_rows import HeldChunks, reached
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments
from muntin.operators.fill.source import FillInput, FillReach
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation, ScopedState, Step
from muntin.specs.axis import Axis, Domain
from muntin.specs.fill import CLOSED
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Threshold

AXIS = Axis(Domain.INTEGER)
WHOLE = pa.int64()


class Driver:
    """A fill of two inputs of whole numbers; each test calls its steps."""

    def __init__(self, *, reach: dict[str, int] | None = None, shift: int = 0, **options: Any):
        framing = Framing(Threshold("b"), "x", **options)
        typed = FrameOperatorInputs(AXIS, (WHOLE,), (), WHOLE, WHOLE, (pa.bool_(),), (), None)
        parts = framing.fragments is not None
        segments = OperatorSegments(
            build(framing, typed), AXIS, (WHOLE,), edge=CLOSED, fragments=parts
        )
        count = AggregateCall("count", "count(*)", (), (), True)
        lengths = FillReach(AXIS, CLOSED, **(reach or {}))
        fill = FillInput(lengths, ("k0",), (WHOLE,), ("k0",), (count,), WHOLE, shifts=(shift,))
        self.work, self.state = FillOperator(segments, (fill,), ("k0",)), MemoryState()
        self.complete: list[int | None] = [None, None]

    def step(
        self,
        readings: dict[int, bool],
        filling: list[int],
        complete: tuple[int | None, int | None],
        key: int = 0,
    ) -> Step:
        tables = [
            pa.table({"on": list(readings), "f0": list(readings.values())}),
            pa.table({"on": pa.array(filling, WHOLE)}),
        ]
        arrived = []
        for place, (sender, rows) in enumerate(zip(self.work.map_sides, tables, strict=True)):
            rows = rows.append_column("k0", pa.array([key] * rows.num_rows, WHOLE))
            routed = [sender.route(rows).partial] if rows.num_rows else []
            after = complete[place] if complete[place] is not None else self.complete[place]
            arrived.append(InputBatch(routed, Punctuation(self.complete[place], after, after)))
            self.complete[place] = after
        step = self.work.step(self.state, arrived)
        self.state.apply(step.changes)
        return step

    @property
    def held(self) -> list[int]:
        scope = ScopedState(self.state, "fill0:")
        chunks = HeldChunks.of(scope).read(scope.buckets("rows")).values()
        return sorted(int(order) for chunk in chunks for order in chunk["order"].to_numpy())


def below(numbers: range) -> dict[int, bool]:
    return dict.fromkeys(numbers, False)


def above(numbers: range) -> dict[int, bool]:
    return dict.fromkeys(numbers, True)


def test_rows_below_every_frame_to_come_are_let_go() -> None:
    driver = Driver()
    driver.step(below(range(10)), list(range(20)), (10, 5))
    assert driver.held == list(range(10, 20))  # however far the filling rows are complete


def test_an_open_frame_holds_what_it_may_be_filled_with() -> None:
    driver = Driver()
    driver.step({**below(range(4)), **above(range(4, 10))}, list(range(10)), (10, 10))
    assert driver.held == list(range(4, 10))
    step = driver.step(below(range(10, 12)), [10, 11], (12, 12))
    assert step.results["r0"].to_pylist() == [6]
    assert driver.held == []


def test_a_frame_that_comes_to_nothing_lets_go() -> None:
    driver = Driver(min_count=20)
    driver.step(above(range(10)), list(range(10)), (10, 10))
    assert len(driver.held) == 10
    driver.step(below(range(10, 11)), [], (11, None))
    assert driver.held == []


def test_what_lies_before_a_frame_is_held_for_it() -> None:
    driver = Driver(reach={"before": 3})
    driver.step(below(range(10)), list(range(10)), (10, 10))
    assert driver.held == [7, 8, 9]
    driver = Driver(shift=-5)
    driver.step(below(range(10)), list(range(10)), (10, 10))
    assert driver.held == [5, 6, 7, 8, 9]


def test_a_frame_waits_for_rows_and_holds_only_its_own() -> None:
    driver = Driver(reach={"after": 2})
    frame = {**above(range(4)), **below(range(4, 20))}
    step = driver.step(frame, list(range(5)), (20, 5))
    assert step.results.num_rows == 0
    assert driver.held == list(range(5))  # up to 3 + 2
    step = driver.step({}, [5, 6], (None, 7))
    assert step.results["r0"].to_pylist() == [6]
    assert driver.held == []


def test_fragments_hold_what_is_behind_them() -> None:
    driver = Driver(fragments=4)
    step = driver.step(above(range(10)), list(range(10)), (10, 10))
    assert step.results["r0"].to_pylist() == [1, 5, 9]  # at 0, 4 and 8
    assert driver.held == [9]
    step = driver.step({**above(range(10, 12)), 12: False}, [10, 11], (13, 12))
    assert step.results["r0"].to_pylist() == [12]
    assert driver.held == []


def test_a_key_without_frames_holds_nothing() -> None:
    driver = Driver()
    driver.step(above(range(10)), list(range(10)), (10, 10), key=1)
    driver.step({}, list(range(10, 30)), (30, None), key=2)
    assert driver.held == list(range(10))  # those of key 1, which has a frame open


@pytest.mark.parametrize("steps", [1, 7, 40])
def test_state_is_bounded_whatever_the_split(steps: int) -> None:
    """An hour of rows with frames of 30 rows: never more rows are held than a frame has."""
    driver, size = Driver(), 3_600 // steps
    most = 0
    for start in range(0, 3_600, size):
        numbers = range(start, min(3_600, start + size))
        rows = {n: n % 40 < 30 for n in numbers}
        driver.step(rows, list(numbers), (numbers.stop, numbers.stop))
        most = max(most, len(driver.held))
    assert most <= 30


_STRETCHES = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6)


@given(_STRETCHES, _STRETCHES.map(lambda chunks: [(min(c), max(c)) for c in chunks]))
def test_only_chunks_that_a_stretch_overlaps_are_read(
    asked: list[tuple[int, int]], chunks: list[tuple[int, int]]
) -> None:
    """A stretch that ends before it begins asks for nothing."""
    columns = [np.array(column, np.int64) for column in zip(*chunks, strict=True)]
    bounds = [np.array(column, np.int64) for column in zip(*asked, strict=True)]
    none = np.empty(0, np.int64)
    expected = [
        any(low <= high and low <= most and least <= high for low, high in asked)
        for least, most in chunks
    ]
    assert reached(*(columns or [none, none]), *(bounds or [none, none])).tolist() == expected
