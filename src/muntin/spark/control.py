"""Control: telling a running stream that it is complete up to a point, or over.

A control folder is a second, tiny source of the same exchange. A row written to it starts a
micro-batch by itself and reaches every shard.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from muntin.semantics.axis import Axis
from muntin.semantics.errors import ArgumentError

_SCHEMA = "kind STRING, value STRING, tick BIGINT"


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


def ticked(rows: DataFrame, axis: Axis) -> DataFrame:
    """Control rows with their values as ticks of the stream's axis."""
    if axis.domain.temporal:
        type_ = {"timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz", "date": "date"}
        moment = F.col("value").cast(type_[axis.domain.value])
        whole = F.unix_date(moment) if axis.domain.value == "date" else _micros(moment)
    else:
        whole = (F.col("value").cast("decimal(38,18)") * F.lit(10**axis.digits)).cast("bigint")
    return rows.select("kind", F.coalesce(F.col("tick"), whole).alias("tick"))


def _micros(moment: object) -> object:
    return F.unix_micros(moment)  # type: ignore[arg-type]


def _write(folder: str | Path, row: dict[str, object]) -> None:
    target = Path(folder)
    if not target.is_dir():
        raise ArgumentError("folder", str(folder), "it must be the folder given to mt.control")
    name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
    hidden = target / f".{name}"
    hidden.write_text(json.dumps(row) + "\n")
    os.replace(hidden, target / name)  # Spark never sees half a file
