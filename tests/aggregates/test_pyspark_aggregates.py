"""PySpark's aggregates are read as Muntin's, or refused with advice that works."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.aggregates.parse import parse_column
from muntin.errors import ArgumentError, UnsupportedTypeError
from muntin.spark.api.pyspark_aggregates import infix, read_aggregate
from muntin.testing import replay
from tests.drivers.streams import play

V = "v"
#: What is read: the column, Muntin's aggregates, and the SQL over them.
READ: dict[str, tuple[Callable[[], Column], str]] = {
    "max(v)": (lambda: F.max(V), "max(v)"),
    "hi": (lambda: F.max(F.col(V) * 2 + 1).alias("hi"), "max(((v * 2) + 1))"),
    "count(DISTINCT v)": (lambda: F.countDistinct(V), "count(DISTINCT v)"),
    "count(DISTINCT v, s)": (lambda: F.countDistinct(V, "s"), "count(DISTINCT v, s)"),
    "n": (lambda: F.count_distinct(V).alias("n"), "count(DISTINCT v)"),
    "count(1)": (lambda: F.count("*"), "count(*)"),
    "first(v)": (lambda: F.first(V, ignorenulls=True), "first(v, true)"),
    "avg(v)": (lambda: F.mean(V), "avg(v)"),
    "stddev(v)": (lambda: F.stddev(V), "stddev(v)"),
    "variance(v)": (lambda: F.variance(V), "variance(v)"),
    "collect_list(v)": (lambda: F.collect_list(V), "collect_list(v)"),
    "mode(v)": (lambda: F.mode(V), "mode(v)"),
    "median(v)": (lambda: F.median(V), "median(v)"),
    "bool_or((v > 2))": (lambda: F.bool_or(F.col(V) > 2), "bool_or(v > 2)"),
    "max((v * 0.5))": (lambda: F.max(F.col(V) * 0.5), "max(v * 0.5D)"),
    "sum(DISTINCT v)": (lambda: F.sum_distinct(V), "sum(DISTINCT v)"),
    "max_by(v, s)": (lambda: F.max_by(V, "s"), "max_by(v, s)"),
    "corr(v, v)": (lambda: F.corr(V, V), "corr(v, v)"),
    "kurtosis(v)": (lambda: F.kurtosis(V), "kurtosis(v)"),
    "bit_xor(v)": (lambda: F.bit_xor(V), "bit_xor(v)"),
    "any_value(v)": (lambda: F.any_value(V), "any_value(v)"),
    "texts": (lambda: F.listagg("s", F.lit("; ")).alias("texts"), "listagg(s, '; ')"),
    "max(upper(s))": (lambda: F.max(F.upper("s")), "max(upper(s))"),
    "a b": (lambda: F.sum(V).alias("a b"), "sum(v)"),
    "(max(v) - min(v))": (lambda: F.max(V) - F.min(V), "max(v) - min(v)"),
    "((v > 1) AND s)": (
        lambda: F.max((F.col(V) > 1) & (F.col("s") == "x")).alias("((v > 1) AND s)"),
        "max((v > 1) and (s = 'x'))",
    ),
    "sum(CASE WHEN (v > 1) THEN 1 ELSE 0 END)": (
        lambda: F.sum(F.when(F.col(V) > 1, 1).otherwise(0)),
        "sum(CASE WHEN v > 1 THEN 1 ELSE 0 END)",
    ),
}
REFUSED: dict[str, tuple[Callable[[], Column], str]] = {
    "two columns": (lambda: F.sum_distinct(F.struct(V, "s")), "Spark says: "),
    "unknown": (lambda: F.regr_slope(V, V), "regr_slope"),
    "no such column": (lambda: F.max("speed"), "Spark says: .*speed"),
    "no aggregate": (lambda: F.col(V) + 1, "Spark says: .*"),
    "a column with a blank": (lambda: F.max("a b"), "does not say all"),
    "a share": (lambda: F.percentile(V, 0.5), r"mt\.quantile\(\.\.\.\)"),
    "a histogram": (lambda: F.histogram_numeric(V, F.lit(3)), "histogram_numeric"),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(spark: SparkSession, name: str) -> None:
    df = spark.createDataFrame([], "v BIGINT, s STRING")
    column, text = READ[name]
    found, wanted = read_aggregate(column(), df, (), {}), parse_column(text, ())
    assert found.name == name
    assert [unbracketed(str(a)) for a in found.aggregates] == [
        unbracketed(str(a)) for a in wanted.aggregates
    ]
    assert (found.outer or "").strip("()") == (wanted.outer or "")


def unbracketed(text: str) -> str:
    return re.sub(r"[() ]", "", text)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_with_advice_that_works(spark: SparkSession, name: str) -> None:
    df = spark.createDataFrame([], "v BIGINT, s STRING, `a b` BIGINT")
    column, message = REFUSED[name]
    with pytest.raises(ArgumentError, match=message) as refusal:
        read_aggregate(column(), df, (), {})
    advice = str(refusal.value).rpartition("; write ")[2]
    texts = re.findall(r"'(.*?)'", advice)
    assert texts
    for text in texts:
        assert parse_column(text, ()).aggregates
    for function in re.findall(r"mt\.(\w+)", advice):
        assert callable(getattr(mt, function))


def test_a_literal_is_not_taken_for_a_column(spark: SparkSession) -> None:
    """Columns print the literal 'v' in quotes or, on Spark Connect, without them."""
    df = spark.createDataFrame([], "v BIGINT")
    (aggregate,) = read_aggregate(F.max(F.lit("v")), df, (), {}).aggregates
    assert str(aggregate) == "max('v')"


def test_in_windows_frames_and_fills(spark: SparkSession) -> None:
    df = spark.createDataFrame([(0, 3), (1, 3), (2, 5), (6, 1)], "at BIGINT, v BIGINT")
    stream = mt.stream(df, on="at")
    windows = stream.tumbling(5).agg(F.countDistinct("v").alias("n"), F.max(df.v))
    assert [row.asDict() for row in windows.orderBy("window_end").collect()] == [
        {"window_start": 0, "window_end": 5, "n": 2, "max(v)": 5},
        {"window_start": 5, "window_end": 10, "n": 1, "max(v)": 1},
    ]
    other = spark.createDataFrame([(1, 7.0)], "at BIGINT, w DOUBLE")
    filled = stream.frames(mt.threshold("v > 2")).fill(other).agg(F.sum("w").alias("w"))
    assert [row["w"] for row in filled.collect()] == [7.0]


def test_in_a_stream(spark: SparkSession) -> None:
    rows = [{"at": 0, "v": 3}, {"at": 1, "v": 3}, {"at": 2, "v": 5}]
    source = replay(spark, [rows], "at BIGINT, v BIGINT").stream("at", disorder=mt.ordered())
    played = play(source.tumbling(5).plan(F.countDistinct("v").alias("n")))
    assert [row["n"] for row in played.results] == [2]


def test_operators_are_written_between_their_operands() -> None:
    assert infix("max(+(*(v, 2), 1))") == "max(((v * 2) + 1))"
    assert infix("max(=(s, '>(a, b)'))") == "max((s = '>(a, b)'))"
    assert infix("max(negative(v))") == "max(negative(v))"
    assert infix("/(sum(v), count(*))") == "(sum(v) / count(*))"


def test_functions_by_column(spark: SparkSession) -> None:
    df = spark.createDataFrame([(0, 3, 4), (1, 5, None)], "at INT, v INT, `a b` INT")
    windows = mt.stream(df, on="at").tumbling(5)
    (row,) = windows.agg({"v": "max", "a b": "avg", "*": "count"}, "min(v) AS lo").collect()
    assert row.asDict() == {
        **{"window_start": 0, "window_end": 5, "max(v)": 5, "avg(a b)": 4.0, "count(*)": 2},
        "lo": 3,
    }
    with pytest.raises(ArgumentError, match="the names of functions by column"):
        windows.agg({"v": 3})  # type: ignore[dict-item]


def aggregates_of_pyspark() -> list[str]:
    """Every function whose documentation says that it aggregates, and some that do not say it."""
    more = {
        "bool_and",
        "bool_or",
        "every",
        "some",
        "count_if",
        "count_distinct",
        "histogram_numeric",
    }
    more |= {"max_by", "min_by", "corr", "covar_pop", "covar_samp", "percentile", "first_value"}
    more |= {"percentile_approx", "approx_percentile", "last_value", "try_sum", "try_avg", "mode"}
    return sorted(
        name
        for name in F.__all__
        if name in more or "aggregate function" in (getattr(F, name).__doc__ or "").lower()[:120]
    )


def called(name: str, df: DataFrame) -> Column | None:
    """A call that Spark takes as an aggregate; None if the function needs something else."""
    function = getattr(F, name)
    for arguments in (("v",), ("b",), ("s",), ("v", "w"), ("v", F.lit(0.5)), ("v", F.lit(3))):
        try:
            column = function(*arguments)
            df.agg(column.alias("x")).schema.fieldNames()
        except (PySparkException, TypeError, ValueError, AttributeError):
            continue
        return column
    return None


def test_every_aggregate_of_pyspark_is_sparks_or_refused(spark: SparkSession) -> None:
    rows = [
        (1, 3, 1.5, True, "x"),
        (2, 5, -2.0, False, "y"),
        (3, 5, 4.0, True, "x"),
        (4, None, 0.5, None, None),
    ]
    df = spark.createDataFrame(rows, "t INT, v INT, w DOUBLE, b BOOLEAN, s STRING").coalesce(1)
    windows = mt.stream(df, on="t").tumbling(10)
    taken, refused = {}, []
    for name in aggregates_of_pyspark():
        column = called(name, df)
        if column is None:
            continue
        try:
            windows.plan(column)
        except (ArgumentError, UnsupportedTypeError) as error:
            refused.append(name)
            assert "write SQL text such as" in str(error) or "needs" in str(error), name
        else:
            taken[name] = column.alias(f"{name}_")
    ours = windows.agg(*taken.values()).collect()[0].asDict()
    theirs = df.agg(*taken.values()).collect()[0].asDict()
    for name in taken:
        found, wanted = ours[f"{name}_"], theirs[f"{name}_"]
        if name.endswith("_set"):
            found, wanted = sorted(found), sorted(wanted)
        close = pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted
        assert found == close, name
    assert len(taken) > 30
    assert {"histogram_numeric", "regr_slope"} <= {*refused}
