"""What a running engine does for clients of other processes: calls by name, over plain values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import pyarrow as pa

from muntin.engine.registry import Registry
from muntin.engine.registry_records import QueryRecord
from muntin.engine.remote.local_server import Served
from muntin.errors import EngineError
from muntin.operators.shared.as_json import to_json
from muntin.specs.overload import Policy

#: What can be done with the sinks of a query.
SINK_METHODS = ("add", "drop", "status", "resume", "letters", "redeliver")


class ServedEngine(Protocol):
    """What clients need of an engine."""

    @property
    def registry(self) -> Registry: ...
    @property
    def register(self) -> Callable[..., Any]: ...
    @property
    def change(self) -> Callable[..., Any]: ...
    @property
    def preview(self) -> Callable[..., Any]: ...
    @property
    def settle(self) -> Callable[..., Any]: ...
    def stage(self, name: str, text: str) -> Any: ...
    @property
    def queries(self) -> Callable[..., list[QueryRecord]]: ...
    def command(self, kind: str, name: str) -> Any: ...
    @property
    def explain(self) -> Callable[..., str]: ...
    @property
    def tap(self) -> Callable[..., Any]: ...
    def tap_by_id(self, id: str) -> Any: ...
    def taps(self) -> list[Any]: ...
    def costs(self) -> pa.Table: ...
    @property
    def budget(self) -> Callable[..., pa.Table]: ...
    def drop_budget(self, query: str | None = None, *, stream: str | None = None) -> pa.Table: ...
    def budgets(self) -> pa.Table: ...
    @property
    def sizing(self) -> Callable[..., Mapping[str, Any]]: ...
    def quality(self) -> list[dict[str, object]]: ...
    def overload(self) -> Mapping[str, object]: ...
    def spent(self) -> list[dict[str, object]]: ...
    def estimated_bytes(self, stream: str | None = None) -> int: ...
    @property
    def would_add(self) -> Callable[..., Any]: ...
    def demand(self, stream: str) -> Any: ...
    def network(self) -> Mapping[str, Any]: ...
    @property
    def summary(self) -> Callable[..., Any]: ...
    def summaries(self) -> Mapping[str, Any]: ...
    def ask(self, text: str) -> pa.Table: ...
    def sql(self, text: str) -> pa.Table: ...
    def process_available(self) -> None: ...
    def end(self, name: str) -> None: ...
    def handle(self, id: str, seq: int | None = None) -> Any: ...


def served_calls(engine: ServedEngine, stop: Callable[[], None]) -> Mapping[str, Served]:
    """Return the calls of an engine; ``stop`` lets the process that runs it come to its end."""

    def register(name: str, text: str, options: Mapping[str, object]) -> object:
        return _reference(engine.register(name, text, **options))

    def change(id: str, text: str, options: Mapping[str, object]) -> object:
        return _reference(engine.change(id, text, **options))

    def command(kind: str, id: str) -> object:
        return _reference(engine.command(kind, id))

    def preview(text: str, ttl: str) -> object:
        return _reference(engine.preview(text, ttl=ttl))

    def stage(id: str, text: str) -> object:
        return _reference(engine.stage(id, text))

    def settle(id: str, apply: bool) -> object:
        return _reference(engine.settle(id, apply=apply))

    def keep(id: str, name: str) -> object:
        return _reference(engine.handle(id).keep(name))

    def record(name: str, generation: int | None = None) -> object:
        return _record(engine.registry.get(name, generation))

    def queries(options: Mapping[str, object]) -> object:
        return [_record(query) for query in engine.queries(**options)]

    def wait(id: str, seq: int, timeout: float) -> pa.Table:
        # As a table, in which a punctuation has its own type.
        return pa.Table.from_pylist([asdict(engine.handle(id, seq).wait(timeout))])

    def results(id: str, after: int, generation: int | None) -> object:
        return engine.handle(id).results(after, generation=generation)

    def latest(id: str, generation: int | None) -> object:
        return engine.handle(id).latest(generation=generation)

    def newest(id: str, rows: int, generation: int | None) -> object:
        return engine.handle(id).newest(rows, generation=generation)

    def qos(id: str) -> object:
        found = engine.handle(id).qos
        return None if found is None else {"given": found.plain}

    def summary(name: str, stream: str, attribute: str, options: Mapping[str, Any]) -> object:
        return to_json(engine.summary(name, stream, attribute, **options))

    def sinks(id: str, method: str, arguments: Mapping[str, object]) -> object:
        if method not in SINK_METHODS:
            raise EngineError(f"sinks have no method {method!r}")
        value = getattr(engine.handle(id).sinks, method)(**arguments)
        return [asdict(part) for part in value] if isinstance(value, list) else value

    def explain(query: str, options: Mapping[str, object]) -> object:
        return engine.explain(query, **options)

    def tap(on: str, options: Mapping[str, object]) -> object:
        return _tap(engine.tap(on, **options))

    def budget(options: Mapping[str, Any]) -> object:
        policy = options.get("policy")
        named = {} if policy is None else {"policy": Policy(**policy)}
        return engine.budget(**{**options, **named})

    return {
        "budget": budget,
        "budgets": engine.budgets,
        "sizing": lambda rates, headroom: {
            name: found.json for name, found in engine.sizing(rates, headroom=headroom).items()
        },
        "quality": engine.quality,
        "overload": engine.overload,
        "spent": engine.spent,
        "drop_budget": lambda options: engine.drop_budget(**options),
        "hello": lambda: {"pid": os.getpid()},
        "register": register,
        "change": change,
        "command": command,
        "preview": preview,
        "stage": stage,
        "settle": settle,
        "keep": keep,
        "record": record,
        "queries": queries,
        "wait": wait,
        "results": results,
        "latest": latest,
        "newest": newest,
        "as_of": lambda id, value: engine.handle(id).as_of(value),
        "invoke": lambda id, timeout=60.0: engine.handle(id).invoke(timeout),
        "sinks": sinks,
        "counts": lambda id: asdict(engine.handle(id).counts),
        "cost": lambda id: asdict(engine.handle(id).cost),
        "explain": explain,
        "would_add": lambda text, options: asdict(engine.would_add(text, **options)),
        "costs": engine.costs,
        "estimated_bytes": engine.estimated_bytes,
        "demand": lambda stream: engine.demand(stream).json,
        "network": lambda: {name: found.json for name, found in engine.network().items()},
        "tap": tap,
        "taps": lambda: [_tap(found) for found in engine.taps()],
        "tap_by_id": lambda id: _tap(engine.tap_by_id(id)),
        "tap_open": lambda id: engine.tap_by_id(id).open,
        "tap_rows": lambda id: engine.tap_by_id(id).rows(),
        "tap_wait": lambda id, timeout: engine.tap_by_id(id).wait(timeout),
        "tap_remove": lambda id: engine.tap_by_id(id).remove(),
        "qos": qos,
        "delay": lambda id: engine.handle(id).delay,
        "summary": summary,
        "summaries": lambda: {name: to_json(own) for name, own in engine.summaries().items()},
        "ask": engine.ask,
        "sql": engine.sql,
        "process_available": engine.process_available,
        "end": engine.end,
        "stop": stop,
    }


def _reference(handle: Any) -> dict[str, object]:
    return {"id": handle.id, "seq": handle.seq}


def _tap(tap: Any) -> dict[str, object]:
    return {"id": tap.id, "most": tap.most, "about": tap.about}


def _record(query: QueryRecord) -> dict[str, object]:
    """Return a query without its program, which only workers read."""
    return {**asdict(query), "program": ""}
