"""Pattern frames on Spark: in batches, on streams, in SQL, filled, explained and refused."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.errors import ArgumentError, ExpressionError, UnknownColumnError, UnsupportedTypeError
from muntin.testing import replay
from tests.drivers.streams import play

SCHEMA = "n INT, k STRING, x DOUBLE, tag STRING"
#: Down, up, a null, up, down, up.
VALUES = (5.0, 3.0, 1.0, 2.0, 4.0, None, 6.0, 7.0, 5.0, 5.0, 8.0)
ROWS = [{"n": n, "k": "a", "x": x, "tag": "t"} for n, x in enumerate(VALUES)]
FALL_AND_RISE = {"down": "x < prev.x", "up": "x > prev.x * 1.0"}
V_SHAPE = mt.pattern("down+ up+", **FALL_AND_RISE)


@pytest.fixture(scope="module")
def line(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(row.values()) for row in ROWS], SCHEMA)


def spans(frames: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((row.frame_start, row.frame_end) for row in frames.collect())


def test_batch_and_stream_agree_with_and_without_the_row_before(
    spark: SparkSession, line: DataFrame
) -> None:
    batches = [ROWS[3:5], ROWS[:3], ROWS[5:7], ROWS[7:]]
    stream = replay(spark, batches, SCHEMA, punctuation=[0, 5, 7, 8])
    plain = mt.pattern("low+ high{1,2}", low=F.col("x") < 4, high="x >= 4 AND tag LIKE 't%'")
    for kind, expected in (
        (V_SHAPE, [(1, 4, 3.0 + 1 + 2 + 4)]),
        (plain, [(1, 4, 10.0)]),
        (mt.pattern("down up*", **FALL_AND_RISE), [(1, 1, 3.0), (2, 4, 7.0), (8, 8, 5.0)]),
    ):
        batch = mt.stream(line, on="n", by="k").frames(kind).agg("sum(x) AS total").collect()
        assert [(row.frame_start, row.frame_end, row.total) for row in batch] == expected
        streamed = mt.stream(stream.df, on="n", by="k", control=stream.control)
        played = play(streamed.frames(kind).plan("sum(x) AS total"))
        found = [(row.frame_start, row.frame_end, row.total) for row in played.results]
        assert sorted(found) == expected


def test_sql_fills_and_ties(line: DataFrame) -> None:
    found = mt.sql(
        """SELECT frame_start, frame_end, count(*) AS rows
           FROM line [FRAME PATTERN (down+ up+) DEFINE down AS x < prev.x, UP AS x > prev.x
                      MISSING SATISFY WATTR n PATTR k]
           ORDER BY frame_start""",
        line=line,
    ).collect()
    # The null and the row after it are missing rows, which satisfy; then 5 = 5 is neither.
    assert [tuple(row) for row in found] == [(1, 7, 7)]
    frames = mt.stream(line, on="n", by="k").frames(V_SHAPE)
    (filled,) = frames.fill(line.select("n", "k", "x"), on="n", before=1).agg("max(x)").collect()
    assert (filled.frame_start, filled.frame_end, filled[-1]) == (1, 4, 5.0)
    doubled = line.unionAll(line.withColumn("x", F.col("x") + 2))
    combined = mt.stream(doubled, on="n", by="k").frames(V_SHAPE_OF_COLUMNS, ties="mean")
    assert spans(combined.df) == [(1, 4)]


V_SHAPE_OF_COLUMNS = mt.pattern("down+ up+", down="x < prev.x", up="x > prev.x")


def test_explain_says_what_is_kept_and_when_it_is_bounded(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    arriving = spark.readStream.format("rate").load()
    clock = mt.stream(arriving, on="timestamp", disorder=mt.slack("10 seconds"))

    def explained(pattern: str, **properties: Any) -> str:
        conditions = {"up": "value > prev.value", "down": "value < prev.value"}
        clock.frames(mt.pattern(pattern, **conditions), **properties).explain()
        return capsys.readouterr().out

    text = explained("up+ down")
    assert "FRAME pattern(up+ down, up=value > prev.value, down=value < prev.value)" in text
    assert "state       unbounded: rows that punctuation has not passed, and a record for" in text
    assert "the rows from the first one that may still begin a match or be part of a" in text
    assert "(bounded by max_duration or max_count)" in text
    assert "state       bounded: " in explained("up+ down", max_duration="1 hour")
    assert "longer one, at most 3" in explained("up{2} down")


def test_another_pattern_is_another_query(line: DataFrame) -> None:
    stream = mt.stream(line, on="n", by="k")

    def identity(kind: Any) -> str:
        return stream.frames(kind).plan().parts.identity["window"]

    known = identity(V_SHAPE)
    assert identity(mt.pattern("down+ up+", up="x > prev.x * 1.0", down="x < prev.x")) == known
    assert identity(mt.pattern("down+ up*", **FALL_AND_RISE)) != known
    assert identity(mt.pattern("down+ up+", **{**FALL_AND_RISE, "down": "x <= prev.x"})) != known


def test_a_plot_draws_the_column_that_conditions_read(line: DataFrame) -> None:
    chart = mt.stream(line, on="n", by="k").frames(V_SHAPE).plot()
    assert "x" in chart.to_json()


@pytest.mark.parametrize(
    ("conditions", "error", "message"),
    [
        ({"a": "x > next.x"}, ExpressionError, "a reads its own row and prev, the row before"),
        ({"a": "y > prev.x"}, UnknownColumnError, "a='y' is not a column of the DataFrame"),
        ({"a": "x > prev.y"}, UnknownColumnError, "a='y' is not a column of the DataFrame"),
        ({"a": "x"}, UnsupportedTypeError, "needs a condition, but it is double"),
        ({"a": "x > prev.tag"}, UnsupportedTypeError, "x > prev.tag"),
        ({"a": "sqrt(x + prev.x) > 1"}, ExpressionError, r"'sqrt\(x \+ prev.x\)' cannot be used"),
    ],
)
def test_conditions_that_cannot_be_read_are_refused(
    line: DataFrame, conditions: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mt.stream(line, on="n", by="k").frames(mt.pattern("a", **conditions)).df  # noqa: B018


def test_a_column_named_prev_is_refused_with_a_condition_on_the_row_before(
    line: DataFrame,
) -> None:
    other = line.withColumn("prev", F.struct("x"))
    with pytest.raises(ArgumentError, match="the stream has a column of this name; rename it"):
        mt.stream(other, on="n").frames(V_SHAPE).df  # noqa: B018
