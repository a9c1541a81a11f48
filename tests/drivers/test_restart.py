"""Checkpoints: a kill loses and doubles nothing, cores may change, other queries are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import muntin as mt
from muntin.reference import aggregates
from muntin.reference.arrivals import arrive
from muntin.reference.disorder import Rule
from muntin.reference.frames.frames import FrameReference
from muntin.reference.rows import SequenceReference
from muntin.reference.windows import Evaluate, Outcome, Reference
from muntin.spark.queries.checkpoint import contents
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.row_windows import RowWindow, SequenceSpec, Session
from muntin.specs.windows import Window
from muntin.testing import Replay, assert_same_rows, replay
from tests.drivers.program_kill import Stop, started
from tests.drivers.programs import PATIENCE, kill, start, wait_for
from tests.drivers.streams import partitions

SCHEMA = "k STRING, x BIGINT, v DOUBLE"
PROGRAM = Path(__file__).with_name("program_kill.py")


def arrivals(batches: int) -> list[list[dict[str, Any]]]:
    """Return rows that move forward with disorder; some are later than the slack."""
    chance = random.Random(11)
    return [
        [
            {
                "k": chance.choice(["a", "b", "c"]),
                "x": number * 15 + chance.randint(-35, 15),
                "v": chance.randint(-500, 500) / 64,
            }
            for _ in range(30)
        ]
        for number in range(batches)
    ]


EVALUATE: dict[str, Evaluate] = {
    "total": lambda rows: aggregates.total([row["v"] for row in rows]),
    "n": len,
}
#: Counts as doubles, as synopses return them; with few rows they are exact.
COUNTS: dict[str, Evaluate] = {
    "total": lambda rows: float(len(rows)),
    "n": lambda rows: float(len(rows)),
}
AXIS = Axis(Domain.INTEGER)


def expected(batches: list[list[dict[str, Any]]]) -> Outcome:
    reference = Reference(Window(20, 7, "x").edges(AXIS), AXIS, "x", ("k",), EVALUATE)
    return reference.run(Rule(mt.slack(5), AXIS, "x").punctuate(batches))


def expected_of(
    spec: SequenceSpec | Window, evaluate: dict[str, Evaluate], batches: list[list[dict[str, Any]]]
) -> Outcome:
    """Return the expected output of windows over rows: rows below the punctuation are late."""
    reference = SequenceReference(spec, AXIS, ("k",), (), evaluate, tie=lambda row: row["v"])
    return reference.run(Rule(mt.slack(5), AXIS, "x").punctuate(batches))


def expected_frames(
    kind: FrameKind, batches: list[list[dict[str, Any]]], **choices: Any
) -> Outcome:
    """Return the expected frames with their aggregates, and the refused rows."""
    total, count = EVALUATE["total"], EVALUATE["n"]
    reference = FrameReference(
        framing=Framing(kind, "x", ties="first", tie_order="v", **choices),
        axis=AXIS,
        by=("k",),
        reading=lambda row: row["v"] > -4 if kind.word == "threshold" else True,
        aggregate=total,
        tie=lambda row: row["v"],
        aggregates={"total": total, "rows": count},
    )
    outcome = reference.run(Rule(mt.slack(5), AXIS, "x").punctuate(batches))
    return replace(
        outcome,
        results=[
            {n: v for n, v in r.items() if n not in ("n", "n_missing")} for r in outcome.results
        ],
    )


def expected_fill(batches: list[list[dict[str, Any]]]) -> Outcome:
    """Return frames filled from their own stream and a little before; both inputs refuse rows."""
    frames = expected_frames(mt.threshold("v > -4"), batches)
    outcome = Outcome()
    punctuated = Rule(mt.slack(5), AXIS, "x").punctuate(batches)
    in_time = arrive(outcome, punctuated, AXIS, "x", ("k",), lambda row: None).held
    for frame in frames.results:
        low, high = frame["frame_start"] - 4, frame["frame_end"]
        rows = [row for row in in_time[frame["k"],] if low <= row["x"] <= high]
        columns = {name: frame[name] for name in frame if name not in ("total", "rows")}
        outcome.results.append({**columns, **{name: of(rows) for name, of in EVALUATE.items()}})
    return replace(outcome, refused=[*outcome.refused, *frames.refused])


def median(rows: Any) -> Any:
    return aggregates.quantile([row["v"] for row in rows], 0.5)


def wanted_of(query: str, batches: list[list[dict[str, Any]]]) -> Outcome:
    match query:
        case "windows":
            return expected(batches)
        case "rows":
            return expected_of(RowWindow(5, 2, "x"), {**EVALUATE, "total": median}, batches)
        case "sessions":
            return expected_of(Session("x", 3), EVALUATE, batches)
        case "frames":
            return expected_frames(mt.threshold("v > -4"), batches, fragments=5)
        case "filled":
            return expected_fill(batches)
        case "overlapping":
            return expected_frames(mt.aggregate("sum(v) >= 10"), batches, scheme="advancing")
    return expected_of(Window(20, 7, "x"), COUNTS, batches)


@pytest.mark.timeout(4 * PATIENCE)
@pytest.mark.parametrize(
    "stops",
    [
        [Stop("windows", 1, "before"), Stop("filled", 2, "after")],
        pytest.param(
            [
                Stop("windows", 3, "after"),
                Stop("rows", 3, "after"),
                Stop("sessions", 2, "before"),
                Stop("synopses", 4, "after"),
                Stop("frames", 3, "before"),
                Stop("overlapping", 4, "after"),
                Stop("filled", 2, "before"),
            ],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_kill_9_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, stops: list[Stop]
) -> None:
    batches = arrivals(max(stop.batch for stop in stops) + 2)
    replay(spark, batches, SCHEMA, tasks=2, folder=tmp_path)
    process = start(PROGRAM, str(tmp_path), *map(str, stops))
    for stop in stops:
        wait_for(stop.stopped(tmp_path), process, PATIENCE)
    kill(process)
    for query in list(started(spark, tmp_path, stops, wait=False)):
        query.awaitTermination()
    for stop in stops:
        folder, wanted = stop.folder(tmp_path), wanted_of(stop.query, batches)
        results = spark.read.parquet(str(folder / "results")).drop("batch").collect()
        refused = spark.read.parquet(str(folder / "refused")).drop("batch").collect()
        assert_same_rows(results, wanted.results)
        assert sorted(row.reason for row in refused) == sorted(why for _, why in wanted.refused)
        assert "late" in {row.reason for row in refused}


@pytest.mark.parametrize("shards", [4, None])
def test_a_restart_with_other_partitions_goes_on(
    spark: SparkSession, tmp_path: Path, shards: int | None
) -> None:
    batches = arrivals(4)
    played = replay(spark, batches[:2], SCHEMA, end=False, tasks=2, folder=tmp_path)

    def plan() -> mt.Plan:
        stream = played.stream("x", "k", mt.slack(5), shards=shards)
        return stream.window(range=20, slide=7).plan("sum(v) AS total", "count(*) AS n")

    with partitions(spark, 3):
        played.play(plan())
    played.extend(batches[2:])
    with partitions(spark, 5):
        output = played.play(plan())
    assert_same_rows(output.results, expected(batches).results)
    # A number that is not given is that of the partitions, which the checkpoint keeps.
    (state,) = contents(spark, tmp_path / "checkpoint")
    assert len(state.heads) == (shards or 3)
    assert state.fingerprint["shard count"] == str(shards or 3)


def test_equal_queries_with_other_partitions_each_have_their_shards(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Workers keep the arguments of a query, which do not have the number of partitions."""
    batches = arrivals(2)
    played = replay(spark, batches, SCHEMA, folder=tmp_path)
    stream = played.stream("x", "k", mt.slack(5), shards=None)
    plan = stream.window(range=20, slide=7).plan("sum(v) AS total", "count(*) AS n")
    for count in (3, 1):
        with partitions(spark, count):
            played.play(plan, checkpoint=tmp_path / f"checkpoint{count}")
        (state,) = contents(spark, tmp_path / f"checkpoint{count}")
        assert len(state.heads) == count


def test_a_checkpoint_with_other_shards_says_how_to_go_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Streams had 16 shards by themselves before they had one for each partition."""
    batches = arrivals(2)
    played = replay(spark, batches[:1], SCHEMA, end=False, folder=tmp_path)

    def plan(shards: int | None) -> mt.Plan:
        stream = played.stream("x", "k", mt.slack(5), shards=shards)
        return stream.window(range=20, slide=7).plan("sum(v) AS total", "count(*) AS n")

    played.play(plan(16))
    played.extend(batches[1:])
    says = r"(?s)shard count 16 there, 2 here; go on with mt\.stream\(\.\.\., shards=16\)"
    with pytest.raises(StreamingQueryException, match=says):
        played.play(plan(None))
    spark.conf.set("spark.muntin.shards", "16")
    try:
        output = played.play(plan(None))
    finally:
        spark.conf.unset("spark.muntin.shards")
    assert_same_rows(output.results, expected(batches).results)


@pytest.fixture(scope="module")
def paused(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Replay:
    """Return a replay that continues where a query has stopped."""
    batches = arrivals(2)
    played = replay(spark, batches[:1], SCHEMA, end=False, folder=tmp_path_factory.mktemp("paused"))
    stream = played.stream("x", "k", mt.slack(5))
    played.play(stream.window(range=20, slide=7).plan("sum(v) AS total"))
    played.extend(batches[1:], end=False)
    return played


@pytest.mark.parametrize(
    ("range_", "aggregate", "column", "shards", "differs"),
    [
        (30, "sum(v) AS total", "k", None, "window RANGE 20 SLIDE 7.* there, RANGE 30 SLIDE 7"),
        (20, "max(v) AS total", "k", None, "aggregates sum\\(v\\) there, max\\(v\\) here"),
        (20, "sum(v) AS total", "x", None, "schema .*by k string.* there, .*by x bigint"),
        (20, "sum(v) AS total", "k", 3, "shard count 4 there, 3 here"),
    ],
)
def test_another_query_on_the_checkpoint_is_refused(
    paused: Replay, range_: int, aggregate: str, column: str, shards: int | None, differs: str
) -> None:
    other = paused.stream("x", column, mt.slack(5), shards=shards)
    with pytest.raises(StreamingQueryException, match=f"(?s)belongs to another query.*{differs}"):
        paused.play(other.window(range=range_, slide=7).plan(aggregate))


def _filled(played: Replay, key: str) -> mt.Plan:
    rows = played.stream("x", ("k", "w"), mt.slack(5))
    filling = mt.stream(played.df, "x", "k", mt.slack(5), control=played.control)
    windows = rows.tumbling(20)
    return windows.fill(filling, key={key: "k"}).plan("count(*) AS n")


def _ranked(played: Replay, grouped: str) -> mt.Plan:
    if grouped:
        return played.stream("x", "k", mt.slack(5)).rows(range=3, group="w").plan("sum(v) AS s")
    return played.stream("x", ("k", "w"), mt.slack(5)).rows(range=3).plan("sum(v) AS s")


@pytest.mark.parametrize(
    ("plan", "before", "after", "differs"),
    [
        (_filled, "k", "w", r"argument sources\.0\.matches\.0 0 there, 1 here"),
        (_ranked, "", "w", r"argument details\.group\.0 none there, w here"),
    ],
)
def test_an_argument_that_no_text_shows_is_refused(
    spark: SparkSession,
    tmp_path: Path,
    plan: Callable[[Replay, str], mt.Plan],
    before: str,
    after: str,
    differs: str,
) -> None:
    """Both queries have the same window, aggregates, names and types."""
    batches = [[{**row, "w": row["k"]} for row in batch] for batch in arrivals(2)]
    played = replay(spark, batches[:1], SCHEMA + ", w STRING", end=False, folder=tmp_path)
    played.play(plan(played, before))
    played.extend(batches[1:], end=False)
    with pytest.raises(StreamingQueryException, match=f"(?s)belongs to another query: {differs}"):
        played.play(plan(played, after))
    played.play(plan(played, before))
