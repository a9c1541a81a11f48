"""Frames and windows filled on Spark: from another stream, from the same one, from a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import muntin as mt
from muntin.testing import Replay, assert_same_rows, replay
from tests.drivers.streams import play
from tests.fill.routers import (
    LOSSES,
    MESSAGES,
    Row,
    high_loss,
    inside,
    minute,
    plain,
)

FRAME = {
    "router": "A",
    "frame_id": 0,
    "frame_start": minute(10),
    "frame_end": minute(20),
    "status": "final",
}


def test_the_router_example(losses: DataFrame, messages: DataFrame) -> None:
    """High-loss frames, and the routing messages from 30 seconds before [Frames 2]."""
    filled = high_loss(losses).fill(messages, on="at", key="router_id", before="30 seconds")
    results = plain(
        filled.agg("count(*) AS n", "count(*) FILTER (WHERE kind = 'update') AS updates")
    )
    wanted = inside(9.5, 20)
    updates = sum(row["kind"] == "update" for row in wanted)
    assert results == [{**FRAME, "n": len(wanted), "updates": updates}]
    assert len(wanted) > len(inside(10, 20))


def test_the_rows_themselves(losses: DataFrame, messages: DataFrame) -> None:
    filled = high_loss(losses).fill(
        messages, on="at", key={"router": "router_id"}, where="kind = 'update'"
    )
    wanted = [{**FRAME, **row} for row in inside(10, 20) if row["kind"] == "update"]
    assert_same_rows(plain(filled.rows()), wanted)


def test_without_a_key_every_frame_sees_all_rows(losses: DataFrame, messages: DataFrame) -> None:
    results = high_loss(losses).fill(messages, on="at", key=()).agg("count(*) AS n")
    assert plain(results) == [{**FRAME, "n": len(inside(10, 20, None))}]


def test_frames_filled_with_their_own_stream(losses: DataFrame) -> None:
    """Rows up to a minute before and after a frame fill it, too."""
    results = high_loss(losses).fill(before="1 minute", after="1 minute").agg("count(*) AS n")
    assert plain(results) == [{**FRAME, "n": 13}]


def test_frames_that_nothing_fills(losses: DataFrame, messages: DataFrame) -> None:
    def filled(**options: Any) -> list[Row]:
        fill = high_loss(losses).fill(messages, on="at", key="router_id", shift="1 day", **options)
        return plain(fill.agg("count(*) AS n", "max(kind) AS k"))

    assert filled() == [{**FRAME, "n": 0, "k": None}]
    assert filled(empty="drop") == []


def test_windows_are_filled_up_to_their_end(losses: DataFrame, messages: DataFrame) -> None:
    windows = mt.stream(losses, on="ts", by="router").tumbling("10 minutes")
    results = plain(windows.fill(messages, on="at", key="router_id").agg("count(*) AS n"))
    wanted = [
        {
            "router": router,
            "window_start": minute(n),
            "window_end": minute(n + 10),
            "n": sum(row["at"] < minute(n + 10) for row in inside(n, n + 10, router)),
        }
        for router in "AB"
        for n in range(0, 40, 10)
    ]
    assert_same_rows(results, wanted)


def test_another_time_beside_this_one(losses: DataFrame, messages: DataFrame) -> None:
    filled = high_loss(losses).fill(
        messages, on="at", key="router_id", shift=["-5 minutes", "10 minutes"]
    )
    then = [("-5 minutes", inside(5, 15)), ("10 minutes", inside(20, 30))]
    wanted = [{**FRAME, "shift": shift, "n": len(rows)} for shift, rows in then]
    assert_same_rows(plain(filled.agg("count(*) AS n")), wanted)


def test_several_fillings_in_one_pass(losses: DataFrame, messages: DataFrame) -> None:
    frames = high_loss(losses)
    plan = mt.combine(
        frames.plan("avg(loss_rate) AS mean"),
        frames.fill(messages, on="at", key="router_id").plan("count(*) AS own"),
        frames.fill(messages, on="at", key=()).plan("count(*) AS all"),
    )
    own, every = len(inside(10, 20)), len(inside(10, 20, None))
    assert plain(plan.df) == [{**FRAME, "mean": 0.5, "own": own, "all": every}]


def spread(rows: Any) -> dict[str, Any]:
    """Return the number of kinds of messages, and the seconds from the first to the last."""
    at = rows["at"].to_pylist()
    return {"kinds": len(set(rows["kind"].to_pylist())), "gap": (at[-1] - at[0]).seconds}


def test_a_function_over_the_rows(losses: DataFrame, messages: DataFrame) -> None:
    filled = high_loss(losses).fill(messages, on="at", key="router_id")
    wanted = inside(10, 20)
    seconds = (wanted[-1]["at"] - wanted[0]["at"]).seconds
    assert plain(filled.apply(spread, "kinds INT, gap BIGINT, note STRING")) == [
        {**FRAME, "kinds": 2, "gap": seconds, "note": None}
    ]
    windows = mt.stream(messages, "at").tumbling("1 hour")
    counts = windows.apply(lambda rows: {"n": rows.num_rows}, "n BIGINT")
    assert [row.n for row in counts.collect()] == [len(MESSAGES)]


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda rows: rows["nothing"], "failed on .* rows: KeyError"),
        (lambda rows: 3, "returned 3; it is to return a mapping"),
        (lambda rows: {"m": 1}, "returned m, but the schema has n"),
        (lambda rows: {"n": "many"}, "returned n that is no int64"),
    ],
)
def test_a_function_that_fails_says_so(
    losses: DataFrame, messages: DataFrame, function: Any, says: str
) -> None:
    filled = high_loss(losses).fill(messages, on="at", key="router_id")
    with pytest.raises(PythonException, match=says):
        filled.apply(function, "n BIGINT").collect()


def test_what_a_function_cannot_have(losses: DataFrame, messages: DataFrame) -> None:
    filled = high_loss(losses).fill(messages, on="at", key="router_id")
    with pytest.raises(mt.ArgumentError, match="it is a function of an Arrow table"):
        filled.apply("spread", "n BIGINT")  # type: ignore[arg-type]
    with pytest.raises(mt.ArgumentError, match="schema='n NUMBER' cannot be used: Spark says"):
        filled.apply(spread, "n NUMBER")
    parts = mt.stream(losses, "ts", "router").frames(
        mt.threshold("loss_rate > 0.3"), fragments="1 minute"
    )
    with pytest.raises(mt.ArgumentError, match="a function sees a frame when it is whole"):
        parts.fill(messages, on="at", key="router_id").apply(spread, "n BIGINT")


def test_stored_frames_are_filled_later(losses: DataFrame, messages: DataFrame) -> None:
    yesterday = high_loss(losses).df.withColumn("note", F.lit("look at this"))
    filled = mt.frames(yesterday, by="router").fill(messages, on="at", key="router_id")
    whole = {"frame_id": 0, "n": 11, "n_missing": 0, "status": "final", "note": "look at this"}
    bounds = {"router": "A", "frame_start": minute(10), "frame_end": minute(20)}
    wanted = [{**bounds, **whole, "updates": len(inside(10, 20))}]
    assert plain(filled.agg("count(*) AS updates")) == wanted


def test_frames_without_an_end_are_refused(spark: SparkSession, messages: DataFrame) -> None:
    df = spark.createDataFrame(
        [
            (1, minute(3), minute(2)),
            (2, minute(3), None),
            (3, None, minute(4)),
            (4, *[minute(5)] * 2),
        ],
        "id INT, begin TIMESTAMP, stop TIMESTAMP",
    )
    plan = mt.frames(df, start="begin", end="stop").fill(messages, on="at").plan("count(*) AS n")
    assert [row.id for row in plan.df.collect()] == [4]
    refused = {(row.id, row.reason) for row in plan.refused.where("input = 'rows'").collect()}
    assert refused == {(1, "no_until"), (2, "no_until"), (3, "null_on")}


def test_a_stream_equals_a_batch(
    losses: DataFrame, messages: DataFrame, replays: tuple[Replay, Replay]
) -> None:
    loss_replay, message_replay = replays
    rule = mt.slack("1 minute")
    frames = high_loss(loss_replay.df, disorder=rule, control=loss_replay.control, shards=2)
    plan = frames.fill(message_replay.stream("at", "router_id", rule), before="30 seconds").plan(
        "count(*) AS n", "min(at) AS first"
    )
    played = play(plan)
    wanted = high_loss(losses).fill(messages, on="at", key="router_id", before="30 seconds")
    assert_same_rows(
        [row.asDict() for row in played.results],
        plain(wanted.agg("count(*) AS n", "min(at) AS first")),
    )
    assert played.counts["rows_in"] == played.counts["rows_used"] == len(LOSSES) + len(MESSAGES)


def test_fragments_join_what_is_new(replays: tuple[Replay, Replay]) -> None:
    loss_replay, message_replay = replays
    rule = mt.slack("1 minute")
    frames = mt.stream(
        loss_replay.df, "ts", "router", rule, control=loss_replay.control, shards=2
    ).frames(mt.threshold("loss_rate > 0.3"), min_duration="5 minutes", fragments="3 minutes")
    filled = frames.fill(
        message_replay.stream("at", "router_id", rule), before="1 minute", after="1 minute"
    )
    played = play(filled.plan("count(*) AS n"))
    fragments = [(row.frame_end, row.status, row.n) for row in played.results]
    wanted = [
        (minute(15), "partial", len(inside(9, 15))),
        (minute(18), "partial", len(inside(9, 18))),
        (minute(20), "final", len(inside(9, 21))),
    ]
    assert sorted(fragments) == wanted


def test_a_stream_filled_from_a_table(
    messages: DataFrame, replays: tuple[Replay, Replay], tmp_path: Path
) -> None:
    """The rows of a day ago are stored, so none of them is held and no frame waits."""
    loss_replay, _ = replays
    history = messages.withColumn("at", F.col("at") - F.expr("INTERVAL 1 DAY"))
    history.write.parquet(str(tmp_path / "history"))
    stored = messages.sparkSession.read.parquet(str(tmp_path / "history"))
    frames = high_loss(
        loss_replay.df, disorder=mt.slack("1 minute"), control=loss_replay.control, shards=2
    )
    plan = frames.fill(
        stored, on="at", key="router_id", shift=["-1 day", "-2 days"], before="30 seconds"
    ).plan("count(*) AS n", "percentile(length(kind), 0.5) AS m")
    played = play(plan)
    then = inside(9.5, 20)
    median = sorted(len(row["kind"]) for row in then)[len(then) // 2]
    assert_same_rows(
        [row.asDict() for row in played.results],
        [
            {**FRAME, "shift": "-1 day", "n": len(then), "m": float(median)},
            {**FRAME, "shift": "-2 days", "n": 0, "m": None},
        ],
    )
    assert played.counts["rows_used"] == len(LOSSES)


def test_rows_of_a_table_that_fill_a_stream(
    messages: DataFrame, replays: tuple[Replay, Replay]
) -> None:
    loss_replay, _ = replays
    frames = high_loss(
        loss_replay.df, disorder=mt.slack("1 minute"), control=loss_replay.control, shards=2
    )
    played = play(frames.fill(messages, on="at", key="router_id").rows_plan())
    assert_same_rows(
        [row.asDict() for row in played.results], [{**FRAME, **row} for row in inside(10, 20)]
    )


def test_refused_rows_say_of_which_input(spark: SparkSession) -> None:
    rows = [{"x": x, "k": "a", "v": float(x)} for x in range(10)]
    late = [{"x": 20, "k": "a", "w": 1}, {"x": 2, "k": "a", "w": 2}, {"x": None, "k": "a", "w": 3}]
    first = replay(spark, [rows, []], "x BIGINT, k STRING, v DOUBLE")
    second = replay(spark, [late[:1], late[1:]], "x BIGINT, k STRING, w BIGINT")
    try:
        frames = first.stream("x", "k", mt.ordered(), shards=1).frames(mt.threshold("v > 3"))
        plan = frames.fill(second.stream("x", "k", mt.ordered())).plan("count(*) AS n")
        played = play(plan)
    finally:
        first.remove()
        second.remove()
    refused = {(row.input, row.w, row.reason, row.lateness) for row in played.refused}
    assert refused == {("fill", 2, "late", 18), ("fill", 3, "null_on", None)}
    assert played.counts["rows_in"] == 13
    assert played.counts["rows_refused"] == 2


def test_rows_are_held_for_a_frame_whose_first_slot_is_not_complete(spark: SparkSession) -> None:
    """
    schedule  |--slot 0--|--slot 1--|
    rows       0                3          punctuation after the first micro-batch: 1
    fill       0
    """
    rows = [{"x": x, "k": "a", "v": 2.0} for x in (0, 3)]
    first = replay(spark, [rows, []], "x BIGINT, k STRING, v DOUBLE")
    second = replay(spark, [[{"x": 0, "k": "a"}], []], "x BIGINT, k STRING")
    try:
        scheduled = first.stream("x", "k", mt.slack(2), shards=1, schedule=2)
        frames = scheduled.frames(mt.boundary("v"))
        played = play(frames.fill(second.stream("x", "k", mt.ordered())).plan("count(*) AS n"))
    finally:
        first.remove()
        second.remove()
    assert [(row.frame_start, row.frame_end, row.n) for row in played.results] == [(0, 3, 1)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"other": 3}, "other=3 cannot be used: it is a Spark DataFrame or what mt.stream returns"),
        ({"on": "nothing"}, "on='nothing' is not a column of the DataFrame"),
        ({"key": None}, r"no column 'router'.*key=\{'router': '...'\}.*key=\(\)"),
        ({"key": ["router_id", "kind"]}, "the keys are router; name a column for each"),
        ({"key": {"segment": "kind"}}, "key='segment' is not a column"),
        ({"key": "at"}, "it has type timestamp and 'router' has string; cast one of them"),
        ({"on": "kind"}, "cannot progress"),
        ({"before": "-1 minute"}, "before='-1 minute' cannot be used: it is not negative"),
        ({"before": 3}, "needs a unit"),
        ({"shrink": "1 minute", "after": "1 minute"}, "shrink and before or after contradict"),
        ({"shift": []}, "name at least one"),
        ({"shift": ["1 day", "24 hours"]}, "it names a length twice"),
        ({"empty": "pad"}, "it is 'keep' or 'drop'"),
        ({"where": 4}, "it is SQL text or a PySpark column"),
    ],
)
def test_a_mistake_is_named(
    losses: DataFrame, messages: DataFrame, given: dict[str, Any], says: str
) -> None:
    usual = {"other": messages, "on": "at", "key": "router_id"}
    with pytest.raises(mt.MuntinError, match=says):
        high_loss(losses).fill(**{**usual, **given})


def test_streams_that_cannot_meet(
    spark: SparkSession, losses: DataFrame, replays: tuple[Replay, Replay]
) -> None:
    loss_replay, message_replay = replays
    frames = high_loss(loss_replay.df, disorder=mt.ordered())
    with pytest.raises(mt.ArgumentError, match=r"must say how disordered it is.*mt.stream\(other"):
        frames.fill(message_replay.df, on="at", key="router_id").agg("count(*) AS n")
    numbers = spark.createDataFrame([(1, "A")], "at BIGINT, router_id STRING")
    with pytest.raises(mt.ArgumentError, match=r"it is a integer column.*timestamp values"):
        high_loss(losses).fill(numbers, on="at", key="router_id")
    arriving = mt.stream(loss_replay.df, "ts", "router", mt.ordered()).rows(3, order="arrival")
    with pytest.raises(mt.ArgumentError, match="counted as they arrive have no order"):
        arriving.fill(message_replay.stream("at", "router_id", mt.ordered()))


def test_plans_that_are_not_of_the_same_frames(losses: DataFrame, messages: DataFrame) -> None:
    frames = high_loss(losses)
    filled = frames.fill(messages, on="at", key="router_id")
    with pytest.raises(mt.ArgumentError, match="the same frames or windows of the same stream"):
        mt.combine(filled.plan("count(*)"), high_loss(losses.limit(3)).plan("count(*)"))
    with pytest.raises(mt.ArgumentError, match="two result columns have this name"):
        mt.combine(filled.plan("count(*) AS n"), filled.plan("max(kind) AS n"))
    with pytest.raises(mt.ArgumentError, match=r"they are what \.plan"):
        mt.combine(filled.agg("count(*)"))  # type: ignore[arg-type]


def test_what_a_stream_cannot_be_filled_with(
    messages: DataFrame, replays: tuple[Replay, Replay]
) -> None:
    loss_replay, message_replay = replays
    stream = loss_replay.stream("ts", "router", mt.slack("1 minute"))
    high = mt.threshold("loss_rate > 0.3")
    with pytest.raises(
        mt.ArgumentError, match=r"longest=True .*only when it ends.*fill it in a batch"
    ):
        stream.frames(high, longest=True).fill(
            message_replay.stream("at", "router_id", mt.ordered())
        )
    filled = stream.frames(high, fragments="3 minutes").fill(messages, "at", "router_id")
    with pytest.raises(mt.ArgumentError, match="would bring the rows of those before it again"):
        filled.rows_plan()


def test_keys_match_only_if_nothing_is_rounded(spark: SparkSession) -> None:
    rows = spark.sql("SELECT x, CAST(1 AS INT) AS k FROM VALUES (1), (2) AS t(x)")
    windows = mt.stream(rows, "x", "k").tumbling(5)
    others = spark.sql("SELECT 1 AS x, CAST(1.5 AS DOUBLE) AS d, 1L AS l, CAST(1 AS SMALLINT) AS s")
    for key, type_ in {"d": "double", "l": "bigint"}.items():
        with pytest.raises(
            mt.ArgumentError, match=f"it has type {type_} and 'k' has int; cast one"
        ):
            windows.fill(others, key=key)
    assert [row.n for row in windows.fill(others, key="s").agg("count(*) AS n").collect()] == [1]


def test_explain_says_what_is_held(replays: tuple[Replay, Replay]) -> None:
    loss_replay, message_replay = replays
    frames = high_loss(loss_replay.df, disorder=mt.slack("1 minute"), control=loss_replay.control)
    other_stream = message_replay.stream("at", "router_id", mt.ordered())
    explanation = str(
        frames.fill(other_stream, before="30 seconds", shift="-1 hour").plan("count(*)").explanation
    )
    assert re.search(
        r"fill +\[start, end\] BEFORE 30 seconds SHIFT -1 hour, on at, router = rou", explanation
    )
    assert re.search(
        r"held +bounded by the longest frame: rows since the open frame began.*and 30 seconds and "
        r"1 hour before",
        explanation,
    )
