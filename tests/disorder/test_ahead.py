"""Rows far ahead of the others: refused with ``ahead=``, and a stopped stream goes on with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.operators.progress.ahead import AheadOfEarlier
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Axis, Domain
from muntin.specs.row_windows import Landmarks
from muntin.specs.windows import Landmark, Latch
from muntin.testing import Played, replay
from tests.operators.stepping import COUNT, Stepping, at, ordered, table
from tests.properties.arriving import ON_TYPES

RULE = AheadOfEarlier(10, Axis(Domain.INTEGER), pa.int64())


#   batch 1    3 900           the first batch is not judged, or 3 would be all that is accepted
#   batch 2    905 910 911     at most 910
#   batch 3    912 920 999     at most 920: of batch 2 the largest accepted is 910
def test_numbers_are_judged_by_the_accepted_rows_of_earlier_batches() -> None:
    largest, refused = None, []
    for batch in ([3, 900], [905, 910, 911], [912, 920, 999]):
        rows = table(at(*batch))
        judged = RULE.judge(rows, largest)
        refused.append(set(batch) - set(judged.rows["on"].to_pylist()))
        largest = RULE.largest([RULE.values(rows)], largest)
    assert refused == [set(), {911}, {999}]
    assert largest == 920


def test_values_travel_as_stretches() -> None:
    values = RULE.values(table(at(5, 1, None, 2, 2, 3, 9)))
    assert values.to_pylist() == [
        {"first": 1, "last": 3},
        {"first": 5, "last": 5},
        {"first": 9, "last": 9},
    ]
    # The limit lies inside the first stretch.
    assert RULE.largest([values], -8) == 2
    assert RULE.values(table(at(None))).num_rows == 0
    assert RULE.largest([], 7) == 7


def test_a_row_without_a_place_is_left_to_the_operator() -> None:
    rule = AheadOfEarlier(10, Axis(Domain.DOUBLE, 1), pa.float64())
    on = pa.array([1.0, float("inf"), float("nan"), None, 99.0], ON_TYPES[Domain.DOUBLE][0])
    judged = rule.judge(pa.table({"on": on, "o0": on}), 0)
    assert judged.rows.num_rows == 4
    assert judged.ahead == 1
    assert judged.refused_rows is not None
    assert judged.refused_rows.to_pylist() == [{"o0": 99.0, "reason": "ahead", "lateness": None}]


@pytest.mark.parametrize(
    "rule",
    [mt.slack(rows=3, ahead=5), mt.per_key(ahead=5), mt.each("k", ahead=5), mt.punctuated(ahead=5)],
    ids=str,
)
def test_rules_of_keys_do_not_judge_numbers(spark: SparkSession, rule: mt.Disorder) -> None:
    stream = mt.stream(spark.createDataFrame([("a", 1)], "k STRING, x BIGINT"), "x", "k", rule)
    with pytest.raises(mt.ArgumentError, match=r"ahead='5' cannot be used: on numbers \(x\)"):
        stream.tumbling(5).agg("count(*)").collect()


def test_ahead_is_a_length_of_the_column(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1)], "k STRING, x BIGINT")
    with pytest.raises(mt.ArgumentError, match="on a number column"):
        mt.stream(df, "x", "k", mt.slack(1, ahead="1 hour")).tumbling(5).agg("count(*)").collect()
    with pytest.raises(mt.ArgumentError, match="ahead=-1 cannot be used: it must not be negative"):
        mt.slack(1, ahead=-1)


def test_in_a_batch_no_row_is_ahead(spark: SparkSession) -> None:
    df = spark.sql("SELECT TIMESTAMP '2999-01-01' AS ts")
    rows = mt.stream(df, "ts", disorder=mt.slack("1 minute", ahead="1 hour")).tumbling("1 day")
    assert rows.agg("count(*) AS n").collect()[0].n == 1


def test_an_engine_refuses_it(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.readStream.format("rate").load()
    with mt.Engine(spark, tmp_path) as engine, pytest.raises(mt.ArgumentError, match=r"df\.where"):
        engine.stream("s", df, "timestamp", disorder=mt.slack("1 minute", ahead="1 hour"))


def rows_of(*on: Any) -> list[dict[str, Any]]:
    return [{"k": "a" if place % 2 else "b", "x": value} for place, value in enumerate(on)]


def test_numbers_on_a_stream_with_several_shards(spark: SparkSession, tmp_path: Path) -> None:
    # 25 and 10**12 are ahead, and the late 3 is refused as always.
    batches = [rows_of(1, 4, 7), rows_of(8, 10**12, 17, 25), rows_of(3, 27, 26)]
    played = replay(spark, batches, "k STRING, x BIGINT", end=False, tasks=2, folder=tmp_path)
    rule = mt.slack(5, ahead=10)
    output = played.play(played.stream("x", "k", rule, shards=3).tumbling(10).plan("count(*) AS n"))
    assert {(r.k, r.window_start, r.n) for r in output.results} == {
        ("b", 0, 3),
        ("a", 0, 1),
        ("b", 10, 1),
    }
    refused = {(r.k, r.x, r.reason, r.lateness) for r in output.refused}
    assert refused == {("a", 10**12, "ahead", None), ("a", 25, "ahead", None), ("b", 3, "late", 9)}
    assert output.counts["ahead"] == 2
    assert output.counts["rows_in"] == 10


def test_a_landmark_stream_that_a_far_row_stopped_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    hour = timedelta(hours=1)
    far, soon = now.replace(year=2999, month=1), now + 3 * hour
    schema = "k STRING, x TIMESTAMP"
    played = replay(spark, [rows_of(now - 5 * hour)], schema, end=False, folder=tmp_path)

    def play(rule: mt.Disorder) -> Played:
        stream = played.stream("x", "k", rule, shards=2)
        origin = (now - 6 * hour).isoformat()
        return played.play(stream.landmark(slide="1 minute", origin=origin).plan("count(*) AS n"))

    play(mt.ordered())
    played.extend([rows_of(far)], end=False)
    for _ in range(2):  # and at every restart
        with pytest.raises(StreamingQueryException, match="landmark windows would be listed"):
            play(mt.ordered())
    played.extend([rows_of(now - hour, soon)], end=False)
    output = play(mt.ordered(ahead="1 hour"))
    assert sorted((r.x, r.reason) for r in output.refused) == [
        (soon.replace(tzinfo=None), "ahead"),
        (far.replace(tzinfo=None), "ahead"),
    ]
    # From the row of five hours ago to that of one hour ago, a window ends every minute.
    assert len(output.results) == 240
    assert {r.n for r in output.results} == {1}


def test_dates_ahead_of_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    days = [today + timedelta(days=n) for n in (-3, -2, 1, 2, 300)]
    played = replay(spark, [rows_of(*days)], "k STRING, x DATE", end=False, folder=tmp_path)
    stream = played.stream("x", disorder=mt.slack("1 day", ahead="1 day"))
    output = played.play(stream.tumbling("1 day").plan("count(*) AS n"))
    assert {(r.x, r.reason) for r in output.refused} == {(d, "ahead") for d in days[3:]}
    assert {r.window_start for r in output.results} == set(days[:2])


# -- places that would be listed -------------------------------------------------------------------


def far_windows(**more: Any) -> list[dict[str, Any]]:
    """Windows of one row, closed by punctuation far above it."""
    axis = Axis(Domain.INTEGER)
    spec = Landmark(1, "on", 0) if more.get("landmark") else Latch(1, "on", 0)
    work = WindowOperator(axis, spec.edges(axis), (pa.string(),), (COUNT,), pa.int64())
    return Stepping(work).step(at(5), upto=10**15)


def test_landmark_windows_are_counted_before_they_are_listed() -> None:
    with pytest.raises(
        mt.TooManyPlacesError, match=r"^999,999,999,999,995 landmark windows would be"
    ):
        far_windows(landmark=True)
    assert len(far_windows()) == 1  # a latch lists only slides with rows


def test_windows_from_landmarks_are_counted_before_they_are_listed() -> None:
    stepping = Stepping(ordered(Landmarks("on", 1, origins=(0,))))
    with pytest.raises(mt.TooManyPlacesError, match=r"start.* again with ahead="):
        stepping.step(at(5), upto=10**12)


def test_instants_between_rows_years_apart_are_counted(spark: SparkSession) -> None:
    rows = "SELECT explode(array(TIMESTAMP '2016-01-01', TIMESTAMP '2026-01-01')) AS ts, 1.0D AS v"
    stream = mt.stream(spark.sql(rows), "ts")
    with pytest.raises(PySparkException, match="315,619,201 instants would be listed at once"):
        stream.resample("1 second").df.collect()
