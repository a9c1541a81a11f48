"""The id of an event: how far a subscriber is in each stream that it watches.

Of a stream it is the epoch, the micro-batch, the member whose rows came last, and the number of its
rows that have come: ``traffic:1:41:7:200``. Members of a micro-batch are sent in the order of their
numbers, so everything before that place was sent, and nothing after it. A subscriber of several
streams has a place in each, with commas between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

from muntin.errors import ArgumentError

#: The longest id that is read.
_LONGEST = 20_000


class Place(NamedTuple):
    """A place in the answers of a stream; places of one epoch are ordered.

    ``member`` and ``rows`` say how much of the micro-batch has come; all of it if ``member`` is
    :data:`WHOLE`.
    """

    epoch: int
    micro_batch: int
    member: int
    rows: int


#: Above every member: all of a micro-batch has come.
WHOLE = 2**62


def whole(epoch: int, micro_batch: int) -> Place:
    """Return the place after a micro-batch."""
    return Place(epoch, micro_batch, WHOLE, 0)


@dataclass(frozen=True)
class EventId:
    """How far a subscriber is, by stream."""

    places: Mapping[str, Place]

    def __str__(self) -> str:
        return ",".join(_written(name, place) for name, place in self.places.items())

    @classmethod
    def of(cls, text: str) -> EventId:
        """Return the id that a text has.

        >>> EventId.of("traffic:1:41:7:200,a%20b:2:3::").places["a b"]
        Place(epoch=2, micro_batch=3, member=4611686018427387904, rows=0)
        """
        if len(text) > _LONGEST:
            raise _unreadable(text)
        return cls(dict(_read(text)))

    def with_place(self, stream: str, place: Place) -> EventId:
        """Return the id after more of a stream has come."""
        return EventId({**self.places, stream: place})


def _written(name: str, place: Place) -> str:
    part = ":" if place.member == WHOLE else f"{place.member}:{place.rows}"
    return f"{quote(name, safe='')}:{place.epoch}:{place.micro_batch}:{part}"


def _read(text: str) -> Iterator[tuple[str, Place]]:
    for part in text.split(",") if text else ():
        name, *numbers = part.split(":")
        if len(numbers) != 4 or not all(_is_number(number) for number in numbers):
            raise _unreadable(text)
        epoch, micro_batch, member, rows = numbers
        if not epoch or not micro_batch or bool(member) != bool(rows):
            raise _unreadable(text)
        place = Place(int(epoch), int(micro_batch), int(member or WHOLE), int(rows or 0))
        yield unquote(name), place


def _is_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return not text or (digits.isascii() and digits.isdigit() and len(digits) < 19)


def _unreadable(text: str) -> ArgumentError:
    return ArgumentError("last_event_id", text, "send the id of the last event that came")
