"""CREATE, SHOW and DROP TRIGGER over the sinks of an engine's queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.engine.query_table import QueryTable
from muntin.engine.sinks.query_sinks import QuerySinks
from muntin.engine.sinks.sink_call import SinkRecord
from muntin.parser.engine_statements import written_value
from muntin.parser.errors import Position, SqlError, closest
from muntin.parser.statements import ConnectorCall, Constant, CreateTrigger, Drop
from muntin.session.session import shown_call
from muntin.specs.secrets import SecretReference

_COLUMNS = pa.schema(
    [
        *(("name", pa.string()), ("query", pa.string()), ("action", pa.string())),
        *(("delivered", pa.int64()), ("letters", pa.int64()), ("stopped", pa.string())),
    ]
)
_NOWHERE = Position(1, 1, 0)


@dataclass(frozen=True)
class SqlTriggers:
    """The triggers of an engine, for statements of a text.

    Args:
        registry: Knows the queries and their sinks.
        sinks: Returns the sinks of a query by its id.
        text: The text, for errors.
    """

    registry: QueryTable
    sinks: Callable[[str], QuerySinks]
    text: str

    def create(self, created: CreateTrigger, *, keep: bool) -> str:
        """Add a trigger; return a line that reports it. With ``keep`` an equal one stays."""
        query = self.registry.get(created.query_name)
        known = [record for record in self._named(created.name) if record.query_id == query.id]
        if known:
            same = [record for record in known if _call(record) == written_call(created.action)]
            if keep and same:
                return f"trigger {created.name} is there already"
            problem = f"query {query.name} has a trigger {created.name} already"
            expected = f"another name, or DROP TRIGGER {created.name} before"
            raise SqlError(problem, self.text, created.place, expected=expected)
        self.sinks(query.id).add(created.name, written_call(created.action))
        return f"created trigger {created.name}"

    def drop(self, drop: Drop) -> str:
        """Remove a trigger; return a line that reports it."""
        named = self._named(drop.name)
        if len(named) > 1:
            owners = ", ".join(self._owner(record) for record in named)
            problem = f"several queries have a trigger {drop.name}: {owners}"
            expected = "engine[query].sinks.drop(name) in Python"
            raise SqlError(problem, self.text, drop.place, expected=expected)
        if named:
            self.sinks(named[0].query_id).drop(named[0].call.name)
            return f"dropped trigger {drop.name}"
        if drop.if_exists:
            return f"there was no trigger {drop.name}"
        known = [record.call.name for record in self._all()]
        problem = f"there is no trigger {drop.name}"
        raise SqlError(problem, self.text, drop.place, suggestion=closest(drop.name, known))

    def shown(self) -> pa.Table:
        """Return all triggers, with how many rows each delivered since the engine started."""
        return pa.Table.from_pylist([self._row(record) for record in self._all()], _COLUMNS)

    def _row(self, record: SinkRecord) -> dict[str, object]:
        owner, call = self._owner(record), record.call
        action = ConnectorCall(call.connector, call.arguments, call.options, _NOWHERE)
        shown = str(shown_call(action))
        row: dict[str, object] = {"name": call.name, "query": owner, "action": shown}
        for status in self.sinks(record.query_id).status():
            if status.record.number == record.number:
                row |= {"delivered": status.delivered, "letters": status.letters}
                row["stopped"] = status.stopped
        return row

    def _named(self, name: str) -> list[SinkRecord]:
        return [record for record in self._all() if record.call.name.casefold() == name.casefold()]

    def _all(self) -> list[SinkRecord]:
        live = {query.id for query in self.registry.search()}
        sinks = self.registry.sinks()
        return [record for record in sinks if record.call.name and record.query_id in live]

    def _owner(self, record: SinkRecord) -> str:
        query = self.registry.get(record.query_id)
        return query.name or query.id


def written_call(call: ConnectorCall) -> str:
    """Return a sink or an action as SQL.

    >>> print(written_call(ConnectorCall("csv", ("out",), {"header": True}, _NOWHERE)))
    csv('out', `header` => TRUE)
    """
    named = [f"`{name}` => {_written(value)}" for name, value in call.options.items()]
    return f"{call.name}({', '.join([*map(_written, call.arguments), *named])})"


def _call(record: SinkRecord) -> str:
    call = record.call
    return written_call(ConnectorCall(call.connector, call.arguments, call.options, _NOWHERE))


def _written(value: Constant | Any) -> str:
    if isinstance(value, tuple | list):
        return f"ARRAY({', '.join(map(_written, value))})"
    if isinstance(value, SecretReference):
        return str(value)
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    return written_value(value)
