"""reference = batch by runs, however rows are dealt to tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.errors import TieError
from muntin.operators.frames import batch_runs
from muntin.operators.frames.batch_runs import BatchRuns, in_batch
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary, Threshold
from muntin.testing import assert_same_rows
from tests.properties.arriving import LENGTHS, renamed
from tests.properties.framings import FrameCase, Row, frame_cases
from tests.thorough import examples


class Read(list[pa.Table]):
    """The rows of a shard; ``seen`` is true once they were read."""

    seen = False

    def __iter__(self) -> Any:
        self.seen = True
        return super().__iter__()


@st.composite
def run_cases(draw: st.DrawFn) -> FrameCase:
    """Draw rows as for other framings, with a framing that can be computed from runs."""
    case = draw(frame_cases())
    kinds = [(Threshold("b"), "b")] * 2
    kinds += [(Boundary(name, every), name) for name, every in (("i", None), ("v", "1.5"))]
    kind, column = draw(st.sampled_from(kinds))
    length = LENGTHS[case.domain]

    def sometimes(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | strategy)

    bounds, readings = draw(
        st.sampled_from(
            [("conservative", "point"), ("liberal", "point"), ("conservative", "until_next")]
        )
    )
    framing = Framing(
        kind,
        "on",
        min_duration=sometimes(st.integers(1, 5).map(length)),
        max_duration=sometimes(st.integers(9, 20).map(length)),
        min_count=sometimes(st.integers(1, 3)),
        max_count=sometimes(st.integers(3, 6)),
        longest=draw(st.booleans()),
        bounds=bounds,
        readings=readings,
    )
    return replace(case, framing=framing, column=column, calls=())


def tied(case: FrameCase) -> bool:
    """True if two rows of a key have the same ``on``."""
    places = [(row["k"], case.axis.tick(row["on"]), row["on"]) for row in case.data()]
    placed = [place for place in places if place[1] is not None]
    return len(set(placed)) < len(placed)


def stepped(case: FrameCase, tasks: Sequence[list[Row]]) -> tuple[list[Row], bool]:
    work = in_batch(case.operator())
    assert isinstance(work, BatchRuns)
    # Runs of few rows are slow but correct, so the tests allow them.
    with patch.object(batch_runs, "_ROWS_PER_RUN", 1):
        routed = [work.route(case.table(rows)) for rows in tasks]
    largest = max((part.progress for part in routed if part.progress is not None), default=None)
    end = Punctuation(None, None, largest, ended=True)
    rows = Read(part.rows for part in routed if part.rows is not None)
    batch = InputBatch([part.partial for part in routed], end, rows)
    step = work.step(MemoryState(), [batch])
    return [renamed(row) for row in step.results.to_pylist()], rows.seen


def in_order(case: FrameCase) -> list[Row]:
    """Return rows sorted by ``on`` (two doubles may share a tick), then those without a tick."""
    rows = case.data()
    placed = [row for row in rows if case.axis.tick(row["on"]) is not None]
    return sorted(placed, key=lambda row: row["on"]) + [row for row in rows if row not in placed]


@examples(600)
@given(run_cases(), st.data())
def test_runs_equal_the_reference(case: FrameCase, data: st.DataObject) -> None:
    rows = data.draw(st.sampled_from([case.data(), in_order(case)]))
    whose = data.draw(
        st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))
        | st.just([place * 3 // max(1, len(rows)) for place in range(len(rows))])
    )
    tasks = [[row for row, task in zip(rows, whose, strict=True) if task == t] for t in range(4)]
    if tied(case):
        with pytest.raises(TieError):
            stepped(case, tasks)
        return
    frames, _ = stepped(case, tasks)
    assert_same_rows(frames, case.expected_at_once().results)


@examples(200)
@given(run_cases(), st.integers(1, 4))
def test_stretches_of_time_are_framed_without_looking_at_rows(case: FrameCase, tasks: int) -> None:
    rows = [row for row in in_order(case) if case.axis.tick(row["on"]) is not None]
    size = -(-len(rows) // tasks) or 1
    if tied(case):
        return
    frames, seen = stepped(case, [rows[at : at + size] for at in range(0, len(rows), size)])
    assert not seen
    assert_same_rows(frames, case.expected_at_once().results)
