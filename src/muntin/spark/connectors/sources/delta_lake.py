"""Tables of Delta Lake, if its package is present."""

from __future__ import annotations

from pyspark.sql import SparkSession

from muntin.errors import RequirementError
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest
from muntin.spark.requirements import setting

DELTA = Signature(
    "delta",
    (Parameter("path", str, required=True),),
    ("versionAsOf", "timestampAsOf", "ignoreChanges", "ignoreDeletes", "maxFilesPerTrigger"),
)
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


def open_delta(request: SourceRequest) -> OpenedSource:
    """Read a table as it is, or as a stream of what is added to it."""
    check_delta(request.spark)
    reader = request.spark.readStream if request.streaming else request.spark.read
    options = request.bound.spark_options()
    return OpenedSource(reader.format("delta").options(**options).load(request.bound.text("path")))


def check_delta(spark: SparkSession) -> None:
    """Raise unless the session was made with Delta Lake."""
    if _EXTENSION in setting(spark, "spark.sql.extensions", ""):
        return
    raise RequirementError(
        "this session has no Delta Lake; name a build of it for this Spark when the session is "
        "made:\nmuntin run --package io.delta:delta-spark_2.13:VERSION "
        f"--conf spark.sql.extensions={_EXTENSION} "
        "--conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
    )
