"""How a running query stands: rows, rate, progress, what is open, what was late, how far behind.

Spark keeps the reports of the last hundred micro-batches; whoever looks now and then adds up what
came since.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql import Row
from pyspark.sql.streaming.query import StreamingQuery

from muntin.spark.connectors.sources.malformed import COUNTED
from muntin.spark.plan.plan import Plan
from muntin.spark.queries.write import observed_values
from muntin.specs.axis import Axis

#: What ``on`` can be.
Moment = object


@dataclass(frozen=True)
class QueryProgress:
    """What is known of a query at one moment; None is what cannot be known.

    ``complete`` is the value of ``on`` up to which all is known, ``largest`` the largest one seen.
    ``lag`` is in seconds: of the clock behind ``largest``, where that is a time.
    """

    batches: int = 0
    rows: int = 0
    rate: float = 0.0
    results: int = 0
    late: int = 0
    refused: int = 0
    malformed: int = 0
    open: int | None = None
    largest: Moment | None = None
    complete: Moment | None = None
    lag: float | None = None

    def as_dict(self) -> dict[str, object]:
        """As plain values, for machines."""
        return {
            name: str(value) if name in ("largest", "complete") and value is not None else value
            for name, value in vars(self).items()
        }


@dataclass
class Watch:
    """Adds up the reports of one query."""

    query: StreamingQuery
    axes: Mapping[str, Axis] = field(default_factory=dict)
    standing: QueryProgress = field(default_factory=QueryProgress)
    _seen: int = -1
    _started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, query: StreamingQuery, plans: Iterable[Plan]) -> Watch:
        """A watch over a query that runs some of these plans."""
        return cls(query, {plan.name: plan.compiled.feeds[0].axis for plan in plans})

    def look(self) -> QueryProgress:
        """How the query stands now."""
        for report in self.query.recentProgress:
            if report.batchId <= self._seen:
                continue
            self._seen = report.batchId
            self.standing = self._after(report.numInputRows, report.observedMetrics)
        passed = max(1e-3, time.monotonic() - self._started)
        return replace(self.standing, rate=self.standing.rows / passed)

    def _after(self, rows: int, observed: Mapping[str, Row]) -> QueryProgress:
        now = replace(self.standing, batches=self.standing.batches + 1)
        now = replace(now, malformed=now.malformed + _malformed(observed))
        # Of plans that follow each other the first one sees the rows of the sources.
        plans = {n: observed_values(row) for n, row in observed.items() if n.startswith("muntin")}
        if not plans:
            return replace(now, rows=now.rows + rows)
        name, values = next(iter(plans.items()))
        largest = self._value(name, values["largest"])
        complete = self._value(name, values["reached"])
        return replace(
            now,
            rows=now.rows + (values["rows_in"] or 0),
            results=now.results + (values["results"] or 0),
            late=now.late + _sum(plans, "late"),
            refused=now.refused + _sum(plans, "rows_refused"),
            open=values["open"],
            largest=largest if largest is not None else now.largest,
            complete=complete if complete is not None else now.complete,
            lag=_lag(largest) if largest is not None else now.lag,
        )

    def _value(self, plan: str, tick: int | None) -> Moment | None:
        return None if tick is None or plan not in self.axes else self.axes[plan].value(tick)


def _sum(plans: Mapping[str, Mapping[str, int | None]], count: str) -> int:
    """Of all plans: each refuses rows of its own."""
    return sum(values[count] or 0 for values in plans.values())


def _malformed(observed: Mapping[str, Row]) -> int:
    rows = [row for name, row in observed.items() if name.startswith(COUNTED)]
    return sum(int(row["malformed"] or 0) for row in rows)


def _lag(moment: Moment) -> float | None:
    if not isinstance(moment, datetime):
        return None
    now = datetime.now(UTC)
    return (now - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))).total_seconds()
