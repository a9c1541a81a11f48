"""Planning what a query prefers: WITH PREFERENCE, as in Figures 3 and 6 of "Promising tuples".

A query is planned without its preference, which is then read for its gate. Two streams with a comma
between them, whose keys a condition says are equal, are joined within the WINDOW.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from muntin.errors import MuntinError
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from muntin.operators.join.operator import PairJoinOperator
from muntin.operators.shared.overload.preferred_rows import (
    PreferredInput,
    PreferredRows,
    PreferredValues,
)
from muntin.operators.shared.program import QueryProgram
from muntin.parser.dialect import written
from muntin.parser.errors import SqlError
from muntin.parser.parse import parse_query
from muntin.parser.statements import Query
from muntin.planner.aggregates import replaced
from muntin.spark.api.stream import Stream
from muntin.spark.plan.worker_program import carried_schema, zone_of
from muntin.specs.axis import Axis
from muntin.specs.preference import Preference, PreferredValue
from muntin.specs.summaries import StreamSummary

#: How far back rows count if no WINDOW says it: as far as any stream goes.
_ALL_TIME, _ALL_NUMBERS = "36500 days", "1000000000"


def plain_query(query: Query, inputs: Mapping[str, Stream], axis: Axis) -> Query:
    """Return a query without what it prefers, as the planner knows it."""
    if query.preference is None:
        return query
    rest = replace(query, preference=None, preference_place=None)
    tree = rest.tree
    if not isinstance(tree, exp.Select) or not tree.args.get("joins"):
        return rest
    return parse_query(_CommaJoin(query, tree, inputs).text(query.preference, axis))


@dataclass(frozen=True)
class _CommaJoin:
    """``FROM Store1 S1, Store2 S2 WHERE S1.ItemNo = S2.ItemNo``."""

    query: Query
    tree: exp.Select
    inputs: Mapping[str, Stream]

    @property
    def tables(self) -> list[exp.Table]:
        parts = [self.tree.args["from_"].this, *(join.this for join in self.tree.args["joins"])]
        tables = [part for part in parts if isinstance(part, exp.Table)]
        if len(parts) != 2 or len(tables) != 2:
            raise self._refused("a preference is for one stream, or two that are joined")
        return tables

    def text(self, preference: Preference, axis: Axis) -> str:
        """Return the query as one over ``join(...)``."""
        left, right = self.tables
        equal, others = self._conditions(left, right)
        self._check_keys(left, right, equal)
        within = preference.window
        every = _ALL_TIME if axis.domain.temporal else _ALL_NUMBERS
        length = f"'{every if within is None else within}'"
        columns = ", ".join(written(self._named(part)) for part in self.tree.expressions)
        where = " AND ".join(written(self._named(part)) for part in others)
        joined = f"join({left.name}, {right.name}, within => {length})"
        return f"SELECT {columns} FROM {joined}" + (f" WHERE {where}" if where else "")

    def _conditions(
        self, left: exp.Table, right: exp.Table
    ) -> tuple[set[tuple[str, str]], list[exp.Expr]]:
        where = self.tree.args.get("where")
        parts = [] if where is None else [*where.this.flatten()]
        if where is not None and not isinstance(where.this, exp.And):
            parts = [where.this]
        equal: set[tuple[str, str]] = set()
        others: list[exp.Expr] = []
        for part in parts:
            sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
            named = {
                side.table.casefold(): side.name.casefold()
                for side in sides
                if isinstance(side, exp.Column)
            }
            both = [named.get(table.alias_or_name.casefold()) for table in (left, right)]
            if len(named) == 2 and both[0] is not None and both[1] is not None:
                equal.add((both[0], both[1]))
            else:
                others.append(part)
        return equal, others

    def _check_keys(self, left: exp.Table, right: exp.Table, equal: set[tuple[str, str]]) -> None:
        by = [[key.casefold() for key in self._stream(table).by] for table in (left, right)]
        if equal != set(zip(*by, strict=False)) or len(by[0]) != len(by[1]):
            keys = " and ".join(
                f"{left.alias_or_name}.{one} = {right.alias_or_name}.{two}"
                for one, two in zip(*by, strict=False)
            )
            raise self._refused("streams are joined by their keys", f"WHERE {keys}")

    def _stream(self, table: exp.Table) -> Stream:
        known = {name.casefold(): stream for name, stream in self.inputs.items()}
        if table.name.casefold() not in known:
            there = ", ".join(self.inputs)
            raise self._refused(f"there is no stream {table.name}", f"one of {there}")
        return known[table.name.casefold()]

    def _named(self, part: exp.Expr) -> exp.Expr:
        """Return an expression over the columns of the join."""
        left, right = self.tables
        own = {name.casefold() for name in self._stream(left).df.columns}
        keys = {key.casefold() for key in self._stream(right).by}

        def column(of: exp.Column) -> exp.Expr | None:
            table = of.table.casefold()
            if table == left.alias_or_name.casefold():
                return exp.column(of.name)
            if table == right.alias_or_name.casefold():
                name = of.name.casefold()
                shared = name in own and not (name in keys and name in self._left_keys(left))
                return exp.column(f"right_{of.name}" if shared else of.name)
            return None

        return replaced(part, column)

    def _left_keys(self, left: exp.Table) -> set[str]:
        return {key.casefold() for key in self._stream(left).by}

    def _refused(self, problem: str, expected: str = "FROM Store1 S1, Store2 S2") -> SqlError:
        return SqlError(problem, self.query.text, self.query.place, expected=expected)


def preferring_program(
    program: QueryProgram,
    query: Query,
    inputs: Mapping[str, Stream],
    summaries: Sequence[StreamSummary],
    axis: Axis,
) -> QueryProgram:
    """Return a program that prefers what its query says."""
    if query.preference is None:
        return program
    reader = _PreferenceReader(program, query, query.preference, inputs, summaries, axis)
    return replace(program, prefer=reader.preferred())


@dataclass(frozen=True)
class _PreferenceReader:
    """Reads a preference for the inputs of a planned query."""

    program: QueryProgram
    query: Query
    preference: Preference
    inputs: Mapping[str, Stream]
    summaries: Sequence[StreamSummary]
    axis: Axis

    @property
    def joins(self) -> bool:
        return isinstance(self.program.operator, PairJoinOperator)

    def preferred(self) -> PreferredRows:
        """Return what the query prefers."""
        if not self.joins and self.preference.window is not None:
            raise self._refused(
                "WINDOW says how far back the rows of a join count", "PREFERENCE without WINDOW"
            )
        if not self.joins and len(self.preference.values) > 1:
            raise self._refused("there is one stream", "one expression")
        names = [[*self.inputs][own.of] for own in self.program.inputs]
        of = [tuple(self._input(name, names) for name in own.counted) for own in self._values]
        values = [
            PreferredValues(self._expression(own, names), tuple(inputs))
            for own, inputs in zip(self._values, of, strict=True)
        ]
        own_inputs = tuple(self._preferred_input(place, names) for place in range(len(names)))
        first = []
        for place in range(len(names)):
            # What a row promises is how often its value came in the other stream.
            counts_others = [n for n, own in enumerate(of) if set(own) == {1 - place}]
            first.append(counts_others[0] if self.joins and counts_others else 0)
        order, fade = self.preference.order, self.preference.fade
        return PreferredRows(order, fade, own_inputs, tuple(values), tuple(first))

    @property
    def _values(self) -> Sequence[PreferredValue]:
        return self.preference.values

    def _input(self, counted: str, names: Sequence[str]) -> int:
        """Return the input whose rows are counted, by what stands before the column."""
        before, _, _ = counted.rpartition(".")
        if not before or len(names) == 1:
            return 0
        aliases = [name.casefold() for name in names]
        tables = [table.alias_or_name.casefold() for table in self.query.tree.find_all(exp.Table)]
        for known in (tables, aliases, ["left", "right"]):
            if before.strip().casefold() in known:
                return known.index(before.strip().casefold())
        raise self._refused(f"{counted} is of no stream of the query", f"one of {', '.join(names)}")

    def _attribute(self, place: int, names: Sequence[str]) -> str:
        """Return the column that is counted of the rows of an input."""
        own = {
            counted.rpartition(".")[2].strip()
            for value in self._values
            for counted in value.counted
            if self._input(counted, names) == place
        }
        stream = self.inputs[names[place]]
        if not own and self.joins:
            own = {*stream.by}
        if len({name.casefold() for name in own}) != 1:
            raise self._refused("one column is counted", "SUMMARY.Estimate.Count(column)")
        (attribute,) = own
        keys = [key.casefold() for key in stream.by]
        if self.joins and keys != [attribute.casefold()]:
            raise self._refused(
                f"{attribute} is not the key by which {names[place]} is joined",
                f"the count of {' and '.join(stream.by)}",
            )
        return attribute

    def _preferred_input(self, place: int, names: Sequence[str]) -> PreferredInput:
        attribute, name = self._attribute(place, names), names[place]
        for summary in self.summaries:
            same = summary.attribute.casefold() == attribute.casefold()
            if same and summary.stream.casefold() == name.casefold():
                columns = () if self.joins else self._columns(name)
                return PreferredInput(summary, summary.ticks(self.axis), columns)
        raise self._refused(
            f"{name} has no summary of {attribute}",
            f"CREATE SUMMARY name ON {name}({attribute}) WITH GRANULARITY ... before",
        )

    def _columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of the stream that expressions read."""
        known = self.inputs[name].df.columns
        texts = " ".join(self._bare(value.text) for value in self._values)
        words = {word.casefold() for word in re.findall(r"\w+", texts)}
        return tuple(column for column in known if column.casefold() in words)

    def _bare(self, text: str) -> str:
        """Return an expression without the names before its columns."""
        return re.sub(r"\b\w+\s*\.\s*(?=[A-Za-z_])", "", text)

    def _expression(self, value: PreferredValue, names: Sequence[str]) -> RowExpression:
        stream = self.inputs[names[0]]
        types: dict[str, pa.DataType] = (
            {} if self.joins else self._types(stream, self._columns(names[0]))
        )
        types |= {f"estimate_{place}": pa.float64() for place in range(len(value.counted))}
        try:
            text = self._bare(value.text)
            return compile_row_expression(text, types, zone=zone_of(stream), errors="null")
        except MuntinError as error:
            expected = "columns of the stream and SUMMARY.Estimate.Count(column)"
            raise self._refused(f"{value} cannot be evaluated: {error}", expected) from error

    def _types(self, stream: Stream, columns: Sequence[str]) -> dict[str, pa.DataType]:
        schema = carried_schema(stream)
        return {name: schema.field(name).type for name in columns}

    def _refused(self, problem: str, expected: str) -> SqlError:
        place = self.query.preference_place or self.query.place
        return SqlError(problem, self.query.text, place, expected=expected)
