"""Sensors that obey a demand: what they leave out, and that nobody misses it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from muntin.errors import ArgumentError
from muntin.simulate.sensors import SensorField

FIELD = SensorField(seconds=40, sensors=3, rate=5, alive=4)


def demand(**limits: Any) -> dict[str, Any]:
    """A demand of one query for the temperature, within some ranges."""
    return {
        "queries": ["one"],
        "columns": ["ts", "sensor", "temperature"],
        "alternatives": [limits],
        "granularity": 2.0,
    }


def above(low: float, *, null: bool = False) -> dict[str, Any]:
    return {
        "ranges": [{"low": low, "high": None, "with_low": False, "with_high": False}],
        "null": null,
    }


def test_all_is_sent_if_all_is_needed() -> None:
    sent = FIELD.sent(demand())
    assert sent.select(["ts", "sensor", "temperature"]) == FIELD.measured().select(
        ["ts", "sensor", "temperature"]
    )
    assert sent["light"].null_count == sent.num_rows == 600
    savings = FIELD.savings(demand())
    assert (savings.sent, savings.rows_saved) == (600, 0)
    assert savings.values_saved == pytest.approx(2 / 3)


def test_readings_that_nobody_needs_are_left_out() -> None:
    measured, sent = FIELD.measured(), FIELD.sent(demand(temperature=above(25)))
    warm = measured.filter(pc.greater(measured["temperature"], 25))
    with_value = sent.filter(pc.is_valid(sent["temperature"]))
    assert with_value.select(["ts", "sensor", "temperature"]) == warm.select(
        ["ts", "sensor", "temperature"]
    )
    assert warm.num_rows < sent.num_rows < measured.num_rows


def test_quiet_sensors_report_how_far_they_are() -> None:
    sent = FIELD.sent(demand(temperature=above(1000)))
    assert sent["temperature"].null_count == sent.num_rows
    for number in range(3):
        own = sent.filter(pc.equal(sent["sensor"], f"s{number}"))["ts"].cast(pa.int64())
        seconds = [value / 1e6 for value in own.to_pylist()]
        assert max(later - sooner for sooner, later in pairwise(seconds)) <= 4
    last = pc.max(sent["ts"]).as_py()
    assert last == pc.max(FIELD.measured()["ts"]).as_py()


def test_a_row_without_values_is_not_sent_if_somebody_would_use_it() -> None:
    """Somebody asks for NULL: sensors report how far they are with readings."""
    sent = FIELD.sent(demand(temperature=above(1000, null=True)))
    assert 0 < sent.num_rows < FIELD.measured().num_rows
    assert sent["temperature"].null_count == 0


def test_some_readings_of_each_stretch() -> None:
    savings = FIELD.savings(demand(), samples=2)
    # 40 seconds are 20 stretches of 2 seconds, with 2 readings of 3 sensors.
    assert savings.sent == savings.values_sent == 20 * 2 * 3
    with pytest.raises(ArgumentError, match="some query uses single rows"):
        FIELD.sent({**demand(), "granularity": None}, samples=2)
    with pytest.raises(ArgumentError, match="a whole number above 0"):
        FIELD.sent(demand(), samples=0)


def test_without_queries_sensors_sleep() -> None:
    asleep = {"queries": [], "columns": [], "alternatives": []}
    assert FIELD.sent(asleep).num_rows == 0
    assert FIELD.savings(asleep).rows_saved == 1
