"""Calls of an engine over HTTP, to a server that ``muntin serve`` runs."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from os import PathLike
from typing import Any
from urllib.parse import quote, urlsplit

import pyarrow as pa

from muntin.engine.remote.channel import error_of, plain
from muntin.errors import ArgumentError, EngineError

#: Where the calls of a server are.
_CALLS = "/api/v1/calls/"
_TABLE = "application/vnd.apache.arrow.stream"
#: The longest answer that is not a table.
_MOST = 64 * 1024 * 1024


def is_address(home: str | PathLike[str]) -> bool:
    """Return whether a home is the address of a server, and not a folder.

    >>> is_address("http://127.0.0.1:8642"), is_address("desk/home")
    (True, False)
    """
    return isinstance(home, str) and home.startswith(("http://", "https://"))


class HttpCalls:
    """Calls the engine of a server.

    Args:
        address: The address of the server, such as ``http://127.0.0.1:8642``.
        token: The token, if the server needs one.
        timeout: How many seconds the engine may take to answer a call.
        most_bytes: The largest table that is taken.
    """

    def __init__(self, address: str, token: str | None, timeout: float, most_bytes: int) -> None:
        parts = urlsplit(address)
        if not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ArgumentError(
                "home", address, "an address is like http://127.0.0.1:8642; the token is token="
            )
        self._address, self._parts = address, parts
        self._token, self._timeout, self._most_bytes = token, timeout, most_bytes

    def call(self, name: str, arguments: Mapping[str, object], wait: float) -> Any:
        """Return the value of a call; ``wait`` is how much longer than others it may take."""
        seconds = self._timeout + wait
        body = json.dumps({"arguments": arguments}, default=plain, allow_nan=False).encode()
        try:
            with self._answer(name, body, seconds) as answer:
                return self._value(answer)
        except TimeoutError:
            raise EngineError(
                f"the server at {self._address} has not answered {name} within {seconds:g} "
                "seconds; timeout= gives it more"
            ) from None
        except (OSError, HTTPException) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise EngineError(
                f"no server answers at {self._address} ({reason or error}); start one with: "
                "muntin serve HOME"
            ) from None

    @contextmanager
    def _answer(self, name: str, body: bytes, seconds: float) -> Iterator[HTTPResponse]:
        connection = self._connection(seconds)
        headers = {"Content-Type": "application/json", "Accept": f"{_TABLE}, application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            path = f"{self._parts.path.rstrip('/')}{_CALLS}{quote(name)}"
            connection.request("POST", path, body, headers)
            yield connection.getresponse()
        finally:
            connection.close()

    def _connection(self, seconds: float) -> HTTPConnection:
        assert self._parts.hostname is not None
        if self._parts.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(
                self._parts.hostname, self._parts.port, timeout=seconds, context=context
            )
        return HTTPConnection(self._parts.hostname, self._parts.port, timeout=seconds)

    def _value(self, answer: HTTPResponse) -> Any:
        """Return what a server answers; raise what it raised."""
        if answer.status == 200 and answer.getheader("Content-Type") == _TABLE:
            return self._table(answer)
        text = answer.read(_MOST)
        try:
            message = json.loads(text)
        except ValueError:
            message = None
        if not isinstance(message, dict) or not ("value" in message or "error" in message):
            raise EngineError(
                f"what answers at {self._address} is no server of Muntin (status {answer.status})"
            )
        if "error" in message:
            raise error_of(message)
        return message["value"]

    def _table(self, answer: HTTPResponse) -> pa.Table:
        body = answer.read(self._most_bytes + 1)
        if len(body) > self._most_bytes:
            raise EngineError(
                f"the answer is larger than {self._most_bytes} bytes; ask for fewer micro-batches, "
                "after=n"
            )
        try:
            with pa.ipc.open_stream(body) as stream:
                return stream.read_all()
        except pa.ArrowInvalid as error:
            raise EngineError(f"the answer has ended inside a table: {error}") from None
