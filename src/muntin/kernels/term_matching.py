"""Which terms the codes of a row satisfy, and the distinct sets of members that this gives.

A term is a conjunction of tests; a test is on one part, whose code must be in one of its intervals.
The rows of a code matrix are looked at one by one: each takes the candidates of its codes, tests
the rest of their terms, and marks the members in a bitmap with a second level, from which they come
out in order. Equal sets are found by hashing. So a row costs by its candidates, not by all terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from muntin.kernels.arrays import Ints, Words
from muntin.kernels.compile import (
    INT,
    INTS,
    NONE,
    OUT_INTS,
    OUT_WORDS,
    WORDS,
    fused,
    kernel,
    tuple_of,
)
from muntin.kernels.interval_codes import CODES, Codes

_FIRST = np.uint64(0xCBF2_9CE4_8422_2325)
_FACTOR = np.uint64(0x9E37_79B9_7F4A_7C15)
_ONE = np.uint64(1)
#: Times a power of two, its six highest bits are different for each power.
_DE_BRUIJN = np.uint64(0x03F7_9D71_B4CB_0A89)
_PLACES = np.zeros(64, np.int64)
for _place in range(64):
    _PLACES[(0x03F7_9D71_B4CB_0A89 << _place & 2**64 - 1) >> 58] = _place


class Terms(NamedTuple):
    """Terms as CSR arrays: the tests of a term, the intervals of a test, the members of a term."""

    tests: Ints
    part: Ints
    intervals: Ints
    low: Ints
    high: Ints
    member_ends: Ints
    members: Ints


class ListedTerms(NamedTuple):
    """The terms that a code may satisfy, for each code that occurs, by its rank.

    ``parts`` are those by which terms are found, and ``always`` are terms without tests. An entry
    has four numbers, so that most candidates are refused without looking further: the part of
    another test, its lowest code, the end of its codes, and the term.
    """

    rank: Ints
    parts: Ints
    ends: Ints
    entries: Ints
    always: Ints


class WideTerms(NamedTuple):
    """Terms of several tests as bitmaps: a row of words for each code that occurs.

    The row of a code is its rank plus the ``shift`` of its part. The terms that are found by a part
    have words of their own, in which the row has bits only from ``first`` to before ``end``: few,
    because they are in the order of what they test. Of all terms that a row satisfies, each is
    found by one part.
    """

    parts: Ints
    shift: Ints
    words: int
    bits: Words
    first: Ints
    end: Ints
    terms: Ints


class FoundSets(NamedTuple):
    """Distinct sets: a hash table of their numbers, where each ends, its hash, its members.

    ``sets`` has their number. ``marks`` and ``marked`` are the bitmap and its second level,
    which are all zeros between rows.
    """

    table: Ints
    ends: Ints
    hashes: Words
    members: Ints
    sets: Ints
    marks: Words
    marked: Words


# The arrays in tuples are NumPy's own, never Arrow's, so they are declared as they are.
TERMS = tuple_of(Terms, *(OUT_INTS,) * 7)
LISTED_TERMS = tuple_of(ListedTerms, *(OUT_INTS,) * 5)
WIDE_TERMS = tuple_of(WideTerms, OUT_INTS, OUT_INTS, INT, OUT_WORDS, OUT_INTS, OUT_INTS, OUT_INTS)
FOUND_SETS = tuple_of(
    FoundSets, OUT_INTS, OUT_INTS, OUT_WORDS, OUT_INTS, OUT_INTS, OUT_WORDS, OUT_WORDS
)


# Parts of kernels take arrays, not tuples of them: taking an array out of a tuple costs a count of
# its references, for every row.


@fused
def _passes(low: Ints, high: Ints, first: int, end: int, code: int) -> Any:
    """Return whether a code is in one of some intervals, which are in order."""
    while end - first > 1:
        middle = (first + end) >> 1
        if low[middle] <= code:
            first = middle
        else:
            end = middle
    return low[first] <= code < high[first]


@fused
def _mark(member_ends: Ints, members: Ints, term: int, marks: Words, marked: Words) -> None:
    for place in range(member_ends[term], member_ends[term + 1]):
        member = members[place]
        word = member >> 6
        marks[word] |= _ONE << np.uint64(member & 63)
        marked[word >> 6] |= _ONE << np.uint64(word & 63)


@fused
def _lowest(word: Any) -> Any:
    """Return the place of the lowest bit of a word that has one, by a product without equal."""
    isolated = word & (~word + _ONE)
    return _PLACES[(isolated * _DE_BRUIJN) >> np.uint64(58)]


@fused
def _take_marked(marks: Words, marked: Words, members: Ints, begin: int) -> int:
    """Write the marked members in order, and return where they end; nothing is marked then."""
    end = begin
    for group in range(len(marked)):
        words = marked[group]
        marked[group] = np.uint64(0)
        while words:
            word = group * 64 + _lowest(words)
            words &= words - _ONE
            bits = marks[word]
            marks[word] = np.uint64(0)
            while bits:
                members[end] = word * 64 + _lowest(bits)
                end += 1
                bits &= bits - _ONE
    return end


@fused
def _same(members: Ints, start: int, begin: int, size: int) -> bool:
    equal = True
    for place in range(size):
        equal = equal and members[start + place] == members[begin + place]
    return equal


@fused
def _hashed(members: Ints, begin: int, end: int) -> Any:
    hashed = _FIRST
    for place in range(begin, end):
        hashed = (hashed ^ np.uint64(members[place])) * _FACTOR
        hashed ^= hashed >> np.uint64(29)
    return hashed


@kernel(INT, CODES, INT, INT, TERMS, LISTED_TERMS, WIDE_TERMS, INT, FOUND_SETS, OUT_INTS)
def find_sets(
    codes: Codes,
    width: int,
    first: int,
    terms: Terms,
    listed: ListedTerms,
    wide: WideTerms,
    most: int,
    found: FoundSets,
    number: Ints,
) -> int:
    """Write the number of each row's set, from a row on; return the first that had no room.

    The code matrix has ``width`` columns; a set has at most ``most`` members.
    """
    tests, part, intervals, low, high, member_ends, of_term = terms
    rank, list_parts, list_ends, entries, always = listed
    wide_parts, shift, words, bits_of, band_first, band_end, wide_terms = wide
    table, ends, hashes, members, sets, marks, marked = found
    mask = len(table) - 1
    for at in range(first, len(number)):
        begin = ends[sets[0]]
        if begin + most > len(members) or sets[0] == len(hashes):
            return at
        row = at * width
        for place in range(len(always)):
            _mark(member_ends, of_term, always[place], marks, marked)
        for place in range(len(list_parts)):
            line = rank[codes[row + list_parts[place]]]
            for entry in range(list_ends[line] * 4, list_ends[line + 1] * 4, 4):
                code = codes[row + entries[entry]]
                if entries[entry + 1] <= code < entries[entry + 2]:
                    term, passed = entries[entry + 3], True
                    for test in range(tests[term], tests[term + 1]):
                        passed = passed and _passes(
                            low, high, intervals[test], intervals[test + 1], codes[row + part[test]]
                        )
                    if passed:
                        _mark(member_ends, of_term, term, marks, marked)
        for place in range(len(wide_parts)):
            line = rank[codes[row + wide_parts[place]]] + shift[wide_parts[place]]
            for word in range(band_first[line], band_end[line]):
                bits = bits_of[line * words + word]
                for other in range(len(wide_parts)):
                    if other != place:
                        across = rank[codes[row + wide_parts[other]]] + shift[wide_parts[other]]
                        bits &= bits_of[across * words + word]
                while bits:
                    term = wide_terms[word * 64 + _lowest(bits)]
                    _mark(member_ends, of_term, term, marks, marked)
                    bits &= bits - _ONE
        end = _take_marked(marks, marked, members, begin)
        hashed = _hashed(members, begin, end)
        slot = np.int64(hashed & np.uint64(mask))
        while table[slot] >= 0:
            known = table[slot]
            size = ends[known + 1] - ends[known]
            alike = hashes[known] == hashed and size == end - begin
            if alike and _same(members, ends[known], begin, size):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot], hashes[sets[0]], ends[sets[0] + 1] = sets[0], hashed, end
            sets[0] += 1
        number[at] = table[slot]
    return len(number)


@kernel(NONE, CODES, OUT_INTS)
def count_codes(codes: Codes, counts: Ints) -> None:
    for place in range(len(codes)):
        counts[codes[place]] += 1


@kernel(NONE, CODES, INT, INT, INTS, OUT_INTS, OUT_INTS)
def order_rows(
    codes: Codes, width: int, part: int, bucket: Ints, next_place: Ints, order: Ints
) -> None:
    """Write rows in the order of the buckets of one part's codes; ``next_place`` moves on."""
    for row in range(len(order)):
        at = bucket[codes[row * width + part]]
        order[next_place[at]] = row
        next_place[at] += 1


@kernel(NONE, INTS, INTS, TERMS, INTS, OUT_INTS, OUT_INTS)
def list_terms(
    listed: Ints, chosen: Ints, terms: Terms, rank: Ints, next_place: Ints, out: Ints
) -> None:
    """Write entries to the lists of the codes of chosen tests; ``next_place`` moves on."""
    for at in range(len(listed)):
        term = listed[at]
        test = chosen[term]
        other = test  # of a term that has no other test
        for one in range(terms.tests[term], terms.tests[term + 1]):
            if one != test:
                other = one
        low, high = terms.low[terms.intervals[other]], terms.high[terms.intervals[other + 1] - 1]
        for interval in range(terms.intervals[test], terms.intervals[test + 1]):
            for code in range(rank[terms.low[interval]], rank[terms.high[interval]]):
                place = next_place[code] * 4
                out[place], out[place + 1] = terms.part[other], low
                out[place + 2], out[place + 3] = high, term
                next_place[code] += 1


@kernel(NONE, INTS, INTS, INT, WORDS, OUT_INTS, OUT_INTS)
def find_bands(starts: Ints, own: Ints, words: int, bits: Words, first: Ints, end: Ints) -> None:
    """Write for each row of bitmaps its first word that has bits, and the end of the last.

    The rows of part ``p`` begin at ``starts[p]``, and its own words at ``own[p]``.
    """
    for part in range(len(starts) - 1):
        for row in range(starts[part], starts[part + 1]):
            first[row] = end[row] = own[part]
            for word in range(own[part], own[part + 1]):
                if bits[row * words + word]:
                    if end[row] == own[part]:
                        first[row] = word
                    end[row] = word + 1


@kernel(NONE, INTS, TERMS, INTS, INTS, INTS, INT, OUT_WORDS)
def fill_bitmaps(
    listed: Ints, terms: Terms, rank: Ints, shift: Ints, starts: Ints, words: int, bits: Words
) -> None:
    """Set the bits of terms for the codes of each part.

    First a bit is toggled where an interval begins and where it ends; then each row takes over the
    bits of the row before. The rows of part ``p`` begin at ``starts[p]``, and the last of them only
    takes what ends; ``shift[p]`` is added to a rank. A term has all bits of parts that it does not
    test. Places without a term are negative.
    """
    for at in range(len(listed)):
        if listed[at] < 0:
            continue
        word, bit = at >> 6, _ONE << np.uint64(at & 63)
        for part in range(len(shift)):
            if starts[part] < starts[part + 1]:
                bits[starts[part] * words + word] ^= bit
        for test in range(terms.tests[listed[at]], terms.tests[listed[at] + 1]):
            part = terms.part[test]
            bits[starts[part] * words + word] ^= bit
            for interval in range(terms.intervals[test], terms.intervals[test + 1]):
                bits[(rank[terms.low[interval]] + shift[part]) * words + word] ^= bit
                bits[(rank[terms.high[interval]] + shift[part]) * words + word] ^= bit
    for part in range(len(shift)):
        for row in range(starts[part] + 1, starts[part + 1]):
            for word in range(words):
                bits[row * words + word] ^= bits[(row - 1) * words + word]


@kernel(INT, CODES, INT, INT, OUT_INTS, OUT_WORDS, OUT_INTS, OUT_INTS, OUT_INTS)
def find_combinations(
    codes: Codes,
    width: int,
    first_row: int,
    table: Ints,
    hashes: Words,
    rows: Ints,
    found: Ints,
    number: Ints,
) -> int:
    """Number the distinct rows of a code matrix, from a row on; return the first without room.

    ``rows`` gets one row of each number, ``hashes`` its hash, and ``found`` how many there are.
    """
    mask = len(table) - 1
    for row in range(first_row, len(number)):
        hashed = _FIRST
        for place in range(row * width, row * width + width):
            hashed = (hashed ^ np.uint64(codes[place])) * _FACTOR
            hashed ^= hashed >> np.uint64(29)
        slot = np.int64(hashed & np.uint64(mask))
        while table[slot] >= 0:
            other = rows[table[slot]]
            equal = True
            for place in range(width):
                equal = equal and codes[other * width + place] == codes[row * width + place]
            if equal:
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            if found[0] == len(hashes):
                return row
            table[slot], rows[found[0]], hashes[found[0]] = found[0], row, hashed
            found[0] += 1
        number[row] = table[slot]
    return len(number)


@kernel(NONE, WORDS, INT, OUT_INTS)
def hash_again(hashes: Words, count: int, table: Ints) -> None:
    """Fill an empty hash table with the numbers of some hashes."""
    mask = len(table) - 1
    for number in range(count):
        slot = np.int64(hashes[number] & np.uint64(mask))
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number
