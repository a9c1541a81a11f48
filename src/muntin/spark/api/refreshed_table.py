"""A stored table that a running stream reads again from time to time.

Spark fixes the files of a table when its DataFrame is made, so a running query never sees what is
added later. A cached table can be read anew: its files are listed again, or, where it has none,
what was cached of it is dropped.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

#: Seconds between two looks, if a table is to be read anew more often than that.
SHORTEST = 0.1


@dataclass(frozen=True)
class CachedTable:
    """A cached table, and the folders that its files lie in."""

    df: DataFrame
    folders: tuple[str, ...]

    @classmethod
    def of(cls, df: DataFrame) -> CachedTable:
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


class RefreshedTable:
    """A table that is read anew every so many seconds, while queries that read it run.

    A query is known by what it observes. Spark would tell a listener in Python of every
    micro-batch of every query, which costs more than a small micro-batch does; a thread that looks
    from time to time costs little. It ends with the session: a query may be started again.
    """

    def __init__(self, df: DataFrame, seconds: float) -> None:
        self.table = CachedTable.of(df)
        self._seconds = max(seconds, SHORTEST)
        self._name = f"refreshed:{uuid.uuid4().hex}"
        Thread(target=self._look_often, name=self._name, daemon=True).start()

    def watched(self, streaming: DataFrame) -> DataFrame:
        """The same rows, whose query keeps the table fresh."""
        return streaming.observe(self._name, F.count(F.lit(1)).alias("rows"))

    def _look_often(self) -> None:
        while True:
            time.sleep(self._seconds)
            try:
                is_read = self._is_read()
            except Exception:  # of Spark, py4j or the network: the session cannot be asked any more
                return
            if is_read:
                # Files may be being written; the next look tries again.
                with suppress(PySparkException):
                    self.table.refresh()

    def _is_read(self) -> bool:
        """Whether a query that observes this table has run a micro-batch and still runs."""
        running = self.table.df.sparkSession.streams.active
        done = (query.lastProgress for query in running)
        return any(self._name in told.observedMetrics for told in done if told is not None)
