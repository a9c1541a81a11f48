"""The statements of a text as frozen values, each with its place in the text.

The grammar tests compare ``str(statement)``, which shows the windows of a query as a Python call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from muntin.parser.dialect import offset_of, written
from muntin.parser.engine_statements import (
    AsOf,
    CreateSummary,
    EngineQueryClause,
    EngineStreamClause,
    QueryCommand,
)
from muntin.parser.errors import Position, place_at
from muntin.specs.disorder import Disorder
from muntin.specs.frames.schemes import Schedule, Scheme
from muntin.specs.heartbeat import Heartbeat
from muntin.specs.preference import Preference
from muntin.specs.secrets import SecretReference

#: A constant as it can be written in an argument list; an array is a tuple.
Constant = str | int | float | bool | SecretReference | None | tuple["Constant", ...]
#: The methods of ``mt.stream(...)`` that make windows or frames, and frames that are stored.
Method = Literal[
    "window",
    "tumbling",
    "landmark",
    "latch",
    "rows",
    "by_tuple",
    "session",
    "frames",
    "stored_frames",
]
#: The methods of ``mt.stream(...)`` that combine two streams, or resample one.
Aligning = Literal["join", "zipper", "asof", "lookup", "resample"]
#: What a catalog stores.
Kept = Literal["STREAM", "TABLE", "QUERY", "TRIGGER"]
Format = Literal["text", "svg"]
#: What SET changes.
Setting = Literal["ZONE", "FORMAT", "ROWS"]


@dataclass(frozen=True)
class ConnectorCall:
    """A source, a sink or an action: ``csv('path', header => true)``."""

    name: str
    arguments: tuple[Constant, ...]
    options: Mapping[str, Constant]
    place: Position = field(compare=False)

    def __str__(self) -> str:
        named = [f"{name} => {value!r}" for name, value in self.options.items()]
        return f"{self.name}({', '.join([*map(repr, self.arguments), *named])})"


@dataclass(frozen=True)
class Expression:
    """An expression of Spark's SQL: its tree, and the text written out again from it."""

    tree: exp.Expr
    place: Position = field(compare=False)

    @property
    def text(self) -> str:
        return written(self.tree)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class KindOfFrame:
    """A kind of frame and its arguments, as ``mt.threshold`` and its siblings take them.

    ``unnamed`` are arguments without a name, which come first.
    """

    word: str
    arguments: Mapping[str, object]
    place: Position = field(compare=False)
    unnamed: tuple[str, ...] = ()

    def __str__(self) -> str:
        first = [repr(argument) for argument in self.unnamed]
        return f"{self.word}({', '.join([*first, *filter(None, [_named(self.arguments)])])})"


@dataclass(frozen=True)
class FillClause:
    """``FILL Bgp AS b ON ts MATCHING (router = id) BEFORE ... WHERE ...``.

    ``arguments`` are those of ``.fill(...)``; ``key`` is among them. ``by_name`` says that a table
    function gives them, as in ``before => 30 SECONDS``.
    """

    table: str
    alias: str
    arguments: Mapping[str, object]
    places: Mapping[str, Position] = field(compare=False)
    place: Position = field(compare=False)
    by_name: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f".fill({self.table}{_after(self.arguments)})"


@dataclass(frozen=True)
class PsoupInterval:
    """PSoup's window: two ends, each a constant or a length before NOW, and how NOW moves.

    ``begin`` and ``end`` are constants; ``begin_back`` and ``end_back`` lengths before NOW.
    Without ``every``, NOW is at every row.
    """

    begin: Constant
    begin_back: str | None
    end: Constant
    end_back: str | None
    every: str | None = None

    def __str__(self) -> str:
        begin = repr(self.begin) if self.begin_back is None else _now(self.begin_back)
        end = repr(self.end) if self.end_back is None else _now(self.end_back)
        return f"BEGIN {begin} END {end}" + (f" EVERY {self.every}" if self.every else "")


@dataclass(frozen=True)
class Windowing:
    """Windows or frames asked of a relation: a method of ``mt.stream`` and its arguments.

    ``table`` is the name of a stream or table, or a query of its own. ``on`` is WATTR or RATTR;
    ``by`` is PATTR, None if it is not given. ``places`` has the place of every argument, so that
    errors about it are reported there. ``by_name`` says that a table function gives the arguments.
    """

    table: str | Query
    alias: str
    method: Method
    arguments: Mapping[str, object]
    on: str | None
    by: tuple[str, ...] | None
    disorder: Disorder | None
    fills: tuple[FillClause, ...]
    places: Mapping[str, Position] = field(compare=False)
    place: Position = field(compare=False)
    interval: PsoupInterval | None = None
    by_name: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        call = f".{self.method}({_named(self.arguments)})"
        windows = f"[{self.interval}]" if self.interval else call
        return _stream_call(self) + windows + "".join(map(str, self.fills))


@dataclass(frozen=True)
class JoinSide:
    """A relation of a join, and how ``stream(t, on => ts, by => k)`` describes it."""

    table: str | Query
    alias: str
    on: str | None
    by: tuple[str, ...] | None
    disorder: Disorder | None
    places: Mapping[str, Position] = field(compare=False)
    place: Position = field(compare=False)

    @property
    def described(self) -> bool:
        """Whether ``stream(...)`` describes it."""
        return not (self.on is None and self.by is None and self.disorder is None)

    def __str__(self) -> str:
        return _stream_call(self)


@dataclass(frozen=True)
class Alignment:
    """Rows of a stream with those of another, or at other instants: ``FROM join(a, b, ...)``.

    ``arguments`` are those of the method of ``mt.stream``. ``other`` is its first argument; for
    ``resample`` it is ``at``, or None.
    """

    method: Aligning
    own: JoinSide
    other: JoinSide | None
    alias: str
    arguments: Mapping[str, object]
    places: Mapping[str, Position] = field(compare=False)
    place: Position = field(compare=False)

    @property
    def sides(self) -> tuple[JoinSide, ...]:
        return (self.own,) if self.other is None else (self.own, self.other)

    def __str__(self) -> str:
        parts = [] if self.other is None else [_other_side(self.method, self.other)]
        parts += [_named(self.arguments)] if self.arguments else []
        return f"{self.own}.{self.method}({', '.join(parts)})"


@dataclass(frozen=True)
class Query:
    """A query: Spark's SQL, in which every relation with a stream clause is a plain name.

    ``windowings`` and ``alignments`` have the clauses of these names. ``hyphenated`` are words such
    as ``seg-id`` that were read as subtractions and may be columns: the planner, which knows the
    schema, reads the text again if they are. ``as_of`` is a moment of the past, for an engine.
    ``sources`` are those that the query itself opens, by the names in their place.
    """

    tree: exp.Query
    windowings: Mapping[str, Windowing]
    text: str = field(compare=False)
    start: int = field(compare=False)
    end: int = field(compare=False)
    place: Position = field(compare=False)
    alignments: Mapping[str, Alignment] = field(default_factory=dict)
    hyphenated: frozenset[str] = frozenset()
    unbounded: bool = False
    per_window: bool = False
    as_of: AsOf | None = None
    preference: Preference | None = None
    preference_place: Position | None = field(default=None, compare=False)
    sources: Mapping[str, ConnectorCall] = field(default_factory=dict)

    def at(self, part: exp.Expr) -> Position:
        """Return the place of a part of the query, or of the query if the part has none."""
        offset = offset_of(part)
        return self.place if offset is None else place_at(self.text, offset)

    def __str__(self) -> str:
        lines = [written(self.tree)]
        clauses = {**self.windowings, **self.alignments}
        lines += [f"{name} = {clauses[name]}" for name in sorted(clauses, key=_number)]
        lines += [f"{name} = {call}" for name, call in self.sources.items()]
        lines += [] if self.as_of is None else [str(self.as_of)]
        lines += ["LIMIT PER WINDOW"] * self.per_window
        lines += [] if self.preference is None else [f"WITH {self.preference}"]
        return "\n".join([*lines, *(["WITH UNBOUNDED STATE"] * self.unbounded)])


@dataclass(frozen=True)
class CreateStream:
    """``CREATE STREAM name FROM source (schema) ON ts BY k DISORDER ... KEEP ...``.

    ``engine`` is what only an engine does with a stream.
    """

    name: str
    source: ConnectorCall
    schema: str | None
    on: str
    by: tuple[str, ...]
    disorder: Disorder | None
    schedule: Schedule | None
    place: Position = field(compare=False)
    heartbeat: Heartbeat | None = None
    engine: EngineStreamClause = field(default_factory=EngineStreamClause)

    def __str__(self) -> str:
        parts = [f"CREATE STREAM {self.name} FROM {self.source}"]
        parts += [] if self.schema is None else [f"({self.schema})"]
        parts += [f"ON {self.on}"]
        parts += [f"BY {', '.join(self.by)}"] if self.by else []
        parts += [] if self.disorder is None else [f"DISORDER {self.disorder}"]
        parts += [] if self.heartbeat is None else [f"HEARTBEAT {self.heartbeat}"]
        parts += [] if self.schedule is None else [f"SCHEDULE {self.schedule}"]
        return " ".join([*parts, *filter(None, [str(self.engine)])])


@dataclass(frozen=True)
class CreateInputs:
    """``CREATE STREAM name (one AS source (schema) ON ..., other AS ...) KEEP ...``.

    A stream of an engine with several inputs. What is given after the parentheses for all of them
    is a part of each; ``engine`` is what is kept of all together.
    """

    name: str
    inputs: tuple[CreateStream, ...]
    place: Position = field(compare=False)
    engine: EngineStreamClause = field(default_factory=EngineStreamClause)

    def __str__(self) -> str:
        inputs = [
            str(own).replace(f"CREATE STREAM {own.name} FROM ", f"{own.name} AS ", 1)
            for own in self.inputs
        ]
        parts = [f"CREATE STREAM {self.name} ({', '.join(inputs)})", str(self.engine)]
        return " ".join(filter(None, parts))


@dataclass(frozen=True)
class CreateTable:
    """``CREATE TABLE name FROM source (schema)``: stored data that is read when it is needed."""

    name: str
    source: ConnectorCall
    schema: str | None
    place: Position = field(compare=False)

    def __str__(self) -> str:
        schema = "" if self.schema is None else f" ({self.schema})"
        return f"CREATE TABLE {self.name} FROM {self.source}{schema}"


@dataclass(frozen=True)
class CreateQuery:
    """``CREATE QUERY name AS SELECT ... INTO sink LATE INTO sink``: results, and refused rows.

    ``engine`` is what only an engine does with a query.
    """

    name: str
    query: Query
    into: ConnectorCall | None
    late: ConnectorCall | None
    place: Position = field(compare=False)
    engine: EngineQueryClause = field(default_factory=EngineQueryClause)

    def __str__(self) -> str:
        into = "" if self.into is None else f"\nINTO {self.into}"
        late = "" if self.late is None else f"\nLATE INTO {self.late}"
        begin = " ".join(filter(None, [self.name, str(self.engine)]))
        qos = "" if self.engine.qos is None else f"\nWITH QOS ({self.engine.qos})"
        return f"CREATE QUERY {begin} AS\n{self.query}{qos}{into}{late}"


@dataclass(frozen=True)
class AlterQuery:
    """``ALTER QUERY name AS SELECT ...``: another text for a query that an engine runs."""

    name: str
    query: Query
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"ALTER QUERY {self.name} AS\n{self.query}"


@dataclass(frozen=True)
class CreateTrigger:
    """``CREATE TRIGGER name ON query DO action``: runs the action once per result row."""

    name: str
    query_name: str
    action: ConnectorCall
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"CREATE TRIGGER {self.name} ON {self.query_name} DO {self.action}"


@dataclass(frozen=True)
class Explain:
    """``EXPLAIN SELECT ...``, ``EXPLAIN QUERY name`` or ``EXPLAIN CREATE QUERY ...``."""

    target: Query | str | CreateQuery
    format: Format
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"EXPLAIN ({self.format}) {self.target}"


@dataclass(frozen=True)
class Show:
    """``SHOW STREAMS``, ``TABLES``, ``QUERIES``, ``TRIGGERS`` or ``FUNCTIONS [part of a name]``."""

    what: Kept | Literal["FUNCTION"]
    place: Position = field(compare=False)
    like: str | None = None

    def __str__(self) -> str:
        return " ".join(["SHOW", self.what, *([self.like] if self.like else [])])


@dataclass(frozen=True)
class Drop:
    """``DROP STREAM | TABLE | QUERY | TRIGGER name``."""

    what: Kept
    name: str
    if_exists: bool
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"DROP {self.what}{' IF EXISTS' * self.if_exists} {self.name}"


@dataclass(frozen=True)
class Describe:
    """``DESCRIBE name``, ``DESCRIBE 'f.csv'`` or ``DESCRIBE SELECT ...``.

    The query selects everything of what is described; ``name`` is it if it is one.
    """

    query: Query
    name: str | None
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"DESCRIBE {self.query}"


@dataclass(frozen=True)
class SetOption:
    """``SET zone = 'Europe/Berlin'``: how a session reads times and shows results."""

    what: Setting
    value: str | int
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"SET {self.what} = {self.value!r}"


@dataclass(frozen=True)
class Select:
    """A query that is a statement of its own."""

    query: Query
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return str(self.query)


Statement = (
    CreateStream
    | CreateInputs
    | CreateTable
    | CreateQuery
    | CreateTrigger
    | CreateSummary
    | AlterQuery
    | QueryCommand
    | Explain
    | Show
    | Drop
    | Describe
    | SetOption
    | Select
)


def _stream_call(relation: Windowing | JoinSide) -> str:
    """Return the call of ``stream`` that describes a relation."""
    roles = {"on": relation.on, "by": relation.by, "disorder": relation.disorder}
    given_roles = {name: value for name, value in roles.items() if value is not None}
    table = relation.table if isinstance(relation.table, str) else f"({relation.table})"
    return f"stream({table}{_after(given_roles)})"


def _other_side(method: Aligning, other: JoinSide) -> str:
    """Return the other side of a join as an argument."""
    plain = not other.described and isinstance(other.table, str)
    shown = str(other.table if plain else other)
    return f"at={shown}" if method == "resample" else shown


def _number(name: str) -> int:
    """Return the number of a clause, which its name has after a letter."""
    return int(name[1:])


def _now(back: str) -> str:
    return "NOW" if back == "0" else f"NOW - {back}"


def _named(arguments: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={_shown(value)}" for name, value in arguments.items())


def _after(arguments: Mapping[str, object]) -> str:
    return "".join(f", {name}={_shown(value)}" for name, value in arguments.items())


def _shown(value: object) -> str:
    """Return a value as Python writes it, expressions as texts."""
    if isinstance(value, Expression):
        return repr(value.text)
    if isinstance(value, tuple) and any(isinstance(part, Expression) for part in value):
        return repr([str(part) for part in value])
    if isinstance(value, KindOfFrame | Disorder | Scheme | Schedule):
        return str(value)
    return repr(value)
