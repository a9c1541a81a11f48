"""The queries whose checkpoints are kept: their rows before the stop, and after it.

Every query runs twice on one checkpoint. The first run reads the batches in ``before`` and stops
without an end of the stream. The second run reads the rows in ``after``, and then the end. Only
public names of Muntin are used, so that old and new code can run the same file.

Do not change a query or its ``before`` without making its checkpoint again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import muntin as mt
from muntin.testing import Played, Replay, replay

Row = dict[str, Any]
Values = tuple[Any, ...]
#: The folder of a query's checkpoint, inside the folder of the query.
CHECKPOINT = "checkpoint"
#: Few shards keep the stored files few; two of them show that keys are found in their shard again.
SHARDS = 2


@dataclass(frozen=True)
class Input:
    """A stream of a query: its columns, its micro-batches before the stop, and the one after it.

    The rows in ``late_before`` come with the last batch before the stop, those in ``late_after``
    with the batch after it. All of them must be refused; those in ``late_after`` are late only
    because of the punctuation that the checkpoint holds.
    """

    schema: str
    on: str
    by: str
    disorder: mt.Disorder
    before: Sequence[Sequence[Values]]
    after: Sequence[Values]
    late_before: Sequence[Values] = ()
    late_after: Sequence[Values] = ()

    def replay(self, spark: SparkSession, folder: Path, *, go_on: bool) -> Replay:
        """The batches before the stop as files, and with ``go_on`` the one after it and the end."""
        before = [*self.before[:-1], [*self.before[-1], *self.late_before]]
        played = replay(spark, self._rows(before), self.schema, end=False, folder=folder)
        if go_on:
            played.extend(self._rows([[*self.late_after, *self.after]]))
        return played

    def stream(self, played: Replay) -> mt.Stream:
        return played.stream(self.on, self.by, self.disorder, shards=SHARDS)

    def batch(self, spark: SparkSession) -> mt.Stream:
        """All rows that are not late, in one DataFrame."""
        rows = [row for batch in (*self.before, self.after) for row in batch]
        return mt.stream(spark.createDataFrame(rows, self.schema), self.on, self.by)

    def _rows(self, batches: Sequence[Sequence[Values]]) -> list[list[Row]]:
        names = [column.split()[0] for column in self.schema.split(", ")]
        return [[dict(zip(names, row, strict=True)) for row in batch] for batch in batches]


@dataclass(frozen=True)
class Query:
    """A query, and the rows that each of its two runs must report, in any order."""

    inputs: Sequence[Input]
    plan: Callable[..., mt.Plan]
    columns: Sequence[str]
    reported_before: Sequence[Values]
    reported_after: Sequence[Values]
    #: Columns whose values may differ in batch, because they are estimates.
    estimates: Sequence[str] = ()

    def run(self, spark: SparkSession, folder: Path, *, go_on: bool) -> Played:
        """Run up to the stop, or with ``go_on`` from the checkpoint in ``folder`` to the end."""
        replays = [
            each.replay(spark, folder / f"input-{number}", go_on=go_on)
            for number, each in enumerate(self.inputs)
        ]
        streams = [each.stream(played) for each, played in zip(self.inputs, replays, strict=True)]
        return replays[0].play(self.plan(*streams), folder / CHECKPOINT)

    def batch(self, spark: SparkSession) -> list[Row]:
        """The answer to the same query over all rows at once."""
        plan = self.plan(*(each.batch(spark) for each in self.inputs))
        return [row.asDict(recursive=True) for row in plan.df.collect()]

    def late(self) -> tuple[int, int]:
        """How many rows are late before the stop, and after it."""
        before = sum(len(each.late_before) for each in self.inputs)
        return before, sum(len(each.late_after) for each in self.inputs)

    def rows(self, values: Sequence[Values]) -> list[Row]:
        return [dict(zip(self.columns, row, strict=True)) for row in values]


def minute(n: float) -> datetime:
    return datetime(2026, 1, 5, 8) + timedelta(minutes=n)


# Windows of 20, one every 10. After the first run the punctuation is 21 (26 less the slack of 5):
# the windows that end at 10 and 20 are closed, those that end at 30 and 40 are open.
WINDOWS = Query(
    inputs=[
        Input(
            "k STRING, x BIGINT, v DOUBLE",
            "x",
            "k",
            mt.slack(5),
            before=[
                [("a", 1, 1.0), ("a", 8, 4.0), ("b", 3, 2.0), (None, 5, 7.0)],
                [("a", 18, 3.0), ("b", 26, 5.0)],
                [("a", 23, 6.0), (None, 24, None)],
            ],
            late_before=[("a", 4, 100.0)],
            after=[("a", 22, 8.0), ("b", 31, 1.5), ("a", 41, 5.0), (None, 38, 2.0)],
            late_after=[("b", 9, 100.0)],
        )
    ],
    plan=lambda stream: stream.window(range=20, slide=10).plan(
        "max(v) AS hi", "avg(v) AS mean", "count(*) AS n", mt.quantile("v", 0.25).alias("q")
    ),
    columns=["k", "window_start", "window_end", "hi", "mean", "n", "q"],
    reported_before=[
        ("a", -10, 10, 4.0, 2.5, 2, 1.75),
        ("a", 0, 20, 4.0, 8 / 3, 3, 2.0),
        ("b", -10, 10, 2.0, 2.0, 1, 2.0),
        ("b", 0, 20, 2.0, 2.0, 1, 2.0),
        (None, -10, 10, 7.0, 7.0, 1, 7.0),
        (None, 0, 20, 7.0, 7.0, 1, 7.0),
    ],
    reported_after=[
        ("a", 10, 30, 8.0, 17 / 3, 3, 4.5),
        ("a", 20, 40, 8.0, 7.0, 2, 6.5),
        ("a", 30, 50, 5.0, 5.0, 1, 5.0),
        ("a", 40, 60, 5.0, 5.0, 1, 5.0),
        ("b", 10, 30, 5.0, 5.0, 1, 5.0),
        ("b", 20, 40, 5.0, 3.25, 2, 2.375),
        ("b", 30, 50, 1.5, 1.5, 1, 1.5),
        (None, 10, 30, None, None, 1, None),
        (None, 20, 40, 2.0, 2.0, 2, 2.0),
        (None, 30, 50, 2.0, 2.0, 1, 2.0),
    ],
)

# Frames of high values that last 5 minutes. When the first run stops, `a` has reported one frame
# and has a second one open, `b` has dropped a short one and has another open, `c` has reported one.
FRAME = ["k", "frame_id", "frame_start", "frame_end", "status"]
#: A value for each minute and key, up to the stop at 08:12 and after it.
BEFORE = {
    "a": [1, 1, 5, 6, 7, 5, 9, 5, 4, 1, 2, 6, 8],
    "b": [1, 1, 1, 6, 6, 6, 1, 4, 5, 6, 7, 8, 9],
    "c": [5, 5, 6, 5, 5, 4, 1, 1, 1, 1, 1, 1, 1],
}
AFTER = {
    "a": [7, 5, 9, 6, 5, 1, 1, 1, 1, 1],
    "b": [9, 1, 1, 1, 2, 4, 5, 4, 6, 8],
    "c": [1, 1, 1, 1, 4, 5, 6, 7, 8, 9],
}


def readings(values: Mapping[str, Sequence[int]], first: int) -> list[Values]:
    """The values of each key, of which the first is that of the minute ``first``."""
    return [
        (key, minute(n), float(value))
        for key, of_key in values.items()
        for n, value in enumerate(of_key, first)
    ]


VALUES = Input(
    "k STRING, ts TIMESTAMP, v DOUBLE",
    "ts",
    "k",
    mt.slack("2 minutes"),
    before=[
        [row for row in readings(BEFORE, 0) if row[1] < minute(7)],
        [row for row in readings(BEFORE, 0) if row[1] >= minute(7)],
    ],
    after=readings(AFTER, 13),
    late_after=[("b", minute(6.5), 9.0)],
)
THRESHOLD = Query(
    inputs=[VALUES],
    plan=lambda stream: stream.frames(mt.threshold("v > 3"), min_duration="5 minutes").plan(
        "max(v) AS hi", "avg(v) AS mean", "count(*) AS n"
    ),
    columns=[*FRAME, "hi", "mean", "n"],
    reported_before=[
        ("a", 0, minute(2), minute(8), "final", 9.0, 41 / 7, 7),
        ("c", 0, minute(0), minute(5), "final", 6.0, 5.0, 6),
    ],
    reported_after=[
        ("a", 1, minute(11), minute(17), "final", 9.0, 46 / 7, 7),
        ("b", 0, minute(7), minute(13), "final", 9.0, 48 / 7, 7),
        ("c", 1, minute(17), minute(22), "final", 9.0, 6.5, 6),
    ],
)

# Frames in which the value moves by less than 5, on the same rows.
DELTA = Query(
    inputs=[VALUES],
    plan=lambda stream: stream.frames(mt.delta("v", 5), min_count=2).plan(
        "min(v) AS lo", "max(v) AS hi", "count(*) AS n"
    ),
    columns=[*FRAME, "lo", "hi", "n"],
    reported_before=[
        ("a", 0, minute(0), minute(2), "final", 1.0, 5.0, 3),
        ("a", 1, minute(3), minute(7), "final", 5.0, 9.0, 5),
        ("b", 0, minute(0), minute(2), "final", 1.0, 1.0, 3),
        ("b", 1, minute(3), minute(5), "final", 6.0, 6.0, 3),
        ("b", 2, minute(6), minute(8), "final", 1.0, 5.0, 3),
        ("c", 0, minute(0), minute(5), "final", 4.0, 6.0, 6),
    ],
    reported_after=[
        ("a", 2, minute(8), minute(10), "final", 1.0, 4.0, 3),
        ("a", 3, minute(11), minute(17), "final", 5.0, 9.0, 7),
        ("a", 4, minute(18), minute(22), "final", 1.0, 1.0, 5),
        ("b", 3, minute(9), minute(13), "final", 6.0, 9.0, 5),
        ("b", 4, minute(14), minute(20), "final", 1.0, 5.0, 7),
        ("b", 5, minute(21), minute(22), "final", 6.0, 8.0, 2),
        ("c", 1, minute(6), minute(18), "final", 1.0, 5.0, 13),
        ("c", 2, minute(19), minute(22), "final", 6.0, 9.0, 4),
    ],
)

# The same frames of high values, filled with messages from half a minute before each of them. There
# is a message every 30 seconds, to `a`, `b` and `c` in turn. In the first run messages reach 08:08
# and so are complete up to 08:07: the frame of `c` is filled, that of `a` waits for messages, and
# messages to `b` wait for frames.
MESSAGES = [("abc"[n % 3], minute(n / 2), n) for n in range(46)]
FILL = Query(
    inputs=[
        VALUES,
        Input(
            "who STRING, at TIMESTAMP, number BIGINT",
            "at",
            "who",
            mt.slack("1 minute"),
            before=[MESSAGES[:8], MESSAGES[8:17]],
            after=MESSAGES[17:],
            late_after=[("a", minute(3), 100)],
        ),
    ],
    plan=lambda values, messages: (
        values.frames(mt.threshold("v > 3"), min_duration="5 minutes")
        .fill(messages, on="at", key="who", before="30 seconds")
        .plan("count(*) AS n", "min(number) AS first", "sum(number) AS total")
    ),
    columns=[*FRAME, "n", "first", "total"],
    reported_before=[
        ("c", 0, minute(0), minute(5), "final", 3, 2, 15),
    ],
    reported_after=[
        ("a", 0, minute(2), minute(8), "final", 5, 3, 45),
        ("a", 1, minute(11), minute(17), "final", 5, 21, 135),
        ("b", 0, minute(7), minute(13), "final", 5, 13, 95),
        ("c", 1, minute(17), minute(22), "final", 4, 35, 158),
    ],
)


def within(estimate: float, low: float, high: float) -> Row:
    """An estimate with its bounds."""
    return {"estimate": estimate, "low": low, "high": high}


def remainders(start: int, end: int) -> list[Values]:
    """A row for each number; every third is for `b`."""
    return [("a" if x % 3 else "b", x, x * 7 % 11) for x in range(start, end)]


# Synopses in windows of 20, one every 10. After the first run the punctuation is 22. `total` is
# coarse enough that its buckets are merged. Micro-batches decide when old buckets are forgotten, so
# its estimates are those of this stream and not of a batch. `norm` is the same sum (p is 1), exact
# here. `norm` and `ranges` are the two other ways in which synopses are stored.
SYNOPSES = Query(
    inputs=[
        Input(
            "k STRING, x BIGINT, v BIGINT",
            "x",
            "k",
            mt.slack(5),
            before=[remainders(0, 15), remainders(15, 28)],
            after=remainders(28, 46),
            late_after=[("a", 20, 100)],
        )
    ],
    plan=lambda stream: stream.window(range=20, slide=10).plan(
        mt.approx_sum("v", eps=0.5, bounds=True).alias("total"),
        mt.approx_sum("v", eps=0.001, within=7).alias("last"),
        mt.lp_norm("v", "v", p=1, eps=0.01).alias("norm"),
        mt.value_histogram("v", [3, 8]).alias("ranges"),
    ),
    columns=["k", "window_start", "window_end", "total", "last", "norm", "ranges"],
    reported_before=[
        ("a", -10, 10, within(20.5, 17.0, 24.0), 14.0, 24.0, [2.0, 4.0, 0.0]),
        ("a", 0, 20, within(45.5, 38.0, 53.0), 25.0, 53.0, [5.0, 6.0, 2.0]),
        ("b", -10, 10, within(23.5, 20.0, 27.0), 27.0, 27.0, [1.0, 0.0, 3.0]),
        ("b", 0, 20, within(37.5, 30.0, 45.0), 11.0, 45.0, [1.0, 3.0, 3.0]),
    ],
    reported_after=[
        ("a", 10, 30, within(66.5, 51.0, 82.0), 37.0, 74.0, [4.0, 5.0, 5.0]),
        ("a", 20, 40, within(64.5, 49.0, 80.0), 18.0, 75.0, [2.0, 7.0, 4.0]),
        ("a", 30, 50, within(34.5, 27.0, 42.0), 4.0, 40.0, [3.0, 6.0, 1.0]),
        ("a", 40, 60, within(8.5, 7.0, 10.0), None, 10.0, [2.0, 2.0, 0.0]),
        ("b", 10, 30, within(30.5, 23.0, 38.0), 5.0, 27.0, [1.0, 5.0, 0.0]),
        ("b", 20, 40, within(34.5, 27.0, 42.0), 19.0, 29.0, [3.0, 2.0, 2.0]),
        ("b", 30, 50, within(33.5, 26.0, 41.0), 7.0, 35.0, [2.0, 1.0, 3.0]),
        ("b", 40, 60, within(13.5, 10.0, 17.0), None, 15.0, [0.0, 1.0, 1.0]),
    ],
    estimates=["total"],
)

#: By the name of the stored checkpoint.
QUERIES = {
    "windows": WINDOWS,
    "threshold_frames": THRESHOLD,
    "delta_frames": DELTA,
    "fill": FILL,
    "approx_sum": SYNOPSES,
}
