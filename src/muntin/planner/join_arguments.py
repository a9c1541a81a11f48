"""The arguments of joins and alignments as Python takes them, columns checked and spelt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from muntin.aggregates.parse import Column, read_column
from muntin.parser.dialect import written
from muntin.parser.errors import SqlError
from muntin.parser.positions import Position
from muntin.parser.statements import Alignment, Expression, Query
from muntin.planner.aggregates import replaced
from muntin.planner.columns import Columns
from muntin.planner.errors import located, unknown_column
from muntin.spark.api.stream import Stream


@dataclass(frozen=True)
class Arguments:
    """What was said, of a stream and of the columns of the other side."""

    query: Query
    asked: Alignment
    stream: Stream
    other: Sequence[str]

    @property
    def own(self) -> Sequence[str]:
        return list(self.stream.df.columns)

    def made(self) -> dict[str, object]:
        """The arguments by name."""
        return {name: self._value(name, value) for name, value in self.asked.arguments.items()}

    def _value(self, name: str, value: object) -> object:
        if isinstance(value, Expression):
            return self._condition(value)
        if name == "how" and isinstance(value, tuple):
            return [self._aggregate(one) for one in value]
        place = self.asked.places[name]
        rows = self.own if self.asked.method == "resample" else self.other
        match name:
            case "on":
                return spelt(self.query, str(value), self.other, place)
            case "columns" | "tiebreak" | "key" if isinstance(value, tuple):
                return tuple(spelt(self.query, one, rows, place) for one in value)
            case "key" if isinstance(value, Mapping):
                return {
                    spelt(self.query, one, self.own, place): spelt(
                        self.query, two, self.other, place
                    )
                    for one, two in value.items()
                }
        return value

    def _aggregate(self, given: Expression) -> Column:
        """An aggregate of rows of the stream, which may be named by its alias."""
        columns = Columns(self.asked.own.alias, self.own)
        for column in given.tree.find_all(exp.Column):
            if columns.own(column) is None and column.find_ancestor(exp.Lambda) is None:
                raise unknown_column(self.query, column.name, self.query.at(column), self.own)
        tree = replaced(given.tree, columns.bare)
        name = tree.alias if isinstance(tree, exp.Alias) else written(tree)
        with located(self.query, given.place):
            return read_column(tree.unalias(), name, [], self.stream.functions)

    def _condition(self, given: Expression) -> str:
        """A condition on pairs, every column of which says its side."""
        tree = given.tree.copy()
        for column in tree.find_all(exp.Column):
            if column.find_ancestor(exp.Lambda) is None:
                self._sided(column)
        return Expression(tree, given.place).text

    def _sided(self, column: exp.Column) -> None:
        parts, place = column.parts, self.query.at(column)
        side = parts[0].name.lower()
        if len(parts) < 2 or side not in ("left", "right"):
            problem = f"{column.name} belongs to no side"
            expected = f"left.{column.name} or right.{column.name}"
            raise SqlError(problem, self.query.text, place, expected=expected)
        names = self.own if side == "left" else self.other
        parts[1].set("this", spelt(self.query, parts[1].name, names, place))


def spelt(query: Query, name: str, columns: Sequence[str], place: Position) -> str:
    """A column whatever its case, as its DataFrame spells it."""
    found = Columns("", columns).spelt(name)
    if found is None:
        raise unknown_column(query, name, place, columns)
    return found
