"""Keys end after a gap: the same answers whether state was dropped or not, and no state kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import muntin as mt
from muntin.errors import ArgumentError, TieError
from muntin.operators.build import build
from muntin.specs.row_windows import RowWindow
from muntin.testing import assert_same_rows, replay
from tests.faults.test_simulator import KINDS, check
from tests.frames.feeding import SUM, Feeding, feeding, line
from tests.operators.stepping import COUNT, ON_EDGES, Stepping, typed
from tests.properties.arriving import renamed
from tests.properties.framings import FrameCase, frame_cases
from tests.properties.sequences import SequenceCase, sequence_cases
from tests.thorough import share

PROPERTY = settings(
    max_examples=share(120), database=None, suppress_health_check=list(HealthCheck), deadline=None
)
FRAMES = frame_cases().filter(lambda case: case.framing.forget is not None)
ROWS = sequence_cases(words=("rows",)).filter(lambda case: case.spec.forget is not None)  # type: ignore[union-attr]


@PROPERTY
@given(FRAMES, st.integers(0, 2**32))
def test_frames_of_keys_that_end(case: FrameCase, faults: int) -> None:
    check(KINDS["frames"], case, faults)


@PROPERTY
@given(FRAMES)
def test_frames_of_keys_that_end_in_a_batch(case: FrameCase) -> None:
    ran, expected = case.run_at_once(), case.expected_at_once()
    assert_same_rows([renamed(row) for row in ran.results], expected.results)


@PROPERTY
@given(ROWS, st.integers(0, 2**32))
def test_windows_over_rows_of_keys_that_end(case: SequenceCase, faults: int) -> None:
    check(KINDS["rows"], case, faults)


def above(**properties: Any) -> Feeding:
    return feeding(mt.threshold("v > 0"), [SUM], **properties)


# on  0  1  2  3  4  5  6  7  8  9  10 11
# v   1  1  .  .  .  .  1  .  1           the gap from 1 to 6 is above 4, that from 6 to 8 is not
def test_a_gap_ends_a_frame_and_the_next_begins_with_0() -> None:
    rows = [*line("1 1 . . . . 1 . 1")]
    whole = [(0, 0, 1, 2, 0, "final"), (0, 6, 8, 2, 0, "final")]
    assert above(forget=4).frames(rows, end=True) == whole
    assert above().frames(rows, end=True) == [(0, 0, 8, 4, 0, "final")]
    streaming = above(forget=4)
    assert streaming.frames(rows[:2], upto=5) == []  # a row at 5 may still follow
    assert streaming.frames([], upto=6) == whole[:1]
    assert streaming.frames(rows[2:], upto=9) == []
    assert streaming.frames([], end=True) == whole[1:]
    assert not streaming.state.chunks


def test_nothing_is_kept_of_a_key_that_is_forgotten() -> None:
    for made in (above(forget=4), Stepping(ordered_forgetting())):
        for on in range(50):
            made.step([{"on": on * 2, "k": f"key{on}", "v": 1}], upto=on * 2 + 1)
            keys = keys_of(made)
            assert len(keys) <= 3
        made.step([], upto=200)
        assert not made.state.chunks


def keys_of(made: Stepping) -> set[str]:
    """Return the keys of which something is kept."""
    chunks = [chunk for chunk in made.state.chunks.values() if "k0" in chunk.column_names]
    return {key for chunk in chunks for key in chunk["k0"].to_pylist()}


def ordered_forgetting() -> Any:
    return ordered_of(RowWindow(3, 2, "on", forget=4))


def ordered_of(spec: RowWindow) -> Any:
    return build(spec, typed((*ON_EDGES, COUNT)))


# on    0  1  2 | 10 11        ranks begin anew after the gap
def test_ranks_begin_with_0_after_a_gap() -> None:
    rows = [{"on": on, "k": "a"} for on in (0, 1, 2, 10, 11)]
    for upto in (None, 3, 7, 10):
        made = Stepping(ordered_forgetting())
        found = made.step(rows[:3], upto=upto) + made.step(rows[3:]) + made.step([], end=True)
        bounds = [(r["window_start"], r["window_end"], r["on_start"], r["r0"]) for r in found]
        assert sorted(bounds, key=lambda b: (b[2] > 2, b)) == [
            (0, 2, 0, 2),
            (1, 4, 1, 2),
            (0, 2, 10, 2),
            (1, 4, 11, 1),
        ]


def test_a_tie_names_the_key_alone() -> None:
    made = above(forget=4)
    with pytest.raises(TieError, match="key 'a' has more than one row at 1"):
        made.frames([*line("1 1"), {"on": 1, "k": "a", "v": 1}], end=True)


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"schedule": mt.schedule(2)}, "schedule"),
        ({"readings": "until_next"}, "until_next"),
        ({"fragments": 2}, "fragments"),
        ({"readings": "interval", "until": "until"}, "interval"),
        ({"forget": 0}, "forget"),
        ({"forget": "x"}, "forget"),
    ],
)
def test_what_contradicts_is_refused(properties: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        above(**{"forget": 4, **properties})


def test_rows_by_arrival_have_no_gaps() -> None:
    with pytest.raises(ArgumentError, match="order of arrival"):
        RowWindow(3, 2, "on", order="arrival", forget=4)


@pytest.mark.parametrize("keys", [2_000, 20_000])
def test_a_row_reads_and_rewrites_few_keys(keys: int) -> None:
    """A micro-batch with one row writes the part of its key, however many keys are kept."""
    for made in (above(forget=1000), Stepping(ordered_of(RowWindow(3, 2, "on", forget=1000)))):
        made.step([{"on": 0, "k": f"key{number}", "v": 1} for number in range(keys)], upto=1)
        made.step([{"on": 5, "k": "key7", "v": 1}], upto=6)  # there are more parts from here on
        made.step([{"on": 6, "k": "key7", "v": 1}], upto=7)
        assert made.last is not None
        written = [chunk for chunk in made.last.changes.values() if chunk is not None]
        assert max(chunk.num_rows for chunk in written) <= 1024
        kept = keys_of(made)
        assert len(kept) == keys
        found = made.step([], end=True)
        assert len({row["k0"] for row in found}) == keys
        assert not made.state.chunks


def test_on_spark(spark: SparkSession) -> None:
    schema = "k STRING, x BIGINT, v BIGINT"
    rows = [("a", 0, 1), ("a", 1, 1), ("b", 9, 1), ("a", 30, 1), ("b", 60, 1), ("b", 90, 1)]
    batches = [[dict(zip("kxv", row, strict=True))] for row in rows]
    arriving = replay(spark, batches, schema)
    makes: list[Callable[[mt.Stream], mt.Plan]] = [
        lambda s: s.frames(mt.threshold("v > 0"), forget=5).plan("sum(v) AS s"),
        lambda s: s.rows(range=2, slide=1, forget=5).plan("sum(v) AS s"),
    ]
    for place, make in enumerate(makes):
        batch = make(mt.stream(spark.createDataFrame(rows, schema), "x", "k")).df.collect()
        plan = make(arriving.stream("x", "k", mt.slack(2)))
        played = arriving.play(plan, arriving.folder / f"checkpoint{place}")
        results = [row.asDict() for row in played.results]
        assert_same_rows(results[-len(batch) :], [row.asDict() for row in batch])
        assert "a key until punctuation is 5 beyond its last row" in str(plan.explanation)
    by_key = arriving.stream("x", "k", mt.per_key(2))
    with pytest.raises(ArgumentError, match="every key is remembered for ever"):
        by_key.frames(mt.threshold("v > 0"), forget=5).plan()
    with pytest.raises(ArgumentError, match="every key is remembered for ever"):
        by_key.rows(3, forget=5).plan("count(*)")
    streamed = arriving.stream("x", "k", mt.slack(2))
    for bounded in (streamed.rows(3, forget=5), streamed.frames(mt.threshold("v > 0"), forget=5)):
        with pytest.raises(ArgumentError, match="are not filled"):
            bounded.fill(streamed).plan("count(*)").check()
