"""Removing spooled files that every query has read for good.

Spark's own ``cleanSource`` removes a file when one query has read it, and the same lines are read
by several: by every query over them, and by the one that keeps malformed lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class SpoolCleanup:
    """The files of one spool, and the metric in which queries report the last one they read."""

    folder: Path
    metric: str

    def remove(self, queries: Sequence[StreamingQuery]) -> int:
        """Remove what all of these queries have read and committed; how many files.

        They must be all that will ever read them.
        """
        bounds = []
        for query in queries:
            reports = query.recentProgress
            if not reports:
                return 0  # it may be a reader, and has read nothing
            if any(source.description == self._described for source in reports[-1].sources):
                bounds.append(self._read(query))
        last = min(bounds, default="")
        read = [file for file in self.folder.glob("*.txt") if file.name <= last]
        for file in read:
            file.unlink(missing_ok=True)
        return len(read)

    @property
    def _described(self) -> str:
        return f"FileStreamSource[file:{self.folder.absolute()}]"

    def _read(self, query: StreamingQuery) -> str:
        """The last file up to which a query will never look at one again; empty if there is none.

        Files come into sight in the order of their names, but a look at a folder takes a moment:
        it may see a file and not the one that came just before. The next look sees both. So what a
        micro-batch has read counts when a later one is whole, too. Spark reports a micro-batch
        after it has noted that it is committed, and never reads it again from then on.
        """
        reports = query.recentProgress
        newest = max(report.batchId for report in reports)
        rows = [r.observedMetrics.get(self.metric) for r in reports if r.batchId < newest]
        return max((row["last"] for row in rows if row is not None and row["last"]), default="")
