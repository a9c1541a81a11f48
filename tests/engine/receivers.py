"""Receivers of answers for tests: a web server on this machine, and a sink that writes files."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa

from muntin.engine.sinks.sink_call import SinkCall
from muntin.engine.sinks.targets import TableTarget, Target, open_target
from muntin.spark.exchange.whole_files import written_whole


@dataclass
class WebReceiver:
    """What a web server got: key and row of every request, in order."""

    url: str = ""
    got: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    #: The code that it answers to a row.
    answer: Callable[[dict[str, Any]], int] = lambda row: 200

    @property
    def once(self) -> list[dict[str, Any]]:
        """The rows as a receiver keeps them that looks at the key."""
        return [*dict(self.got).values()]


@contextmanager
def web_receiver() -> Iterator[WebReceiver]:
    receiver = WebReceiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            row = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.got.append((self.headers["Idempotency-Key"], row))
            self.send_response(receiver.answer(row))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}/x"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


def without_spark(call: SinkCall, query: str) -> Target:
    """Opens webhooks and commands, and ``files('folder')``, which writes a file a micro-batch."""
    if call.connector != "files":
        return open_target(None, call, query)  # type: ignore[arg-type]
    folder = Path(str(call.arguments[0]))

    def open_files(run: str) -> Callable[[pa.Table, int], None]:
        def put(rows: pa.Table, number: int) -> None:
            if (folder / "broken").exists():
                raise OSError("the disk is full")
            (folder / run[:8]).mkdir(parents=True, exist_ok=True)
            with written_whole(folder / run[:8] / f"{number}.json") as unfinished:
                unfinished.write_text(json.dumps(rows.to_pylist()))

        return put

    none: Any = None  # no session: tables are given as they are
    return TableTarget(none, open_files, lambda session, table: table)  # type: ignore[arg-type]


def files_in(folder: Path) -> list[dict[str, Any]]:
    """The rows in the files of a folder, by run and micro-batch."""
    paths = sorted(folder.glob("*/*.json"), key=lambda path: (path.parent.name, int(path.stem)))
    return [row for path in paths for row in json.loads(path.read_text())]
