"""What is known of a running session, for ``muntin doctor``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from muntin.spark.columns import problem
from muntin.spark.queries.stop import reason
from muntin.spark.requirements import PROVIDER, ROCKSDB, setting

#: The most seconds for a stream of one row, which takes far less.
_STATE_SECONDS = 60


@dataclass(frozen=True)
class SessionProbe:
    """How a session is set up, and the Python of its workers or why none answered.

    ``refusal`` is why a stream could not keep state; it is empty if one could.
    """

    version: str
    provider: str
    driver_memory: str
    worker: str | None
    complaint: str
    refusal: str = ""

    @property
    def agrees(self) -> bool:
        """Whether workers run the Python of this process."""
        return self.worker == python()

    @property
    def setting(self) -> str:
        """The setting that a session with another state provider needs."""
        return f"{PROVIDER}={ROCKSDB}"


def probe(spark: SparkSession) -> SessionProbe:
    """Probe a session: one row goes through a worker, another through the state of a stream."""
    worker, complaint = None, ""
    try:
        worker = spark.range(1).mapInArrow(_answer, "python STRING").collect()[0][0]
    except PySparkException as error:
        complaint = problem(error)
    memory = setting(spark, "spark.driver.memory", "1g")
    provider = setting(spark, PROVIDER, "")
    return SessionProbe(spark.version, provider, memory, worker, complaint, _refusal(spark))


def _refusal(spark: SparkSession) -> str:
    """Return why a stream cannot keep state, by trying it with one row; empty if it can.

    The name of the provider is not enough: the first stream loads its native library.
    """
    with TemporaryDirectory(prefix="muntin-") as folder:
        (Path(folder) / "in").mkdir()
        (Path(folder) / "in" / "row.json").write_text('{"id": 1}\n')
        rows = spark.readStream.schema("id BIGINT").json(f"{folder}/in")
        writer = rows.dropDuplicates(["id"]).writeStream.format("noop").trigger(availableNow=True)
        try:
            query = writer.option("checkpointLocation", f"{folder}/checkpoint").start()
            query.awaitTermination(_STATE_SECONDS)
            query.stop()
        except PySparkException as error:
            return reason(str(error))[1]
    return ""


def python() -> str:
    """Return the version of Python that workers must have, too."""
    return ".".join(map(str, sys.version_info[:2]))


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import platform

    import pyarrow

    version = ".".join(platform.python_version_tuple()[:2])
    for batch in batches:
        column = pyarrow.array([version] * batch.num_rows)
        yield pyarrow.RecordBatch.from_arrays([column], ["python"])
