"""Control: telling a running stream that it is complete up to a point, or over.

A control folder is a second, tiny source of the same exchange. A row written to it starts a
micro-batch by itself and reaches every shard.
"""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from muntin.semantics.errors import ArgumentError

_SCHEMA = "kind STRING, value STRING"


def control(spark: SparkSession, folder: str | Path) -> DataFrame:
    """The rows that :func:`end` and :func:`punctuate` write to a folder, as a stream.

    Give it to ``mt.stream(..., control=...)``. The folder must be one that the cluster can read.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    return spark.readStream.schema(_SCHEMA).json(str(folder))


def end(folder: str | Path) -> None:
    """Say that a stream is over: every window that holds a row is reported."""
    _write(folder, {"kind": "end", "value": None})


def punctuate(folder: str | Path, value: object) -> None:
    """Say that no more rows below ``value`` will come."""
    _write(folder, {"kind": "punctuation", "value": str(value)})


def _write(folder: str | Path, row: dict[str, object]) -> None:
    target = Path(folder)
    if not target.is_dir():
        raise ArgumentError("folder", str(folder), "it must be the folder given to mt.control")
    name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
    hidden = target / f".{name}"
    hidden.write_text(json.dumps(row) + "\n")
    hidden.replace(target / name)  # Spark never sees half a file
