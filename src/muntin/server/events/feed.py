"""What of the result log a subscriber has not got yet, and its rows, written once for everybody.

The log on disk is the queue: a subscriber is a place in it. So nobody's slowness takes memory, and
whoever comes back with the id of the last event goes on where it was.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Protocol

from muntin.engine.commit_listeners import CommitListeners
from muntin.engine.registry import Registry
from muntin.engine.result_log import ResultLog
from muntin.engine.sinks.row_json import row_lines
from muntin.server.events.event_ids import EventId, Place, whole
from muntin.server.events.watched import Watched, WatchedMember, members_of

#: The rows of an event at most.
ROWS_AN_EVENT = 1_000
#: The bytes of events that are kept to be sent to others.
_KEPT_BYTES = 64 * 1024 * 1024


class FedStream(Protocol):
    """What a feed needs of a stream."""

    @property
    def name(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    def answers_of(self, epoch: int) -> ResultLog | None: ...
    def next_batch(self) -> tuple[int, int]: ...


class FedEngine(Protocol):
    """What a feed needs of an engine."""

    @property
    def registry(self) -> Registry: ...
    @property
    def committed(self) -> CommitListeners: ...
    def stream_of(self, name: str) -> FedStream: ...


@dataclass(frozen=True)
class Pending:
    """Rows of an answer that a subscriber has not got: from row ``first`` on, ``rows`` of them."""

    stream: str
    epoch: int
    micro_batch: int
    member: WatchedMember
    first: int
    rows: int

    @property
    def place(self) -> Place:
        """The place after these rows."""
        return Place(self.epoch, self.micro_batch, self.member.number, self.first + self.rows)

    def after(self, rows: int) -> Pending:
        """Return what is left after some of these rows."""
        return Pending(
            *(self.stream, self.epoch, self.micro_batch, self.member),
            first=self.first + rows,
            rows=self.rows - rows,
        )


@dataclass(frozen=True)
class Backlog:
    """What a subscriber has not got: rows that are there, and queries whose rows are gone."""

    rows: tuple[Pending, ...] = ()
    forgotten: Mapping[str, tuple[str, Place]] | None = None

    @property
    def count(self) -> int:
        return sum(pending.rows for pending in self.rows)


class AnswerFeed:
    """Reads the answers of an engine for subscribers.

    Args:
        engine: The engine.
        zone: The zone in which times are written.
    """

    def __init__(self, engine: FedEngine, zone: tzinfo = UTC) -> None:
        self._engine = engine
        self._zone = zone
        self._events: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.encoded = 0

    def begin(self, watched: Iterable[Watched], known: EventId) -> EventId:
        """Return where a subscriber begins: where it was, and now in streams that it did not have.

        Raises if a query is not known.
        """
        places = {}
        for own in watched:
            record = self._engine.registry.get(own.query, own.generation)
            epoch, following = self._engine.stream_of(record.stream).next_batch()
            places[record.stream] = known.places.get(record.stream, whole(epoch, following - 1))
        return EventId(places)

    def missing(self, watched: Iterable[Watched], known: EventId) -> Backlog:
        """Return what a subscriber has not got, in the order in which it is sent."""
        members: dict[str, dict[int, WatchedMember]] = {}
        for own in watched:
            record = self._engine.registry.get(own.query, own.generation)
            generations = self._engine.registry.generations(record.id)
            of_stream = members.setdefault(record.stream, {})
            for member in members_of(generations, own.generation):
                of_stream.setdefault(member.number, member)
        rows: list[Pending] = []
        forgotten: dict[str, tuple[str, Place]] = {}
        for name, found in members.items():
            place = known.places.get(name)
            if place is not None and found:
                rows += self._of_stream(name, place, found)
                forgotten |= self._forgotten(name, place, found.values())
        return Backlog(tuple(rows), forgotten)

    def _of_stream(
        self, name: str, place: Place, members: Mapping[int, WatchedMember]
    ) -> Iterator[Pending]:
        stream = self._engine.stream_of(name)
        for epoch in range(max(0, place.epoch), stream.epoch + 1):
            log = stream.answers_of(epoch)
            if log is None:
                continue
            after = place.micro_batch - 1 if epoch == place.epoch else -1
            for micro_batch, number, rows in log.counts(members, after):
                member = members[number]
                at = Place(epoch, micro_batch, number, 0)
                first = place.rows if at[:3] == place[:3] else 0
                before = at[:3] < place[:3]
                if not before and rows > first and member.answers_in(epoch, micro_batch):
                    yield Pending(name, epoch, micro_batch, member, first, rows - first)

    def _forgotten(
        self, name: str, place: Place, members: Iterable[WatchedMember]
    ) -> dict[str, tuple[str, Place]]:
        """Return the queries whose answers after a place are not retained any more."""
        stream = self._engine.stream_of(name)
        log = stream.answers_of(stream.epoch)
        if log is None or place.epoch != stream.epoch:
            return {}
        lost = {}
        for member in members:
            upto = log.forgotten(member.number)
            if upto > place.micro_batch:
                lost[member.query] = (name, whole(stream.epoch, upto))
        return lost

    def event(self, pending: Pending) -> tuple[bytes, Pending | None]:
        """Return an event with the first of some rows, and what is left of them.

        It is a whole event but for its id, and the same bytes for every subscriber.
        """
        taken = min(pending.rows, ROWS_AN_EVENT - pending.first % ROWS_AN_EVENT)
        left = pending.after(taken)
        member = pending.member
        key = (
            *(pending.stream, pending.epoch, pending.micro_batch),
            *(member.number, member.query, pending.first, taken),
        )
        with self._lock:
            known = self._events.get(key)
            if known is not None:
                self._events.move_to_end(key)
        if known is None:
            known = self._written(pending, taken)
            self._keep(key, known)
        return known, left if left.rows else None

    def _keep(self, key: tuple[object, ...], event: bytes) -> None:
        with self._lock:
            if key not in self._events:
                self._events[key] = event
                self._bytes += len(event)
            while self._bytes > _KEPT_BYTES and len(self._events) > 1:
                _, old = self._events.popitem(last=False)
                self._bytes -= len(old)

    def _written(self, pending: Pending, rows: int) -> bytes:
        stream = self._engine.stream_of(pending.stream)
        log = stream.answers_of(pending.epoch)
        batch, member = pending.micro_batch, pending.member
        found = [] if log is None else [*log.answers([member.number], batch - 1, batch)]
        lines: Sequence[str] = ()
        if found:  # else it was forgotten a moment ago
            lines = row_lines(found[0].table.slice(pending.first, rows), self._zone)
        self.encoded += 1
        head = json.dumps(
            {"query": member.query, "generation": member.generation, "micro_batch": batch}
        )
        return f'event: rows\ndata: {head[:-1]}, "rows": [{",".join(lines)}]}}\n\n'.encode()


def skipped(missing: Backlog, most: int) -> tuple[tuple[Pending, ...], dict[str, int]]:
    """Return the newest rows, at most so many, and how many of each query are left out.

    Only whole answers are left out, but for the oldest one that stays.
    """
    over = missing.count - most
    counts: dict[str, int] = {}
    kept: list[Pending] = []
    for pending in missing.rows:
        cut = min(pending.rows, max(0, over))
        over -= cut
        if cut:
            counts[pending.member.query] = counts.get(pending.member.query, 0) + cut
        if cut < pending.rows:
            kept.append(pending.after(cut))
    return tuple(kept), counts
