"""Opening what a statement names: a source of Spark's, or a simulator."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from muntin.engine.simulated import simulation
from muntin.spark.calls import Literal, named
from muntin.spark.session import SparkSession
from muntin.spark.sources.opened import Opened
from muntin.spark.sources.opening import SOURCES, open_source
from muntin.spark.types import to_spark


def opened(
    spark: SparkSession,
    name: str,
    arguments: Sequence[Literal],
    options: Mapping[str, Literal],
    schema: str | None,
    *,
    streaming: bool,
    folder: Path | None = None,
) -> Opened:
    """The rows of ``name(arguments, options)``, simulated or not.

    ``folder`` is where a source that comes once, or is simulated, keeps its rows.
    """
    if named("source", name, [*SOURCES, "simulate"]) != "simulate":
        return open_source(
            spark, name, arguments, options, schema, streaming=streaming, folder=folder
        )
    made = simulation(arguments, options)
    place = folder or Path(tempfile.mkdtemp(prefix="muntin-simulated-"))
    over = made.write(place, live=streaming)
    columns = ", ".join(f"{f.name} {to_spark(f.type).simpleString()}" for f in made.rows.schema)
    told = {"max_files": 1} if streaming else {}
    read = open_source(spark, "parquet", [str(place)], told, columns, streaming=streaming)
    return Opened(read.df, over=over)
