"""What a running session says of itself, for ``muntin doctor``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from muntin.spark.expressions import problem
from muntin.spark.requirements import PROVIDER, setting


@dataclass(frozen=True)
class Probe:
    """How a session is set up, and the Python of its workers or why none answered."""

    version: str
    provider: str
    driver_memory: str
    worker: str | None
    complaint: str

    @property
    def agrees(self) -> bool:
        """Whether workers run the Python of this process."""
        return self.worker == python()


def probe(spark: SparkSession) -> Probe:
    """Ask a session; a row goes through a worker."""
    worker, complaint = None, ""
    try:
        worker = spark.range(1).mapInArrow(_answer, "python STRING").collect()[0][0]
    except PySparkException as error:
        complaint = problem(error)
    memory = setting(spark, "spark.driver.memory", "1g")
    return Probe(spark.version, setting(spark, PROVIDER, ""), memory, worker, complaint)


def python() -> str:
    """The version that must be the same on both sides."""
    return ".".join(map(str, sys.version_info[:2]))


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import platform

    import pyarrow

    version = ".".join(platform.python_version_tuple()[:2])
    for batch in batches:
        column = pyarrow.array([version] * batch.num_rows)
        yield pyarrow.RecordBatch.from_arrays([column], ["python"])
