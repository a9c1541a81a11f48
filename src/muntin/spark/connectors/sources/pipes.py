"""Lines from standard input or from a socket, spooled: ``tail -f log | muntin run q.sql``."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from dataclasses import replace

from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import ArgumentError
from muntin.spark.connectors.signature import Parameter, Signature
from muntin.spark.connectors.sources.lines import FORMAT, LINE_OPTIONS, rows_of_lines
from muntin.spark.connectors.sources.malformed import ORIGIN
from muntin.spark.connectors.sources.protocol import OpenedSource, SourceRequest
from muntin.spark.connectors.sources.spool import Read, Spool, SpoolCleanup
from muntin.spark.connectors.temporary_folder import temporary_folder

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
#: Seconds that a socket may take to answer.
_CONNECT_SECONDS = 10


def open_stdin(request: SourceRequest) -> OpenedSource:
    if sys.stdin is None or sys.stdin.isatty():
        raise ArgumentError(
            "source", "stdin", "nothing is piped in; try: tail -f log | muntin run query.sql"
        )
    descriptor = sys.stdin.fileno()
    return _spooled(request, lambda size: os.read(descriptor, size))


def open_socket(request: SourceRequest) -> OpenedSource:
    address = request.bound.text("host"), request.bound.number("port")
    try:
        connection = socket.create_connection(address, timeout=_CONNECT_SECONDS)
    except OSError as error:
        raise ArgumentError(
            "host", f"{address[0]}:{address[1]}", f"nobody answers there ({error})"
        ) from error
    connection.settimeout(None)
    return _spooled(request, connection.recv)


def _spooled(request: SourceRequest, read: Read) -> OpenedSource:
    """Return the lines as they come, or all of them when the input has ended."""
    why = "nothing is known of a line before it comes"
    columns = request.columns(why)
    folder = request.folder or temporary_folder("spool")
    spool = Spool(folder, read)
    if request.streaming:
        spool.start()
        lines = request.spark.readStream.text(str(folder))
    else:
        spool.run()
        lines = request.spark.read.text(str(folder))
    located = lines.select("value", F.col("_metadata.file_name").alias(ORIGIN))
    sweep = SpoolCleanup(folder, f"spooled:{uuid.uuid4().hex[:8]}")
    if request.streaming:
        located = located.observe(sweep.metric, F.max(ORIGIN).alias("last"))
    options = request.bound.spark_options()
    opened = rows_of_lines(located, columns, request.bound.text("format"), options)
    malformed = opened.malformed
    if malformed is not None:
        origin = F.concat(F.lit(f"{request.bound.name}: "), F.col("origin"))
        malformed = malformed.withColumn("origin", origin)
    return replace(opened, malformed=malformed, over=spool.is_over, sweep=sweep, goes_on=True)
