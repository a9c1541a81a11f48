"""Too much: a source at several times what an engine keeps up with, with and without shedding.

Rows are written before. The capacity is measured first, in the same run: micro-batches of several
sizes give the line of their times. Then files are moved into the folder of the stream by the clock,
at 0.9, 1.2, 1.4, 2 and 3 times the capacity, once to queries that tolerate no loss and once to
queries that do. The utility of an answer is its worth by its delay and by its share of the rows.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import muntin as mt
from benchmarks.measure import Report, Table, Target, say
from muntin.engine.overload.sizing import Sizing

SCHEMA = "ts TIMESTAMP, k INT, v DOUBLE"
QUERIES = {
    f"query{number}": f"SELECT k, window_end, avg(v) AS a, count(*) AS n FROM s "
    f"[RANGE 2 SECONDS SLIDE 1 SECOND] WHERE v > {number} GROUP BY k"
    for number in range(24)
}
#: What an answer is worth: all of it for 4 seconds, nothing after 12; shares down to a twentieth.
DELAY = [("4 seconds", 1.0), ("12 seconds", 0.0)]
SHARE = [(1.0, 1.0), (0.2, 0.6), (0.05, 0.0)]
TIMES = (0.9, 1.2, 1.4, 2.0, 3.0)
POLICIES = ("none", "random")
KEYS, SECOND = 200, 1_000_000
#: A file has the rows of so many seconds of the clock.
EVERY = 0.25


@dataclass(frozen=True)
class Outcome:
    """What came of a run: delays and shares of answers, and the rows that were shed."""

    policy: str
    times: float
    delays: pd.DataFrame
    shed: float
    kept: float

    @property
    def utility(self) -> float:
        """The mean worth of the answers that were due; those that never came are worth nothing."""
        delay, share = mt.Qos(delay=DELAY).delay, mt.Qos(share=SHARE).share
        worth = [
            delay.worth(d) * share.worth(s)
            for d, s in zip(self.delays["delay"], self.delays["share"], strict=True)
        ]
        return float(np.sum(worth)) / max(1, len(self.delays))

    def back_within(self, good: float) -> float | None:
        """Return after how many seconds delays are good for ever; None if they never are."""
        bad = self.delays.loc[self.delays["delay"] > good, "second"]
        if bad.empty:
            return 0.0
        last = float(bad.max())
        return None if last >= float(self.delays["second"].max()) else last


def run(spark: SparkSession, quick: bool) -> Report:
    seconds = 16 if quick else 120
    times = (0.9, 3.0) if quick else TIMES
    with TemporaryDirectory(prefix="muntin-bench-") as name:
        folder = Path(name)
        sizing = capacity_of(spark, folder / "capacity")
        say(f"capacity: {sizing.capacity:,.0f} rows a second")
        outcomes = [
            play(spark, folder / f"{policy}-{factor}", policy, factor, sizing.capacity, seconds)
            for factor in times
            for policy in POLICIES
        ]
    return _report(outcomes, sizing, seconds)


def rows_of(start: float, seconds: float, rate: float) -> pa.Table:
    """Rows of a stretch of time, in order; as many values of each key."""
    count = max(1, round(rate * seconds))
    random = np.random.default_rng(round(start * 1000))
    ts = (start * SECOND + np.arange(count) * seconds * SECOND / count).astype(np.int64)
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "k": pa.array(random.integers(0, KEYS, count, np.int32)),
            "v": pa.array(random.uniform(0, 100, count)),
        }
    )


def opened(spark: SparkSession, folder: Path, tolerant: bool) -> mt.Engine:
    (folder / "rows").mkdir(parents=True)
    engine = mt.Engine(spark, folder / "home")
    source = mt.parquet(spark, str(folder / "rows"), streaming=True, schema=SCHEMA)
    engine.stream("s", source, on="ts", by="k", disorder=mt.slack("1 second"))
    for name, text in QUERIES.items():
        engine.register(name, text, qos=mt.Qos(DELAY, SHARE if tolerant else None))
    return engine


def capacity_of(spark: SparkSession, folder: Path) -> Sizing:
    """Return what was measured of micro-batches of several sizes, two seconds apart."""
    with opened(spark, folder, tolerant=False) as engine:
        engine.start()
        for number, rate in enumerate([20_000, 400_000, *(200_000, 400_000, 800_000) * 4]):
            path = folder / "rows" / f"{number:04d}.parquet"
            pq.write_table(rows_of(number * 2, 2, rate / 2), folder / "next")
            (folder / "next").rename(path)
            engine.process_available()
        # At the pace of micro-batches two seconds apart, what they cost by themselves counts.
        engine.stream_of("s").load.interval = 2.0
        return engine.sizing({"s": 1})["s"]


def play(
    spark: SparkSession, folder: Path, policy: str, factor: float, capacity: float, seconds: int
) -> Outcome:
    """Let rows come by the clock, and return what became of the answers."""
    rate = factor * capacity
    ready = folder / "ready"
    ready.mkdir(parents=True)
    # Five seconds at half of the capacity come first: workers start in them.
    calm = 5.0
    stretches = [*np.arange(0, calm + seconds, EVERY)]
    for number, start in enumerate(stretches):
        now = rate if start >= calm else min(rate, capacity / 2)
        pq.write_table(rows_of(start, EVERY, now), ready / f"{number:05d}.parquet")
    with opened(spark, folder, tolerant=policy != "none") as engine:
        engine.start(trigger={"processingTime": "2 seconds"})
        arrived: dict[int, float] = {}
        seen: list[dict[str, float]] = []
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(engine, arrived, seen, calm, over))
        watcher.start()
        began = time.monotonic()
        for number, start in enumerate(stretches):
            time.sleep(max(0.0, began + start + EVERY - time.monotonic()))
            path = ready / f"{number:05d}.parquet"
            path.rename(folder / "rows" / path.name)
            arrived[number] = time.monotonic()
        time.sleep(6)
        over.set()
        watcher.join()
        counts = engine["query0"].counts
        kept = engine.overload()["s"]["kept"]
        shed = counts.shed / max(1, counts.shed + engine.stream_of("s").costs.rows)
    due = _with_missing(seen, calm, seconds)
    say(f"{policy} at {factor}: shed {shed:.0%}")
    return Outcome(policy, factor, due, shed, float(str(kept)))


def _watch(
    engine: mt.Engine,
    arrived: dict[int, float],
    seen: list[dict[str, float]],
    calm: float,
    over: threading.Event,
) -> None:
    """Note when the windows of each second are answered, and how much of the rows they have."""
    known: dict[float, float] = {}
    after = -1
    while not over.is_set():
        answers = engine["query0"].results(after)
        now = time.monotonic()
        if answers.num_rows:
            after = max(answers["micro_batch"].to_pylist())
            share: list[float | None] = [1.0] * answers.num_rows
            if "completeness" in answers.column_names:
                share = answers["completeness"].to_pylist()
            for end, own in zip(answers["window_end"].to_pylist(), share, strict=True):
                known[end.timestamp()] = 1.0 if own is None else own
            for end, own in known.items():
                # A window is due when the row one second of slack later has arrived.
                file = round((end + 1.0) / EVERY)
                if end > calm and file in arrived:
                    seen.append({"second": end - calm, "delay": now - arrived[file], "share": own})
            known.clear()
        over.wait(0.1)


def _with_missing(seen: list[dict[str, float]], calm: float, seconds: int) -> pd.DataFrame:
    """Return each window once, and those that were never answered with an endless delay."""
    found = {row["second"]: row for row in reversed(seen)}
    last = seconds - 3
    for second in range(1, last):
        found.setdefault(float(second), {"second": second, "delay": 1e9, "share": 0.0})
    return pd.DataFrame([found[second] for second in sorted(found) if second < last])


def _report(outcomes: list[Outcome], sizing: Sizing, seconds: int) -> Report:
    by_case = {(own.policy, own.times): own for own in outcomes}
    rows = []
    for own in outcomes:
        answered = own.delays[own.delays["delay"] < 1e6]
        good = float((own.delays["delay"] <= 4).mean())
        rows.append(
            (
                f"{own.times:g}",
                own.policy,
                f"{own.utility:.2f}",
                f"{len(answered) / max(1, len(own.delays)):.0%}",
                f"{good:.0%}",
                f"{own.shed:.0%}",
            )
        )
    headers = ("times the capacity", "policy", "utility", "windows answered", "in 4 s", "shed")
    most = max(own.times for own in outcomes)
    none, random = by_case["none", most], by_case["random", most]
    back = random.back_within(4)
    targets = [
        Target(
            f"utility of random over that of none at {most:g} times",
            random.utility / max(none.utility, 1e-3),
            at_least=2,
        ),
        Target(
            "seconds until the delay is inside for good",
            float(seconds) if back is None else back,
            at_most=10,
        ),
        Target("rows shed at 0.9 times", by_case["random", 0.9].shed, at_most=0),
    ]
    picture = pd.concat(
        own.delays.assign(run=f"{own.policy}, {own.times:g} times") for own in outcomes
    )
    picture["delay"] = picture["delay"].clip(upper=float(seconds))
    chart = (
        alt.Chart(picture)
        .mark_line()
        .encode(
            x=alt.X("second:Q", title="seconds since the load began"),
            y=alt.Y("delay:Q", title="delay of answers, seconds"),
            color=alt.Color("run:N", title=None),
        )
        .properties(width=520, height=260)
    )
    text = (
        f"{len(QUERIES)} window queries over one stream. Capacity, measured first: "
        f"{sizing.capacity:,.0f} rows a second; each run lasts {seconds} seconds."
    )
    return Report("overload", "Too much", text, [Table(headers, rows)], targets, chart)
