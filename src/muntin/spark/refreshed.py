"""A stored table that a running stream reads again from time to time.

Spark fixes the files of a table when its DataFrame is made, so a running query never sees what is
added later. A cached table can be read anew: its files are listed again, or, where it has none,
what was cached of it is dropped.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)


@dataclass(frozen=True)
class Table:
    """A cached table, and the folders that its files lie in."""

    df: DataFrame
    folders: tuple[str, ...]

    @classmethod
    def of(cls, df: DataFrame) -> Table:
        folders = folders_of(df.inputFiles())  # a cached table does not tell them
        return cls(df.cache(), folders)

    def refresh(self) -> None:
        """Read it anew, when it is asked for next."""
        for folder in self.folders:
            self.df.sparkSession.catalog.refreshByPath(folder)
        if not self.folders:
            self.df.unpersist()
            self.df.cache()


def folders_of(files: Sequence[str]) -> tuple[str, ...]:
    """The folders of some files, above those that partitions make.

    >>> folders_of(["file:///t/day=1/a.parquet", "file:///t/day=2/b.parquet"])
    ('file:///t',)
    """
    found = set()
    for file in files:
        folder = file.rpartition("/")[0]
        while "=" in folder.rpartition("/")[2]:
            folder = folder.rpartition("/")[0]
        found.add(folder)
    return tuple(sorted(found))


class Refresher(StreamingQueryListener):
    """Refreshes a table as long as queries that read it run, at most every so many seconds.

    A query is known by what it observes. After the last of them the listener leaves.
    """

    def __init__(self, table: Table, seconds: float, name: str) -> None:
        self.table = table
        self.seconds = seconds
        self.name = name
        self.last = time.monotonic()
        self.queries: set[uuid.UUID] = set()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802  (Spark's name)
        """Nothing is known of a query before its first micro-batch."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        if self.name in event.progress.observedMetrics:
            self.queries.add(event.progress.runId)
            self._look()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        if event.runId in self.queries:
            self._look()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        if event.runId in self.queries:
            self.queries.discard(event.runId)
            if not self.queries:
                self.table.df.sparkSession.streams.removeListener(self)

    def _look(self) -> None:
        if time.monotonic() - self.last < self.seconds:
            return
        try:
            self.table.refresh()
        except PySparkException:
            return  # the files are being written; the next micro-batch tries again
        self.last = time.monotonic()


@dataclass(frozen=True)
class Refreshing:
    """How a stream is told to observe itself, so that its table is refreshed."""

    table: Table
    seconds: float
    name: str = field(default_factory=lambda: f"refreshed:{uuid.uuid4().hex}")

    def watched(self, streaming: DataFrame) -> DataFrame:
        """The same rows, whose query keeps the table fresh."""
        listener = Refresher(self.table, self.seconds, self.name)
        streaming.sparkSession.streams.addListener(listener)
        return streaming.observe(self.name, F.count(F.lit(1)).alias("rows"))
