"""Rows of a key that share a place: which of them stays (frames.txt, appendix C, *Uniqueness*)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.aggregates.ordering import order_keys

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


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

    def kept(self, rows: pa.Table, key: Ints, at: Ints) -> Ints | None:
        """Of rows sorted by key and place the ones that stay; None if that is all of them."""
        ties = same_place(key, at)
        if not ties.any():
            return None
        group = np.cumsum(~ties)
        orders = [order_keys(rows[name].combine_chunks()).key for name in self.names]
        place = np.lexsort((*reversed(orders), group))
        first = np.diff(group[place], prepend=0) > 0
        edge = first if self.how == "first" else np.append(first[1:], True)
        return np.sort(place[edge])


def same_place(key: Ints, at: Ints) -> Mask:
    """Which rows have the key and the place of the row before them."""
    ties = np.zeros(len(key), np.bool_)
    ties[1:] = (key[1:] == key[:-1]) & (at[1:] == at[:-1])
    return ties
