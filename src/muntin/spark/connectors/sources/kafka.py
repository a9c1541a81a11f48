"""Topics of Kafka, through Spark's own connector; a message's value is a line of JSON or CSV."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import RequirementError
from muntin.spark.columns import problem
from muntin.spark.connectors.packages import packages_for
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.lines import FORMAT, LINE_OPTIONS, rows_of_lines
from muntin.spark.connectors.sources.malformed import ORIGIN
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest

KAFKA = Signature(
    "kafka",
    (
        Parameter("topic", str, required=True),
        Parameter("servers", str, required=True),
        FORMAT,
        Parameter("start", str, "earliest", choices=("earliest", "latest")),
        Parameter("max_rows", int, positive=True),
    ),
    (*LINE_OPTIONS, "failOnDataLoss", "minPartitions"),
    prefixes=("kafka.",),
)
#: Options of the connector; all others are of the format of a message.
_READER = ("failOnDataLoss", "minPartitions")


def open_kafka(request: SourceRequest) -> OpenedSource:
    """Read the messages of a topic: all that are there, or a stream of those that come."""
    bound = request.bound
    columns = request.columns("a message does not say what it has")
    options = bound.spark_options()
    connector = {
        name: value
        for name, value in options.items()
        if name in _READER or name.startswith("kafka.")
    }
    reader = request.spark.readStream if request.streaming else request.spark.read
    reader = reader.format("kafka").options(**connector)
    reader = reader.option("kafka.bootstrap.servers", bound.text("servers"))
    reader = reader.option("subscribe", bound.text("topic"))
    if request.streaming:
        reader = reader.option("startingOffsets", bound.text("start"))
        if bound.values["max_rows"] is not None:
            reader = reader.option("maxOffsetsPerTrigger", bound.number("max_rows"))
    try:
        messages = reader.load()
    except AnalysisException as error:
        raise missing_connector(problem(error)) from error
    origin = F.concat_ws("/", F.col("topic"), F.col("partition"), F.col("offset")).alias(ORIGIN)
    lines = messages.select(F.col("value").cast("string").alias("value"), origin)
    form = {name: value for name, value in options.items() if name not in connector}
    return rows_of_lines(lines, columns, bound.text("format"), form)


def missing_connector(complaint: str) -> RequirementError:
    """Return the error for a session without Kafka, with what to do about it."""
    (package,) = packages_for(["kafka"])
    return RequirementError(
        f"this session has no connector to Kafka ({complaint}); make the session with\n"
        f'.config("spark.jars.packages", "{package}")'
    )
