"""Synopses: bounded summaries of one key's rows, fed in order of ``on``.

An accumulator can be merged, so it goes through panes. A synopsis cannot, or not within its
bounds: it must see the rows one after the other, and in return needs little memory however many
rows a window holds. The operator holds rows back until punctuation has passed them, feeds them
in order, and asks where a window ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from muntin.kernels.arrays import Floats, Ints

#: A column of the rows that are fed; NaN stands for null.


#: The aggregates that synopses answer.
SYNOPSES = frozenset(
    {
        "approx_count",
        "approx_sum",
        "approx_avg",
        "approx_distinct_window",
        "lp_norm",
        "own_synopsis",
        "hash_counts",
        "value_histogram",
        "focused",
    }
)


class Synopsis(Protocol):
    """The summary of one key; it changes as it is fed."""

    def run(
        self, ticks: Ints, values: Sequence[Floats], starts: Ints, ends: Ints
    ) -> Sequence[Floats]:
        """Feed rows and answer questions in between.

        ``ticks`` never fall. Question ``i`` asks about the rows in ``[starts[i], ends[i])``; it is
        answered when all rows below ``ends[i]`` have been fed, and those behind have not. Neither
        ends nor starts ever fall. Every question is answered by this call; rows beyond the last
        end are fed as well. Returns the columns of the answer, NaN for null.
        """

    def forget(self, below: int) -> None:
        """No later question starts below this tick."""

    def dump(self) -> bytes:
        """Everything it remembers."""


class SynopsisKind(Protocol):
    """How synopses of one aggregate are made; a frozen value that can be pickled."""

    @property
    def result(self) -> pa.DataType:
        """The type of the aggregate, made of the columns that :meth:`Synopsis.run` returns.

        A double (one column), a struct of doubles with a field per column, or a list of doubles
        with an element per column; the number of columns never changes.
        """

    def new(self) -> Synopsis:
        """An empty synopsis."""

    def load(self, dumped: bytes) -> Synopsis:
        """A synopsis from what :meth:`Synopsis.dump` gave."""
