"""How a batch stands: what has been read and written, and how far Spark is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.session.batch_counts import RunningCounts
from muntin.spark.connectors.sources.row_counts import SourceCounts
from muntin.spark.queries.batch_counts import Tasks, tasks
from muntin.spark.types import SparkSession


@dataclass(frozen=True)
class BatchProgress:
    """What is known at one moment: of sources that are counted, and of queries that are done.

    No row of a batch is late, and ``refused`` are those without a value of ``on``. ``written`` has
    the queries whose sinks count; None is one that is at it.
    """

    seconds: float
    sources: Mapping[str, SourceCounts]
    written: Mapping[str, int | None]
    tasks: Tasks | None = None

    def as_dict(self) -> dict[str, object]:
        """As plain values, under the names that a stream's standing has."""
        tallies = self.sources.values()
        rows = sum(one.rows for one in tallies)
        said: dict[str, object] = {
            "seconds": round(self.seconds, 1),
            "rows": rows,
            "rate": rows / max(1e-3, self.seconds),
            "results": sum(counts) if (counts := self._counts()) else None,
            "late": 0,
            "refused": sum(one.refused for one in tallies),
            "malformed": sum(one.malformed for one in tallies),
        }
        if self.tasks is not None:
            said |= {"tasks_done": self.tasks.done, "tasks": self.tasks.all}
        return said

    def _counts(self) -> list[int]:
        """How much was written by now, where anybody counts."""
        return [count or 0 for count in self.written.values()]


@dataclass
class BatchWatch:
    """Looks at a batch from another thread than the one that runs it."""

    spark: SparkSession
    counting: RunningCounts
    written: dict[str, int | None] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """The clock starts with the run, not with the session."""
        self._began = time.monotonic()

    def look(self) -> BatchProgress:
        """How the batch stands now."""
        return self._standing(self.counting.now(), tasks(self.spark))

    def end(self) -> BatchProgress:
        """How it stood when it was done; waits for the counts."""
        return self._standing(self.counting.found(), None)

    def _standing(self, sources: Mapping[str, SourceCounts], known: Tasks | None) -> BatchProgress:
        return BatchProgress(time.monotonic() - self._began, sources, dict(self.written), known)
