"""Whether streams fit at some rates, from what was measured."""

from __future__ import annotations

from random import Random

import pytest

from muntin.engine.overload.batch_times import BatchTimes, TimedBatch, TimeLine, fitted
from muntin.engine.overload.sizing import MeasuredStream, Sizing, check_headroom, read_rate, sized
from muntin.errors import ArgumentError


def measured(line: TimeLine, random: Random, most: float) -> BatchTimes:
    """Return micro-batches of many sizes, with some noise; the first one starts workers."""
    times = BatchTimes()
    for number in range(40):
        rows = round(most * random.uniform(0.1, 1.0))
        noise = random.uniform(0.93, 1.07)
        start = 5.0 if number == 0 else 0.0
        times.take(TimedBatch(number, rows, line.seconds(rows) * noise + start))
    return times


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("times", "verdict"),
    [(0.5, "fits"), (0.9, "fits without headroom"), (1.1, "does not fit"), (2, "does not fit")],
)
def test_verdicts_are_right_and_times_are_within_a_quarter(
    times: float, verdict: str, seed: int
) -> None:
    random = Random(seed)
    line = TimeLine(random.uniform(0.1, 0.5), random.uniform(1e-6, 1e-3))
    capacity = (1 - line.fixed) / line.per_row
    found = measured(line, random, 0.8 * capacity).line
    assert found is not None
    sizing = sized(MeasuredStream("line", found, 1.0, {}), times * capacity)
    assert sizing.verdict == verdict
    assert sizing.seconds == pytest.approx(line.seconds(times * capacity), rel=0.25)
    assert sizing.capacity == pytest.approx(capacity, rel=0.1)


def test_without_a_trigger_micro_batches_take_what_rows_need() -> None:
    line = TimeLine(0.5, 1e-3)
    sizing = sized(MeasuredStream("line", line, 0.0, {}), 500)
    assert (sizing.seconds, sizing.capacity, sizing.verdict) == (1.0, 1000, "fits")
    assert sized(MeasuredStream("line", line, 0.0, {}), 1000).seconds is None


def test_what_to_give_up_is_what_queries_tolerate() -> None:
    line = TimeLine(0.0, 1e-3)
    tolerant = {"a": (3.0, 1.0, 0.1), "b": (1.0, 0.5, 0.2)}
    found = sized(MeasuredStream("line", line, 0.0, tolerant), 2000)
    assert found.give_up == (
        "keep 40% of the rows: all queries tolerate it, and it is done when needed",
        "or add resources: 2.5 times as much",
    )
    assert [(own.query, own.share, own.rows_out) for own in found.queries] == [
        ("a", 0.75, 2000),
        ("b", 0.25, 1000),
    ]
    strict = {"a": (3.0, 1.0, 1.0), "b": (1.0, 0.5, 0.2)}
    found = sized(MeasuredStream("line", line, 0.0, strict), 2000)
    assert found.give_up == (
        "40% of the rows would fit, and these tolerate less loss: a; state it with "
        "qos={'share': [(1, 1), (0.30, 0)]}",
        "or drop a: that saves 75% of the work",
        "or add resources: 2.5 times as much",
    )
    assert Sizing.of_json(found.json) == found
    assert "does not fit" in str(found)


def test_a_line_needs_some_micro_batches() -> None:
    two = [TimedBatch(number, 100, 1.0) for number in range(2)]
    assert fitted(two) is None
    assert fitted([*two, TimedBatch(2, 100, 1.0)]) == TimeLine(0.0, 0.01)
    assert fitted([TimedBatch(n, 0, 1.0) for n in range(9)]) is None


def test_a_line_never_takes_less_than_no_time() -> None:
    line = fitted([TimedBatch(n, rows, rows**2 / 1e6) for n, rows in enumerate((100, 200, 900))])
    assert line == TimeLine(0.0, 2e-4)
    # Larger ones that took less were measured among other work: no row is free.
    assert fitted([TimedBatch(n, n + 1, 3.0 - n) for n in range(3)]) == TimeLine(0.0, 1.0)


@pytest.mark.parametrize("given", ["fast", "-1/s", True, "50/day", None, -1.0, float("inf")])
def test_rates_that_are_none_are_refused(given: object) -> None:
    with pytest.raises(ArgumentError, match="rows a second, such as 50000 or '50000/s'"):
        read_rate("rates", given)


def test_headroom_is_a_share() -> None:
    assert check_headroom(1) == 1.0
    with pytest.raises(ArgumentError, match="a share of the capacity above 0, up to 1"):
        check_headroom(0)
