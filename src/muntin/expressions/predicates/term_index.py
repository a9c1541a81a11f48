"""Terms of all predicates as arrays, and how the terms of some rows are found.

For each batch of rows the terms are indexed anew, by what occurs in the batch: a term is found by
its most selective test. Only the codes that occur have lists, so that the work depends on the terms
and the matches, not on the product of terms and rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from muntin.expressions.predicates.compared_part import CodedPart
from muntin.expressions.predicates.set_table import Arrangement
from muntin.expressions.predicates.terms import Term
from muntin.kernels.arrays import Ints
from muntin.kernels.interval_codes import Codes
from muntin.kernels.term_matching import (
    ListedTerms,
    Terms,
    WideTerms,
    count_codes,
    fill_bitmaps,
    find_bands,
    list_terms,
    order_rows,
)

#: With fewer candidates a row than this, testing each of them costs less than bitmaps.
_FEW_CANDIDATES = 4
#: Rows are ordered into so many buckets, unless they are few.
_BUCKETS, _FEW_ROWS = 256, 4096
#: Bitmaps of more words than this are not built; candidates take no room by the codes.
_MOST_WORDS = 2**22


@dataclass(frozen=True)
class TermIndex:
    """Terms with tests on parts; the codes of part ``p`` are ``bases[p]`` to ``bases[p + 1]``."""

    terms: Terms
    bases: Ints

    @classmethod
    def of(
        cls, parts: Sequence[CodedPart], terms: Sequence[tuple[Term, Sequence[int]]]
    ) -> TermIndex:
        """Index terms, each with the members that want the rows that satisfy it."""
        bases = np.cumsum([0, *(part.size for part in parts)])
        tests, intervals, member_ends = [0], [0], [0]
        part_of: list[int] = []
        pairs: list[tuple[int, int]] = []
        members: list[int] = []
        for term, wanting in terms:
            for part, ranges in term.items():
                base = int(bases[part])
                found = parts[part].codes_between(ranges)
                pairs += [(base + low, base + high) for low, high in found]
                part_of.append(part)
                intervals.append(len(pairs))
            tests.append(len(part_of))
            members += wanting
            member_ends.append(len(members))
        edges = np.array(pairs, np.int64).reshape(-1, 2)
        low, high = (np.ascontiguousarray(side) for side in edges.T)
        lists = (tests, part_of, intervals, low, high, member_ends, members)
        return cls(Terms(*(np.array(one, np.int64) for one in lists)), bases)

    @property
    def codes(self) -> int:
        return int(self.bases[-1])

    def arranged(self, combinations: Codes) -> Arrangement:
        """Return how the terms of some rows of codes are found."""
        counts = np.zeros(self.codes, np.int64)
        count_codes(combinations.ravel(), counts)
        rank = np.append(0, np.cumsum(counts > 0))
        below = np.append(0, np.cumsum(counts))
        chosen, rows = self._chosen(below)
        wide = self._wide(chosen, rows, len(combinations), rank)
        found = rows > 0
        found[wide] = False
        return Arrangement(
            self._order(combinations, counts, rank),
            self._listed(chosen, np.flatnonzero(found), rank),
            self._bitmaps(wide, chosen, rank),
        )

    def _order(self, combinations: Codes, counts: Ints, rank: Ints) -> Ints | slice:
        """Return the rows in the rough order of the part with the most codes.

        What is looked up for its codes is large; rows in this order find it in the cache.
        """
        rows, width = combinations.shape
        if width < 2 or rows < _FEW_ROWS:
            return slice(None)
        part = int(np.argmax(np.diff(rank[self.bases])))
        own = slice(int(self.bases[part]), int(self.bases[part + 1]))
        bucket = np.zeros(self.codes, np.int64)
        ranks = rank[own] - rank[self.bases[part]]
        bucket[own] = ranks * _BUCKETS // (int(ranks[-1]) + 1)
        sizes = np.bincount(bucket[own], counts[own], _BUCKETS).astype(np.int64)
        order = np.empty(rows, np.int64)
        starts = np.cumsum(sizes) - sizes
        order_rows(combinations.ravel(), width, part, bucket, starts, order)
        return order

    def _chosen(self, below: Ints) -> tuple[Ints, Ints]:
        """Return each term's most selective test, and how many rows pass it."""
        terms = self.terms
        passing = below[terms.high] - below[terms.low]
        rows = _sums(passing, terms.intervals)
        number = np.repeat(np.arange(len(terms.tests) - 1), np.diff(terms.tests))
        order = np.lexsort((rows, number))
        has_tests = np.diff(terms.tests) > 0
        chosen = np.full(len(has_tests), -1)
        chosen[has_tests] = order[terms.tests[:-1][has_tests]]
        return chosen, np.where(has_tests, rows[chosen] if len(rows) else 0, 0)

    def _wide(self, chosen: Ints, rows: Ints, size: int, rank: Ints) -> Ints:
        """Return the terms of several tests, in the order of the chosen ones, or none.

        They are found by bitmaps if a row has many candidates among them.
        """
        wide = np.flatnonzero((np.diff(self.terms.tests) > 1) & (rows > 0))
        words = -(-len(wide) // 64)
        room = (int(rank[-1]) + len(self.bases) - 1) * words
        if room > _MOST_WORDS or int(rows[wide].sum()) < _FEW_CANDIDATES * size:
            return wide[:0]
        ordered: Ints = wide[np.argsort(self.terms.low[self.terms.intervals[chosen[wide]]])]
        return ordered

    def _listed(self, chosen: Ints, listed: Ints, rank: Ints) -> ListedTerms:
        terms = self.terms
        tests = chosen[listed]
        changes = np.zeros(int(rank[-1]) + 1, np.int64)
        intervals = _ranges(terms.intervals[tests], terms.intervals[tests + 1])
        np.add.at(changes, rank[terms.low[intervals]], 1)
        np.add.at(changes, rank[terms.high[intervals]], -1)
        ends = np.append(0, np.cumsum(np.cumsum(changes)))
        found = np.empty(4 * int(ends[-1]), np.int64)
        list_terms(listed, chosen, terms, rank, ends[:-1].copy(), found)
        always = np.flatnonzero(np.diff(terms.tests) == 0)
        return ListedTerms(rank, np.unique(terms.part[tests]), ends, found, always)

    def _bitmaps(self, wide: Ints, chosen: Ints, rank: Ints) -> WideTerms:
        terms, parts = self.terms, len(self.bases) - 1
        used = np.unique(terms.part[_ranges(terms.tests[wide], terms.tests[wide + 1])])
        found_by = terms.part[chosen[wide]]
        of_part = np.bincount(found_by, minlength=parts)
        own = np.append(0, np.cumsum(-(-of_part // 64)))  # each part begins with a new word
        words = int(own[-1])
        before = np.append(0, np.cumsum(of_part))[:-1]
        placed = np.full(64 * words, -1)
        placed[np.arange(len(wide)) + (64 * own[:-1] - before)[found_by]] = wide
        first = rank[self.bases]
        sizes = np.zeros(parts, np.int64)
        sizes[used] = (np.diff(first) + 1)[used]
        starts = np.append(0, np.cumsum(sizes))
        shift = starts[:-1] - first[:-1]
        bits = np.zeros(int(starts[-1]) * words, np.uint64)
        fill_bitmaps(placed, terms, rank, shift, starts, words, bits)
        begin, end = np.empty(int(starts[-1]), np.int64), np.empty(int(starts[-1]), np.int64)
        find_bands(starts, own, words, bits, begin, end)
        return WideTerms(used, shift, words, bits, begin, end, placed)


def _sums(values: Ints, ends: Ints) -> Ints:
    total = np.append(0, np.cumsum(values))
    sums: Ints = total[ends[1:]] - total[ends[:-1]]
    return sums


def _ranges(starts: Ints, ends: Ints) -> Ints:
    """Return all numbers of some ranges, one range after the other."""
    sizes = ends - starts
    skipped = np.repeat(starts - np.append(0, np.cumsum(sizes))[:-1], sizes)
    numbers: Ints = skipped + np.arange(len(skipped))
    return numbers
