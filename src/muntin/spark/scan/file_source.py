"""Files as a source, which ``mt.stream`` takes like a DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field

from muntin.spark.scan.listing import FileListing
from muntin.spark.scan.worker_rows import WorkerRows


@dataclass(frozen=True, eq=False)
class FileSource(WorkerRows):
    """Files that can be read by Spark, as ``df``, or by workers that are given their names.

    :func:`muntin.parquet`, :func:`muntin.csv` and :func:`muntin.json` make it; ``mt.stream`` takes
    it like a DataFrame.

    Args:
        df: The rows, read by Spark.
        only_spark: Why workers cannot read the rows; None if they may be able to.
        conditions: The conditions that rows of the files must meet, in SQL.
        form: ``"parquet"``, ``"csv"`` or ``"json"``.
        listing: The files.
    """

    form: str = field(kw_only=True)
    listing: FileListing = field(kw_only=True)
