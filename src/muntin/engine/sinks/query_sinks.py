"""The sinks and triggers of one query, as its handle gives them to users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from muntin.engine.registry import Registry
from muntin.engine.sinks.deliveries import Deliveries, SinkStatus
from muntin.engine.sinks.delivery_ledger import DeadLetter
from muntin.engine.sinks.sink_call import INTO, SinkCall, SinkRecord
from muntin.errors import ArgumentError
from muntin.parser.errors import Position
from muntin.parser.hidden_secrets import without_secrets
from muntin.parser.parse import parse
from muntin.parser.statements import ConnectorCall, CreateTrigger
from muntin.session.session import shown_call

_NOWHERE = Position(1, 1, 0)


@dataclass(frozen=True, eq=False)
class QuerySinks:
    """The sink of a query, whose name is empty, and its triggers by name.

    Args:
        registry: Knows the sinks.
        deliveries: Delivers answers to them.
        query_id: The query.
        next: Returns the epoch and the micro-batch that come next.
    """

    registry: Registry
    deliveries: Deliveries
    query_id: str
    next: Callable[[], tuple[int, int]]

    def add(self, name: str, action: str, *, on_change: bool = False) -> None:
        """Add a trigger: its action is done once for each row that is answered from now on.

        Args:
            name: The name of the trigger; an empty one is the sink of the query.
            action: ``"webhook('https://example.org/x')"``, ``"command('mail {station}')"``, or a
                sink such as ``"parquet('slow')"``, as in SQL.
            on_change: True if it fires for early answers too, not only for final ones.
        """
        query = self.registry.get(self.query_id)
        call = read_call("action", name, action, on_change=on_change)
        self.deliveries.check(call, query.name or query.id)
        self.registry.add_sink(self.query_id, call, self.next())

    def drop(self, name: str = INTO) -> None:
        """Remove the sink or a trigger; what it wrote stays."""
        number = self._number(name)
        self.registry.drop_sink(number)
        self.deliveries.drop(number)

    def status(self) -> list[SinkStatus]:
        """Return how far the sinks are, since their query was first answered in this process.

        Passwords and tokens of their calls are not shown.
        """
        return [
            replace(status, record=replace(status.record, call=_shown(status.record.call)))
            for status in self.deliveries.status(self.query_id)
        ]

    def resume(self, name: str = INTO) -> None:
        """Let a sink that stopped itself go on where it was."""
        self.deliveries.resume(self._number(name))

    def letters(self, name: str) -> list[DeadLetter]:
        """Return the rows that a trigger could not deliver."""
        return self.deliveries.letters(self._number(name))

    def redeliver(self, name: str) -> int:
        """Try the rows again that a trigger could not deliver; return how many it could."""
        return self.deliveries.redeliver(self._number(name))

    def _number(self, name: str) -> int:
        records: dict[str, SinkRecord] = {
            record.call.name: record for record in self.registry.sinks(query_id=self.query_id)
        }
        if name not in records:
            known = ", ".join(map(repr, records)) or "none"
            raise ArgumentError("name", name, f"the sinks and triggers of the query are: {known}")
        return records[name].number


def _shown(call: SinkCall) -> SinkCall:
    shown = shown_call(ConnectorCall(call.connector, call.arguments, call.options, _NOWHERE))
    return replace(call, arguments=shown.arguments, options=shown.options)


def read_call(argument: str, name: str, text: str, *, on_change: bool = False) -> SinkCall:
    """Return the sink or action that a text names, in the words of SQL.

    >>> read_call("into", "", "csv('out', header => false)").options
    {'header': False}
    """
    statements = parse(f"CREATE TRIGGER t ON q DO {text}")
    if len(statements) != 1 or not isinstance(statements[0], CreateTrigger):
        shown = without_secrets(text)
        raise ArgumentError(argument, shown, "it is one sink or action, such as parquet('out')")
    call = statements[0].action
    if call.name.lower() == "insert":
        shown = without_secrets(text)
        raise ArgumentError(argument, shown, "name the sink itself, such as parquet('out')")
    options = dict(call.options)
    return SinkCall(name, call.name, tuple(call.arguments), options, on_change=on_change)
