"""Windows of calendar days, weeks and months: where they begin, and that all drivers agree.

Berlin sets its clocks forward on 2026-03-29, a day of 23 hours:

    UTC     27th 23:00      28th 23:00      29th 22:00      30th 22:00
    Berlin  28th 00:00      29th 00:00      30th 00:00      31st 00:00
                |---- 24 h ----|---- 23 h ----|---- 24 h ----|
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.errors import ArgumentError
from muntin.kernels.calendar_units import unit_numbers, unit_starts
from muntin.specs.axis import Axis, Domain
from muntin.specs.calendar import CalendarEdges
from muntin.specs.windows import Window
from muntin.testing import assert_same_rows, replay
from tests.drivers.streams import play
from tests.properties import arriving, harness
from tests.properties.test_steps import expected
from tests.thorough import examples

ZONES = (
    *("UTC", "+02:00", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Pacific/Apia"),
    *("Africa/Cairo", "Asia/Beirut", "Atlantic/Azores", "Australia/Lord_Howe"),
)
UNITS = ("day", "week", "month")


def edges_in(zone: str, length: str, domain: Domain = Domain.TIMESTAMP) -> CalendarEdges:
    edges = Window.tumbling(length, "ts").edges(Axis(domain, 0, zone))
    assert isinstance(edges, CalendarEdges)
    return edges


@pytest.mark.parametrize(
    ("zone", "day", "begins"),
    [
        ("UTC", date(2026, 3, 29), datetime(2026, 3, 29, 0)),
        ("Europe/Berlin", date(2026, 3, 29), datetime(2026, 3, 28, 23)),
        ("Europe/Berlin", date(2026, 3, 30), datetime(2026, 3, 29, 22)),
        # Clocks went from 24:00 to 01:00: there was no midnight.
        ("America/Sao_Paulo", date(2018, 11, 4), datetime(2018, 11, 4, 3)),
        # Clocks went from 23:30 to 00:30: the day began in between.
        ("America/Toronto", date(1919, 3, 31), datetime(1919, 3, 31, 4, 30)),
        # Clocks went from 01:00 back to 00:00: the first midnight counts.
        ("Atlantic/Azores", date(2026, 10, 25), datetime(2026, 10, 25, 0)),
        # The day was left out.
        ("Pacific/Apia", date(2011, 12, 30), datetime(2011, 12, 30, 10)),
        ("Pacific/Apia", date(2011, 12, 31), datetime(2011, 12, 30, 10)),
    ],
)
def test_days_begin_at_local_midnight(zone: str, day: date, begins: datetime) -> None:
    edges = edges_in(zone, "1 calendar day")
    tick = edges.unit_start((day - date(1970, 1, 1)).days)
    assert edges.axis.value(tick) == begins.replace(tzinfo=UTC)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", UNITS)
def test_units_of_many_ticks_are_those_of_each(zone: str, unit: str) -> None:
    edges = edges_in(zone, f"1 calendar {unit}")
    chance = np.random.default_rng(7)
    ticks = np.append(chance.integers(-(10**15), 2 * 10**15, 300), [0, -62135596800000000])
    numbers = unit_numbers(edges, ticks)
    assert numbers.tolist() == [edges.unit_number(tick) for tick in ticks.tolist()]
    assert np.all(unit_starts(edges, numbers) <= ticks)
    assert np.all(ticks < unit_starts(edges, numbers + 1))


@dataclass(frozen=True)
class CalendarCase(harness.Case):
    """A case of the properties with calendar units in a zone."""

    unit: str = "day"
    zone: str = "UTC"

    @property
    def spec(self) -> Window:
        lengths = (f"{count} calendar {self.unit}" for count in (self.range, self.slide))
        return Window(*lengths, "on")

    @property
    def axis(self) -> Axis:
        return self.spec.axis(self.domain, scale=0, zone=self.zone)


@contextmanager
def hours_of_spring() -> Iterator[None]:
    """Let small integers of the properties be steps of seven hours around a change of clocks."""
    first, step = datetime(2026, 3, 26, tzinfo=UTC), timedelta(hours=7)
    type_, bound, _ = arriving.ON_TYPES[Domain.TIMESTAMP]
    with pytest.MonkeyPatch.context() as patch:
        values = (type_, bound, lambda n: first + n * step)
        patch.setitem(arriving.ON_TYPES, Domain.TIMESTAMP, values)
        patch.setitem(arriving.LENGTHS, Domain.TIMESTAMP, lambda n: f"{7 * n} hours")
        patch.setitem(arriving.DISTANCES, Domain.TIMESTAMP, lambda n: n * step)
        yield


@examples(400)
@given(st.data())
def test_steps_equal_the_reference(data: st.DataObject) -> None:
    with hours_of_spring():
        drawn = data.draw(harness.cases([Domain.TIMESTAMP, Domain.DATE]))
        case = CalendarCase(
            **{**vars(drawn), "origin": None, "landmark": False, "latch": False},
            unit=data.draw(st.sampled_from(UNITS)),
            zone=data.draw(st.sampled_from(ZONES)),
        )
        case = replace(case, range=min(case.range, 4), slide=min(case.slide, 3))
        calls = harness.EVERY_SLOT
        ran, wanted = harness.run_steps(case, harness.operator(case, calls)), expected(case, calls)
        assert_same_rows([arriving.renamed(row) for row in ran.results], wanted.results)
        assert sorted(ran.refused) == sorted(reason for _, reason in wanted.refused)
        assert ran.used == wanted.used


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def in_berlin(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def local(*parts: int) -> datetime:
    """A moment in Berlin as Spark returns it to this process, which is in UTC."""
    return datetime(*parts, tzinfo=BERLIN).astimezone(UTC).replace(tzinfo=None)  # type: ignore[arg-type, misc]


def test_a_batch_and_a_stream_agree_with_spark_about_months(in_berlin: SparkSession) -> None:
    moments = [local(2026, 2, 28, 23, 59), local(2026, 3, 1), local(2026, 3, 31, 23, 59)]
    moments += [local(2026, 4, 1), local(2026, 10, 31, 23, 30), local(2026, 11, 1)]
    rows = [{"ts": at, "v": place} for place, at in enumerate(moments)]
    df = in_berlin.createDataFrame(rows, "ts TIMESTAMP, v INT")
    results = mt.stream(df, "ts").tumbling("1 calendar month").agg("sum(v) AS v")
    ours = [(row.window_start, row.v) for row in results.orderBy("window_start").collect()]
    months = df.groupBy(F.date_trunc("month", "ts").alias("month")).agg(F.sum("v").alias("v"))
    assert ours == [(row.month, row.v) for row in months.orderBy("month").collect()]
    played = replay(in_berlin, [rows[:3], rows[3:]], "ts TIMESTAMP, v INT")
    stream = played.stream("ts", disorder=mt.ordered())
    in_stream = play(stream.tumbling("1 calendar month").plan("sum(v) AS v"))
    assert_same_rows(in_stream.results, results.collect())
    played.remove()


def test_quarters_of_dates_month_by_month(spark: SparkSession) -> None:
    days = [date(2026, 1, 31), date(2026, 2, 1), date(2026, 4, 30)]
    df = spark.createDataFrame([(day, 1) for day in days], "day DATE, v INT")
    windows = mt.stream(df, "day").window("3 calendar months", "1 calendar month")
    found = {row.window_end: row.n for row in windows.agg("count(*) AS n").collect()}
    assert found == {
        date(2026, 2, 1): 1,
        date(2026, 3, 1): 2,
        date(2026, 4, 1): 2,
        date(2026, 5, 1): 2,
        date(2026, 6, 1): 1,
        date(2026, 7, 1): 1,
    }
    assert "3 calendar months" in repr(windows)
    assert ("panes", "1 calendar month long, 3 per window") in windows.plan("max(v)").shown_lines()


def test_a_fill_of_calendar_windows(spark: SparkSession) -> None:
    days = [date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 28), date(2026, 4, 30)]
    sales = mt.stream(spark.createDataFrame([(day,) for day in days], "day DATE"), "day")
    costs = [(date(2026, 2, 1), 2), (date(2026, 2, 28), 3), (date(2026, 3, 1), 100)]
    filled = sales.tumbling("1 calendar month").fill(
        spark.createDataFrame(costs, "day DATE, cost INT")
    )
    found = {row.window_start.month: row.cost for row in filled.agg("sum(cost) AS cost").collect()}
    assert found == {1: None, 2: 5, 4: None}


def test_the_zone_belongs_to_the_checkpoint(in_berlin: SparkSession) -> None:
    played = replay(in_berlin, [[{"ts": local(2026, 3, 1)}]], "ts TIMESTAMP", end=False)

    def plan() -> mt.Plan:
        stream = played.stream("ts", disorder=mt.ordered())
        return stream.tumbling("1 calendar week").plan("count(*) AS n")

    played.play(plan())
    played.extend([[{"ts": local(2026, 3, 9)}]])
    in_berlin.conf.set("spark.sql.session.timeZone", "UTC")
    with pytest.raises(PySparkException, match=r"belongs to another query: .*Europe/Berlin"):
        played.play(plan())
    played.remove()


@pytest.mark.parametrize(
    ("range_", "slide", "says"),
    [
        ("1 calendar month", "1 calendar week", "the same calendar unit"),
        ("1 calendar month", "1 day", "the same calendar unit"),
        ("1 calendar year", "1 calendar year", "a year is '12 calendar months'"),
        ("0 calendar days", "1 calendar day", "'1 calendar day'"),
        ("1 month", "1 month", "say '1 calendar month'"),
        ("2 years", "1 day", "say '24 calendar months'"),
    ],
)
def test_lengths_that_do_not_suit(range_: str, slide: str, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        Window(range_, slide, "ts")


def test_numbers_have_no_calendar() -> None:
    with pytest.raises(ArgumentError, match="need a date or a timestamp"):
        Window.tumbling("1 calendar day", "n").edges(Axis(Domain.INTEGER))


def test_an_origin_is_the_start_of_a_unit() -> None:
    axis = Axis(Domain.TIMESTAMP, 0, "Europe/Berlin")
    edges = Window.tumbling("1 calendar month", "ts", origin="2026-02-01").edges(axis)
    assert edges.axis.value(edges.first_tick) == local(2026, 2, 1).replace(tzinfo=UTC)
    with pytest.raises(ArgumentError, match="a calendar month begins in Europe/Berlin"):
        Window.tumbling("1 calendar month", "ts", origin="2026-02-02").edges(axis)
