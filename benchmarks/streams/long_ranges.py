"""Long ranges: a micro-batch costs what it touches, whatever RANGE the windows have.

Streams are measured on Spark; the bytes of state that a step reads and writes are counted on the
operator itself, where every micro-batch is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import altair as alt
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import muntin as mt
from benchmarks.measure import Report, Table, Target, say
from benchmarks.streams.micro_batches import SECOND, Load, arriving, micro_batches
from muntin.aggregates.definition import AggregateCall
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.windows.operator import WindowOperator
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Window

#: Seconds of data in a micro-batch after the first, which holds a whole RANGE.
STEP = 10
SHORT = 60
DOUBLE = (pa.float64(),)
CALLS = tuple(AggregateCall(name, f"{name}(v)", (0,), DOUBLE, ansi=True) for name in ("max", "avg"))


@dataclass(frozen=True)
class Case:
    """A RANGE in seconds with SLIDE 1, and how many keys have a row every second."""

    range: int
    keys: int

    def __str__(self) -> str:
        return f"RANGE {self.range:,}, {self.keys:,} keys"


@dataclass(frozen=True)
class Measured:
    """The seconds of a micro-batch, and the bytes of state that its steps read and write."""

    seconds: float
    bytes_read: float
    bytes_written: float


def run(spark: SparkSession, quick: bool) -> Report:
    many, few = (100, 5) if quick else (1_000, 10)
    longest = 7_200 if quick else 86_400
    compared = [
        [Case(SHORT, many), Case(3_600, many)],
        [Case(SHORT, few), Case(longest, few)],
    ]
    measured: dict[Case, Measured] = {}
    for cases in compared:
        seconds = streamed(spark, cases, batches=4 if quick else 12)
        for case in cases:
            measured[case] = Measured(seconds[case], *touched(case))
    return report(compared, measured)


def streamed(spark: SparkSession, cases: Sequence[Case], batches: int) -> dict[Case, float]:
    """Return the median seconds of the micro-batches after the first two."""
    found = {}
    for case in cases:
        with TemporaryDirectory(prefix="muntin-bench-") as name:
            folder = Path(name)
            Load(case.keys, 1, case.range, 1).write(folder / "rows")
            load = Load(case.keys, 1, STEP, batches, start=case.range)
            load.write(folder / "rows")
            found[case] = seconds_of(spark, case, folder)
            say(f"{case}: {found[case]:.2f} s a micro-batch")
    return found


def seconds_of(spark: SparkSession, case: Case, folder: Path) -> float:
    traffic = mt.stream(
        arriving(spark, folder / "rows"), on="ts", by="k", disorder=mt.slack("1 second")
    )
    windows = traffic.window(range=f"{case.range} seconds", slide="1 second")
    rows = windows.agg("max(v) AS hi", "avg(v) AS mean")
    writer = rows.writeStream.format("noop").outputMode("append")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    taken = [batch.seconds for batch in micro_batches(query) if batch.rows]
    return median(taken[2:])


@dataclass
class CountingState(MemoryState):
    """A state that counts the bytes of the chunks that are read."""

    read_bytes: list[int] = field(default_factory=list)

    def read(self, table: str, bucket: int) -> pa.Table:
        chunk = super().read(table, bucket)
        self.read_bytes.append(chunk.nbytes)
        return chunk


def touched(case: Case, steps: int = 40) -> tuple[float, float]:
    """Return the mean bytes that a step reads and writes, after a first one of a whole RANGE."""
    operator = build(
        Window(f"{case.range} seconds", "1 second", "on"),
        WindowOperatorInputs(
            axis=Axis(Domain.TIMESTAMP),
            keys=(pa.int32(),),
            ranked_keys=1,
            calls=CALLS,
            bound_type=pa.timestamp("us"),
            lateness_type=pa.int64(),
            late="generous",
            unfinished="keep",
            lag=SECOND,
            slide_axis=None,
            ties=(),
        ),
    )
    assert isinstance(operator, WindowOperator)
    first = Load(case.keys, 1, case.range, 1)
    later = Load(case.keys, 1, STEP, steps, start=case.range)
    state, reads, writes = CountingState(), 0, 0
    before: int | None = None
    for number in range(steps + 1):
        load = later if number else first
        rows = load.table(max(0, number - 1)).rename_columns(["on", "k0", "s0"])
        routed = operator.map_sides[0].route(rows)
        after = max(routed.progress or 0, before or 0) - SECOND
        state.read_bytes.clear()
        step = operator.step(
            state, [InputBatch([routed.partial], Punctuation(before, after, routed.progress))]
        )
        state.apply(step.changes)
        if number:
            reads += sum(state.read_bytes)
            writes += sum(chunk.nbytes for chunk in step.changes.values() if chunk is not None)
        before = after
    return reads / steps, writes / steps


def report(compared: Sequence[Sequence[Case]], measured: Mapping[Case, Measured]) -> Report:
    about = (
        "`max` and `avg` of a double, SLIDE 1 second, a row a second for every key. The first "
        f"micro-batch holds a whole RANGE, every other one {STEP} s of rows; the seconds are the "
        "median of the micro-batches from the third on, rows from Parquet files, results to the "
        "`noop` sink. The bytes are those of the chunks that the steps of one shard with all keys "
        "read and write, a mean of 40 micro-batches."
    )
    rows = [
        [
            str(case),
            f"{found.seconds:.2f}",
            f"{found.bytes_read / 1000:,.0f}",
            f"{found.bytes_written / 1000:,.0f}",
        ]
        for case, found in measured.items()
    ]
    (short, hour), (short_of_few, day) = compared

    def ratio(longer: Case, shorter: Case, figure: str) -> float:
        return float(getattr(measured[longer], figure) / getattr(measured[shorter], figure))

    return Report(
        name="long_ranges",
        title="Long ranges",
        about=about,
        tables=[Table(["windows", "s a micro-batch", "kB read", "kB written"], rows)],
        targets=[
            Target(f"seconds, {hour} over RANGE 60", ratio(hour, short, "seconds"), at_most=1.3),
            Target(
                f"seconds, {day} over RANGE 60", ratio(day, short_of_few, "seconds"), at_most=1.6
            ),
            Target(
                f"bytes read, {hour} over RANGE 60", ratio(hour, short, "bytes_read"), at_most=2
            ),
        ],
        chart=drawn(measured),
    )


def drawn(measured: Mapping[Case, Measured]) -> alt.TopLevelMixin:
    bars = pd.DataFrame(
        [{"windows": str(case), "seconds": found.seconds} for case, found in measured.items()]
    )
    base = alt.Chart(bars, width=520, height=160, title="Seconds a micro-batch").encode(
        x=alt.X("seconds:Q", title="seconds"), y=alt.Y("windows:N", title=None, sort=None)
    )
    bars["label"] = bars.seconds.map("{:.2f} s".format)
    return alt.layer(
        base.mark_bar(color="#1f6fb4"),
        base.mark_text(align="left", dx=5, fontSize=12).encode(text="label:N"),
    )
