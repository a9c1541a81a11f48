"""Counting the rows of a batch's sources, beside the queries that read them.

A count reads the source once more. A compressed file is read by one core, so another is often free.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from muntin.parser.statements import CreateStream
from muntin.session.catalog import Catalog
from muntin.spark.connectors.sources.protocol import OpenedSource
from muntin.spark.connectors.sources.row_counts import SourceCounts, tally


@dataclass
class RunningCounts:
    """Counts that run or have run, by the name of the source."""

    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "counting"))
    _counts: dict[str, Future[SourceCounts]] = field(default_factory=dict)

    def begin(self, opened: Mapping[str, OpenedSource], catalog: Catalog) -> None:
        """Count the streams, and the tables with malformed rows, that are not counted yet.

        A table without, such as one of a database, is not read once more for its size.
        """
        for name, source in opened.items():
            declared = catalog.find(name)
            on = declared.on if isinstance(declared, CreateStream) else None
            if name not in self._counts and (on is not None or source.malformed is not None):
                self._counts[name] = self._pool.submit(tally, source, on)

    def now(self) -> dict[str, SourceCounts]:
        """The sources that have been counted by now."""
        done = {name: count for name, count in self._counts.items() if count.done()}
        return {name: count.result() for name, count in done.items() if not count.exception()}

    def found(self) -> dict[str, SourceCounts]:
        """How many rows each source has; waits for the counts."""
        return {name: count.result() for name, count in self._counts.items()}
