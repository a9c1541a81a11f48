"""Joins on Spark: by distance, by interval, and as of a time; batch and stream alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import muntin as mt
from muntin.specs.axis import Domain
from muntin.specs.join import Distance, left_only
from muntin.testing import Played, Replay, assert_same_rows, replay
from tests.drivers.cases import ON_DDL, naive
from tests.drivers.many_cases import Streamed, check_each, check_streams
from tests.drivers.streams import play
from tests.drivers.test_properties import START
from tests.properties.joinings import AsofCase, JoinCase, Joined, TwoSides, asof_cases, join_cases

Row = dict[str, Any]
Case = JoinCase | AsofCase
COLUMNS = ("on", "k", "q", "mark", "s", "v", "i", "n")


def schema(side: Joined) -> str:
    rest = "k STRING, q STRING, mark BOOLEAN, s STRING, v DOUBLE, i BIGINT, n BIGINT"
    return f"`on` {ON_DDL[side.domain]}, {rest}"


def rows_of(rows: Sequence[Row]) -> list[Row]:
    return naive([{name: row[name] for name in COLUMNS} for row in rows])


def plan(case: Case, left: mt.Stream, right: mt.Stream) -> mt.Plan:
    """Return the plan of a case, as a user would write it."""
    key = "k" if case.left.keyed else ()
    if isinstance(case, AsofCase):
        spec = case.spec
        return left.asof(
            right,
            spec.tolerance,
            direction=spec.direction,
            exact=spec.exact,
            key=key,
            tiebreak=["s", "n"],
        ).plan()
    where = None if case.sign is None else f"left.v {case.sign} right.v"
    if isinstance(case.spec, Distance):
        within, direction = case.spec.within, case.spec.direction
        given_ = {"how": case.spec.how, "direction": direction, "key": key, "where": where}
        return left.join(right, within, **given_).plan()  # type: ignore[arg-type]
    spec_ = case.spec
    return left.zipper(
        right, spec_.every, origin=spec_.origin, how=spec_.how, key=key, where=where
    ).plan()


def wanted(case: Case, results: Sequence[Row]) -> list[Row]:
    """Return the numbers of the rows in each expected result; they identify rows."""
    only = isinstance(case, JoinCase) and left_only(case.spec.how)
    names = {"left3": "n"} if only else {"left3": "n", "right3": "right_n"}
    return [{name_in_plan: row[name] for name, name_in_plan in names.items()} for row in results]


def found(case: Case, rows: Sequence[Any]) -> list[Row]:
    only = isinstance(case, JoinCase) and left_only(case.spec.how)
    names = ("n",) if only else ("n", "right_n")
    return [{name: row[name] for name in names} for row in rows]


def streams_of(spark: SparkSession, case: TwoSides) -> list[mt.Stream]:
    streams = []
    for side in case.sides:
        rows = rows_of([row for batch in side.batches for row in batch])
        df = spark.createDataFrame([tuple(row.values()) for row in rows], schema(side))
        rule = side.disorder if side.rule in ("marks", "key marks") else None
        streams.append(mt.stream(df, "on", side.by, rule))
    return streams


def is_exact(case: TwoSides) -> bool:
    """False on doubles: a plan may choose an axis with other decimals, so other rows are late."""
    return case.left.domain is not Domain.DOUBLE


cases = st.one_of(join_cases(), join_cases(), asof_cases()).filter(is_exact)


@pytest.mark.hypothesis
def test_batch_equals_the_reference(spark: SparkSession) -> None:
    check_each(lambda case: check_batch(spark, case), cases)


def check_batch(spark: SparkSession, case: Case) -> None:
    planned = plan(case, *streams_of(spark, case))
    marked = [side.rule in ("marks", "key marks") for side in case.sides]
    rows = [
        side.data() if mark else [row for batch in side.batches for row in batch]
        for side, mark in zip(case.sides, marked, strict=True)
    ]
    expected, outcomes = case.whole(rows)
    assert_same_rows(found(case, planned.df.collect()), wanted(case, expected))
    refused = sorted((row["input"], row["reason"]) for row in planned.refused.collect())
    names = zip(("left", "right"), outcomes, strict=True)
    assert refused == sorted((name, why) for name, out in names for _, why in out.refused)


def is_short(case: TwoSides) -> bool:
    """True if there are few micro-batches: each takes a second on Spark."""
    return all(len(side.batches) <= 2 for side in case.sides)


@pytest.mark.hypothesis
def test_stream_equals_the_reference(spark: SparkSession) -> None:
    check_streams(
        lambda case: streamed(spark, case, lambda left, right: plan(case, left, right)),
        check_stream,
        cases.filter(is_short),
    )


def check_stream(case: Case, played: Played) -> None:
    expected, _ = case.expected()
    assert_same_rows(found(case, played.results), wanted(case, expected))
    row_count = sum(len(rows) for side in case.sides for rows in side.batches)
    assert played.counts["rows_in"] == row_count
    assert played.counts["rows_used"] + played.counts["rows_refused"] == row_count


def streamed(spark: SparkSession, case: TwoSides, planned: Callable[..., mt.Plan]) -> Streamed:
    """Return the plan over replays of both sides."""
    replays: list[Replay] = []
    streams = []
    for side in case.sides:
        clock = [None if now is None else START + timedelta(seconds=now) for now in side.clocks]
        batches = [rows_of(batch) for batch in side.batches]
        played = replay(spark, batches, schema(side), clock=clock, punctuation=side.told_by_batch)
        replays.append(played)
        streams.append(
            mt.stream(played.df, "on", side.by, side.disorder, control=played.control, shards=2)
        )
    return Streamed(planned(*streams), replays)


def minute(n: float) -> datetime:
    return datetime(2026, 1, 5, 9) + timedelta(minutes=n)


@pytest.fixture(scope="module")
def quotes(spark: SparkSession) -> DataFrame:
    """Return prices of two stocks on one exchange."""
    rows = [(minute(0), "IBM", 10.0), (minute(20), "IBM", 11.0), (minute(25), "DEC", 7.0)]
    return spark.createDataFrame(rows, "ts TIMESTAMP, stock STRING, price DOUBLE")


@pytest.fixture(scope="module")
def trades(spark: SparkSession) -> DataFrame:
    """Return prices of the same stocks on another exchange, with other column names."""
    rows = [(minute(10), "IBM", 10.0), (minute(45), "IBM", 11.0), (minute(60), "DEC", 8.0)]
    return spark.createDataFrame(rows, "at TIMESTAMP, symbol STRING, price DOUBLE")


def test_equal_prices_within_half_an_hour(quotes: DataFrame, trades: DataFrame) -> None:
    """Aurora's example pairs securities with equal prices within 30 minutes."""
    stream = mt.stream(quotes, on="ts", by="stock")
    joined = stream.join(
        trades, "30 minutes", on="at", key="symbol", where="left.price = right.price"
    ).df
    assert joined.columns == ["ts", "stock", "price", "at", "symbol", "right_price"]
    times = sorted((row.ts, row.at, row.right_price) for row in joined.collect())
    assert times == [(minute(0), minute(10), 10.0), (minute(20), minute(45), 11.0)]


def test_keys_do_not_matter_if_nobody_asks(quotes: DataFrame, trades: DataFrame) -> None:
    stream = mt.stream(quotes, on="ts", by="stock")
    joined = stream.join(trades, "5 minutes", on="at", key=(), how="anti").df
    assert [row.ts for row in joined.collect()] == [minute(0), minute(20), minute(25)]


def test_a_key_of_one_name_stands_once(quotes: DataFrame, trades: DataFrame) -> None:
    renamed = trades.withColumnsRenamed({"symbol": "stock", "at": "ts"})
    joined = (
        mt.stream(quotes, "ts", "stock").join(renamed, "1 hour", how="full", prefix="other_").df
    )
    assert joined.columns == ["ts", "stock", "price", "other_ts", "other_price"]
    alone = mt.stream(quotes, "ts", "stock").join(renamed, "1 minute", how="right").df
    assert {row.stock for row in alone.collect()} == {"IBM", "DEC"}  # though no left row has it


def test_the_last_quote_at_every_trade(quotes: DataFrame, trades: DataFrame) -> None:
    joined = mt.stream(trades, "at", "symbol").asof(quotes, "30 minutes", on="ts", key="stock").df
    rows = sorted((row.at, row.ts) for row in joined.collect())
    assert rows[:2] == [(minute(10), minute(0)), (minute(45), minute(20))]
    assert [row.ts for row in joined.where("symbol = 'DEC'").collect()] == [None]  # 35 minutes ago


def test_a_limit_is_counted(spark: SparkSession) -> None:
    rows = [{"x": n, "k": "a", "text": "x" * 100} for n in range(200)]
    first, second = (
        replay(spark, [rows, rows[:1]], "x BIGINT, k STRING, text STRING") for _ in "ab"
    )
    try:
        left = first.stream("x", "k", mt.slack(1000), shards=1)
        right = second.stream("x", "k", mt.slack(1000))
        played = play(left.join(right, 0, limit="10 KB").plan())
    finally:
        first.remove()
        second.remove()
    assert played.counts["evicted"] > 100
    assert played.counts["rows_used"] == 402


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"within": -1}, "within=-1 cannot be used: it is not negative"),
        ({"within": 5}, "needs a unit"),
        ({"how": "outer"}, "'inner', 'left', 'right', 'full', 'semi' or 'anti'"),
        ({"direction": "forwards"}, "did you mean 'forward'"),
        ({"where": "price > 3"}, "write left.price or right.price"),
        ({"where": "left.prize > 3"}, "where='prize' is not a column"),
        ({"where": "left.stock > 3"}, "needs a string where it has a value of type number"),
        ({"where": 3}, "it is SQL text such as 'left.price = right.price'"),
        ({"limit": "much"}, "it is a size such as '100 MB'"),
        ({"limit": "0 MB"}, "it is a size such as '100 MB'"),
        ({"prefix": 3}, "it must be text"),
        ({"other": None}, "it is a Spark DataFrame or what mt.stream returns"),
    ],
)
def test_a_mistake_is_named(
    quotes: DataFrame, trades: DataFrame, given_: dict[str, Any], says: str
) -> None:
    usual = {"other": trades, "within": "1 minute", "on": "at", "key": "symbol"}
    with pytest.raises(mt.MuntinError, match=says):
        mt.stream(quotes, "ts", "stock").join(**{**usual, **given_})


def test_what_a_join_holds_is_said(spark: SparkSession, trades: DataFrame) -> None:
    rates = spark.readStream.format("rate").load()
    left = mt.stream(rates, "timestamp", disorder=mt.ordered())
    right = mt.stream(rates, "timestamp", disorder=mt.slack("1 minute"))
    explanation = str(left.join(right, "5 minutes", limit="100 MB").plan().explanation)
    assert "INNER JOIN WITHIN 5 minutes" in explanation
    assert (
        "until the other is complete 5 minutes after them, at most 100,000,000 bytes" in explanation
    )
    with pytest.raises(mt.ArgumentError, match="a stream that is joined must say how disordered"):
        left.join(mt.stream(rates, "timestamp"), "5 minutes")
    with pytest.raises(mt.ArgumentError, match="the other one is a batch; read it as a"):
        left.join(trades, "5 minutes", on="at", key=())
