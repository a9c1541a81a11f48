"""Where the rows of a query go: its sink, its triggers, and the sink of its late rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from muntin.errors import ArgumentError
from muntin.parser.errors import SqlError, closest
from muntin.parser.statements import ConnectorCall, CreateQuery, CreateTable, CreateTrigger
from muntin.planner.select import GROUP
from muntin.planner.translate import Finish, SinglePlan, TranslatedQuery
from muntin.session.connector_calls import at_call
from muntin.session.session import SqlSession
from muntin.session.triggers.trigger import ACTIONS, Ledger, Trigger, action_of
from muntin.spark.api.plan import Plan
from muntin.spark.columns import DataFrame
from muntin.spark.connectors.signature import BoundCall, secrets_of
from muntin.spark.connectors.sinks.protocol import Sink
from muntin.spark.connectors.sinks.registry import SINKS, open_sink, together
from muntin.spark.connectors.sources.first_file import form_of
from muntin.spark.connectors.sources.registry import SOURCES

#: Makes the sink of a query that names none, from its name and whether it is a stream.
Default = Callable[[str, bool], Sink]
#: The key of a query's own sink; no trigger has this name.
INTO = ""
_FILES = ("csv", "json", "parquet")
#: The prefix of the subfolders that a sink of files makes.
_SINK_FOLDER = "writer="


@dataclass
class AllSinks:
    """One sink made of several; triggers can be added and removed while a query runs.

    A trigger is kept under its name, the sink of the query under :data:`INTO`.
    """

    sinks: dict[str, Sink]
    finish: Finish | None = None

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Pass the rows of a micro-batch to every sink."""
        results = rows if self.finish is None else self.finish(rows)
        together(list(self.sinks.values()))(results, number)


@dataclass
class Outputs:
    """Opens the sinks and triggers of a session's queries.

    ``default`` makes the sink of a query that names none. ``run`` identifies a run of a stream,
    within which micro-batches are numbered; it is None for a batch, which is done at every run.
    """

    session: SqlSession
    folder: Path
    text: str
    default: Default
    run: str | None = None

    def of(
        self, name: str, into: ConnectorCall | None, triggers: Sequence[CreateTrigger]
    ) -> dict[str, Sink]:
        """Return the sink of a query and its triggers; without either, the default sink."""
        sinks = {} if into is None else {INTO: self.sink(into, name)}
        sinks |= {trigger.name.casefold(): self.trigger(trigger) for trigger in triggers}
        return sinks or {INTO: self.default(name, self.run is not None)}

    def late(self, call: ConnectorCall, name: str) -> Sink:
        """Return the sink of the rows that a query refuses, without columns made for groups."""
        sink = self.sink(call, f"{name}/late")  # no query has this name

        def put(rows: DataFrame, number: int) -> None:
            computed = [column for column in rows.columns if column.startswith(GROUP)]
            sink(rows.drop(*computed), number)

        return put

    def sink(self, call: ConnectorCall, name: str) -> Sink:
        """Return the sink that a call names."""
        with at_call(self.text, call):
            return open_sink(
                self.session.spark,
                call.name,
                call.arguments,
                call.options,
                query=name,
                run=self.run,
            )

    def trigger(self, trigger: CreateTrigger) -> Sink:
        """Return what a trigger does: an action, or an insert into a stored table."""
        call = trigger.action
        if call.name.lower() == "insert":
            with at_call(self.text, call):
                table = self._table(call)
                into = insert_sink(table, self._names(table))
            return self.sink(into, f"trigger/{trigger.name}")
        with at_call(self.text, call):
            action = action_of(call.name, call.arguments, call.options)
        ledger = ledger_of(self.folder, trigger)
        if self.run is None:
            ledger.forget(0)
        signature, _ = ACTIONS[call.name.lower()]
        return Trigger(action, ledger, secrets_of(signature, call.arguments, call.options))

    def _names(self, table: CreateTable) -> list[str] | None:
        """Return the names of the columns that a table declares."""
        if table.schema is None:
            return None
        return self.session.spark.createDataFrame([], table.schema).columns

    def _table(self, call: ConnectorCall) -> CreateTable:
        """Return the stored table that ``insert('table')`` names."""
        (name,) = call.arguments if len(call.arguments) == 1 else (None,)
        table = self.session.catalog.find(str(name))
        if isinstance(table, CreateTable):
            return table
        known = [declared.name for declared in self.session.catalog.kept("TABLE")]
        expected = "insert('table') with the name of a table that CREATE TABLE made"
        raise SqlError(
            f"there is no table {name}",
            self.text,
            call.place,
            expected=expected,
            suggestion=closest(str(name), known),
        )


def ledger_of(folder: Path, trigger: CreateTrigger) -> Ledger:
    """Return where it is noted what a trigger has done."""
    return Ledger(folder / "fired" / trigger.name)


def runs(query: CreateQuery, triggers: Sequence[CreateTrigger]) -> bool:
    """Return whether a query runs by itself; else it is a name for others to read."""
    return query.into is not None or query.late is not None or bool(triggers)


def plan_with_late_rows(answer: TranslatedQuery, late: ConnectorCall) -> SinglePlan:
    """Return the plan whose refused rows ``LATE INTO`` keeps; raise if there is not exactly one."""
    if answer.alone is not None:
        return answer.alone
    problem = "nothing in this query waits, so no row of it is late"
    expected = "windows, frames or a join of streams"
    if any(isinstance(plan, Plan) for plan in answer.plans.values()):
        problem = "it is not clear whose late rows these are"
        expected = "one relation with windows, not in WITH, and others in queries of their own"
    raise SqlError(problem, answer.query.text, late.place, expected=expected)


def _given_header(bound: BoundCall) -> dict[str, str]:
    given = bound.values["header"]
    return {} if given is None else {"header": "true" if given is True else "false"}


def insert_sink(table: CreateTable, names: Sequence[str] | None = None) -> ConnectorCall:
    """Return the sink for ``insert('table')``: it writes where the source of a table reads.

    ``names`` are the columns of the table if they are declared.
    """
    source = table.source
    kind = source.name.lower()
    if kind not in _FILES:
        return source
    bound = SOURCES[kind].signature.bind(source.arguments, source.options)
    _check_folder(bound.text("path"))
    known = SINKS[kind].signature.passed
    options = {name: value for name, value in bound.passed.items() if name in known}
    if kind == "csv":
        given = {**bound.spark_options(), **_given_header(bound)}
        found = form_of(bound.text("path"), given, names, None)
        # Rows beside files are written as these are; the first ones with what names the columns.
        first = {"header": "true" if names is None else "false"}
        form = {**(first if found is None else found.options), **given}
        options |= {name: value for name, value in form.items() if name in known}
        options["header"] = form["header"] == "true"
    return replace(source, arguments=(bound.text("path"),), options=options)


def _check_folder(path: str) -> None:
    """Raise unless rows can be added: to a folder of files whose subfolders are no columns."""
    place = Path(path)
    if place.is_file():
        expected = "it is one file, and rows are inserted into a folder of files"
        raise ArgumentError("path", path, expected)
    if not place.is_dir():
        return
    columns = [entry.name for entry in place.iterdir() if entry.is_dir() and "=" in entry.name]
    foreign = [name for name in sorted(columns) if not name.startswith(_SINK_FOLDER)]
    if foreign:
        expected = f"its subfolders are columns ({foreign[0]}), and rows cannot be put beside them"
        raise ArgumentError("path", path, expected)
