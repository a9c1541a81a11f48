"""The service: an engine, and all that its resources share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from muntin.engine.costs.query_cost import QueryCost
from muntin.engine.engine import Engine
from muntin.engine.engine_stream import EngineStream
from muntin.engine.registry_records import QueryRecord
from muntin.engine.remote.local_server import Served
from muntin.engine.served_calls import served_calls
from muntin.engine.sinks.targets import session_zone
from muntin.server.events.feed import AnswerFeed
from muntin.server.events.hub import EventHub
from muntin.server.problems import HttpError
from muntin.server.safe_texts import SafeTexts
from muntin.server.security.audit import AuditLog
from muntin.server.security.page_sessions import Sessions
from muntin.server.security.roles import Caller, Role
from muntin.server.shapes import freshness_of, query_shape, query_status, stream_status
from muntin.server.threads import Threads
from muntin.server.warm_runs import WarmRuns

#: The version of the API, which is in its paths.
API_VERSION = 1
BASE = f"/api/v{API_VERSION}"


@dataclass(frozen=True)
class ServiceSettings:
    """What the service allows.

    Args:
        root: The folder below which statements may read and write files; None if there are none.
        most_rows: The rows of the largest answer of JSON.
        most_result: The bytes of the largest answer of any form, before it is written.
        most_subscribers: How many may watch events at a time.
        queue_rows: The rows that may wait for a subscriber.
    """

    root: Path | None = None
    most_rows: int = 100_000
    most_result: int = 512 * 1024 * 1024
    most_subscribers: int = 1_100
    queue_rows: int = 10_000


@dataclass
class Service:
    """An engine as a service.

    Args:
        engine: The engine.
        settings: What the service allows.
        stop: Lets the process come to its end.
        sessions: Who has which role.
        threads: Where calls of the engine run.
        audit: Where changes and refusals are noted.
        answered: How many requests were answered, by status.
    """

    engine: Engine
    settings: ServiceSettings = field(default_factory=ServiceSettings)
    stop: Callable[[], None] = lambda: None
    sessions: Sessions = field(default_factory=Sessions)
    threads: Threads = field(default_factory=Threads)
    audit: AuditLog | None = None
    answered: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.texts = SafeTexts(self.settings.root)
        self.calls: Mapping[str, Served] = {
            **served_calls(self.engine, self.stop),
            "run": lambda text: self.runs.run(text),
        }
        self.zone: tzinfo = session_zone(self.engine.spark)
        self.runs = WarmRuns(self.engine.spark, self.texts)
        self.feed = AnswerFeed(self.engine, self.zone)
        most = self.settings.most_subscribers
        self.hub = EventHub(self.engine, self.feed, self.threads, self.status, most)

    def close(self) -> None:
        """End what is under way for callers; the engine stays."""
        self.hub.close()
        self.threads.close()
        if self.audit is not None:
            self.audit.close()

    @property
    def streams(self) -> list[EngineStream]:
        """The streams that are declared."""
        return [self.engine.stream_of(name) for name in self.engine.declared]

    def stream(self, name: str) -> EngineStream:
        """Return a stream by its name."""
        if name not in self.engine.declared:
            there = ", ".join(self.engine.declared) or "none"
            raise HttpError(404, f"there is no stream {name!r}", f"the streams are: {there}")
        return self.engine.stream_of(name)

    def call(self, name: str, **arguments: Any) -> Any:
        """Return the value of a call of the engine, the same that its socket serves."""
        return self.calls[name](**arguments)

    def query(self, name: str, generation: int | None = None) -> dict[str, Any]:
        """Return a query as the API describes it."""
        return self.shape(self.engine.registry.get(name, generation))

    def shape(self, record: QueryRecord) -> dict[str, Any]:
        """Return a record as the API describes its query."""
        stream = self.engine.stream_of(record.stream)
        return query_shape(
            record,
            stream.cost(record),
            freshness_of(stream),
            stream.counts_of(record.number).shed,
            self.staged(record.stream).get(record.id),
        )

    def status(self) -> dict[str, Any]:
        """Return what changes of streams and queries, for status events."""
        queries = []
        for stream in self.streams:
            fresh = freshness_of(stream)
            queries += [
                query_status(record, cost, fresh, stream.counts_of(record.number).shed)
                for record, cost in self.costs(stream)
            ]
        streams = [stream_status(self.engine, stream) for stream in self.streams]
        return {"streams": streams, "queries": queries}

    def shapes(self) -> list[dict[str, Any]]:
        """Return all live queries as the API describes them."""
        found = []
        for stream in self.streams:
            costs, fresh = self.costs(stream), freshness_of(stream)
            staged = self.staged(stream.name)
            found += [
                query_shape(
                    *(record, cost, fresh, stream.counts_of(record.number).shed),
                    staged.get(record.id),
                )
                for record, cost in costs
            ]
        return found

    def costs(self, stream: EngineStream) -> list[tuple[QueryRecord, QueryCost]]:
        """Return the live queries of a stream with what they have cost."""
        parts = stream.shared()
        records = self.engine.registry.search(stream=stream.name)
        return [(record, stream.cost(record, parts)) for record in records]

    def staged(self, stream: str) -> dict[str, int]:
        """Return the staged generations of the queries of a stream, by id."""
        live = self.engine.registry.live(stream)
        return {own.id: own.generation for own in live if own.staged}


def service_of(request: Request) -> Service:
    """Return the service that answers a request."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


def caller_of(request: Request) -> Caller:
    """Return whoever sent a request; the guard found it out."""
    caller = request.scope.get("muntin.caller")
    if not isinstance(caller, Caller):
        raise HttpError(401, "nobody is known to have sent this")
    return caller


def _reader(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    caller.check(Role.READ)
    return caller


def _asker(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    caller.check(Role.ASK)
    return caller


def _administrator(caller: Annotated[Caller, Depends(caller_of)]) -> Caller:
    caller.check(Role.ADMINISTER)
    return caller


#: What resources take as arguments: the service, and a caller that has a role.
ServiceHere = Annotated[Service, Depends(service_of)]
AnyCaller = Annotated[Caller, Depends(caller_of)]
Reader = Annotated[Caller, Depends(_reader)]
Asker = Annotated[Caller, Depends(_asker)]
Administrator = Annotated[Caller, Depends(_administrator)]
