"""How a batch is going: what has been read and written, and how far Spark is.

The rows of the sources are counted beside the queries that read them. A count reads the source
once more; a compressed file is read by one core, so another is often free.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from muntin.parser.statements import CreateStream
from muntin.session.catalog import Catalog
from muntin.spark.columns import SparkSession
from muntin.spark.connectors.sources.malformed import count_rows
from muntin.spark.connectors.sources.protocol import OpenedSource
from muntin.spark.queries.progress import RunProgress, Tasks, running_tasks


@dataclass
class BatchWatch:
    """Watches a batch from another thread than the one that runs it.

    ``written`` has the queries whose sinks count their rows; None is a query that is not done.
    """

    spark: SparkSession
    written: dict[str, int | None] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "counting"))
    _counts: dict[str, Future[RunProgress]] = field(default_factory=dict)

    def begin(self) -> None:
        """Start the clock: with the run, not with the session."""
        self._began = time.monotonic()

    def count_sources(self, opened: Mapping[str, OpenedSource], catalog: Catalog) -> None:
        """Count the streams, and the tables with malformed rows, that are not counted yet.

        Other tables, such as one of a database, are not read once more for their size.
        """
        for name, source in opened.items():
            declared = catalog.find(name)
            on = declared.on if isinstance(declared, CreateStream) else None
            if name not in self._counts and (on is not None or source.malformed is not None):
                self._counts[name] = self._pool.submit(count_rows, source, on)

    def sources(self) -> dict[str, RunProgress]:
        """Return the counts of each source; waits for them."""
        return {name: count.result() for name, count in self._counts.items()}

    def look(self) -> RunProgress:
        """Return how the batch is going now: of sources counted and queries done by now."""
        done = {name: count for name, count in self._counts.items() if count.done()}
        counts = {name: count.result() for name, count in done.items() if not count.exception()}
        return self._progress(counts, running_tasks(self.spark))

    def end(self) -> RunProgress:
        """Return how the batch ended; waits for the counts."""
        return self._progress(self.sources(), None)

    def _progress(self, sources: Mapping[str, RunProgress], tasks: Tasks | None) -> RunProgress:
        seconds = time.monotonic() - self._began
        rows = sum(source.rows for source in sources.values())
        written = [count or 0 for count in self.written.values()]
        return RunProgress(
            rows=rows,
            rate=rows / max(1e-3, seconds),
            results=sum(written) if written else None,
            refused=sum(source.refused for source in sources.values()),
            malformed=sum(source.malformed for source in sources.values()),
            seconds=seconds,
            tasks=tasks,
        )
