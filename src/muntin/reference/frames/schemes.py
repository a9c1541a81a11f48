"""Which of the candidates c(i) are frames: the framing schemes [Frames 4.2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin.reference.frames.candidates import Candidate, Candidates, Line


def chosen(candidates: Candidates) -> list[Candidate]:
    """The frames of a framing whose frames overlap."""
    line = candidates.line
    scheme = line.framing.scheme
    every = [found for found in candidates.all() if line.local.met(found.places)]
    if line.framing.continues or scheme.name == "unconstrained" or scheme.fill == "saturated":
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
