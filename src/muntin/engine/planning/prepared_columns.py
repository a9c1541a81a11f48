"""The columns that Spark prepares for the queries of a stream: those of its plan, and new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from muntin.operators.shared.as_json import from_json
from muntin.operators.shared.prepared_column import PreparedColumn

#: What the JSON of a program has in it if Spark prepares columns for it.
_MARK = f":{PreparedColumn.__qualname__}"


@dataclass
class PreparedColumns:
    """What Spark prepares.

    Args:
        running: The columns of the plan that runs.
        wanted: Columns of queries that were commanded since it began.
        empty: Columns that only dropped queries read, which a micro-batch that is repeated may
            still run. They are NULL, so that an expression that raises does not do so for ever.
        withheld: The dropped queries that read these.
    """

    running: frozenset[PreparedColumn] = frozenset()
    wanted: set[PreparedColumn] = field(default_factory=set)
    empty: frozenset[PreparedColumn] = frozenset()
    withheld: frozenset[int] = frozenset()

    @property
    def lacking(self) -> bool:
        """Whether the plan lacks a column."""
        return self.lacks(self.wanted)

    def lacks(self, columns: Iterable[PreparedColumn]) -> bool:
        """Return whether the plan lacks one of some columns."""
        return not (self.running - self.empty).issuperset(columns)

    def want(self, columns: Iterable[PreparedColumn]) -> None:
        """Note the columns of a query that is about to be logged."""
        self.wanted.update(columns)

    def renewed(self, live: Iterable[str], gone: Mapping[int, str]) -> PreparedColumns:
        """Return the columns of the next plan; a column that nobody reads any more is gone.

        Args:
            live: The programs of live queries.
            gone: Those of dropped queries that may run once more, by their members.
        """
        needed = {column for text in set(live) for column in _columns_of(text)}
        needed |= self.wanted - self.running
        of_gone = {member: {*_columns_of(text)} - needed for member, text in gone.items()}
        empty = frozenset(column for columns in of_gone.values() for column in columns)
        withheld = frozenset(member for member, columns in of_gone.items() if columns)
        return PreparedColumns(frozenset(needed | empty), set(), empty, withheld)


def _columns_of(program: str) -> Iterable[PreparedColumn]:
    columns: tuple[PreparedColumn, ...] = from_json(program).prepared if _MARK in program else ()
    return columns
