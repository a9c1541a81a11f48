"""Candidates c(i), the frames that begin at row i, and which of them are frames.

A kind with a condition has one candidate for each row that can open a frame [Frames 4.3]. A scheme
picks the frames of a framing from these [Frames 4.2].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from muntin.reference.frames.places import LocalConditions, RowPlace, gap_before
from muntin.reference.windows import Row
from muntin.specs.frames.frame_kind import Starting
from muntin.specs.frames.framing import Framing

#: True if the real rows of a frame, in their order, meet the condition of its kind.
Condition = Callable[[Sequence[RowPlace]], bool]
#: Why a frame ended: its condition, a missing row, a start inside it, a maximum at which it is cut
#: or beyond which it is given up, the end of input.
Ended = Literal["condition", "missing", "start", "cut", "beyond", "input"]
Policy = Literal["break", "satisfy", "carry"]


@dataclass(frozen=True)
class Candidate:
    """The frame from a first row, as long as it can be."""

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
        """Return a place as a frame with these places meets it: perhaps with a gap before it."""
        if self.framing.readings != "interval":
            return [place]
        return [*gap_before(place, held, self.local.measure.at), place]

    def policy(self, missing: RowPlace) -> Policy:
        """Return how a missing row counts for an open frame."""
        match self.framing.missing:
            case "break" | "satisfy" | "carry" as named:
                return named
        before = [place.row for place in self.places[: missing.index + 1] if place.real]
        after = [place.row for place in self.places[missing.index + 1 :] if place.real]
        if not before or not after:
            return "break"
        assert before[-1] is not None and after[0] is not None  # every real place has a row
        return "satisfy" if self.bridged(before[-1], after[0]) else "break"

    def bounds(self, place: RowPlace) -> bool:
        """Return True if this place bounds a liberal frame beside it.

        A missing row that may satisfy does not bound a frame.
        """
        return place.real or self.policy(place) == "break"

    def starting(self, place: RowPlace) -> bool:
        """Return True if the start condition, if there is one, lets a frame begin here."""
        if self.framing.kind.start_condition is None:
            return True
        return place.real and place.row is not None and bool(self.starts(place.row))

    def restarts(self, place: RowPlace) -> bool:
        """Return True if an open frame gives way to one that begins here [Frames, appendix A]."""
        kind = self.framing.kind
        return kind.start_condition is not None and not kind.continues and self.starting(place)


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
        """Return True for a maximal candidate, and for a minimal one if its condition holds."""
        return not self.minimal or candidate.ended == "condition"

    def is_whole(self, places: Sequence[RowPlace]) -> bool:
        """Return True if these places are a minimal frame: its whole local condition holds."""
        return self.minimal and self.holds(_real(places)) and self.line.local.met(places)

    def all(self) -> Iterator[Candidate]:
        """Yield every c(i) that exists, whether it meets the local conditions or not."""
        for place in self.line.places:
            if self.opens(place):
                candidate = self.grown(place)
                if self.exists(candidate):
                    yield candidate

    def grown(self, first: RowPlace) -> Candidate:
        """Return the frame that opens with this row and takes places until something ends it."""
        taken = [first]
        carried: list[RowPlace] = []
        if self.is_whole(taken):
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
                if self.is_whole(taken):
                    return Candidate(tuple(taken), "condition")
        return Candidate(tuple(taken), "input")

    def _refusal(
        self, taken: Sequence[RowPlace], joining: Sequence[RowPlace], policy: Policy | None
    ) -> Ended | None:
        """Return why a frame cannot take these places (carried ones, then the next), or None."""
        last = joining[-1]
        if policy == "break":
            return "missing"
        if last.real and not self.minimal and not self.holds(_real([*taken, last])):
            return "condition"
        both, local = [*taken, *joining], self.line.local
        if self.line.framing.cut and local.beyond(both, local.reach(both)):
            return "cut"
        if self.minimal and local.beyond(both, local.least_end(both)):
            return "beyond"
        # A row falls inside a frame only if the frame would have taken it.
        if last.real and self.line.restarts(last):
            return "start"
        return None


def _real(places: Sequence[RowPlace]) -> list[RowPlace]:
    return [place for place in places if place.real]


@dataclass(frozen=True)
class Frame:
    """A frame by its places; ``partial`` if the row that should end it never came."""

    places: tuple[RowPlace, ...]
    status: Literal["final", "partial"] = "final"


def one_after_another(candidates: Candidates) -> Iterator[Frame]:
    """Yield the frame of the first row that opens one, then that of the first such row after it."""
    reached = -1
    for place in candidates.line.places:
        if place.index > reached and candidates.opens(place):
            candidate = candidates.grown(place)
            if _reported(candidates, candidate):
                yield Frame(candidate.places)
            reached = candidate.last


def _reported(candidates: Candidates, candidate: Candidate) -> bool:
    kind = candidates.line.framing.kind
    if candidate.ended == "start" and isinstance(kind, Starting):
        return kind.restart == "close"
    return candidates.exists(candidate)


def chosen(candidates: Candidates) -> list[Candidate]:
    """Return the frames of a framing whose frames overlap."""
    line = candidates.line
    scheme = line.framing.scheme
    every = [candidate for candidate in candidates.all() if line.local.met(candidate.places)]
    if line.framing.kind.continues or scheme.name == "unconstrained" or scheme.fill == "saturated":
        return every
    if scheme.name == "advancing":
        return advancing(every, minimal=candidates.minimal)
    if scheme.name == "adjacent":
        return [
            candidate for candidate in _adjacent(candidates) if line.local.met(candidate.places)
        ]
    return drained_cover(every, line)


def advancing(every: Sequence[Candidate], *, minimal: bool) -> list[Candidate]:
    """Return minimal frames that contain no other, or maximal frames that lie in no other."""

    def lies_in(inner: Candidate, outer: Candidate) -> bool:
        return outer.first <= inner.first and inner.last <= outer.last

    return [
        candidate
        for candidate in every
        if not any(
            lies_in(other, candidate) if minimal else lies_in(candidate, other)
            for other in every
            if other is not candidate
        )
    ]


def _adjacent(candidates: Candidates) -> Iterator[Candidate]:
    """Yield frames; each starts at most the overlap before the end of the last one."""
    line = candidates.line
    measure = line.local.measure
    assert line.framing.scheme.overlap is not None  # the scheme checks that it has one
    overlap = measure.length(line.framing.scheme.overlap)
    earliest = None
    for place in line.places:
        if not candidates.opens(place):
            continue
        if earliest is not None and measure.at(place.on) < earliest:
            continue
        candidate = candidates.grown(place)
        if candidates.exists(candidate):
            yield candidate
            earliest = measure.at(line.local.end(candidate.places)) - overlap


def drained_cover(every: Sequence[Candidate], line: Line) -> list[Candidate]:
    """Return the fewest candidates that leave out no row that some candidate holds."""
    cover: list[Candidate] = []
    for row in (place.index for place in line.places if place.real):
        holding = [candidate for candidate in every if candidate.first <= row <= candidate.last]
        if holding and not any(candidate in cover for candidate in holding):
            cover.append(max(holding, key=lambda candidate: (candidate.last, candidate.first)))
    return cover
