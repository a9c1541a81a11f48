"""Rows of a key that share a place: which of them stays [Frames, appendix C, *Uniqueness*]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.numbers.order_keys import tie_ranks


@dataclass(frozen=True)
class Ties:
    """What happens to rows that tie; the columns ``t0..``, of these ``types``, order them."""

    how: str = "fail"
    types: tuple[pa.DataType, ...] = ()

    @property
    def refuses(self) -> bool:
        return self.how in ("first", "last")

    @property
    def names(self) -> list[str]:
        return [f"t{place}" for place in range(len(self.types))]

    def kept(self, rows: pa.Table, ties: Mask) -> Ints | None:
        """The rows that stay, where some have the place of the row before; None if all stay."""
        if not ties.any():
            return None
        group = np.cumsum(~ties)
        orders = [tie_ranks(rows[name].combine_chunks()) for name in self.names]
        place = np.lexsort((*reversed(orders), group))
        first = np.diff(group[place], prepend=0) > 0
        edge = first if self.how == "first" else np.append(first[1:], True)
        return np.sort(place[edge])


def same_as_before(*columns: npt.NDArray[np.generic]) -> Mask:
    """Which rows have what the row before them has in all columns."""
    ties = np.zeros(len(columns[0]), np.bool_)
    if len(ties):
        ties[1:] = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
    return ties
