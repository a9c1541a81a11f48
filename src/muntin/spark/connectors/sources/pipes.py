"""Lines from standard input or from a socket, spooled: ``tail -f log | muntin run q.sql``."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import ArgumentError
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.lines import FORMAT, LINE_OPTIONS, rows_of_lines
from muntin.spark.connectors.sources.malformed import ORIGIN
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest
from muntin.spark.connectors.sources.spool import Read, Spool
from muntin.spark.connectors.sources.spool_cleanup import SpoolCleanup

STDIN = Signature("stdin", (FORMAT,), LINE_OPTIONS)
SOCKET = Signature(
    "socket",
    (
        Parameter("host", str, required=True),
        Parameter("port", int, required=True, positive=True),
        FORMAT,
    ),
    LINE_OPTIONS,
)
#: How long a socket may take to answer.
_CONNECT_SECONDS = 10


def open_stdin(reading: SourceRequest) -> OpenedSource:
    if sys.stdin is None or sys.stdin.isatty():
        raise ArgumentError(
            "source", "stdin", "nothing is piped in; try: tail -f log | muntin run query.sql"
        )
    descriptor = sys.stdin.fileno()
    return _spooled(reading, lambda size: os.read(descriptor, size))


def open_socket(reading: SourceRequest) -> OpenedSource:
    address = reading.bound.text("host"), reading.bound.number("port")
    try:
        connection = socket.create_connection(address, timeout=_CONNECT_SECONDS)
    except OSError as error:
        raise ArgumentError(
            "host", f"{address[0]}:{address[1]}", f"nobody answers there ({error})"
        ) from error
    connection.settimeout(None)
    return _spooled(reading, connection.recv)


def _spooled(reading: SourceRequest, read: Read) -> OpenedSource:
    """The lines as they come, or all of them once the input has ended."""
    why = "nothing is known of a line before it comes"
    columns = reading.columns(why)
    folder = reading.folder or Path(tempfile.mkdtemp(prefix="muntin-spool-"))
    spool = Spool(folder, read)
    if reading.streaming:
        spool.start()
        lines = reading.spark.readStream.text(str(folder))
    else:
        spool.run()
        lines = reading.spark.read.text(str(folder))
    located = lines.select("value", F.col("_metadata.file_name").alias(ORIGIN))
    sweep = SpoolCleanup(folder, f"spooled:{uuid.uuid4().hex[:8]}")
    if reading.streaming:
        located = located.observe(sweep.metric, F.max(ORIGIN).alias("last"))
    options = reading.bound.spark_options()
    opened = rows_of_lines(located, columns, reading.bound.text("format"), options)
    malformed = opened.malformed
    if malformed is not None:
        origin = F.concat(F.lit(f"{reading.bound.name}: "), F.col("origin"))
        malformed = malformed.withColumn("origin", origin)
    return replace(opened, malformed=malformed, over=spool.is_over, sweep=sweep)
