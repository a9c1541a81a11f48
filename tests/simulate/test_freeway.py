from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from muntin.errors import ArgumentError
from muntin.simulate.freeway import Freeway, Incident, Slowdown


@pytest.fixture(scope="module")
def day() -> Freeway:
    return Freeway()


@pytest.fixture(scope="module")
def arrivals(day: Freeway) -> pa.Table:
    return day.arrivals()


def speed_between(table: pa.Table, start: int, end: int, stations: list[str]) -> float:
    """The mean speed at the stations from one hour of the day to another."""
    hour = pc.hour(table["ts"])
    when = pc.and_(pc.greater_equal(hour, start), pc.less(hour, end))
    where = pc.is_in(table["station"], pa.array(stations))
    return float(pc.mean(table.filter(pc.and_(when, where))["speed"]).as_py())


def behind_seconds(table: pa.Table) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How far each row is behind the largest ``ts`` that came before it."""
    ts = table["ts"].cast(pa.int64()).to_numpy()
    behind: np.ndarray[Any, np.dtype[np.float64]] = (np.maximum.accumulate(ts) - ts) / 1e6
    return behind


def test_schema(arrivals: pa.Table) -> None:
    assert arrivals.drop_columns(["arrival"]).schema == pa.schema(
        [
            ("ts", pa.timestamp("us", tz="UTC")),
            ("station", pa.string()),
            ("detector", pa.int32()),
            ("lane", pa.int32()),
            ("milepost", pa.float64()),
            ("speed", pa.float64()),
            ("volume", pa.int32()),
            ("occupancy", pa.float64()),
        ]
    )


def test_the_same_seed_gives_the_same_readings() -> None:
    assert Freeway(hours=1).readings().equals(Freeway(hours=1).readings())


def test_another_seed_gives_other_readings() -> None:
    assert not Freeway(hours=1).readings().equals(Freeway(hours=1, seed=8).readings())


def test_other_traffic_does_not_change_which_readings_come() -> None:
    quiet, busy = Freeway(hours=1, incidents=0).readings(), Freeway(hours=1).readings()
    assert quiet.select(["ts", "detector"]).equals(busy.select(["ts", "detector"]))
    assert not quiet.equals(busy)


def test_a_day_of_72_detectors_every_20_seconds(day: Freeway) -> None:
    assert day.expected == 72 * 4320


def test_nothing_missing_means_every_reading_once() -> None:
    whole = Freeway(hours=0.5, missing=0)
    readings = whole.readings()
    pairs = readings.group_by(["ts", "detector"]).aggregate([])
    assert readings.num_rows == pairs.num_rows == whole.expected


def test_the_missing_share_never_comes(day: Freeway, arrivals: pa.Table) -> None:
    assert 1 - arrivals.num_rows / day.expected == pytest.approx(day.missing, rel=0.1)


def test_readings_without_speed(day: Freeway, arrivals: pa.Table) -> None:
    without = arrivals.filter(pc.is_null(arrivals["speed"]))
    unread = pc.sum(pc.greater(without["volume"], 0)).as_py()
    empty = arrivals.filter(pc.equal(arrivals["volume"], 0))
    assert empty["speed"].null_count == empty.num_rows > 0
    assert unread / (arrivals.num_rows - empty.num_rows) == pytest.approx(day.speedless, rel=0.1)


def test_readings_come_in_order_of_arrival_and_after_they_were_measured(
    arrivals: pa.Table,
) -> None:
    arrival = arrivals["arrival"].cast(pa.int64()).to_numpy()
    assert (np.diff(arrival) >= 0).all()
    assert (arrival >= arrivals["ts"].cast(pa.int64()).to_numpy()).all()


def test_disorder_is_bounded() -> None:
    behind = behind_seconds(Freeway(hours=6, very_late=0, disorder_seconds=45).readings())
    assert 20 < behind.max() <= 45


def test_few_readings_come_later_than_the_disorder(day: Freeway, arrivals: pa.Table) -> None:
    share = (behind_seconds(arrivals) > day.disorder_seconds).mean()
    assert share == pytest.approx(day.very_late, rel=0.2)


def test_no_disorder_is_order() -> None:
    readings = Freeway(hours=1, disorder_seconds=0, very_late=0).readings()
    assert behind_seconds(readings).max() == 0


def test_batches_are_the_readings_cut() -> None:
    freeway = Freeway(hours=0.5, stations=3)
    pieces = list(freeway.batches(7))
    sizes = {piece.num_rows for piece in pieces}
    assert len(pieces) == 7
    assert max(sizes) - min(sizes) <= 1
    assert pa.concat_tables(pieces).equals(freeway.readings())


def test_rush_hours_are_slower_than_the_night(day: Freeway, arrivals: pa.Table) -> None:
    names = list(day.mileposts)
    night = speed_between(arrivals, 1, 4, names)
    assert speed_between(arrivals, 7, 9, names) < night - 10
    assert speed_between(arrivals, 16, 18, names) < night - 10


def test_more_vehicles_pass_in_the_rush_hour(arrivals: pa.Table) -> None:
    def volume(hour: int) -> float:
        at = arrivals.filter(pc.equal(pc.hour(arrivals["ts"]), hour))
        return float(pc.mean(at["volume"]).as_py())

    assert volume(7) > 4 * volume(2)


def test_a_rush_hour_spreads_upstream() -> None:
    """The further upstream, the later the queue arrives: the head is at milepost 20.

    milepost   14         17         20
    hour    7:00  8:00 7:00  8:00 7:00  8:00
               -     x    x     x    x     x
    """
    queue = Slowdown(head=20, start=6, end=10, reach=8, depth=0.8, rise=0.2)
    early, later = queue.strength(np.array([7.0, 8.0]), np.array([14.0, 17.0, 19.5])) > 0.3
    assert early.tolist() == [False, True, True]
    assert later.tolist() == [True, True, True]


def test_an_incident_slows_its_station_and_those_upstream() -> None:
    noon = Freeway(hours=2, start=datetime(2026, 3, 3, 12, tzinfo=UTC), incidents=1)
    (incident,) = noon.happened
    names = list(noon.mileposts)
    at = names.index(incident.station)
    assert speed_during(noon, incident, names[at]) < 35
    assert speed_during(noon, incident, names[at - 1]) < 45
    assert speed_during(noon, incident, names[at + 1]) > 55


def speed_during(freeway: Freeway, incident: Incident, station: str) -> float:
    table = freeway.readings()
    first = pa.scalar(incident.start + timedelta(minutes=10), pa.timestamp("us", tz="UTC"))
    last = pa.scalar(incident.start + timedelta(minutes=15), pa.timestamp("us", tz="UTC"))
    when = pc.and_(pc.greater_equal(table["ts"], first), pc.less(table["ts"], last))
    here = table.filter(pc.and_(when, pc.equal(table["station"], station)))
    return float(pc.mean(here["speed"]).as_py())


@pytest.mark.parametrize("seed", range(5))
def test_incidents_last_twenty_to_forty_minutes(seed: int) -> None:
    freeway = Freeway(seed=seed, incidents=6)
    assert len(freeway.happened) == 6
    assert all(20 <= incident.minutes <= 40 for incident in freeway.happened)
    assert all(incident.station in freeway.mileposts for incident in freeway.happened)


def test_every_day_has_its_rush_hours() -> None:
    readings = Freeway(hours=48, stations=12, lanes=1, incidents=0).readings()
    second = pc.greater_equal(readings["ts"], pa.scalar(datetime(2026, 3, 4, tzinfo=UTC)))
    names = list(Freeway(stations=12).mileposts)
    for one_day in (readings.filter(pc.invert(second)), readings.filter(second)):
        night = speed_between(one_day, 1, 4, names)
        assert speed_between(one_day, 7, 9, names) < night - 8
        assert speed_between(one_day, 16, 18, names) < night - 8


@pytest.mark.parametrize(
    ("argument", "given", "expected"),
    [
        ("hours", 0, "it must be above zero"),
        ("stations", -1, "it must be above zero"),
        ("disorder_seconds", -1, "it must not be negative"),
        ("missing", 1.5, "it is a share, from 0 to 1"),
        ("start", datetime(2026, 3, 3), "it needs a time zone, such as tzinfo=UTC"),
    ],
)
def test_what_cannot_be_simulated(argument: str, given: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=expected):
        Freeway(**{argument: given})


def test_no_pieces_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="n=0 cannot be used"):
        next(Freeway(hours=1).batches(0))
