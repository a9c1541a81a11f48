"""The door of a running engine for other processes of its owner: a Unix socket in the home.

The socket is in a folder that only the owner can enter, and only the owner can write to it. Every
call is a connection and a thread; there are never more than a few of them.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.engine.remote.channel import Channel, error_message
from muntin.errors import EngineError, MuntinError

#: The folder of the socket in a home, and the socket.
DOOR, SOCKET = "door", "engine.sock"
#: How long a client may take to send its line, or to take in a part of the answer.
PATIENCE = 30.0
#: How many calls can be at work at a time.
MOST_CALLS = 64
#: A call that is served: its arguments are those of the message.
Served = Callable[..., object]


class LocalServer:
    """Serves calls until it is closed.

    Args:
        home: The folder of the engine.
        calls: What is served, by name. A call returns what JSON can say, or a table.
    """

    def __init__(self, home: str | Path, calls: Mapping[str, Served]) -> None:
        self._calls = calls
        self._slots = threading.BoundedSemaphore(MOST_CALLS)
        self._path = Path(home) / DOOR / SOCKET
        self._socket = _listening(self._path)
        self._thread = threading.Thread(target=self._accept, name="muntin-door", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more calls; those at work go on."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # which wakes the thread that accepts
        self._socket.close()
        self._path.unlink(missing_ok=True)
        self._thread.join(PATIENCE)

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ECONNABORTED):
                    continue
                return  # it is closed
            connection.settimeout(PATIENCE)
            free = self._slots.acquire(blocking=False)
            threading.Thread(target=self._serve, args=(connection, free), daemon=True).start()

    def _serve(self, connection: socket.socket, free: bool) -> None:
        channel = Channel(connection)
        try:
            # A client that has gone away, or is too slow, hears nothing.
            with suppress(OSError):
                _answer(channel, self._called(channel, free))
        finally:
            channel.close()
            if free:
                self._slots.release()

    def _called(self, channel: Channel, free: bool) -> object:
        """Return the value of a call, or the error that it raised."""
        try:
            message = _message(channel)
            if not free:
                raise EngineError(f"{MOST_CALLS} calls are at work already; try again later")
            name, arguments = str(message.get("call")), message.get("arguments", {})
            if name not in self._calls or not isinstance(arguments, dict):
                raise EngineError(f"this engine has no call {name!r}; is it another version?")
            return self._calls[name](**arguments)
        except MuntinError as error:
            return error
        except Exception as error:
            # A mistake in a call ends the call, never the engine.
            return EngineError(f"{type(error).__name__}: {error}")


def _message(channel: Channel) -> dict[str, Any]:
    try:
        return channel.receive()
    except TimeoutError:
        raise EngineError(f"no whole line came within {PATIENCE:g} seconds") from None


def _answer(channel: Channel, value: object) -> None:
    if isinstance(value, MuntinError):
        channel.send(error_message(value))
    elif isinstance(value, pa.Table):
        channel.send_table(value)
    else:
        try:
            channel.send({"value": value})
        except MuntinError as error:  # before a byte of it was sent
            channel.send(error_message(error))


def _listening(path: Path) -> socket.socket:
    """Return a socket that listens at a path, for the owner alone."""
    path.parent.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    path.parent.chmod(stat.S_IRWXU)  # a folder of an earlier run may be open to others
    path.unlink(missing_ok=True)  # of a process that died; the home is locked by this one
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_address(path) as address:
            listening.bind(address)
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        listening.listen(MOST_CALLS)
    except BaseException:
        listening.close()
        raise
    return listening


@contextmanager
def short_address(path: Path) -> Iterator[str]:
    """Return an address of a socket that the system takes, however long its path is.

    The system takes about 100 bytes. Linux also takes the folder by its open descriptor.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield str(path)
        return
    try:
        by_number = f"/proc/self/fd/{folder}"
        yield f"{by_number}/{path.name}" if Path(by_number).is_dir() else str(path)
    finally:
        os.close(folder)
