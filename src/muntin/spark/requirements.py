"""What a streaming run needs, checked when the plan is built rather than when a worker dies."""

from __future__ import annotations

import importlib.util

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from muntin.errors import RequirementError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
#: What :func:`configure` sets, and the command line. Any smaller limit of bytes makes Spark add up
#: the bytes of a batch anew for every row that it hands to Python, which costs more than to hand it
#: over.
NEEDED = {
    PROVIDER: ROCKSDB,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
}


def check_stream(spark: SparkSession) -> None:
    """Raise if a stream cannot run here; the message has the line to paste."""
    if importlib.util.find_spec("google.protobuf") is None:
        raise RequirementError(
            "streams need the package protobuf, in which Spark encodes their state; run: "
            "pip install protobuf"
        )
    if "RocksDB" not in setting(spark, PROVIDER, ""):
        raise RequirementError(
            "streams need RocksDB as Spark's state store; run before the query starts:\n"
            f'mt.configure(spark), or spark.conf.set("{PROVIDER}", "{ROCKSDB}")'
        )


def configure(spark: SparkSession) -> SparkSession:
    """Set what Muntin needs of Spark in one line, and return the session.

    It sets RocksDB as the state store of streams, and lets Spark hand rows to Python in Arrow
    batches of 100,000 rows, whatever their bytes. Everything else stays as it is.

    >>> spark = mt.configure(SparkSession.builder.getOrCreate())  # doctest: +SKIP
    """
    for name, value in NEEDED.items():
        spark.conf.set(name, value)
    return spark


def partitions(spark: SparkSession) -> int:
    """Return how many partitions a shuffle has, and so a stream that is started now."""
    return int(setting(spark, "spark.sql.shuffle.partitions", "200"))


def active_session() -> SparkSession | None:
    """Return the Spark session of this process, if one has been started."""
    return SparkSession.getActiveSession()


def setting(spark: SparkSession, name: str, default: str) -> str:
    """Return a Spark setting, or the default if the session does not know it."""
    try:
        value = spark.conf.get(name, default)
    except PySparkException:
        return default
    return default if value is None else str(value)
