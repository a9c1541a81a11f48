"""Calls of an engine over the Unix socket in its home."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muntin.engine.remote.channel import Channel, error_of
from muntin.engine.remote.local_server import DOOR, SOCKET, short_address
from muntin.errors import EngineError

_CONNECT = 5.0


class SocketCalls:
    """Calls the engine of a home on this machine.

    Args:
        home: The folder of the engine.
        timeout: How many seconds the engine may take to answer a call.
        most_bytes: The largest table that is taken.
    """

    def __init__(self, home: Path, timeout: float, most_bytes: int) -> None:
        self._home = home
        self._timeout = timeout
        self._most_bytes = most_bytes

    def call(self, name: str, arguments: Mapping[str, object], wait: float) -> Any:
        """Return the value of a call; ``wait`` is how much longer than others it may take."""
        with self._connected() as connection:
            channel = Channel(connection)
            try:
                connection.settimeout(self._timeout + wait)
                channel.send({"call": name, "arguments": arguments})
                answer = channel.receive()
                if answer.get("table"):
                    return channel.receive_table(self._most_bytes)
            except TimeoutError:
                raise EngineError(
                    f"the engine in {self._home} has not answered {name} within "
                    f"{self._timeout + wait:g} seconds; timeout= gives it more"
                ) from None
            except ConnectionError as error:
                raise EngineError(f"the engine in {self._home} has gone away: {error}") from None
            finally:
                channel.close()
        if "error" in answer:
            raise error_of(answer)
        return answer.get("value")

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(min(_CONNECT, self._timeout))
        try:
            with short_address(self._home / DOOR / SOCKET) as address:
                connection.connect(address)
        except PermissionError:
            connection.close()
            raise EngineError(
                f"the engine in {self._home} belongs to another user; only its owner can use it"
            ) from None
        except OSError:
            connection.close()
            raise EngineError(
                f"no engine runs in {self._home}; start one with: muntin engine start {self._home}"
            ) from None
        return connection
