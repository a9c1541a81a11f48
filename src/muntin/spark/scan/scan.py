"""An Arrow scan: what a worker needs to make the columns that travel from files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from muntin.errors import ScanError
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.spark.scan.named_files import NamedFiles
from muntin.spark.scan.parquet_files import ParquetReader, Piece
from muntin.spark.scan.parquet_types import CannotScan
from muntin.spark.scan.row_sample import RowSample


@dataclass(frozen=True)
class PlannedPieces:
    """The pieces of each task of a batch; a task is given its number."""

    tasks: tuple[tuple[Piece, ...], ...]

    def of(self, batch: pa.RecordBatch) -> Iterator[Piece]:
        """Yield the pieces of the tasks of these numbers."""
        for number in batch["id"].to_pylist():
            yield from self.tasks[number]


@dataclass(frozen=True)
class ArrowScan:
    """Reads files, and evaluates the columns that travel on their rows.

    ``pieces`` says which row groups belong to what Spark hands to a task: numbers of tasks in a
    batch, names of files in a stream.
    """

    reader: ParquetReader
    columns: ArrowColumns
    pieces: PlannedPieces | NamedFiles

    def tables(
        self, batches: Iterator[pa.RecordBatch], sample: RowSample | None = None
    ) -> Iterator[pa.Table]:
        """Yield the columns that travel of the rows that a task reads: all, or a sample of them."""
        for batch in batches:
            for piece in self.pieces.of(batch):
                yield from self._of(piece, sample)

    def _of(self, piece: Piece, sample: RowSample | None) -> Iterator[pa.Table]:
        try:
            for (group, first), rows in self.reader.read_placed(piece):
                kept = rows if sample is None else sample.of(rows, piece.path, group, first)
                yield self.columns.evaluate(kept)
        except CannotScan as reason:
            raise ScanError(
                piece.path, f"{reason}; Spark can: give mt.stream the source's .df instead of it"
            ) from reason
