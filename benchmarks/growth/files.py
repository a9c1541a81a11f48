"""Readings of any size as Parquet files, written a few million rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows of a row group, which one task reads.
GROUP = 1_000_000
SECOND = 1_000_000


@dataclass(frozen=True)
class Readings:
    """Rows in the order of time, evenly over some seconds, their keys and values scattered."""

    rows: int
    keys: int
    seconds: int

    def write(self, path: Path) -> str:
        """Write the rows to a file, and return its path."""
        schema = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "k": pa.int32(), "v": pa.float64()})
        with pq.ParquetWriter(path, schema) as writer:
            for start in range(0, self.rows, GROUP):
                writer.write_table(self._stretch(start, min(self.rows, start + GROUP), schema))
        return str(path)

    def _stretch(self, start: int, end: int, schema: pa.Schema) -> pa.Table:
        random = np.random.default_rng(start)
        micros = np.arange(start, end) * (self.seconds * SECOND / self.rows)
        columns = [
            pa.array(micros.astype(np.int64)).cast(schema.field("ts").type),
            pa.array(random.integers(0, self.keys, end - start, np.int32)),
            pa.array(random.uniform(0, 100, end - start)),
        ]
        return pa.table(columns, schema=schema)
