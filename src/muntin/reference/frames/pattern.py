"""Frames that match a pattern: leftmost, then longest, by trying every stretch of places.

A place's reading is the set of the names whose conditions its row satisfies. Every missing row that
a frame may bridge satisfies all of them; a frame begins with a real row [Frames, appendix C].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin.reference.frames.candidates import Line
from muntin.reference.frames.places import RowPlace
from muntin.specs.frames.pattern import (
    Alternatives,
    NamedRow,
    Pattern,
    PatternNode,
    Repeated,
    Successive,
)


def matches(kind: Pattern, line: Line) -> Iterator[tuple[RowPlace, ...]]:
    """Yield the longest match from the first row that has one, then from the first after it."""
    reached = -1
    for place in line.places:
        if place.index > reached and place.real:
            match = longest_match(kind, line, place)
            if match:
                yield match
                reached = match[-1].index


def longest_match(kind: Pattern, line: Line, first: RowPlace) -> tuple[RowPlace, ...]:
    """Return the longest match that begins at a place and meets the local conditions, or ()."""
    following = line.places[first.index :]
    names = [_names(kind, line, place) for place in following]
    for count in sorted(ends(kind.tree, names, 0), reverse=True):
        places = tuple(following[:count])
        carried = line.framing.missing == "carry" and not places[-1].real
        if not carried and line.local.met(places):
            return places
    return ()


def _names(kind: Pattern, line: Line, place: RowPlace) -> frozenset[str]:
    """Return the names that a place may have in a match."""
    if place.real:
        return frozenset(place.reading)
    return frozenset() if line.policy(place) == "break" else frozenset(kind.names)


def ends(node: PatternNode, names: Sequence[frozenset[str]], start: int) -> set[int]:
    """Return where a match of a node that begins at ``start`` may end: after how many places.

    >>> from muntin.specs.frames.pattern import parse_pattern
    >>> sorted(ends(parse_pattern("a+ b?"), [frozenset("a"), frozenset("ab"), frozenset("b")], 0))
    [1, 2, 3]
    """
    match node:
        case NamedRow(name):
            return {start + 1} if start < len(names) and name in names[start] else set()
        case Successive(parts):
            reached = {start}
            for part in parts:
                reached = {end for place in reached for end in ends(part, names, place)}
            return reached
        case Alternatives(parts):
            return {end for part in parts for end in ends(part, names, start)}
        case Repeated(part, low, high):
            return _repeated(part, low, high, names, start)
    raise NotImplementedError(f"{node} is no part of a pattern")


def _repeated(
    part: PatternNode, low: int, high: int | None, names: Sequence[frozenset[str]], start: int
) -> set[int]:
    found = {start} if low == 0 else set()
    reached, times = {start}, 0
    seen: set[frozenset[int]] = set()
    while reached and (high is None or times < high):
        reached = {end for place in reached for end in ends(part, names, place)}
        times += 1
        if times >= low:
            # The same places again bring nothing new; a part that may be empty would go on.
            if frozenset(reached) in seen:
                break
            seen.add(frozenset(reached))
            found |= reached
    return found
