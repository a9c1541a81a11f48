"""Running the service: uvicorn in a thread, beside the engine of the same process."""

from __future__ import annotations

import socket
import threading

import uvicorn
from starlette.types import ASGIApp

from muntin.errors import EngineError

#: Seconds for answers that are on their way when the service stops.
_GRACE = 5
#: Seconds until a connection is there.
_STARTING = 30.0


class HttpServer:
    """An application at an address, until it is closed.

    Args:
        app: The application.
        host: The address to listen to.
        port: The port; 0 for any that is free.
    """

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", port: int = 0) -> None:
        self._socket = _listening(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=64 * 1024,
        )
        self._server = uvicorn.Server(config)
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="muntin-http", daemon=True)
        self._thread.start()
        self._wait()

    @property
    def address(self) -> str:
        """The address of the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        """Take no more requests; those on their way get some seconds."""
        self._server.should_exit = True
        self._thread.join(2 * _GRACE)
        self._socket.close()

    def check(self) -> None:
        """Raise if the server has ended by itself."""
        if not self._thread.is_alive():
            raise EngineError(f"the HTTP server has ended: {self._failed or 'it was stopped'}")

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        except BaseException as error:
            self._failed = error

    def _wait(self) -> None:
        pause = threading.Event()
        waited = 0.0
        while not self._server.started and self._thread.is_alive() and waited < _STARTING:
            pause.wait(0.01)
            waited += 0.01
        if not self._server.started:
            raise EngineError(f"the HTTP server did not start: {self._failed or 'no answer'}")


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise EngineError(
            f"nothing can listen at {host}, port {port}: {reason}; choose another --port"
        ) from error
    return listening
