"""What a streaming run needs, checked when the plan is built rather than when a worker dies."""

from __future__ import annotations

import importlib.util

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from muntin.errors import RequirementError

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


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
            f'spark.conf.set("{PROVIDER}", "{ROCKSDB}")'
        )


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
