"""Two stores that sell the same items [Promising tuples 1.1 and 5].

Customers come to the tills at random, more of them around noon and in the early evening. Every item
that a till scans is a row. A few items sell all the time and most of them hardly ever. What is
popular in one store is mostly popular in the other.

>>> shops = Retail(hours=1, items=50)
>>> shops.sales().column_names
['ts', 'store', 'sale', 'item', 'price']
>>> shops.names
('S1', 'S2')
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.simulate.model import Floats, Integers, StreamModel

#: Customers over the hours of a day, as a share of the busiest hour.
_HOURS = (0, 7, 9, 12, 14, 17, 19, 21, 24)
_BUSY = (0.05, 0.05, 0.5, 0.95, 0.6, 1.0, 0.9, 0.2, 0.05)
#: From one item of a customer to the next, in seconds.
_SCAN_SECONDS = (1.0, 4.0)
_MICROS_AN_HOUR = 3_600_000_000


@dataclass(frozen=True)
class Retail(StreamModel):
    """Some stores over some hours; the same arguments give the same table.

    Args:
        hours: How long, from ``start``.
        start: When the first customer may come, in UTC; busy hours follow this clock.
        seed: Of everything that is random.
        stores: How many there are.
        items: How many different ones are sold.
        customers_per_hour: Of each store, in its busiest hour.
        basket: How many items a customer buys, on average.
        popularity: The n-th item sells as often as n to the power of minus this; 0 is all alike.
        alike: The share of items that are as popular in every store.
        closed: How often each store closes its tills for ``closed_minutes``.
        closed_minutes: How long such a gap is; nothing is sold in it.
        missing: The share of rows that never come.
        disordered: The share of rows that come late, by no more than ``disorder_seconds``.
        disorder_seconds: A stream with this slack loses nothing.
    """

    hours: float = 4
    start: datetime = datetime(2026, 3, 3, 10, tzinfo=UTC)
    seed: int = 7
    stores: int = 2
    items: int = 1000
    customers_per_hour: float = 300
    basket: float = 6
    popularity: float = 1.1
    alike: float = 0.7
    closed: int = 1
    closed_minutes: float = 10
    missing: float = 0.0
    disordered: float = 0.05
    disorder_seconds: float = 20

    def __post_init__(self) -> None:
        self._check(
            above_zero=("hours", "stores", "items", "customers_per_hour"),
            not_negative=("popularity", "closed", "closed_minutes"),
            shares=("alike", "missing"),
        )
        if self.basket < 1:
            raise ArgumentError("basket", self.basket, "a customer buys one item or more")
        if self.hours * 60 < self.closed * self.closed_minutes:
            expected = "the gaps must leave some of the hours"
            raise ArgumentError("closed_minutes", self.closed_minutes, expected)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the stores."""
        return tuple(f"S{number + 1}" for number in range(self.stores))

    def sales(self) -> pa.Table:
        """Return a row for every item sold, in the order of arrival; prices are in cents."""
        visits = [self._visits(store) for store in range(self.stores)]
        store = np.repeat(np.arange(self.stores), [len(v.micros) for v in visits])
        micros = np.concatenate([visit.micros for visit in visits])
        item = np.concatenate([visit.item for visit in visits])
        # Sales are numbered over all stores, so that no two have the same number.
        sale = np.concatenate([visit.sale * self.stores + n for n, visit in enumerate(visits)])
        order = np.lexsort((sale, store, micros))
        rows = pa.table(
            {
                "ts": self._timestamps(micros[order]),
                "store": pa.array(self.names).take(pa.array(store[order])),
                "sale": pa.array(sale[order]),
                "item": pa.array(item[order]),
                "price": pa.array(self.prices[item[order]]),
            }
        )
        return self._arrived("sales", rows, micros[order], self.missing)

    @cached_property
    def prices(self) -> Integers:
        """The prices of the items, in cents and the same in all stores."""
        drawn = self._rng("prices").lognormal(np.log(400), 0.9, self.items)
        return np.maximum(10, drawn).astype(np.int64)

    def ranking(self, store: int) -> Integers:
        """Return the items of a store, the most popular one first.

        >>> two = Retail(items=5, alike=1)
        >>> two.ranking(0).tolist() == two.ranking(1).tolist()
        True
        """
        order = self._rng("ranking").permutation(self.items)
        own = self._rng(f"ranking of {store}")
        moved = np.flatnonzero(own.random(self.items) >= self.alike)
        order[moved] = order[own.permutation(moved)]
        return order

    def _visits(self, store: int) -> _Visits:
        """Return what one store sells."""
        rng = self._rng(f"visits of {store}")
        begins = self._arrivals(rng)
        size = 1 + rng.poisson(self.basket - 1, len(begins))
        sale = np.repeat(np.arange(len(begins)), size)
        scanned = rng.uniform(*_SCAN_SECONDS, len(sale)).cumsum()
        first = np.concatenate([[0], size.cumsum()[:-1]]).astype(np.int64)
        # The first item of a customer is scanned at once.
        after = scanned - np.repeat(scanned[first], size) if len(sale) else scanned
        micros = np.repeat(begins, size) + (after * 1e6).astype(np.int64)
        place = rng.choice(self.items, len(sale), p=self._shares)
        kept = self._is_open(rng, micros)
        return _Visits(micros[kept], sale[kept], self.ranking(store)[place[kept]])

    def _arrivals(self, rng: np.random.Generator) -> Integers:
        """Return when customers come to the tills: more of them in busy hours."""
        most = rng.poisson(self.customers_per_hour * self.hours)
        micros = np.sort(rng.integers(round(self.hours * _MICROS_AN_HOUR), size=most))
        midnight = self.start.hour + self.start.minute / 60
        busy = np.interp((midnight + micros / _MICROS_AN_HOUR) % 24, _HOURS, _BUSY)
        chosen: Integers = micros[rng.random(most) < busy]
        return chosen

    def _is_open(self, rng: np.random.Generator, micros: Integers) -> np.ndarray:
        """Return whether tills work at these times: there is one gap in each part of the hours."""
        whole, gap = self.hours * _MICROS_AN_HOUR, self.closed_minutes * _MICROS_AN_HOUR / 60
        part = whole / max(1, self.closed)
        starts = np.arange(self.closed) * part + rng.random(self.closed) * (part - gap)
        inside = (micros >= starts[:, None]) & (micros < starts[:, None] + gap)
        return ~inside.any(axis=0) & (micros < whole)

    @cached_property
    def _shares(self) -> Floats:
        """How often the item at each place of the ranking is sold."""
        weight = np.arange(1, self.items + 1, dtype=float) ** -self.popularity
        share: Floats = weight / weight.sum()
        return share


@dataclass(frozen=True, eq=False)
class _Visits:
    """Rows of one store: when, in microseconds since the start, in which sale, and which item."""

    micros: Integers
    sale: Integers
    item: Integers
