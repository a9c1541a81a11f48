"""reference = batch = stream for frames on real Spark; the breadth is in tests/properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from statistics import stdev
from typing import Any

import pytest
from pyspark.errors import PythonException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.operators.frames.build import build
from muntin.operators.frames.kinds.aggregate import refuse_unbounded
from muntin.reference.windows import END, MicroBatch
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.kinds import (
    AggregateCondition,
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.pattern import Pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.testing import Played, Replay, assert_same_rows, replay
from tests.drivers.cases import COLUMNS, ON_DDL, ddl, naive, texts
from tests.drivers.many_cases import Streamed, check_each, check_streams
from tests.drivers.streams import play
from tests.drivers.test_properties import START, is_short
from tests.properties import measures
from tests.properties.framings import OTHERS, FrameCase, frame_cases

Row = dict[str, Any]
NAMES = (*COLUMNS, "tie", "until", *OTHERS)
#: Properties of a framing that `frames` takes under their own names.
PROPERTIES = (
    *("min_duration", "max_duration", "min_count", "max_count", "cut", "scheme", "longest"),
    *("fragments", "missing", "bounds", "ties", "tie_order", "readings", "until", "forget"),
)
#: Columns of a frame that are not reported with aggregates.
COUNTS = ("n", "n_missing")


def schema(case: FrameCase) -> str:
    others = "w DECIMAL(38, 18), f FLOAT, o DATE, t TIMESTAMP, n TIMESTAMP_NTZ"
    return f"{ddl(case)}, tie BIGINT, until {ON_DDL[case.domain]}, {others}"


def condition(kind: Crossing | Density) -> str:
    return f"{measures.text(kind.aggregate)} {kind.sign} {kind.limit}"  # type: ignore[arg-type]


def public(kind: FrameKind) -> FrameKind:
    """Return a kind as users write it."""
    match kind:
        case Threshold(where=where):
            return mt.threshold(where)
        case Boundary(value=value, every=every):
            return mt.boundary(value, every)
        case Delta(start=start):
            restart = None if start is None else kind.restart
            return mt.delta(kind.value, kind.size, kind.against, kind.span, start, restart)
        case Crossing(start=start):
            restart = None if start is None else kind.restart
            functions = measures.FUNCTIONS
            return mt.aggregate(condition(kind), kind.span, start, restart, functions)
        case AggregateCondition(start=start):
            restart = None if start is None else kind.restart
            return mt.aggregate(kind.text, kind.span, start, restart, measures.FUNCTIONS)
        case Trend():
            return mt.trend(kind.value, kind.direction, kind.strict)
        case TrendRuns():
            return mt.trend(kind.value)
        case Between():
            return mt.between(start=kind.start, end=kind.end, inclusive=kind.inclusive)
        case Density():
            return mt.density(condition(kind), per=kind.per)
        case Cluster():
            return mt.density(p=kind.p, rate=kind.rate, per=kind.per, weight=kind.weight)
        case Region():
            return mt.region(kind.where, kind.along, kind.min_extent, kind.prefer)
        case Pattern():
            return mt.pattern(str(kind.tree), **dict(kind.conditions))
    raise AssertionError(kind)


def plan(case: FrameCase, stream: mt.Stream) -> mt.Plan:
    options = {name: getattr(case.framing, name) for name in PROPERTIES}
    frames = stream.frames(public(case.framing.kind), **options)
    assert frames.framing == case.framing
    return frames.plan(*texts(case.calls))


def wanted(case: FrameCase, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the frames that a plan with these aggregates reports."""
    left_out = COUNTS if case.calls else ()
    return naive([{n: v for n, v in row.items() if n not in left_out} for row in rows])


def refusals(rows: Sequence[tuple[object, str]]) -> list[tuple[object, str]]:
    return sorted(rows, key=str)


@pytest.mark.hypothesis
def test_batch_equals_the_reference(spark: SparkSession) -> None:
    check_each(partial(check_batch, spark), frame_cases())


def check_batch(spark: SparkSession, case: FrameCase) -> None:
    marked = case.rule in ("marks", "key marks")
    rows = naive([row for batch in case.batches for row in batch])
    df = spark.createDataFrame([tuple(row[n] for n in NAMES) for row in rows], schema(case))
    disorder = case.disorder if marked else None
    made = plan(case, mt.stream(df, "on", case.by, disorder, schedule=case.framing.schedule))
    whole = case.data() if marked else [row for batch in case.batches for row in batch]
    expected = case.reference().run([MicroBatch(whole, END)])
    assert_same_rows(made.df.collect(), wanted(case, expected.results))
    refused = [(row["k"], row["reason"]) for row in made.refused.collect()]
    assert refusals(refused) == refusals([(row["k"], why) for row, why in expected.refused])


def is_streamed(case: FrameCase) -> bool:
    """A stream keeps no more and more values."""
    try:
        refuse_unbounded(case.framing, build(case.framing, case.typed()))
    except mt.ArgumentError:
        return False
    return is_short(case)


@pytest.mark.hypothesis
def test_stream_equals_the_reference(spark: SparkSession) -> None:
    check_streams(partial(streamed, spark), check_stream, frame_cases().filter(is_streamed))


def streamed(spark: SparkSession, case: FrameCase) -> Streamed:
    clock = [None if now is None else START + timedelta(seconds=now) for now in case.clocks]
    played = replay(spark, case.batches, schema(case), clock=clock, punctuation=case.told_by_batch)
    schedule = case.framing.schedule
    stream = played.stream("on", case.by, case.disorder, shards=3, schedule=schedule)
    return Streamed(plan(case, stream), [played])


def check_stream(case: FrameCase, made: Played) -> None:
    expected = case.expected()
    assert_same_rows(made.results, wanted(case, expected.results))
    refused = [(row["k"], row["reason"]) for row in made.refused]
    assert refusals(refused) == refusals([(row["k"], why) for row, why in expected.refused])
    assert made.counts["rows_in"] == sum(map(len, case.batches))
    assert made.counts["rows_in"] == made.counts["rows_used"] + made.counts["rows_refused"]
    assert made.counts["rows_used"] == expected.used


# -- Rows drawn by hand ----------------------------------------------------------------------------

SCHEMA = "k STRING, x BIGINT, v BIGINT"


def rows(*values: tuple[int, int | None], k: str = "a") -> list[Row]:
    """Return rows of one key: their places and values."""
    return [{"k": k, "x": x, "v": v} for x, v in values]


def frame(number: int, start: int, end: int, n: int, status: str = "final", **more: Any) -> Row:
    return {"k": "a", "frame_id": number, "frame_start": start, "frame_end": end} | {
        "n": n,
        "n_missing": 0,
        "status": status,
        **more,
    }


def by_batch(played: Replay) -> list[Row]:
    """Return all reports, each with its micro-batch."""
    return [row.asDict() for row in played.spark.read.parquet(f"{played.folder}/results").collect()]


#   on           1  2  3  4  5  6  7  8  9 10        [Frames, appendix B]
#   temperature 30 31 33 34 30 34 33 34 35 32
#   F1: > 32          [===]    [========]
#   F2: > 32                   [========]            the longest
#   F3: rising  [========]       [=====]             at least three rows
TEMPERATURES = rows(*enumerate([30, 31, 33, 34, 30, 34, 33, 34, 35, 32], 1))


@pytest.mark.parametrize(
    ("kind", "properties", "expected"),
    [
        (mt.threshold("v > 32"), {}, [frame(0, 3, 4, 2), frame(1, 6, 9, 4)]),
        (mt.threshold("v > 32"), {"longest": True}, [frame(0, 6, 9, 4)]),
        (
            mt.trend("v", "increasing"),
            {"min_count": 3},
            [frame(0, 1, 4, 4), frame(1, 7, 9, 3)],
        ),
    ],
    ids=["F1", "F2", "F3"],
)
def test_appendix_b(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    kind: FrameKind,
    properties: Row,
    expected: list[Row],
) -> None:
    df = spark.createDataFrame(TEMPERATURES, SCHEMA)
    assert_same_rows(mt.stream(df, "x", "k").frames(kind, **properties).df.collect(), expected)
    played = replay(spark, [TEMPERATURES[:4], TEMPERATURES[4:]], SCHEMA)
    framed = played.stream("x", "k", mt.ordered()).frames(kind, **properties)
    assert_same_rows(play(framed.plan()).results, expected)
    framed.explain()
    kept = "the longest frame of every key so far" in capsys.readouterr().out
    assert kept == ("longest" in properties)
    played.remove()


def test_a_restart_goes_on_with_an_open_frame(spark: SparkSession) -> None:
    """
    x          0  2  4  6 | 8 10 12 | 14 16
    v          9  1  1  1 | 1  1  1 |  1  9
    frame 0    [==============================]
    reported            1    2                1 partial at 6, 2 at 12, whole at the end

    A micro-batch is complete below its largest x; the query is stopped before the last.
    """
    batches = [
        rows((0, 9), (2, 1), (4, 1), (6, 1)),
        rows((8, 1), (10, 1), (12, 1)),
        rows((14, 1), (16, 9)),
    ]
    played = replay(spark, batches[:2], SCHEMA, end=False)

    def framed(fragments: int) -> mt.Plan:
        stream = played.stream("x", "k", mt.ordered(), shards=2)
        framed = stream.frames(mt.threshold("v < 5"), min_count=2, fragments=fragments)
        return framed.plan("count(*) AS rows", "sum(x) AS s")

    def reported(batch: int, end: int, status: str, n: int, s: int) -> Row:
        bounds = {"k": "a", "frame_id": 0, "frame_start": 2, "frame_end": end, "status": status}
        return {**bounds, "rows": n, "s": s, "batch": batch}

    # In the first micro-batch 6 is not below the largest, so the row at 4 makes the frame certain.
    early = [reported(0, 4, "partial", 2, 6), reported(1, 10, "partial", 5, 30)]
    played.play(framed(6))
    assert_same_rows(by_batch(played), early)
    played.extend(batches[2:])
    with pytest.raises(
        StreamingQueryException,
        match=r"(?s)belongs to another query.*window FRAME threshold\(v < 5\) WATTR x min_count=2 "
        r"fragments=6 .*there, FRAME threshold\(v < 5\) WATTR x min_count=2 fragments=7 .*here",
    ):
        played.play(framed(7))
    played.play(framed(6))
    later = by_batch(played)
    assert_same_rows([row for row in later if row["batch"] < 2], early)
    assert [
        (row["frame_end"], row["status"], row["rows"], row["s"])
        for row in later
        if row["batch"] >= 2
    ] == [(14, "final", 7, 56)]
    assert {row["frame_id"] for row in later} == {0}
    played.remove()


def test_a_frame_is_reported_when_punctuation_makes_it_certain(spark: SparkSession) -> None:
    """
    x             1  2  3  4 | . | 5
    v             1  1  9  1 |   | 1        below 5
    punctuation   3          | 4 | 5        the row that ends the frame must be below it
    """
    batches = [rows((2, 1), (1, 1), (4, 1), (3, 9)), [], rows((5, 1))]
    played = replay(spark, batches, SCHEMA, punctuation=[3, 4, 5], end=False)
    played.play(played.stream("x", "k").frames(mt.threshold("v < 5")).plan())
    assert_same_rows(by_batch(played), [{**frame(0, 1, 2, 2), "batch": 1}])
    played.remove()


def test_a_schedule_closes_frames_without_punctuation(spark: SparkSession) -> None:
    """
    slot          0   1   2 |  3   4   5 | .     six slots of 10
    x             3  12  25 | 31  47   . |
    v             1   1   9 |  1   1   . |       below 5; nothing came in slot 5
    punctuation  10         |            | 60
    """
    slots = [rows((25, 9), (3, 1), (12, 1)), rows((31, 1), (47, 1)), []]
    played = replay(spark, slots, SCHEMA, punctuation=[10, None, 60], end=False)
    stream = played.stream("x", "k", shards=3, schedule=10)
    played.play(stream.frames(mt.threshold("v < 5")).plan())
    expected = [{**frame(0, 3, 12, 2), "batch": 0}, {**frame(1, 31, 47, 2), "batch": 2}]
    assert_same_rows(by_batch(played), expected)
    played.remove()


HELD = "k STRING, x BIGINT, until BIGINT, v BIGINT, place BIGINT"


def test_refused_rows_say_why(spark: SparkSession) -> None:
    """
    x        1    5    9   12 |   9  20      slack 2, so the second micro-batch is from 10 on
    until    5    9   12    . |  12  22
    place    2  2,1    1    1 |   1   1      the first by place stays
    """
    columns = ("k", "x", "until", "v", "place")

    def held(*values: tuple[int | None, ...]) -> list[Row]:
        return [dict(zip(columns, ("a", *value), strict=True)) for value in values]

    first = held((1, 5, 1, 2), (5, 9, 1, 2), (5, 7, 7, 1), (9, 12, 1, 1), (12, None, 1, 1))
    batches = [first, held((9, 12, 9, 1), (20, 22, 1, 1))]
    choices: Any = {"readings": "interval", "until": "until", "ties": "first", "tie_order": "place"}
    kind = mt.threshold("v < 8")
    played = replay(spark, batches, HELD)
    made = play(played.stream("x", "k", mt.slack(2)).frames(kind, **choices).plan())
    why = [("late", 9), ("no_until", 12), ("tie", 5)]
    assert sorted((row.reason, row.x) for row in made.refused) == why
    assert [row.lateness for row in made.refused if row.reason == "late"] == [1]
    assert made.counts["rows_in"] == 7
    assert made.counts["rows_used"] == 4
    assert made.counts["rows_refused"] == 3
    assert made.counts["late"] == made.counts["tie"] == made.counts["no_until"] == 1
    # The row that stayed at 5 holds only until 7, and nothing is known about [7, 9).
    expected = [frame(0, 1, 7, 2), frame(1, 9, 12, 1), frame(2, 20, 22, 1)]
    assert_same_rows(made.results, expected)
    played.remove()
    df = spark.createDataFrame([row for batch in batches for row in batch], HELD)
    batch = mt.stream(df, "x", "k").frames(kind, **choices).plan()
    # No row of a batch is late: the second row at 9 ties, and its place is as good as the first's.
    assert sorted((row.reason, row.x) for row in batch.refused.collect()) == [
        ("no_until", 12),
        ("tie", 5),
        ("tie", 9),
    ]


def test_rows_that_tie_end_the_query(spark: SparkSession) -> None:
    tied = rows((1, 1), (2, 1), (2, 7))
    says = r"TieError: key 'a' has more than one row at 2, .*ties='refuse', .*goes on"
    framed = mt.stream(spark.createDataFrame(tied, SCHEMA), "x", "k").frames(mt.threshold("v < 5"))
    with pytest.raises(PythonException, match=says):
        framed.df.collect()
    played = replay(spark, [tied], SCHEMA)
    plan = played.stream("x", "k", mt.ordered()).frames(mt.threshold("v < 5")).plan()
    with pytest.raises(StreamingQueryException, match=says):
        played.play(plan)
    played.remove()


def test_rows_that_tie_are_combined_before_a_deviation_decides(spark: SparkSession) -> None:
    greatest = [5, 1, 9, 2, 2, 9, 1, 5, 5, 9, 9, 1]
    rows = [(ts, x) for ts, top in enumerate(greatest) for x in (top, top - ts % 3)]
    table = spark.createDataFrame(rows, "ts INT, x INT")
    frames = mt.stream(table, on="ts").frames(mt.aggregate("stddev(x) > 3"), ties="max").df
    expected, since = [], 0
    for at in range(len(greatest)):
        values = greatest[since : at + 1]
        if len(values) > 1 and stdev(values) > 3:
            expected.append((since, at))
            since = at + 1
    assert [(row.frame_start, row.frame_end) for row in frames.collect()] == expected


def test_columns_of_a_frame(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "k STRING, x BIGINT, v BIGINT, m DOUBLE, n INT")
    stream = mt.stream(df, "x", ["k", "n"])
    plain = stream.frames(mt.threshold("v > 3"), prefix="mt_")
    assert plain.df.dtypes == [
        ("k", "string"),
        ("n", "int"),
        ("mt_frame_id", "bigint"),
        ("mt_frame_start", "bigint"),
        ("mt_frame_end", "bigint"),
        ("mt_n", "bigint"),
        ("mt_n_missing", "bigint"),
        ("mt_status", "string"),
    ]
    by_one = mt.stream(df, "x", "k").frames(mt.threshold("v > 3"), prefix="mt_")
    measured = by_one.agg("sum(v) / 2 AS half", mt.max("m").alias("n_missing"))
    names = ["mt_status", "half", "n_missing"]
    assert measured.dtypes[-3:] == list(zip(names, ["string", "double", "double"], strict=True))
    regions = mt.stream(df, "x", "k").frames(mt.region("v > 3", along="m"))
    assert regions.df.dtypes[1:6] == [
        ("frame_id", "bigint"),
        ("frame_start", "bigint"),
        ("frame_end", "bigint"),
        ("along_start", "double"),
        ("along_end", "double"),
    ]


# -- What it says ----------------------------------------------------------------------------------


def test_explain_a_batch(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    df = spark.createDataFrame([], "ts TIMESTAMP, detector INT, speed DOUBLE")
    stream = mt.stream(df, "ts", "detector", shards=2, schedule="20 seconds")
    framed = stream.frames(mt.threshold("speed <= 30"), min_duration="1 minute", missing="carry")
    framed.explain("avg(speed)")
    assert capsys.readouterr().out.splitlines() == [
        "frames      FRAME threshold(speed <= 30) WATTR ts min_duration=1 minute missing=carry "
        "schedule every 20 seconds",
        "scheme      disjoint, maximal",
        "aggregates  avg(speed)",
        "order       by ts, within detector",
        "exchange    rows travel as they are, once each; 2 shards",
        "state       none: a batch is one pass",
    ]


@pytest.mark.parametrize(
    ("kind", "scheme", "walked"),
    [
        (mt.delta("x", 5), "advancing", "advancing, maximal; all frames are found in one pass"),
        (mt.aggregate("count(*) >= 5"), "cover", "cover(drained), minimal; all frames are found "),
        (
            mt.aggregate("sum(x) >= 5"),
            "advancing",
            "advancing, minimal; every frame is walked from its first row",
        ),
        (mt.delta("x", 5), None, "partition, maximal"),
    ],
)
def test_explain_how_often_rows_are_looked_at(
    df: DataFrame, capsys: pytest.CaptureFixture[str], kind: FrameKind, scheme: object, walked: str
) -> None:
    mt.stream(df, "ts").frames(kind, scheme=scheme).explain()
    told = capsys.readouterr().out.splitlines()[1]
    assert told.startswith(f"scheme      {walked}")
    assert told.endswith(walked.split("; ")[0]) == ("; " not in walked)
    assert "micro-batch" not in told


PENDING = "rows that punctuation has not passed"
RECORD = "a record for every key"


@pytest.mark.parametrize(
    ("kind", "properties", "aggregates", "state"),
    [
        (mt.threshold("value > 3"), {}, (), f"bounded: {PENDING}, and {RECORD}"),
        (
            mt.threshold("value > 3"),
            {"fragments": "1 minute"},
            ("median(value)",),
            f"unbounded: {PENDING}, {RECORD}, and the aggregates of each open frame, 16 bytes and "
            "the key each; and each distinct value of a frame with its count; a frame may go on "
            "for ever, and an aggregate keeps its rows (bounded by max_duration or max_count)",
        ),
        (
            mt.aggregate("approx_count_distinct(value) >= 100"),
            {},
            (),
            f"bounded: {PENDING}, and {RECORD} with a partial row of the aggregates that decide",
        ),
        (
            mt.aggregate("sum(value) >= 100"),
            {"scheme": "advancing"},
            (),
            f"unbounded: {PENDING}, and {RECORD} with the rows since the oldest open frame began"
            "; a frame may go on for ever, and its rows are kept (bounded by max_duration or "
            "max_count)",
        ),
        (
            mt.aggregate("sum(value) >= 100"),
            {"scheme": "advancing", "max_count": 50},
            (),
            f"bounded: {PENDING}, and {RECORD} with the rows since the oldest open frame began",
        ),
        (
            mt.delta("value", 5),
            {"scheme": "unconstrained"},
            (),
            f"unbounded: {PENDING}, and {RECORD} with the rows since the oldest open frame began"
            "; a frame may go on for ever, and its rows are kept (bounded by max_duration or "
            "max_count)",
        ),
        (
            mt.aggregate("sum(value) >= 100"),
            {"scheme": mt.adjacent("1 second"), "max_count": 50},
            (),
            f"bounded if the rows of a frame are: {PENDING}, and {RECORD} with the rows since the "
            "oldest open frame began (where the next one starts is known only when it ends)",
        ),
        (
            mt.region("value > 3", along="value"),
            {"max_duration": "1 minute"},
            (),
            f"bounded: {PENDING}, and {RECORD} with the rows of regions that are open or overlap "
            "open ones, and every position along that it had",
        ),
        (
            mt.density("sum(value) >= 100", per="1 minute"),
            {},
            (),
            f"bounded: {PENDING}, and {RECORD} with the rows of the last 1 minute, and of "
            "1 minute before them",
        ),
    ],
)
def test_explain_what_a_stream_keeps(
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    kind: FrameKind,
    properties: Row,
    aggregates: Sequence[str],
    state: str,
) -> None:
    rates = spark.readStream.format("rate").load()
    stream = mt.stream(rates, "timestamp", disorder=mt.slack("10 seconds"))
    stream.frames(kind, **properties).explain(*aggregates)
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == f"state       {state}"
    # If frames overlap, sums are computed anew.
    assert ("again in every micro-batch" in told[1]) == (
        "scheme" in properties and "sum" in told[0]
    )
    slower = "decided     row by row in Python, which is slower than what kernels know"
    assert (slower in told) == ("approx" in kind.label)


# -- Mistakes that only the columns show -----------------------------------------------------------


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [],
        "ts TIMESTAMP, x INT, real DOUBLE, name STRING, list ARRAY<INT>, flag BOOLEAN, "
        "wide DECIMAL(30,2), frame_id INT",
    )


FLAG = mt.threshold("flag")


def of(kind: Any, **properties: Any) -> Callable[[DataFrame], Any]:
    return lambda df: mt.stream(df, "ts").frames(kind, **properties)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (of("flag"), mt.ArgumentError, "kind='flag' .*made by mt.threshold"),
        (of(FLAG, prefix=7), mt.ArgumentError, "prefix=7 .*text such as 'mt_'"),
        # Columns that do not exist.
        (of(FLAG, ties="first", tie_order="xx"), LookupError, "tie_order='xx' is not a column"),
        (of(FLAG, ties="last", tie_order=["x", "reel"]), LookupError, "did you mean 'real'"),
        (of(FLAG, readings="interval", until="tss"), LookupError, "until='tss'.*did you mean 'ts'"),
        (of(mt.region("flag", along="reel")), LookupError, "along='reel'.*did you mean 'real'"),
        (of(mt.threshold("speeed > 3")), mt.ExpressionError, "speeed.*the columns are ts, x"),
        (
            lambda df: of(mt.threshold(F.col("speeed") > 3))(df),
            mt.ExpressionError,
            "speeed.*the columns are ts",
        ),
        (of(mt.delta("reel", 2)), mt.ExpressionError, "reel.*the columns are ts, x, real"),
        (of(mt.delta("x", 2, start="flagg")), mt.ExpressionError, "flagg.*the columns are ts"),
        (of(FLAG, missing="prev.reel > 1"), LookupError, "missing='reel'.*did you mean 'real'"),
        (of(mt.threshold("reel > 1"), ties="max"), LookupError, "where='reel'.*did you mean"),
        # Types that are not supported.
        (of(FLAG, readings="interval", until="x"), mt.ArgumentError, "until='x' .*`on`, timestamp"),
        (of(mt.threshold("x")), TypeError, r"threshold\(x\) needs a condition, but it is int32"),
        (of(mt.threshold("x + 1")), TypeError, r"threshold\(x \+ 1\) needs a condition"),
        (of(mt.between("x", "flag")), TypeError, r"between\(x, flag\) needs a condition, .*int32"),
        (of(mt.region("x", along="real")), TypeError, r"region\(x, .*needs a condition, .*int32"),
        (of(mt.region("flag", along="name")), TypeError, "needs a number along, but it is string"),
        (of(mt.delta("name", 2)), TypeError, r"delta\(name, 2\) needs a number.*string"),
        (of(mt.delta("wide", 2)), TypeError, r"up to 18 digits.*cast it to decimal\(18, 2\)"),
        (
            of(mt.boundary("name", every=1)),
            TypeError,
            "needs a number, a date or a timestamp, but its value is string",
        ),
        (
            of(mt.density(p=0.1, rate=1, per="1 s", weight="real"), max_count=9),
            TypeError,
            "weight is a whole number, but it is double; cast it to bigint",
        ),
        (of(mt.boundary("list")), TypeError, r"boundary\(list\) has type array<int>"),
        (of(mt.trend("name", "flat")), TypeError, "needs a number, a date or a timestamp"),
        (of(mt.aggregate("sum(wide) > 3")), TypeError, "decimals of up to 18 digits"),
        (of(FLAG, missing="prev.name > next.x"), TypeError, "prev.name > next.x needs a string"),
        (of(FLAG, missing="prev.x"), TypeError, "prev.x needs a condition"),
        # Conditions that are evaluated row by row, for one open frame.
        (
            of(mt.aggregate("median(x) > 3"), scheme="advancing"),
            mt.ArgumentError,
            r"'median\(x\) > 3' .*frames cannot overlap; leave out scheme=",
        ),
        (of(mt.aggregate("max(x) - min(name) > 3")), TypeError, "needs a number .* type string"),
        # Expressions that are not conditions.
        (
            lambda df: of(mt.threshold(7))(df),
            mt.ArgumentError,
            "where=7 .*SQL text or a PySpark column",
        ),
        (of(mt.threshold("max(x) > 1")), mt.ExpressionError, "aggregate cannot stand in a cond"),
        (of(mt.threshold("x > ")), mt.ExpressionError, r"not SQL that can be read.*\^"),
        (of(FLAG, missing="satisfies"), mt.ArgumentError, "'break', 'satisfy', 'carry', or a cond"),
        (of(FLAG, missing="real > 1"), mt.ExpressionError, "belongs to no row; write prev.real"),
        (of(FLAG, missing=7), mt.ArgumentError, "missing=7 .*'break', 'satisfy', 'carry' or SQL"),
        (of(FLAG, missing="max(prev.x) > 1"), mt.ExpressionError, "an aggregate cannot stand"),
        # Lengths in another unit than the column.
        (of(FLAG, min_duration=5), mt.ArgumentError, "min_duration='5' .*needs a unit"),
        (of(FLAG, fragments=5), mt.ArgumentError, "fragments='5' .*needs a unit"),
        (of(mt.delta("x", 2), scheme=mt.adjacent(10)), mt.ArgumentError, "overlap='10' .*a unit"),
        (of(mt.density("sum(x) > 3", per=5)), mt.ArgumentError, "per='5' .*needs a unit"),
        (of(mt.boundary("ts", every=5)), mt.ArgumentError, "every='5' .*needs a unit"),
        (of(mt.delta("ts", 5)), mt.ArgumentError, "size='5' .*needs a unit"),
        (of(mt.delta("x", "1 hour")), mt.ArgumentError, "size='1 hour' .*a plain number"),
        (of(mt.boundary("wide", "1 hour")), mt.ArgumentError, "every='1 hour' .*a plain number"),
        (of(mt.delta("to_date(ts)", "1 hour")), mt.ArgumentError, "moves in whole days"),
        (
            lambda df: mt.stream(df, "x").frames(FLAG, min_duration="1 minute"),
            mt.ArgumentError,
            "min_duration='1 minute' .*a plain number",
        ),
        (
            lambda df: mt.stream(df, "ts", schedule=20).frames(FLAG),
            mt.ArgumentError,
            "schedule='20' .*needs a unit",
        ),
        (
            lambda df: mt.stream(df, "ts", schedule=mt.schedule("20 s", "soon")).frames(FLAG),
            mt.ArgumentError,
            "schedule='soon' .*value of the timestamp column",
        ),
        # Rows that tie become one before anything is evaluated.
        (
            lambda df: of(mt.threshold(F.col("flag")), ties="max")(df),
            mt.ArgumentError,
            "where=.*rows that tie are combined before.*write the condition as text",
        ),
        (of(mt.delta("x + 1", 2), ties="max"), mt.ArgumentError, r"value='x \+ 1' .*name a column"),
        (of(mt.threshold("real > 1"), ties={"x": "max"}), mt.ArgumentError, "values of 'real' bec"),
        (of(mt.boundary("name"), ties="sum"), TypeError, r"ties: sum\(name\) needs a number"),
        # Results.
        (lambda df: of(FLAG)(df).agg(), mt.ArgumentError, "name at least one, or use .df"),
        (lambda df: of(FLAG)(df).agg("max(reel)"), mt.ExpressionError, "reel.*the columns are ts"),
        (
            lambda df: of(FLAG)(df).agg("max(x) AS status"),
            mt.ArgumentError,
            "column 'status' would clash with Muntin's own; give prefix='mt_'",
        ),
        (
            lambda df: mt.stream(df, "ts", "frame_id").frames(FLAG).df,
            mt.ArgumentError,
            "column 'frame_id' would clash with Muntin's own; give prefix='mt_'",
        ),
    ],
)
def test_a_mistake_is_named(
    df: DataFrame, wrong: Callable[[DataFrame], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(mt.MuntinError, match=f"(?s){says}") as caught:
        wrong(df)
    assert isinstance(caught.value, error)


def test_a_stream_of_frames_says_how_disordered_it_is(spark: SparkSession) -> None:
    rates = spark.readStream.format("rate").load()
    with pytest.raises(mt.ArgumentError, match=r"mt.ordered\(\).*mt.slack"):
        mt.stream(rates, "timestamp").frames(mt.threshold("value > 3")).plan()


def test_a_stream_that_cannot_end_has_no_longest_frame(spark: SparkSession) -> None:
    df = spark.readStream.format("rate").load()
    stream = mt.stream(df, "timestamp", disorder=mt.slack("1 minute"))
    with pytest.raises(mt.ArgumentError, match=r"longest=True .*nothing ends.*mt.end\(folder\)"):
        stream.frames(mt.threshold("value > 3"), longest=True).plan()


def test_a_stream_bounds_the_frames_of_a_median(spark: SparkSession) -> None:
    rates = mt.stream(spark.readStream.format("rate").load(), "timestamp", None, mt.ordered())
    kind = mt.aggregate("median(value) > 3 AND count(*) / duration >= 2")
    with pytest.raises(mt.ArgumentError, match=r"keep all its values.*give max_count="):
        rates.frames(kind).plan()
    assert rates.frames(kind, max_count=9).plan() is not None
