"""What an engine and its clients write to each other: a line of JSON, and tables as Arrow.

A call is a connection. The client sends a line, ``{"call": name, "arguments": {...}}``. The engine
answers with a line, ``{"value": ...}`` or ``{"error": ...}``. If the value is a table, the line is
``{"table": true}``, and an Arrow stream follows in chunks: a line with the number of bytes, the
bytes, and a line with 0 at the end. Nothing is ever unpickled, and no line and no chunk is longer
than its limit, whatever the other side sends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from socket import socket
from typing import Any, BinaryIO

import pyarrow as pa

import muntin.errors
from muntin.errors import ArgumentError, EngineError, MuntinError
from muntin.parser.errors import SqlError

#: The longest line: a text of SQL with all its values, or the list of all queries.
MOST_LINE = 16 * 1024 * 1024
#: The longest chunk of a table.
MOST_CHUNK = 1024 * 1024
#: The largest table that a client takes, unless it says otherwise.
MOST_TABLE = 1024 * 1024 * 1024
#: What a chunk's line needs.
_COUNT_LINE = 20


class Channel:
    """One connection, as lines and tables; both sides have one."""

    def __init__(self, connection: socket) -> None:
        self._connection = connection
        self._file: BinaryIO = connection.makefile("rb")

    def close(self) -> None:
        self._file.close()
        self._connection.close()

    def send(self, message: Mapping[str, object]) -> None:
        """Send a line; a value that JSON has no form for raises."""
        line = json.dumps(message, default=plain, allow_nan=False).encode()
        if len(line) >= MOST_LINE:
            raise EngineError(f"a message of {len(line)} bytes is longer than {MOST_LINE}")
        self._connection.sendall(line + b"\n")

    def receive(self) -> dict[str, Any]:
        """Return the next line; raises if it is no message, or if the connection has ended."""
        try:
            message = json.loads(self._line(MOST_LINE))
        except ValueError:
            raise EngineError("what came is not a line of JSON") from None
        if not isinstance(message, dict):
            raise EngineError("what came is not a message")
        return message

    def send_table(self, table: pa.Table) -> None:
        """Send a table in chunks."""
        self.send({"table": True})
        for chunk in _chunks(table):
            self._connection.sendall(b"%d\n" % len(chunk))
            self._connection.sendall(chunk)
        self._connection.sendall(b"0\n")

    def receive_table(self, most: int = MOST_TABLE) -> pa.Table:
        """Return a table of at most so many bytes, of which the line has come already."""
        chunks: list[bytes] = []
        total = 0
        while size := self._chunk_size():
            total += size
            if total > most:
                raise EngineError(
                    f"the answer is larger than {most} bytes; ask for fewer micro-batches, after=n"
                )
            chunks.append(self._bytes(size))
        with pa.ipc.open_stream(b"".join(chunks)) as stream:
            return stream.read_all()

    def _chunk_size(self) -> int:
        line = self._line(_COUNT_LINE)
        if not line.isdigit() or int(line) > MOST_CHUNK:
            raise EngineError("what came is not a chunk of a table")
        return int(line)

    def _line(self, most: int) -> bytes:
        line = self._file.readline(most + 1)
        if not line:
            raise EngineError("the other side has closed the connection")
        if not line.endswith(b"\n"):
            raise EngineError(f"a line is longer than {most} bytes, or the connection ended in it")
        return line[:-1]

    def _bytes(self, size: int) -> bytes:
        read = self._file.read(size)
        if len(read) < size:
            raise EngineError("the connection ended inside a table")
        return read


def _chunks(table: pa.Table) -> Iterator[memoryview]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    written = memoryview(sink.getvalue())
    for start in range(0, len(written), MOST_CHUNK):
        yield written[start : start + MOST_CHUNK]


def plain(value: object) -> str:
    """Return a value that JSON has no form for: times are texts, as in SQL."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    raise ArgumentError(
        "value", value, "between processes it is a text, a number, a date, a time or a list"
    )


def error_message(error: MuntinError) -> dict[str, object]:
    """Return an error as a message."""
    details: dict[str, object] = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, SqlError):
        details["sql"] = {
            "problem": error.problem,
            "text": error.text,
            "at": error.place.offset,
            "expected": error.expected,
            "suggestion": error.suggestion,
        }
    return {"error": details}


def error_of(message: Mapping[str, Any]) -> MuntinError:
    """Return the error that a message brought, of the same class where it is one of Muntin's."""
    details = message["error"]
    if "sql" in details:
        return SqlError(**details["sql"])
    kind = getattr(muntin.errors, str(details["kind"]), None)
    if not (isinstance(kind, type) and issubclass(kind, MuntinError)):
        return EngineError(f"{details['kind']}: {details['message']}")
    # What the class would make of arguments has been made on the other side.
    error = kind.__new__(kind)
    error.args = (str(details["message"]),)
    return error
