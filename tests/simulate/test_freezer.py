from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from muntin.errors import ArgumentError
from muntin.simulate.freezer import TOO_WARM, Freezers

MOMENT = pa.timestamp("us", tz="UTC")
MINUTE = timedelta(minutes=1)
Row = dict[str, Any]


@pytest.fixture(scope="module")
def freezers() -> Freezers:
    return Freezers()


@pytest.fixture(scope="module")
def readings(freezers: Freezers) -> pa.Table:
    return freezers.readings()


def warmest(table: pa.Table, freezer: str, start: datetime, end: datetime) -> float:
    own = table.filter(pc.equal(table["freezer"], freezer))
    after = pc.greater_equal(own["ts"], pa.scalar(start, MOMENT))
    inside = own.filter(pc.and_(after, pc.less(own["ts"], pa.scalar(end, MOMENT))))
    return float(pc.max(inside["temperature"]).as_py())


def behind_seconds(table: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    ts = table["ts"].cast(pa.int64()).to_numpy()
    behind: np.ndarray[Any, np.dtype[np.float64]] = (np.maximum.accumulate(ts) - ts) / 1e6
    return behind


def test_schemas(freezers: Freezers, readings: pa.Table) -> None:
    assert readings.schema == pa.schema(
        [("ts", MOMENT), ("freezer", pa.string()), ("temperature", pa.float64())]
    )
    assert freezers.doors().schema == pa.schema(
        [("ts", MOMENT), ("freezer", pa.string()), ("door", pa.string())]
    )


def test_the_same_seed_gives_the_same_tables(freezers: Freezers, readings: pa.Table) -> None:
    assert Freezers().readings().equals(readings)
    assert Freezers().doors().equals(freezers.doors())
    assert not Freezers(seed=8).readings().equals(readings)


def test_a_reading_a_minute() -> None:
    whole = Freezers(days=0.25, missing=0, gaps=0).readings()
    assert whole.num_rows == whole.group_by(["ts", "freezer"]).aggregate([]).num_rows == 3 * 360


def test_missing_readings_and_gaps(freezers: Freezers, readings: pa.Table) -> None:
    sent = 3 * (2 * 1440 - 15)
    assert 1 - readings.num_rows / sent == pytest.approx(freezers.missing, rel=0.3)
    for name in freezers.names:
        own = readings.filter(pc.equal(readings["freezer"], name))["ts"].cast(pa.int64())
        steps = np.diff(np.sort(own.to_numpy())) // 60_000_000
        assert steps.max() >= 16
        assert (steps >= 10).sum() == 1


def test_doors_open_and_close_in_turn(freezers: Freezers) -> None:
    for name in freezers.names:
        own = [row for row in freezers.doors().to_pylist() if row["freezer"] == name]
        own.sort(key=lambda row: row["ts"])
        assert len(own) > 60
        assert [row["door"] for row in own] == ["open", "closed"] * (len(own) // 2)


def test_a_door_left_open_makes_it_warm(freezers: Freezers, readings: pa.Table) -> None:
    assert len(freezers.happened) == 4
    for one in freezers.happened:
        end = one.start + one.minutes * MINUTE
        assert warmest(readings, one.freezer, one.start, end + 2 * MINUTE) > TOO_WARM


def test_visits_alone_do_not_make_it_warm() -> None:
    used = Freezers(left_open=0, defrosts_a_day=0)
    assert used.happened == ()
    assert pc.max(used.readings()["temperature"]).as_py() < TOO_WARM


def test_nobody_comes_and_nothing_defrosts() -> None:
    cold = Freezers(days=0.25, left_open=0, defrosts_a_day=0, visits_a_day=0)
    assert cold.doors().num_rows == 0
    assert pc.max(cold.readings()["temperature"]).as_py() < 2


def test_defrosting_is_too_warm_at_the_same_hours_of_all_days(freezers: Freezers) -> None:
    readings = Freezers(gaps=0).readings()
    for name, hours in freezers.defrosts.items():
        assert len(hours) == freezers.defrosts_a_day
        for hour in hours:
            for day in range(2):
                start = freezers.start + timedelta(days=day, hours=hour)
                assert warmest(readings, name, start, start + 30 * MINUTE) > TOO_WARM


def test_the_defrosting_clock_is_that_of_the_day() -> None:
    """A simulation that starts at noon defrosts when one that starts at midnight does."""
    noon = datetime(2026, 3, 3, 12, tzinfo=UTC)
    later = Freezers(days=0.5, start=noon, freezers=1, left_open=0, visits_a_day=0, gaps=0)
    hours = [hour for hour in later.defrosts["F1"] if hour >= 12]
    assert hours
    for hour in hours:
        start = datetime(2026, 3, 3, tzinfo=UTC) + timedelta(hours=hour)
        assert warmest(later.readings(), "F1", start, start + 30 * MINUTE) > TOO_WARM


def test_disorder_is_bounded(freezers: Freezers, readings: pa.Table) -> None:
    assert 60 <= behind_seconds(readings).max() <= freezers.disorder_seconds
    assert behind_seconds(freezers.doors()).max() <= freezers.disorder_seconds
    assert behind_seconds(Freezers(days=0.5, disorder_seconds=0).readings()).max() == 0


@pytest.mark.parametrize(
    ("argument", "given", "expected"),
    [
        ("days", 0, "it must be above zero"),
        ("freezers", 0, "it must be above zero"),
        ("left_open", -1, "it must not be negative"),
        ("disorder_seconds", -1, "it must not be negative"),
        ("missing", 1.5, "it is a share, from 0 to 1"),
        ("disordered", -0.5, "it is a share, from 0 to 1"),
        ("gap_minutes", 3000, "the gaps must leave some of the days"),
        ("start", datetime(2026, 3, 3), "it needs a time zone, such as tzinfo=UTC"),
    ],
)
def test_what_cannot_be_simulated(argument: str, given: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=expected):
        Freezers(**{argument: given})
