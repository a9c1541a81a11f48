"""An engine without Spark: its registry and its result logs are real, and a test commits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from muntin.engine.commit_listeners import CommitListeners
from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.result_log import ResultLog
from muntin.errors import EngineError
from muntin.server.app import create_app
from muntin.server.http_server import HttpServer
from muntin.server.security.audit import AuditLog
from muntin.server.security.guard import GuardSettings
from muntin.server.security.page_sessions import Sessions
from muntin.server.service import Service, ServiceSettings
from tests.server.http_client import HttpClient


@dataclass
class StoredStream:
    """A stream whose micro-batches are committed by hand."""

    name: str
    folder: Path
    registry: Registry
    micro_batch: int = -1
    logs: dict[int, ResultLog] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        return self.registry.epoch(self.name)

    def answers_of(self, epoch: int) -> ResultLog | None:
        folder = self.folder / str(epoch)
        if epoch not in self.logs and (epoch == self.epoch or folder.is_dir()):
            self.logs[epoch] = ResultLog(folder)
        return self.logs.get(epoch)

    def answers(self) -> ResultLog:
        log = self.answers_of(self.epoch)
        assert log is not None
        return log

    def next_batch(self) -> tuple[int, int]:
        return self.epoch, max(self.micro_batch, self.answers().last_batch()) + 1


class StoredEngine:
    """What the service asks of an engine, without streams that run."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.folder = home
        self.registry = Registry(home)
        self.committed = CommitListeners()
        self.spark = SimpleNamespace(conf=SimpleNamespace(get=lambda name: "UTC"))
        self.declared: tuple[str, ...] = ()
        self._streams: dict[str, StoredStream] = {}

    def stream_of(self, name: str) -> StoredStream:
        return self._streams[name]

    def check(self) -> None:
        return

    def __getattr__(self, name: str) -> Any:
        """Return what refuses a call that needs Spark."""
        if name.startswith("_"):
            raise AttributeError(name)

        def refused(*arguments: object, **named: object) -> Any:
            raise EngineError(f"{name} needs Spark; this engine has none")

        return refused

    def add_stream(self, name: str) -> StoredStream:
        if name not in self.registry.streams():
            self.registry.log(name, "create_stream", None, {})
            self.registry.begin_epoch(name)
        self._streams[name] = StoredStream(name, self.folder / "streams" / name, self.registry)
        return self._streams[name]

    def add_query(self, stream: str, name: str, *, waits: bool = False) -> QueryRecord:
        """Register a query; it is in force from the next micro-batch on unless it ``waits``."""
        added = self.registry.add(stream, name, f"SELECT * FROM {stream}", "{}")
        if not waits:
            self._in_force(stream, added.seq)
        return self.registry.get(added.query.id)

    def begin(self, query: QueryRecord) -> None:
        """Let a query that waits be in force from the next micro-batch on."""
        (command,) = self.registry.commands(stream=query.stream)[-1:]
        self._in_force(query.stream, command.seq)

    def add_generation(self, id: str, *, staged: bool = False) -> QueryRecord:
        """Change a query; the next generation is in force from the next micro-batch on."""
        record = self.registry.get(id)
        added = self.registry.add_generation(
            record.id, record.text, "{}", staged=staged, beside=staged
        )
        self._in_force(record.stream, added.seq)
        return self.registry.member(added.query.number)

    def _in_force(self, stream: str, seq: int) -> None:
        change = self.registry.next_version(stream)
        assert change is not None
        epoch, micro_batch = self.stream_of(stream).next_batch()
        self.registry.acknowledge(
            seq,
            micro_batch=micro_batch,
            epoch=epoch,
            punctuation=None,
            filled="nothing",
            how="in place",
        )

    def commit(self, stream: str, answers: Mapping[QueryRecord, list[int]]) -> int:
        """Commit a micro-batch in which queries answer some numbers; return its own."""
        own = self.stream_of(stream)
        epoch, micro_batch = own.next_batch()
        tables = {record.number: pa.table({"n": rows}) for record, rows in answers.items()}
        own.answers().write(micro_batch, tables)
        own.micro_batch = micro_batch
        self.committed(stream, epoch, micro_batch)
        return micro_batch


@dataclass
class StoredDesk:
    """A service over an engine without Spark."""

    engine: StoredEngine
    service: Service
    http: HttpClient


@contextmanager
def stored_desk(
    engine: StoredEngine,
    settings: ServiceSettings | None = None,
    sessions: Sessions | None = None,
    guard: GuardSettings | None = None,
    audit: AuditLog | None = None,
) -> Iterator[StoredDesk]:
    """Serve an engine until the end of the context."""
    given: Any = engine
    service = Service(
        given, settings or ServiceSettings(), sessions=sessions or Sessions(), audit=audit
    )
    with HttpServer(create_app(service, guard)) as server:
        try:
            yield StoredDesk(engine, service, HttpClient(server.port))
        finally:
            service.close()
