"""Lines from a socket as they come, and the error for a missing pipe."""

from __future__ import annotations

import io
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from muntin.errors import ArgumentError
from muntin.spark.connectors.sources.registry import open_source

SCHEMA = "k STRING, v INT"


def test_lines_of_a_socket(spark: SparkSession, tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    go_on = threading.Event()

    def send() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"a,1\nb,x\n")
            go_on.wait(60)
            connection.sendall(b"c,3\n")

    threading.Thread(target=send, daemon=True).start()
    port = server.getsockname()[1]
    made = open_source(
        spark, "socket", ["127.0.0.1", port, "csv"], {}, SCHEMA, streaming=True, folder=tmp_path
    )
    assert made.over is not None
    assert made.malformed is not None
    query = made.df.writeStream.format("memory").queryName("lines").start()
    try:
        until = time.monotonic() + 60
        while spark.table("lines").count() < 1:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert not made.over()
        go_on.set()
        while not made.over():
            assert time.monotonic() < until
            time.sleep(0.1)
        query.processAllAvailable()
        assert sorted(map(tuple, spark.table("lines").collect())) == [("a", 1), ("c", 3)]
    finally:
        query.stop()
        server.close()


def test_nobody_answers(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ArgumentError, match=rf"127\.0\.0\.1:{port}.*nobody answers there"):
        open_source(spark, "socket", ["127.0.0.1", port], {}, SCHEMA, streaming=True)


def test_nothing_is_piped_in(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(ArgumentError, match=r"nothing is piped in; try: tail -f log \| muntin run"):
        open_source(spark, "stdin", [], {}, SCHEMA, streaming=True)


def test_lines_need_a_schema(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with pytest.raises(ArgumentError, match="stdin needs one, since nothing is known of a"):
            open_source(spark, "stdin", [], {}, None, streaming=True)
