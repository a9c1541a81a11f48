"""Conditions that Muntin evaluates itself, compared with Spark's results for the same text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin.aggregates.parse_conditions import parse_bridge
from muntin.expressions.evaluate import evaluate
from muntin.expressions.types import check, no_aggregate
from muntin.expressions.values import from_arrow, truth
from muntin.spark.columns import to_arrow

SCHEMA = (
    "x DOUBLE, i INT, k BIGINT, d DECIMAL(10, 2), s STRING, b BOOLEAN, ts TIMESTAMP, "
    "tn TIMESTAMP_NTZ, day DATE"
)
BERLIN, NAN = ZoneInfo("Europe/Berlin"), float("nan")
NOON = datetime(2026, 3, 28, 12)  # clocks go forward in the night to come


def _row(x: Any, i: Any, d: Any, s: Any, b: Any, moved: timedelta) -> tuple[Any, ...]:
    instant, clock = NOON.replace(tzinfo=BERLIN) + moved, NOON + moved
    scaled = None if d is None else Decimal(d)
    return x, i, None if i is None else i * 2**40, scaled, s, b, instant, clock, clock.date()


#: Negatives, zeros, NaN, infinities, nulls; text with letters that are special in LIKE; both sides
#: of a night in which clocks change, and the hour that they skip.
ROWS = [
    _row(1.5, 7, "7.25", "ab", True, timedelta(0)),
    _row(-2.5, -7, "-7.25", "a%b", False, timedelta(hours=24)),
    _row(0.0, 0, "0.00", "a_b", None, timedelta(hours=14, minutes=30)),
    _row(NAN, 3, "3.50", "a\nb", True, timedelta(seconds=59, microseconds=999_999)),
    _row(float("inf"), -3, None, "", False, timedelta(days=-3, minutes=1)),
    _row(None, None, "2.00", None, True, timedelta(days=217, hours=14, minutes=30)),
    (None,) * 9,
    _row(-0.0, 2, "-0.50", "B", None, timedelta(minutes=1)),
]
PAIRS = [(one, other) for one in ROWS for other in ROWS]
CONDITIONS = [
    # Arithmetic
    "next.i % prev.i = 1",
    "next.k % 2 = 0 OR prev.i % 2 = -1",
    "prev.d % 2 > 1",
    "next.d % prev.i < 0",
    "prev.x % 2 < 0",
    "mod(next.x, prev.x) >= 0",
    "next.i div prev.i = -2",
    "prev.d div 2 = -3",
    "next.k div prev.i > 5",
    "abs(next.x - prev.x) < 5",
    "abs(next.i - prev.i) % 2 = 1",
    "-prev.d > next.d",
    "next.x / prev.x > 0.5",
    # Choices
    "coalesce(prev.x, 0) < 5",
    "coalesce(prev.i, next.d, 1.5) > 1",
    "coalesce(prev.i, next.x) >= 1",
    "coalesce(prev.s, next.s, 'z') < 'b'",
    "coalesce(prev.ts, next.ts) > TIMESTAMP '2026-03-28 12:00:00'",
    "coalesce(prev.b, NULL, next.b)",
    "ifnull(prev.b, next.i > 0)",
    "nullif(prev.i, next.i) IS NULL",
    "nullif(prev.s, 'ab') <> 'B'",
    "if(prev.b, next.i, prev.i) > 0",
    "CASE WHEN prev.i > next.i THEN prev.x WHEN prev.b THEN next.i END > 1",
    "CASE WHEN prev.i > 0 THEN 'up' WHEN prev.i < 0 THEN 'down' ELSE prev.s END <= 'down'",
    "CASE prev.i WHEN next.i THEN TRUE WHEN -7 THEN FALSE ELSE next.b END",
    "CASE prev.s WHEN 'ab' THEN 1 WHEN next.s THEN 2.5 ELSE NULL END < 2",
    "least(prev.x, next.x) < 1",
    "greatest(prev.x, next.x, 1) > 1",
    "least(prev.i, next.d) = prev.i",
    "greatest(prev.s, next.s) = 'ab'",
    "least(prev.ts, next.ts) = prev.ts",
    "greatest(prev.day, DATE '2026-03-28') = next.day",
    "least(prev.b, next.b)",
    # Truth
    "TRUE",
    "FALSE OR prev.b",
    "prev.b AND NOT next.b",
    "prev.b = TRUE",
    "prev.i IS DISTINCT FROM next.i",
    "prev.x <=> next.x",
    "prev.i IN (next.i, 3)",
    "prev.s NOT IN ('ab', next.s)",
    "prev.d BETWEEN next.i AND 3.4",
    # Text
    "prev.s LIKE 'a%'",
    "prev.s LIKE 'a_b'",
    "prev.s NOT LIKE '%b'",
    r"prev.s LIKE 'a\_b'",
    "prev.s LIKE 'a/%b' ESCAPE '/'",
    "prev.s LIKE ''",
    "prev.s LIKE 'a.b' OR prev.s LIKE '_'",
    "prev.s > next.s",
    # Times
    "next.ts - prev.ts < INTERVAL 1 MINUTE",
    "next.ts - prev.ts = INTERVAL '24' HOURS",
    "next.tn - prev.tn >= INTERVAL 1 DAY",
    "next.day - prev.day = INTERVAL 1 DAY",
    "next.ts - prev.ts > next.tn - prev.tn",
    "next.ts < prev.ts + INTERVAL 1 MINUTE",
    "next.ts = prev.ts + INTERVAL 1 DAY",
    "next.ts = prev.ts + INTERVAL 24 HOURS",
    "next.ts >= prev.ts - INTERVAL 1 WEEK",
    "next.ts = INTERVAL 10 HOURS + INTERVAL 14 HOURS + prev.ts",
    "prev.ts + INTERVAL 218 DAYS > next.ts - INTERVAL 30 MINUTES",
    "next.ts + INTERVAL 1 DAY = prev.ts + INTERVAL 38 HOURS 30 MINUTES",
    "next.tn <= prev.tn + INTERVAL 90 SECONDS",
    "next.day = prev.day + INTERVAL 1 DAY",
    "next.day > prev.day - INTERVAL 2 WEEKS",
    "timestampdiff(SECOND, prev.ts, next.ts) < 60",
    "timestampdiff(MINUTE, prev.ts, next.ts) = -870",
    "timestampdiff(HOUR, prev.ts, next.ts) = 24",
    "timestampdiff(DAY, prev.ts, next.ts) = -1",
    "timestampdiff(WEEK, prev.tn, next.tn) >= 30",
    "timestampdiff(MICROSECOND, prev.ts, next.ts) = 59999999",
    "datediff(next.day, prev.day) = 1",
    "datediff(next.ts, prev.ts) = 1",
    "prev.ts > TIMESTAMP '2026-03-28 12:00:30.5'",
    "prev.ts >= TIMESTAMP '2026-03-29 02:30:00'",
    "prev.tn < TIMESTAMP_NTZ '2026-03-29'",
    "prev.day <> DATE '2026-03-28'",
]


@pytest.fixture(scope="module")
def pairs(spark: SparkSession) -> DataFrame:
    schema = f"prev STRUCT<{SCHEMA}>, next STRUCT<{SCHEMA}>"
    return spark.createDataFrame(PAIRS, schema).coalesce(1).cache()


@pytest.fixture(params=["UTC", "Europe/Berlin", "+05:30"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Set the zone, without ANSI mode: a division by zero is then null, as in Muntin."""
    spark.conf.set("spark.sql.session.timeZone", request.param)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        yield request.param
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_conditions_are_decided_as_spark_decides_them(pairs: DataFrame, zone: str) -> None:
    asked = [f"{text} AS c{place}" for place, text in enumerate(CONDITIONS)]
    table = pairs.selectExpr("prev.*", "next.*").toArrow()
    expected = pairs.selectExpr(*asked).toArrow()
    width = len(table.schema) // 2
    columns = {
        f"{side}.{name}": table.column(place + half * width).combine_chunks()
        for half, side in enumerate(("prev", "next"))
        for place, name in enumerate(table.schema.names[:width])
    }
    types = {field.name: to_arrow(field.dataType, "") for field in pairs.schema["prev"].dataType}
    wrong = []
    for place, text in enumerate(CONDITIONS):
        tree, slots = parse_bridge(text, zone)
        names = [slot.partition(".")[2] for slot in slots]
        check(tree, [types[name] for name in names], no_aggregate, text)
        given = [columns[slot].cast(types[n]) for slot, n in zip(slots, names, strict=True)]
        answer = truth(evaluate(tree, lambda slot, g=given: from_arrow(g[slot]), _no_aggregate))
        true, valid, _ = np.broadcast_arrays(answer.true, answer.valid, np.empty(len(PAIRS)))
        found = pa.array(true, pa.bool_(), mask=~valid).to_pylist()
        decided = zip(PAIRS, found, expected.column(place).to_pylist(), strict=True)
        wrong += [(text, *one) for one in decided if one[1] is not one[2]]
    assert not wrong


def _no_aggregate(node: object) -> Any:
    raise AssertionError(node)
