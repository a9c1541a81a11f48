"""Candidates c(i), the frames that begin at row i, for kinds with a condition [Frames 4.3]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from muntin.reference.frames.conditions import Condition
from muntin.reference.frames.places import LocalConditions, RowPlace, gap_before
from muntin.reference.windows import Row
from muntin.specs.frames.frame_kind import Starting
from muntin.specs.frames.framing import Framing

#: Why a frame took no more: its condition, a missing row, a start inside it, a maximum, the end.
Ended = Literal["condition", "missing", "start", "cut", "input"]
Policy = Literal["break", "satisfy", "carry"]


@dataclass(frozen=True)
class Candidate:
    """A frame from its first row on, taken as far as it goes."""

    places: tuple[RowPlace, ...]
    ended: Ended

    @property
    def first(self) -> int:
        return self.places[0].index

    @property
    def last(self) -> int:
        return self.places[-1].index


@dataclass(frozen=True)
class Line:
    """The places of a key, and what each of them means to a frame that reaches it."""

    framing: Framing
    local: LocalConditions
    places: Sequence[RowPlace]
    starts: Callable[[Row], bool]
    bridged: Callable[[Row, Row], bool | None]

    def following(self, place: RowPlace, held: Sequence[RowPlace]) -> list[RowPlace]:
        """A place as a frame that holds these places meets it: perhaps behind a gap."""
        if self.framing.readings != "interval":
            return [place]
        return [*gap_before(place, held, self.local.measure.at), place]

    def policy(self, missing: RowPlace) -> Policy:
        """What becomes of a missing row that an open frame meets."""
        match self.framing.missing:
            case "break" | "satisfy" | "carry" as named:
                return named
        before = [place.row for place in self.places[: missing.index + 1] if place.real]
        after = [place.row for place in self.places[missing.index + 1 :] if place.real]
        if not before or not after:
            return "break"
        assert before[-1] is not None and after[0] is not None  # what is real is a row
        return "satisfy" if self.bridged(before[-1], after[0]) else "break"

    def bounds(self, place: RowPlace) -> bool:
        """Whether a liberal frame beside it reaches to this place, and no further.

        A missing row that may satisfy for all that is known is none that does not.
        """
        return place.real or self.policy(place) == "break"

    def starting(self, place: RowPlace) -> bool:
        """Whether a frame may begin here as far as starts were given."""
        kind = self.framing.kind
        if not isinstance(kind, Starting) or kind.start is None:
            return True
        return place.real and place.row is not None and bool(self.starts(place.row))

    def restarts(self, place: RowPlace) -> bool:
        """Whether an open frame must give way to one that begins here [Frames, appendix A]."""
        kind = self.framing.kind
        given = isinstance(kind, Starting) and kind.start is not None
        return given and not self.framing.kind.continues and self.starting(place)


@dataclass(frozen=True)
class Candidates:
    """The frames c(i) for every row i."""

    line: Line
    holds: Condition

    @property
    def minimal(self) -> bool:
        return self.line.framing.kind.span == "minimal"

    def opens(self, place: RowPlace) -> bool:
        if not place.real or not self.line.starting(place):
            return False
        return self.minimal or self.holds([place])

    def exists(self, candidate: Candidate) -> bool:
        """A minimal frame is one when its condition holds; a maximal one always is."""
        return not self.minimal or candidate.ended == "condition"

    def all(self) -> Iterator[Candidate]:
        """Every c(i) that exists, whether it meets the local conditions or not."""
        for place in self.line.places:
            if self.opens(place):
                candidate = self.grown(place)
                if self.exists(candidate):
                    yield candidate

    def grown(self, first: RowPlace) -> Candidate:
        """The frame that opens with this row, which takes places until something ends it."""
        taken = [first]
        carried: list[RowPlace] = []
        if self.minimal and self.holds(taken):
            return Candidate(tuple(taken), "condition")
        for place in self.line.places[first.index + 1 :]:
            for met in self.line.following(place, [*taken, *carried]):
                policy = None if met.real else self.line.policy(met)
                if policy == "carry":
                    carried.append(met)
                    continue
                joining = [*carried, met]
                ended = self._refusal(taken, joining, policy)
                if ended is not None:
                    return Candidate(tuple(taken), ended)
                taken, carried = [*taken, *joining], []
                if self.minimal and self.holds(_real(taken)):
                    return Candidate(tuple(taken), "condition")
        return Candidate(tuple(taken), "input")

    def _refusal(
        self, taken: Sequence[RowPlace], joining: Sequence[RowPlace], policy: Policy | None
    ) -> Ended | None:
        """Why a frame cannot take these, a row or a missing one with those carried before it."""
        last = joining[-1]
        if policy == "break":
            return "missing"
        if last.real and not self.minimal and not self.holds(_real([*taken, last])):
            return "condition"
        both, local = [*taken, *joining], self.line.local
        if self.line.framing.cut and local.beyond(both, local.reach(both)):
            return "cut"
        # Only a row that the frame would have taken falls inside it.
        if last.real and self.line.restarts(last):
            return "start"
        return None


def _real(places: Sequence[RowPlace]) -> list[RowPlace]:
    return [place for place in places if place.real]
