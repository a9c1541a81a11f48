"""The distinct combinations of codes that rows have."""

from __future__ import annotations

import math

import numpy as np

from muntin.expressions.predicates.set_table import hash_table, longer
from muntin.kernels.arrays import Ints
from muntin.kernels.interval_codes import Codes
from muntin.kernels.term_matching import find_combinations

_FIRST_ROOM = 4096


def distinct_rows(codes: Codes, bases: Ints) -> tuple[Codes, Ints | None]:
    """Return distinct rows of codes, and the place of each row's codes among them.

    The codes in column ``p`` are ``bases[p]`` to before ``bases[p + 1]``. None stands for the rows
    themselves, if so few of them are equal that it does not pay to find out which.
    """
    sizes = np.diff(bases).tolist()
    if math.prod(sizes) <= max(_FIRST_ROOM, len(codes)):
        return _by_number(codes, bases, sizes)
    flat, width = codes.ravel(), codes.shape[1]
    one_of, number = np.empty(_FIRST_ROOM, np.int64), np.empty(len(codes), np.int64)
    hashes, found = np.empty(_FIRST_ROOM, np.uint64), np.zeros(1, np.int64)
    table, done = hash_table(hashes, 0), 0
    while True:
        done = find_combinations(flat, width, done, table, hashes, one_of, found, number)
        count = int(found[0])
        if done == len(codes):
            return codes[one_of[:count]], number
        if 4 * done * done > (done - count) * len(codes):
            # Of d equally frequent combinations, n rows repeat about n * n / 2 d; so there are more
            # combinations than an eighth of the rows.
            return codes, None
        one_of, hashes = longer(one_of), longer(hashes)
        table = hash_table(hashes, count)


def _by_number(codes: Codes, bases: Ints, sizes: list[int]) -> tuple[Codes, Ints]:
    """Do the same with a number for every combination that there can be."""
    key = np.zeros(len(codes), np.int64)
    for part, size in enumerate(sizes):
        key = key * size + (codes[:, part] - bases[part])
    one_of = np.full(math.prod(sizes), -1)
    one_of[key] = np.arange(len(codes))
    occurs = one_of >= 0
    place: Ints = np.cumsum(occurs) - 1
    return codes[one_of[occurs]], place[key]
