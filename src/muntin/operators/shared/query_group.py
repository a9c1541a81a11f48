"""The protocol of query groups: queries of one stream that share rows, panes and state.

A group is to the engine what an operator is to a plan. It has several members, each of which is a
query in one generation, and members come and go between two micro-batches. The state of a group
must not depend on which other members there were. A group that has no members leaves no state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from muntin.operators.protocol import Changes, InputBatch, Routed, RowCounts, State


@dataclass(frozen=True)
class Birth:
    """The progress of the stream when a member began: its first micro-batch is not in it.

    ``punctuation`` and ``largest`` are ticks, or None if the stream had none.
    """

    punctuation: int | None
    largest: int | None


@dataclass(frozen=True)
class MemberAnswer:
    """The results of a member in a step, in the columns of its operator, and its row counts."""

    results: pa.Table
    counts: Sequence[RowCounts] = (RowCounts(),)


@dataclass(frozen=True)
class GroupStep:
    """The answers of a group's members, the changes of its state, and members that failed.

    ``failed`` has the reason for each member whose answer could not be computed.
    """

    answers: Mapping[int, MemberAnswer]
    changes: Changes
    failed: Mapping[int, str] = field(default_factory=dict)


def failure(error: Exception) -> str:
    """Return an error that a query raised as the reason of its quarantine."""
    return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class GroupInput:
    """How one input of a group travels: by which keys, or to every shard.

    Without keys all rows go to one shard. ``of`` is the number of the stream's input that it reads.
    """

    shard_keys: tuple[str, ...]
    everywhere: bool = False
    of: int = 0


@dataclass(frozen=True)
class RoutedInput:
    """What the map side makes of some rows for one input of a group.

    ``refused`` counts, for each member, the rows that are refused on the map side, by reason.
    """

    source: int
    routed: Routed
    refused: Mapping[int, Mapping[str, int]] = field(default_factory=dict)


class QueryGroup(Protocol):
    """Queries that share what they can."""

    @property
    def name(self) -> str:
        """The name of the group, the same in every version; its state is kept under it."""

    @property
    def members(self) -> Sequence[int]:
        """The numbers of its members."""

    @property
    def inputs(self) -> Sequence[GroupInput]:
        """How each input travels."""

    def route(self, rows: pa.Table, wanted: WantedRows, of: int = 0) -> Sequence[RoutedInput]:
        """Map side: prepare the rows that members want of an input of the stream, as it has them.

        What raises here stops the members of the group; others go on.
        """

    def route_of(self, member: int, source: int, rows: pa.Table) -> RoutedInput:
        """In a shard: prepare rows of a member that has a budget, in the columns of its query."""

    def merge(self, source: int, partials: Sequence[pa.Table]) -> pa.Table:
        """Combine partial tables of an input into one with fewer rows."""

    def step(
        self,
        state: State,
        inputs: Sequence[InputBatch],
        births: Mapping[int, Birth],
        shards: int,
        planted: Sequence[pa.Table] = (),
    ) -> GroupStep:
        """Take in the rows of a micro-batch, and report the answers that are now complete.

        A group that shares panes also takes in ``planted`` cells of the past of new members.
        """


class WantedRows(Protocol):
    """Which rows each input of each member wants."""

    def of(self, member: int, source: int) -> pa.Array | None:
        """Return a mask of the rows that an input of a member takes; None if it takes all."""
