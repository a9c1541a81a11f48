"""Which of the candidates c(i) are frames: the framing schemes [Frames 4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from muntin.reference.frames.candidates import Candidate, Candidates, Line
from muntin.reference.frames.places import RowPlace
from muntin.specs.frames.frame_kind import Starting
from muntin.specs.frames.kinds import Between


@dataclass(frozen=True)
class Frame:
    """A frame by its places; ``partial`` when what should end it never came."""

    places: tuple[RowPlace, ...]
    status: Literal["final", "partial"] = "final"


def one_after_another(candidates: Candidates) -> Iterator[Frame]:
    """From the first row that opens a frame c of it, then c of the first such row behind it."""
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


def from_start_to_end(line: Line, kind: Between) -> Iterator[Frame]:
    """From each row that starts a frame, while none is open, to the next that ends one."""
    reached = -1
    for place in line.places:
        if place.index > reached and place.real and place.reading[0]:
            frame, reached = _until_end(line, kind, place)
            if frame.places:
                yield frame


def _until_end(line: Line, kind: Between, first: RowPlace) -> tuple[Frame, int]:
    """The frame that opens with a row, and the last place it leaves to no other."""
    with_start, with_end = kind.inclusive in ("both", "start"), kind.inclusive in ("both", "end")
    ends_too = bool(first.reading[1])
    held = [first] if with_start or (with_end and ends_too) else []
    if ends_too:
        return Frame(tuple(held)), first.index
    carried: list[RowPlace] = []
    for place in line.places[first.index + 1 :]:
        for met in line.following(place, [*held, *carried]):
            policy = None if met.real else line.policy(met)
            if policy == "break":
                return Frame(tuple(held), "partial"), met.index
            if policy is not None and not held:
                continue  # a frame does not begin with a missing row
            if policy == "carry":
                carried.append(met)
            elif policy == "satisfy" or not met.reading[1]:
                held, carried = [*held, *carried, met], []
            elif with_end:
                return Frame((*held, *carried, met)), met.index
            else:
                # It belongs to no frame yet, so it may open one.
                return Frame(tuple(held)), met.index - 1
    return Frame(tuple(held), "partial"), len(line.places)


def chosen(candidates: Candidates) -> list[Candidate]:
    """The frames of a framing whose frames overlap."""
    line = candidates.line
    scheme = line.framing.scheme
    every = [found for found in candidates.all() if line.local.met(found.places)]
    if line.framing.kind.continues or scheme.name == "unconstrained" or scheme.fill == "saturated":
        return every
    if scheme.name == "advancing":
        return advancing(every, minimal=candidates.minimal)
    if scheme.name == "adjacent":
        return [found for found in _adjacent(candidates) if line.local.met(found.places)]
    return drained_cover(every, line)


def advancing(every: Sequence[Candidate], *, minimal: bool) -> list[Candidate]:
    """Minimal frames that contain no other, or maximal ones that lie in no other."""

    def lies_in(inner: Candidate, outer: Candidate) -> bool:
        return outer.first <= inner.first and inner.last <= outer.last

    return [
        found
        for found in every
        if not any(
            lies_in(other, found) if minimal else lies_in(found, other)
            for other in every
            if other is not found
        )
    ]


def _adjacent(candidates: Candidates) -> Iterator[Candidate]:
    """Each starts at the first row that is at most the overlap before the end of the last."""
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
        found = candidates.grown(place)
        if candidates.exists(found):
            yield found
            earliest = measure.at(line.local.end(found.places)) - overlap


def drained_cover(every: Sequence[Candidate], line: Line) -> list[Candidate]:
    """As few as leave no row out that some candidate holds."""
    cover: list[Candidate] = []
    for row in (place.index for place in line.places if place.real):
        holding = [found for found in every if found.first <= row <= found.last]
        if holding and not any(found in cover for found in holding):
            cover.append(max(holding, key=lambda found: (found.last, found.first)))
    return cover
