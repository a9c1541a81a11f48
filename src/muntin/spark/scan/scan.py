"""An Arrow scan: what a worker needs to make the columns that travel from files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from muntin.errors import ScanError
from muntin.spark.scan.arrow_columns import ArrowColumns
from muntin.spark.scan.parquet_files import ParquetReader, Piece
from muntin.spark.scan.parquet_types import CannotScan

#: The column of a list of files with their paths.
PATH = "path"


@dataclass(frozen=True)
class ArrowScan:
    """Reads files, and evaluates the columns that travel on their rows.

    Every task is given its number, and reads the pieces of that number.
    """

    reader: ParquetReader
    columns: ArrowColumns
    tasks: tuple[tuple[Piece, ...], ...]

    def tables(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the columns that travel of all rows that the tasks of these numbers read."""
        for batch in batches:
            for number in batch["id"].to_pylist():
                for piece in self.tasks[number]:
                    yield from self._of(piece)

    def _of(self, piece: Piece) -> Iterator[pa.Table]:
        try:
            for rows in self.reader.read(piece):
                yield self.columns.evaluate(rows)
        except CannotScan as reason:
            raise ScanError(
                piece.path, f"{reason}; Spark can: give mt.stream the source's .df instead of it"
            ) from reason
