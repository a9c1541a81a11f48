"""What a subscriber watches: queries, or one generation of a query, and their members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from muntin.engine.registry_records import QueryRecord
from muntin.errors import ArgumentError


@dataclass(frozen=True)
class Watched:
    """A query by its name or id, or one generation of it: ``q1@2``."""

    query: str
    generation: int | None = None

    @classmethod
    def of(cls, text: str) -> Watched:
        """Return what a word of the list names.

        >>> Watched.of("q1@2"), Watched.of("speed")
        (Watched(query='q1', generation=2), Watched(query='speed', generation=None))
        """
        query, mark, generation = text.rpartition("@")
        if not mark:
            return cls(generation)
        if not (generation.isascii() and generation.isdigit() and len(generation) < 10):
            raise ArgumentError("queries", text, "it is a query, or a generation of one: q1@2")
        return cls(query, int(generation))


@dataclass(frozen=True)
class WatchedMember:
    """A member whose answers are watched, and the micro-batches in which it is the query.

    ``first`` and ``end`` are (epoch, micro-batch); the answers before ``first`` were beside the
    query, those from ``end`` on are another generation's. ``end`` is None for the newest.
    """

    query: str
    generation: int
    number: int
    first: tuple[int, int]
    end: tuple[int, int] | None = None

    def answers_in(self, epoch: int, micro_batch: int) -> bool:
        """Return whether its answers of a micro-batch are those of the query."""
        at = (epoch, micro_batch)
        return self.first <= at and (self.end is None or at < self.end)


def members_of(generations: Sequence[QueryRecord], wanted: int | None) -> list[WatchedMember]:
    """Return the members of a query that a subscriber gets.

    All generations that were the query in their time; or one, staged ones too.
    """
    begun = [own for own in generations if own.since is not None]
    if wanted is not None:
        return [_member(own, _since(own), None) for own in begun if own.generation == wanted]
    own_time = [own for own in begun if not own.staged]
    firsts = [_since(own) for own in own_time]
    ends = [*firsts, None][1:]  # each until the next one
    return [
        _member(own, first, end) for own, first, end in zip(own_time, firsts, ends, strict=False)
    ]


def _member(
    record: QueryRecord, first: tuple[int, int], end: tuple[int, int] | None
) -> WatchedMember:
    return WatchedMember(record.id, record.generation, record.number, first, end)


def _since(record: QueryRecord) -> tuple[int, int]:
    assert record.since is not None
    micro_batch, epoch = record.since
    return epoch, micro_batch


def by_number(members: Iterable[WatchedMember]) -> Mapping[int, Sequence[WatchedMember]]:
    """Return members by their numbers; one may be watched as the query and by its generation."""
    found: dict[int, list[WatchedMember]] = {}
    for member in members:
        found.setdefault(member.number, []).append(member)
    return found
