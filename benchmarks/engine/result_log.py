"""The result log: what the answers of many queries add to a micro-batch, and reading them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.measure import Report, Table, Target, medians, say, turns
from muntin.engine.registry import Registry
from muntin.engine.result_log import ResultLog
from muntin.engine.sinks.deliveries import Deliveries
from muntin.engine.sinks.sink_call import SinkCall
from muntin.engine.sinks.targets import RowTarget
from muntin.engine.sinks.targets import Target as Receiver

RUNS = 7
#: Seconds that a thousand queries with results may add to a micro-batch.
PROMISED = 0.3
STREAM = "traffic"
ORDER = ("station", "window_start", "window_end")


@dataclass(frozen=True)
class Sizes:
    """How many queries answer in a micro-batch, how many rows each, and how many micro-batches."""

    queries: Sequence[int]
    rows: int
    batches: int

    @property
    def most(self) -> int:
        return max(self.queries)


FULL = Sizes(queries=(10, 100, 1_000), rows=50, batches=100)
QUICK = Sizes(queries=(10, 100), rows=50, batches=10)


def run(quick: bool) -> Report:
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        written = medians(turns(writers(Path(folder), sizes), RUNS))
        read = medians(turns(readers(Path(folder), sizes), RUNS))
        with sinks(Path(folder), sizes) as deliveries:
            deliveries.deliver(STREAM, 0, 0)  # which opens them
            batches = count(1)
            begin = {"begin": lambda: deliveries.deliver(STREAM, 0, next(batches))}
            # What is begun goes on beside the next micro-batch; here it ends before.
            delivered = medians(turns(begin, RUNS - 1, ready=deliveries.wait))["begin"]
    for name, seconds in {**written, **read, "begin": delivered}.items():
        say(f"{name}: {seconds * 1000:.1f} ms")
    return report(sizes, written, read, delivered)


def answer(rows: int) -> pa.Table:
    """Five columns, in the order in which shards report them: not sorted."""
    start = pa.array(np.zeros(rows, np.int64), pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "station": pa.array([f"station {n * 7 % rows}" for n in range(rows)]),
            "window_start": start,
            "window_end": start,
            "mean": np.arange(rows, dtype=np.float64),
            "complete": np.ones(rows, np.bool_),
        }
    )


def writers(folder: Path, sizes: Sizes) -> Mapping[str, Callable[[], object]]:
    """Contestants that write one micro-batch more, to a log of their own."""

    def writer(queries: int) -> Callable[[], None]:
        log = ResultLog(folder / f"of {queries}")
        answers = {member: answer(sizes.rows) for member in range(1, queries + 1)}
        order = dict.fromkeys(answers, ORDER)
        numbers = count()
        return lambda: log.write(next(numbers), answers, order)

    return {f"write {queries:,}": writer(queries) for queries in sizes.queries}


def readers(folder: Path, sizes: Sizes) -> Mapping[str, Callable[[], object]]:
    """Contestants that read the answers of one query among all."""
    log = filled(folder / "filled", sizes)
    return {
        "the last answer": lambda: log.latest([1]),
        f"the answers of {sizes.batches:,} micro-batches": lambda: log.read([1]),
        "the answer of the one micro-batch that has any": lambda: log.read([sizes.most + 1]),
    }


def filled(folder: Path, sizes: Sizes) -> ResultLog:
    """A log in which a tenth of the queries answer in every micro-batch, and one only once."""
    log = ResultLog(folder)
    for number in range(sizes.batches):
        answers = {member: answer(sizes.rows) for member in range(1, sizes.most // 10 + 1)}
        if number == sizes.batches // 2:
            answers[sizes.most + 1] = answer(sizes.rows)
        log.write(number, answers)
    return log


@contextmanager
def sinks(folder: Path, sizes: Sizes) -> Iterator[Deliveries]:
    """Deliveries of the largest log: each query has a trigger, whose action does nothing."""
    registry = Registry(folder)
    registry.log(STREAM, "create_stream", None, {})
    calls = [SinkCall("alarm", "webhook", ("http://127.0.0.1/x",))]
    for number in range(sizes.most):
        added = registry.add(STREAM, f"query {number}", "SELECT 1", "{}", sinks=calls)
        registry.acknowledge(
            added.seq, micro_batch=0, epoch=0, punctuation=None, filled="nothing", how="in place"
        )
    log = ResultLog(folder / f"of {sizes.most}")
    deliveries = Deliveries(registry, folder, no_receiver, lambda stream, epoch: log)
    try:
        yield deliveries
    finally:
        deliveries.close()
        registry.close()


def no_receiver(call: SinkCall, query: str) -> Receiver:
    def nothing(row: str, key: str | None = None) -> None:
        pass

    return RowTarget(nothing, 1)


def report(
    sizes: Sizes, written: Mapping[str, float], read: Mapping[str, float], delivered: float
) -> Report:
    about = (
        f"Every query answers with {sizes.rows} rows of five columns in one micro-batch. *Write* "
        "is from Arrow tables to a file on disk (sorted by key and bounds, flushed, renamed) and "
        f"its index. Wall time, medians of {RUNS}. *Read* is of one query in a log of "
        f"{sizes.batches} micro-batches in which {sizes.most // 10} queries answer each time."
    )
    adding = written[f"write {sizes.most:,}"] + delivered
    rows = [
        [name.removeprefix("write "), f"{seconds * 1000:.1f}"] for name, seconds in written.items()
    ]
    rows += [[f"{sizes.most:,}, to begin their deliveries to sinks", f"{delivered * 1000:.1f}"]]
    return Report(
        name="result_log",
        title="The result log of the engine",
        about=about,
        tables=[
            Table(["queries with results", "added to a micro-batch, ms"], rows),
            Table(
                ["read", "ms"],
                [[name, f"{seconds * 1000:.2f}"] for name, seconds in read.items()],
            ),
        ],
        targets=[
            Target(
                f"seconds that {sizes.most:,} queries with results and a sink each add to a "
                "micro-batch",
                adding,
                at_most=PROMISED,
            )
        ],
        chart=drawn(sizes, written),
    )


def drawn(sizes: Sizes, written: Mapping[str, float]) -> alt.TopLevelMixin:
    points = pd.DataFrame(
        [
            {"queries": queries, "ms": written[f"write {queries:,}"] * 1000}
            for queries in sizes.queries
        ]
    )
    title = "Milliseconds that the answers of a micro-batch take to write"
    chart = alt.Chart(points, width=560, height=240, title=title)
    line: alt.TopLevelMixin = chart.mark_line(color="#1f6fb4", point=True).encode(
        x=alt.X("queries:Q", title="queries with results", scale=alt.Scale(type="log")),
        y=alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log")),
    )
    return line
