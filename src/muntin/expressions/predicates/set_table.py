"""The distinct sets that were found so far, in arrays that grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Ints, Words
from muntin.kernels.interval_codes import Codes
from muntin.kernels.term_matching import (
    FoundSets,
    ListedTerms,
    Terms,
    WideTerms,
    find_sets,
    hash_again,
)

Number = TypeVar("Number", np.int64, np.uint64)
_FIRST_ROOM = 1024  # sets; a power of two


@dataclass(frozen=True)
class Arrangement:
    """In which order rows are taken, and how their terms are found."""

    order: Ints | slice
    listed: ListedTerms
    wide: WideTerms


@dataclass
class SetTable:
    """Sets of members, which are numbers below ``members``; equal sets have one number."""

    members: int

    def __post_init__(self) -> None:
        words = self.members // 64 + 1
        hashes = np.empty(_FIRST_ROOM, np.uint64)
        self._found = FoundSets(
            table=hash_table(hashes, 0),
            ends=np.zeros(_FIRST_ROOM + 1, np.int64),
            hashes=hashes,
            members=np.empty(_FIRST_ROOM + 4 * self.members, np.int64),
            sets=np.zeros(1, np.int64),
            marks=np.zeros(words, np.uint64),
            marked=np.zeros(words // 64 + 1, np.uint64),
        )

    def numbers(self, codes: Codes, terms: Terms, arranged: Arrangement) -> Ints:
        """Return the number of the set of each row of a code matrix."""
        number, in_order = np.empty((2, len(codes)), np.int64)
        flat, width, done = codes[arranged.order].ravel(), codes.shape[1], 0
        listed, wide = arranged.listed, arranged.wide
        while True:
            done = find_sets(
                flat, width, done, terms, listed, wide, self.members, self._found, in_order
            )
            if done == len(codes):
                number[arranged.order] = in_order
                return number
            self._make_room()

    def sets(self) -> tuple[Ints, Ints]:
        """Return where each set begins, and where the last ends, and the members of all."""
        ends = self._found.ends[: self._count + 1]
        return ends, self._found.members[: ends[-1]]

    @property
    def _count(self) -> int:
        return int(self._found.sets[0])

    def _make_room(self) -> None:
        """Make twice the room for sets, or for members, whichever has none left."""
        found, count = self._found, self._count
        if found.ends[count] + self.members > len(found.members):
            self._found = found._replace(members=longer(found.members))
        if count == len(found.hashes):
            hashes, ends = longer(found.hashes), np.append(found.ends, found.ends[1:])
            table = hash_table(hashes, count)
            self._found = self._found._replace(hashes=hashes, ends=ends, table=table)


def longer(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return an array of twice the length that begins like another."""
    twice = np.empty(2 * len(array), array.dtype)
    twice[: len(array)] = array
    return twice


def hash_table(hashes: Words, count: int) -> Ints:
    """Return a table for as many numbers as there is room for hashes, with the first of them."""
    table = np.full(4 * len(hashes), -1, np.int64)
    hash_again(hashes, count, table)
    return table
