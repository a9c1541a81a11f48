"""How a run is going, batch or stream: rows, rate, progress, what is open, what was late.

Spark keeps the reports of the last hundred micro-batches of a stream; a :class:`Watch` adds up
those that are new. A batch has no reports: its rows are counted on their way, and Spark says how
many tasks are done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from muntin.spark.api.plan import Plan
from muntin.spark.exchange.counts import observed as observed_counts
from muntin.specs.axis import Axis

#: The prefix of the metrics in which a stream's sources count their malformed lines.
MALFORMED = "malformed:"
#: A value of the ``on`` column.
OnValue = object


@dataclass(frozen=True)
class Tasks:
    """The tasks of the stages that run now; those of later stages are not known yet."""

    done: int
    all: int


@dataclass(frozen=True)
class RunProgress:
    """How a batch, a streaming query or a source is going at one moment; None is not known.

    Args:
        rows: How many rows were read.
        rate: Rows per second.
        results: How many rows were written; None where no sink of a batch counts them.
        late: Rows refused because they came late; no row of a batch does.
        refused: Rows that count nowhere, for any reason.
        malformed: Lines that are no rows.
        batches: How many micro-batches a stream has run; None for a batch.
        open: The windows or frames of a stream that are open.
        largest: The largest value of ``on``.
        complete: The value of ``on`` up to which a stream is complete.
        lag: Seconds from ``largest`` to now, where that is a time.
        seconds: How long a batch has been running.
        tasks: How far Spark is with a batch.
    """

    rows: int = 0
    rate: float = 0.0
    results: int | None = 0
    late: int = 0
    refused: int = 0
    malformed: int = 0
    batches: int | None = None
    open: int | None = None
    largest: OnValue | None = None
    complete: OnValue | None = None
    lag: float | None = None
    seconds: float = 0.0
    tasks: Tasks | None = None

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON: those that a batch has, or those that a stream has."""
        counts = {
            name: getattr(self, name)
            for name in ("rows", "rate", "results", "late", "refused", "malformed")
        }
        if self.batches is None:
            tasks = self.tasks
            progress = {} if tasks is None else {"tasks_done": tasks.done, "tasks": tasks.all}
            return {"seconds": round(self.seconds, 1), **counts, **progress}
        return {
            "batches": self.batches,
            **counts,
            "open": self.open,
            "largest": None if self.largest is None else str(self.largest),
            "complete": None if self.complete is None else str(self.complete),
            "lag": self.lag,
        }


@dataclass
class Watch:
    """Adds up the reports of one streaming query."""

    query: StreamingQuery
    axes: Mapping[str, Axis] = field(default_factory=dict)
    progress: RunProgress = field(default_factory=lambda: RunProgress(batches=0))
    _seen: int = -1
    _started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, query: StreamingQuery, plans: Iterable[Plan]) -> Watch:
        """Return a watch over a query that runs some of these plans."""
        return cls(query, {plan.name: plan.parts.inputs[0].axis for plan in plans})

    def look(self) -> RunProgress:
        """Return how the query is going now."""
        for report in self.query.recentProgress:
            if report.batchId <= self._seen:
                continue
            self._seen = report.batchId
            self.progress = self._after(report.numInputRows, report.observedMetrics)
        passed = max(1e-3, time.monotonic() - self._started)
        return replace(self.progress, rate=self.progress.rows / passed)

    def _after(self, rows: int, observed: Mapping[str, Row]) -> RunProgress:
        """Return the progress after one more micro-batch."""
        now = self.progress
        now = replace(
            now,
            batches=(now.batches or 0) + 1,
            malformed=now.malformed + _malformed(observed),
        )
        # Of plans that follow each other the first one sees the rows of the sources.
        plans = {n: observed_counts(row) for n, row in observed.items() if n.startswith("muntin")}
        if not plans:
            return replace(now, rows=now.rows + rows)
        name, values = next(iter(plans.items()))
        largest = self._value(name, values["largest"])
        complete = self._value(name, values["reached"])
        return replace(
            now,
            rows=now.rows + (values["rows_in"] or 0),
            results=(now.results or 0) + (values["results"] or 0),
            late=now.late + _sum(plans, "late"),
            refused=now.refused + _sum(plans, "rows_refused"),
            open=values["open"],
            largest=largest if largest is not None else now.largest,
            complete=complete if complete is not None else now.complete,
            lag=_lag(largest) if largest is not None else now.lag,
        )

    def _value(self, plan: str, tick: int | None) -> OnValue | None:
        return None if tick is None or plan not in self.axes else self.axes[plan].value(tick)


def _sum(plans: Mapping[str, Mapping[str, int | None]], count: str) -> int:
    """Return the sum over all plans, because each refuses rows of its own."""
    return sum(values[count] or 0 for values in plans.values())


def _malformed(observed: Mapping[str, Row]) -> int:
    rows = [row for name, row in observed.items() if name.startswith(MALFORMED)]
    return sum(int(row["malformed"] or 0) for row in rows)


def _lag(largest: OnValue) -> float | None:
    if not isinstance(largest, datetime):
        return None
    now = datetime.now(UTC)
    return (now - (largest if largest.tzinfo else largest.replace(tzinfo=UTC))).total_seconds()


def counted(rows: DataFrame) -> tuple[DataFrame, Callable[[], int]]:
    """Return the same rows, and a function that returns how many the first action on them saw."""
    seen = Observation()

    def count() -> int:
        return int(seen.get["rows"])

    return rows.observe(seen, F.count(F.lit(1)).alias("rows")), count


def running_tasks(spark: SparkSession) -> Tasks | None:
    """Return how far Spark is; None if nothing runs, and on Spark Connect, which does not say."""
    try:
        tracker = spark.sparkContext.statusTracker()
    except PySparkException:
        return None
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    if not known:
        return None
    return Tasks(
        sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
    )
