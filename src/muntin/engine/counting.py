"""Counting malformed rows of a batch, beside the queries that read the good ones.

A count reads the source once more. A compressed file is read by one core, so another is often free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from muntin.spark.sources.opened import Opened
from muntin.spark.types import DataFrame


@dataclass
class Counting:
    """Counts that run or have run, by the name of the source."""

    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "counting"))
    _counts: dict[str, Future[int]] = field(default_factory=dict)

    def begin(self, opened: Mapping[str, Opened]) -> None:
        """Count the sources that can have malformed rows and are not being counted yet."""
        for name, source in opened.items():
            if source.malformed is not None and name not in self._counts:
                self._counts[name] = self._pool.submit(source.malformed.count)

    def found(self, opened: Mapping[str, Opened]) -> Iterator[tuple[str, int, DataFrame]]:
        """The sources that have malformed rows, with how many and which; waits for the counts."""
        for name, count in self._counts.items():
            malformed = opened[name].malformed
            if malformed is not None and (rows := count.result()):
                yield name, rows, malformed
