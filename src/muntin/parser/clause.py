"""A stream clause while it is being read: which words were there, with what, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.parser.cursor import Cursor
from muntin.parser.disorder_clause import read_disorder
from muntin.parser.errors import SqlError
from muntin.parser.positions import Position
from muntin.parser.statements import FillClause, Method, PsoupInterval, Query, Windowing
from muntin.specs.disorder import Disorder

#: Words that every stream clause knows.
COMMON = ("WATTR", "RATTR", "PATTR", "DISORDER", "PREFIX")


@dataclass
class Draft:
    """What has been read of a clause."""

    text: str
    values: dict[str, object] = field(default_factory=dict)
    places: dict[str, Position] = field(default_factory=dict)

    def put(self, name: str, value: object, place: Position) -> None:
        """Keep what a word was said with; no word is said twice."""
        if name in self.places:
            raise SqlError(f"{name.upper()} stands here twice", self.text, place)
        self.values[name] = value
        self.places[name] = place

    def take(self, name: str) -> object:
        """What a word was said with, once; None if it was not said."""
        return self.values.pop(name, None)

    def clause(self, method: Method) -> Clause:
        """What is left as arguments of a method; ``on``, ``by`` and ``disorder`` are roles."""
        on, by, disorder = (self.take(role) for role in ("on", "by", "disorder"))
        assert on is None or isinstance(on, str)
        assert by is None or isinstance(by, tuple)
        assert disorder is None or isinstance(disorder, Disorder)
        return Clause(method, self.values, self.places, on, by, disorder)

    def at(self, name: str) -> Position:
        return self.places[name]


@dataclass(frozen=True)
class Clause:
    """A stream clause, read: a method of ``mt.stream``, its arguments, and the roles of columns."""

    method: Method
    arguments: Mapping[str, object]
    places: Mapping[str, Position]
    on: str | None = None
    by: tuple[str, ...] | None = None
    disorder: Disorder | None = None
    interval: PsoupInterval | None = None

    def of(
        self, table: str | Query, alias: str, fills: tuple[FillClause, ...], place: Position
    ) -> Windowing:
        """The clause as said of a relation."""
        return Windowing(
            table=table,
            alias=alias,
            method=self.method,
            arguments=self.arguments,
            on=self.on,
            by=self.by,
            disorder=self.disorder,
            fills=fills,
            places=self.places,
            place=place,
            interval=self.interval,
        )


def read_partition(cursor: Cursor) -> tuple[str, ...]:
    """What follows PATTR: columns, or NONE."""
    return () if cursor.accept("NONE") else cursor.names("a column, or several")


def read_rule(cursor: Cursor, words: tuple[str, ...]) -> Disorder:
    """What follows DISORDER in a clause that goes on with one of these words."""
    return read_disorder(cursor, lambda c: c.next_is(*words))
