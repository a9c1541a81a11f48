"""Where the rows of a query go: its sink, its triggers, and what is left to do with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from muntin.parser.errors import SqlError, closest
from muntin.parser.statements import ConnectorCall, CreateQuery, CreateTable, CreateTrigger
from muntin.planner.translate import Finish
from muntin.session.insert import inserting
from muntin.session.session import SqlSession
from muntin.session.sources import blamed
from muntin.session.triggers.ledger import Ledger
from muntin.session.triggers.trigger import Trigger, action_of
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.connectors.sinks.registry import open_sink
from muntin.spark.connectors.sinks.write_to_sinks import together
from muntin.spark.types import DataFrame

#: Makes the sink of a query that names none: of its name, and whether it is a stream.
Default = Callable[[str, bool], Sink]
#: No trigger is called like this.
INTO = ""


@dataclass
class AllSinks:
    """One sink of several; triggers can be added and taken away while a query runs.

    A trigger is there under its name, the sink of the query under :data:`INTO`.
    """

    sinks: dict[str, Sink]
    finish: Finish | None = None

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Hand the rows of a micro-batch to every sink."""
        made = rows if self.finish is None else self.finish(rows)
        together(list(self.sinks.values()))(made, number)


@dataclass
class Outputs:
    """Opens the sinks and triggers of a session's queries.

    ``default`` makes the sink of a query that names none. ``run`` is that of a stream, under which
    its micro-batches are known; a batch is done every time that it is run.
    """

    session: SqlSession
    folder: Path
    text: str
    default: Default
    run: str | None = None

    def of(
        self, name: str, into: ConnectorCall | None, triggers: Sequence[CreateTrigger]
    ) -> dict[str, Sink]:
        """The sink of a query and its triggers; without either, the default."""
        sinks = {} if into is None else {INTO: self.sink(into, name)}
        sinks |= {one.name.casefold(): self.trigger(one) for one in triggers}
        return sinks or {INTO: self.default(name, self.run is not None)}

    def late(self, call: ConnectorCall, name: str) -> Sink:
        """The sink of the rows that a query refuses."""
        return self.sink(call, f"{name}/late")  # no query is called so

    def sink(self, call: ConnectorCall, name: str) -> Sink:
        """The sink that a call names."""
        with blamed(self.text, call):
            return open_sink(
                self.session.spark,
                call.name,
                call.arguments,
                call.options,
                query=name,
                run=self.run,
            )

    def trigger(self, made: CreateTrigger) -> Sink:
        """What a trigger does: an action, or an insert into a stored table."""
        call = made.action
        if call.name.lower() == "insert":
            with blamed(self.text, call):
                into = inserting(self._table(call))
            return self.sink(into, f"trigger/{made.name}")
        with blamed(self.text, call):
            action = action_of(call.name, call.arguments, call.options)
        ledger = ledger_of(self.folder, made)
        if self.run is None:
            ledger.forget(0)
        return Trigger(action, ledger)

    def _table(self, call: ConnectorCall) -> CreateTable:
        """The stored table that ``insert('table')`` names."""
        (name,) = call.arguments if len(call.arguments) == 1 else (None,)
        found = self.session.catalog.find(str(name))
        if isinstance(found, CreateTable):
            return found
        known = [one.name for one in self.session.catalog.kept("TABLE")]
        expected = "insert('table') with the name of a table that CREATE TABLE made"
        raise SqlError(
            f"there is no table {name}",
            self.text,
            call.place,
            expected=expected,
            suggestion=closest(str(name), known),
        )


def ledger_of(folder: Path, trigger: CreateTrigger) -> Ledger:
    """Where it is noted what a trigger has done."""
    return Ledger(folder / "fired" / trigger.name)


def runs(query: CreateQuery, triggers: Sequence[CreateTrigger]) -> bool:
    """Whether a query is run for itself; else it is a name for others to read."""
    return query.into is not None or query.late is not None or bool(triggers)
