"""What statements say to an engine, which runs many queries over one stream, as frozen values.

An engine takes a query while its stream runs, so that a query says from where on it is answered,
and a stream says what is kept for queries that come later. A session without an engine refuses all
of it by the places that are kept here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from muntin.parser.dialect import written
from muntin.parser.errors import Position
from muntin.specs.qos import Qos
from muntin.specs.summaries import StreamSummary

#: A value of the column that progresses, as it can be written: times are texts.
ProgressValue = str | int | float
#: When answers are reported: once, when they are final, or before that as well.
Emit = Literal["final", "early"]
#: What can be asked of a query that runs, by the word of its statement.
Command = Literal["PAUSE", "RESUME", "INVOKE"]


@dataclass(frozen=True)
class EngineQueryClause:
    """``START ... UNTIL ... OWNER ... TAGS ... EVERY ... EMIT ... DESCRIPTION ...`` of a query.

    ``start`` is ``"now"``, ``"history"`` or a value of ``on``. ``qos`` stands after the query.
    ``places`` has the place of every word that is given, in the order of the text.
    """

    start: ProgressValue | None = None
    until: ProgressValue | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    every: str | None = None
    emit: Emit | None = None
    description: str | None = None
    qos: Qos | None = None
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments that are given, by the names that ``mt.Engine.register`` has for them."""
        return {word.lower(): getattr(self, word.lower()) for word in self.places}

    def __str__(self) -> str:
        return " ".join(self._parts())

    def _parts(self) -> Iterator[str]:
        if self.start is not None:
            word = self.start in ("now", "history")
            yield f"START {str(self.start).upper() if word else written_value(self.start)}"
        if self.until is not None:
            yield f"UNTIL {written_value(self.until)}"
        if self.owner is not None:
            yield f"OWNER {written_value(self.owner)}"
        if self.tags:
            yield f"TAGS ({', '.join(map(written_value, self.tags))})"
        if self.every is not None:
            yield f"EVERY {self.every}"
        if self.emit is not None:
            yield f"EMIT {self.emit.upper()}"
        if self.description is not None:
            yield f"DESCRIPTION {written_value(self.description)}"


@dataclass(frozen=True)
class EngineStreamClause:
    """``KEEP '2 hours' GRAIN '10 s' RETAIN '7 days' CARRY (a, b)``: what an engine keeps.

    ``places`` has the place of every word that is given, in the order of the text.
    """

    keep: str | None = None
    grain: str | None = None
    retain: str | None = None
    carry: tuple[str, ...] | None = None
    places: Mapping[str, Position] = field(default_factory=dict, compare=False)

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments that are given, by the names that ``mt.Engine.stream`` has for them."""
        return {word.lower(): getattr(self, word.lower()) for word in self.places}

    def __str__(self) -> str:
        parts = [] if self.keep is None else [f"KEEP {self.keep}"]
        parts += [] if self.grain is None else [f"GRAIN {self.grain}"]
        parts += [] if self.retain is None else [f"RETAIN {self.retain}"]
        parts += [] if self.carry is None else [f"CARRY ({', '.join(self.carry)})"]
        return " ".join(parts)


@dataclass(frozen=True)
class AsOf:
    """``FROM traffic AS OF '2026-01-01'``: the only relation of a query, as it was then."""

    table: str
    value: ProgressValue
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"{self.table} AS OF {written_value(self.value)}"


@dataclass(frozen=True)
class QueryCommand:
    """``PAUSE QUERY name``, ``RESUME QUERY name`` or ``INVOKE QUERY name``."""

    command: Command
    name: str
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"{self.command} QUERY {self.name}"


@dataclass(frozen=True)
class CreateSummary:
    """``CREATE SUMMARY s ON stream(column) WITH GRANULARITY T AND COLLAPSE(rate, depth)``."""

    name: str
    summary: StreamSummary
    place: Position = field(compare=False)

    def __str__(self) -> str:
        return f"CREATE {str(self.summary).replace('SUMMARY', f'SUMMARY {self.name}', 1)}"


def written_value(value: ProgressValue) -> str:
    r"""Return a constant as SQL that is read as the same constant.

    >>> print(written_value("it's"), written_value(-2.5))
    'it\'s' -2.5
    """
    return written(exp.Literal.string(value)) if isinstance(value, str) else repr(value)
