"""``mt.connect``: an engine that runs in another process, used as if it ran in this one.

Every method is a call: over the Unix socket in the engine's home, or over HTTP to a server. Nothing
is kept between calls, so that a client goes on when its engine was stopped and started again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from muntin.engine.follow import follow
from muntin.engine.overload.sizing import HEADROOM, Sizing
from muntin.engine.registry_records import QueryRecord
from muntin.engine.remote.channel import MOST_TABLE
from muntin.engine.remote.http_calls import HttpCalls, is_address
from muntin.engine.remote.parts_of_queries import RemoteSinks, RemoteTap
from muntin.engine.remote.socket_calls import SocketCalls
from muntin.errors import ArgumentError, EngineError, UnknownQueryError
from muntin.operators.shared.as_json import from_json
from muntin.specs.overload import Policy
from muntin.specs.qos import Qos
from muntin.specs.secrets import HIDDEN
from muntin.specs.summaries import StreamSummary

if TYPE_CHECKING:  # they import Spark, for which a client need not wait
    from muntin.engine.commit import MemberCounts
    from muntin.engine.costs.demand import StreamDemand
    from muntin.engine.costs.network_graph import StreamNetwork
    from muntin.engine.costs.query_cost import QueryCost
    from muntin.engine.costs.would_add import Addition
    from muntin.engine.handle import Activation

#: How long the engine may be silent before a call fails, in seconds.
TIMEOUT = 60.0
#: How long the rows in the sources may take, in seconds.
_WORK = 3600.0
#: What JSON has as lists, of what a query would add.
_LISTS = ("shared_with", "same_predicate", "new_edges")


def connect(
    home: str | PathLike[str], *, timeout: float = TIMEOUT, token: str | None = None
) -> EngineClient:
    """Return the engine that runs in a home or is served at an address, for use from this process.

    Args:
        home: The folder of the engine, on this machine; or the address of a server, such as
            ``"http://127.0.0.1:8642"``, which ``muntin serve`` prints.
        timeout: How many seconds the engine may take to answer a call.
        token: The token for a server that needs one.

    Raises:
        EngineError: No engine runs there.
    """
    client = EngineClient(home, timeout=timeout, token=token)
    client.pid  # noqa: B018  (raises if no engine answers)
    return client


class EngineClient:
    """An engine of another process; :func:`connect` returns one."""

    def __init__(
        self,
        home: str | PathLike[str],
        *,
        timeout: float = TIMEOUT,
        most_bytes: int = MOST_TABLE,
        token: str | None = None,
    ) -> None:
        if not timeout > 0:
            raise ArgumentError("timeout", timeout, "it is a number of seconds above 0")
        self.home: Path | str
        self._calls: SocketCalls | HttpCalls
        if is_address(home):
            self.home = str(home)
            self._calls = HttpCalls(self.home, token, timeout, most_bytes)
            return
        if token is not None:
            reason = "it is for http:// and https://; on this machine the owner needs none"
            raise ArgumentError("token", HIDDEN, reason)
        self.home = Path(home)
        self._calls = SocketCalls(self.home, timeout, most_bytes)

    @property
    def pid(self) -> int:
        """The process of the engine."""
        return int(self.call("hello")["pid"])

    # Queries

    def register(
        self,
        name: str,
        text: str,
        *,
        start: object = "now",
        until: object = None,
        owner: str | None = None,
        description: str = "",
        tags: Sequence[str] = (),
        **options: object,
    ) -> RemoteQuery:
        """Add a query, as :meth:`muntin.Engine.register` does."""
        given = {"start": start, "until": until, "owner": owner, "description": description}
        given |= {"tags": [*tags], **options}
        qos = Qos.of(given.pop("qos", None))
        given |= {} if qos is None else {"qos": qos.plain or None}
        return self._handle(self.call("register", {"name": name, "text": text, "options": given}))

    def queries(
        self,
        *,
        name: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        text: str | None = None,
    ) -> list[QueryRecord]:
        """Return the live queries, all of them or those that fit, without their programs."""
        options = {"name": name, "owner": owner, "tag": tag, "text": text}
        return [_record(fields) for fields in self.call("queries", {"options": options})]

    def __getitem__(self, name: str) -> RemoteQuery:
        return RemoteQuery(self, self.record(name).id)

    def __contains__(self, name: object) -> bool:
        try:
            self.record(str(name))
        except UnknownQueryError:
            return False
        return True

    def record(self, name: str, generation: int | None = None) -> QueryRecord:
        """Return what the registry knows of a query, by its name or id."""
        return _record(self.call("record", {"name": name, "generation": generation}))

    def change(self, name: str, text: str, **options: object) -> RemoteQuery:
        """Let another query take the place of one, as its next generation."""
        arguments = {"id": self.record(name).id, "text": text, "options": options}
        return self._handle(self.call("change", arguments))

    def command(self, kind: str, name: str) -> RemoteQuery:
        """Pause, resume or drop a query."""
        return self._handle(self.call("command", {"kind": kind, "id": name}))

    def preview(self, text: str, *, ttl: str = "10 minutes") -> RemoteQuery:
        """Add a query to look at, which drops itself when its time is over."""
        return self._handle(self.call("preview", {"text": text, "ttl": ttl}))

    def stage(self, name: str, text: str) -> RemoteQuery:
        """Run the next generation of a query beside the current one."""
        return self._handle(self.call("stage", {"id": name, "text": text}))

    def settle(self, name: str, *, apply: bool) -> RemoteQuery:
        """Let the staged generation of a query take its place, or drop it."""
        return self._handle(self.call("settle", {"id": name, "apply": apply}))

    def explain(self, query: str, *, start: str = "now", until: object = None) -> str:
        """Return how a query runs, or what a SELECT would share and add."""
        options = {"start": start, "until": until}
        return str(self.call("explain", {"query": query, "options": options}))

    def would_add(self, text: str, *, start: str = "now", until: object = None) -> Addition:
        """Return what a SELECT would share and add if it were registered; nothing is."""
        from muntin.engine.costs.state_estimate import ExpectedSizes
        from muntin.engine.costs.would_add import Addition

        options = {"start": start, "until": until}
        found = self.call("would_add", {"text": text, "options": options})
        lists = {
            name: None if value is None else tuple(value)
            for name, value in found.items()
            if name in _LISTS
        }
        return Addition(**{**found, **lists, "expected": ExpectedSizes(**found["expected"])})

    def estimated_bytes(self, stream: str | None = None) -> int:
        """Return the bytes that the live queries may come to keep, of a stream or of all."""
        return int(self.call("estimated_bytes", {"stream": stream}))

    def costs(self) -> pa.Table:
        """Return what the live queries have cost since the engine started, a row for each."""
        return self.call("costs")

    def budget(
        self,
        units: int | None = None,
        *,
        seconds: float | None = None,
        share: float | None = None,
        query: str | None = None,
        policy: str | Policy | None = None,
        waiting: int | None = None,
        stream: str | None = None,
    ) -> pa.Table:
        """Limit what queries spend in a micro-batch, as :meth:`muntin.Engine.budget`."""
        limits = {"units": units, "seconds": seconds, "share": share, "waiting": waiting}
        options: dict[str, object] = {**limits, "query": query, "stream": stream}
        if policy is not None:
            options["policy"] = asdict(policy if isinstance(policy, Policy) else Policy(policy))
        return self.call("budget", {"options": options})

    def drop_budget(self, query: str | None = None, *, stream: str | None = None) -> pa.Table:
        """Let queries spend what they need again: one of them, or all."""
        return self.call("drop_budget", {"options": {"query": query, "stream": stream}})

    def sizing(
        self, rates: Mapping[str, object] | None = None, *, headroom: float = HEADROOM
    ) -> dict[str, Sizing]:
        """Return for streams whether they fit at some rates, as :meth:`muntin.Engine.sizing`."""
        found = self.call("sizing", {"rates": rates, "headroom": headroom})
        return {name: Sizing.of_json(data) for name, data in found.items()}

    def quality(self) -> list[dict[str, Any]]:
        """Return what answers are worth now, as :meth:`muntin.Engine.quality`."""
        return list(self.call("quality"))

    def overload(self) -> dict[str, dict[str, Any]]:
        """Return what is done about overload now, as :meth:`muntin.Engine.overload`."""
        return dict(self.call("overload"))

    def spent(self) -> list[dict[str, Any]]:
        """Return what is limited, as :meth:`muntin.Engine.spent`."""
        return list(self.call("spent"))

    def budgets(self) -> pa.Table:
        """Return what queries may spend, and what they have used and shed."""
        return self.call("budgets")

    def summary(
        self,
        name: str,
        stream: str,
        attribute: str,
        granularity: str | int,
        rate: int = 4,
        depth: int = 3,
        **options: object,
    ) -> StreamSummary:
        """Declare a summary of a stream, as :meth:`muntin.Engine.summary` does."""
        given = {"granularity": granularity, "rate": rate, "depth": depth, **options}
        words = {"name": name, "stream": stream, "attribute": attribute, "options": given}
        made: StreamSummary = from_json(self.call("summary", words))
        return made

    def summaries(self) -> dict[str, StreamSummary]:
        """Return the summaries of all streams, by name."""
        return {name: from_json(text) for name, text in self.call("summaries").items()}

    def network(self) -> dict[str, StreamNetwork]:
        """Return what runs for each stream: its parts with the queries that share them."""
        from muntin.engine.costs.network_graph import StreamNetwork

        return {name: StreamNetwork.of_json(data) for name, data in self.call("network").items()}

    def demand(self, stream: str) -> StreamDemand:
        """Return what the live queries need of a stream."""
        from muntin.engine.costs.demand import StreamDemand

        return StreamDemand.of_json(self.call("demand", {"stream": stream}))

    def tap(
        self,
        on: str,
        *,
        at: str = "rows",
        rows: int = 20,
        where: str | None = None,
        ttl: str = "10 minutes",
    ) -> RemoteTap:
        """Copy some rows on their way, as :meth:`muntin.Engine.tap` does."""
        options = {"at": at, "rows": rows, "where": where, "ttl": ttl}
        return RemoteTap(self, **self.call("tap", {"on": on, "options": options}))

    def tap_by_id(self, id: str) -> RemoteTap:
        """Return a tap by its id, also one that has gone."""
        return RemoteTap(self, **self.call("tap_by_id", {"id": id}))

    def taps(self) -> list[RemoteTap]:
        """Return the taps that are open."""
        return [RemoteTap(self, **found) for found in self.call("taps")]

    def ask(self, text: str, timeout: float = _WORK) -> pa.Table:
        """Ask once: answer a SELECT from the kept rows of a stream, without registering it."""
        return self.call("ask", {"text": text}, wait=timeout)

    def sql(self, text: str) -> pa.Table:
        """Run statements of SQL; return the answer of the last one."""
        return self.call("sql", {"text": text})

    # Running

    def process_available(self, timeout: float = _WORK) -> None:
        """Wait until all rows in the sources, and all commands given so far, are committed."""
        self.call("process_available", wait=timeout)

    def end(self, name: str) -> None:
        """End a stream: its next micro-batch reports everything, and later rows are late."""
        self.call("end", {"name": name})

    def stop(self) -> None:
        """Let the process of the engine come to its end, between two micro-batches."""
        self.call("stop")

    def _handle(self, reference: Mapping[str, Any]) -> RemoteQuery:
        return RemoteQuery(self, str(reference["id"]), int(reference["seq"]))

    # Calls

    def call(
        self, name: str, arguments: Mapping[str, object] | None = None, wait: float = 0.0
    ) -> Any:
        """Return the value of a call; ``wait`` is how much longer than others it may take."""
        return self._calls.call(name, arguments or {}, wait)


@dataclass(frozen=True, eq=False)
class RemoteQuery:
    """A query of an engine in another process, with the methods of :class:`muntin.QueryHandle`.

    Args:
        engine: The client of the engine.
        id: The id of the query, which a dropped one keeps.
        seq: The command that :meth:`wait` waits for.
    """

    engine: EngineClient
    id: str
    seq: int | None = None

    @property
    def record(self) -> QueryRecord:
        """What the registry knows of the query, without its program."""
        return self.engine.record(self.id)

    @property
    def name(self) -> str:
        return self.record.name or self.id

    @property
    def status(self) -> str:
        """``registered``, ``active``, ``paused``, ``quarantined``, ``dropped`` or ``ended``."""
        return self.record.status

    @property
    def generation(self) -> int:
        """The number of the current generation; ``change`` makes the next one."""
        return self.record.generation

    @property
    def reason(self) -> str | None:
        """Why the query is quarantined, or has ended."""
        return self.record.reason

    @property
    def counts(self) -> MemberCounts:
        """Rows that the current generation used and refused since the engine started."""
        from muntin.engine.commit import MemberCounts

        return MemberCounts(**self.engine.call("counts", {"id": self.id}))

    @property
    def cost(self) -> QueryCost:
        """What the current generation has cost since the engine started, and what it shares."""
        from muntin.engine.costs.query_cost import QueryCost

        found = self.engine.call("cost", {"id": self.id})
        return QueryCost(**{**found, "shared_with": tuple(found["shared_with"])})

    @property
    def qos(self) -> Qos | None:
        """What answers are worth, as it was given."""
        found = self.engine.call("qos", {"id": self.id})
        return None if found is None else Qos.of(found["given"] or Qos())

    @property
    def delay(self) -> float | None:
        """Seconds between the earliest arrival of rows of the last answers, and these."""
        delay: float | None = self.engine.call("delay", {"id": self.id})
        return delay

    @property
    def sinks(self) -> RemoteSinks:
        """The sink and the triggers of the query: to add, drop, resume, and to see how far."""
        return RemoteSinks(self.engine, self.id)

    def wait(self, timeout: float = 60.0) -> Activation:
        """Wait until the last command of this handle is in force; raise if it was refused."""
        from muntin.engine.handle import Activation

        if self.seq is None:
            raise EngineError(f"no command of this handle of {self.name} is under way")
        arguments = {"id": self.id, "seq": self.seq, "timeout": timeout}
        (found,) = self.engine.call("wait", arguments, wait=timeout).to_pylist()
        return Activation(**found)

    def results(self, after: int = -1, *, generation: int | None = None) -> pa.Table:
        """Return the answers of the micro-batches after one, as a ``pyarrow.Table``."""
        arguments = {"id": self.id, "after": after, "generation": generation}
        return self.engine.call("results", arguments)

    def latest(self, *, generation: int | None = None) -> pa.Table:
        """Return the answers of the last micro-batch that had any."""
        return self.engine.call("latest", {"id": self.id, "generation": generation})

    def follow(self, after: int = -1, timeout: float | None = None) -> Iterator[pa.Table]:
        """Yield the answers of the micro-batches after one, each time that there are new ones.

        It ends with the query, or when nothing came for ``timeout`` seconds.
        """
        return follow(self, after, timeout)

    def newest(self, rows: int, *, generation: int | None = None) -> pa.Table:
        """Return at most so many answers, those that were made last."""
        arguments = {"id": self.id, "rows": rows, "generation": generation}
        return self.engine.call("newest", arguments)

    def as_of(self, value: object) -> pa.Table:
        """Return the answer that was certain when the punctuation of the stream came to a value."""
        return self.engine.call("as_of", {"id": self.id, "value": value})

    def invoke(self, timeout: float = 60.0) -> pa.Table:
        """Return the answer now."""
        return self.engine.call("invoke", {"id": self.id, "timeout": timeout}, wait=timeout)

    def change(self, text: str, **options: object) -> RemoteQuery:
        """Let another query take the place of this one, as its next generation."""
        return self.engine.change(self.id, text, **options)

    def stage(self, text: str) -> RemoteQuery:
        """Run the next generation beside this one; ``results(generation=)`` reads its answers."""
        return self.engine.stage(self.id, text)

    def apply(self) -> RemoteQuery:
        """Let the staged generation take the place of the current one."""
        return self.engine.settle(self.id, apply=True)

    def discard(self) -> RemoteQuery:
        """Drop the staged generation."""
        return self.engine.settle(self.id, apply=False)

    def keep(self, name: str) -> RemoteQuery:
        """Give a preview a name, so that it stays."""
        self.engine.call("keep", {"id": self.id, "name": name})
        return self

    def pause(self) -> RemoteQuery:
        """Stop making answers; the state goes on, and answers of that time are not made up."""
        return self.engine.command("pause", self.id)

    def resume(self) -> RemoteQuery:
        """Make answers again; a quarantined query begins anew, as its next generation."""
        return self.engine.command("resume", self.id)

    def drop(self) -> RemoteQuery:
        """End the query; its answers can still be read by its id for a day."""
        return self.engine.command("drop", self.id)

    def explain(self) -> str:
        """Return what the query computes, what workers evaluate, and what it shares."""
        return self.engine.explain(self.id)

    def __repr__(self) -> str:
        record = self.record
        return f"<query {record.name or record.id} ({record.status}): {record.text}>"


def _record(fields: Mapping[str, Any]) -> QueryRecord:
    since = fields["since"]
    pair = None if since is None else (int(since[0]), int(since[1]))
    return QueryRecord(**{**fields, "tags": tuple(fields["tags"]), "since": pair})
