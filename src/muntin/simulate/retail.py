"""Two stores that sell the same items [Promising tuples 1.1 and 5].

Customers come to the tills at random, more of them around noon and in the early evening, and every
item that a till scans is a row. A few items sell all the time and most of them hardly ever; what is
popular in one store is popular in the other, but not quite.

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
from muntin.simulate.arrivals import ArrivalDelays
from muntin.simulate.random_draws import (
    Floats,
    Integers,
    check_above_zero,
    check_not_negative,
    check_share,
    check_zone,
    generator,
    timestamps,
)

#: Customers over the hours of a day, as a share of the busiest hour.
_HOURS = (0, 7, 9, 12, 14, 17, 19, 21, 24)
_BUSY = (0.05, 0.05, 0.5, 0.95, 0.6, 1.0, 0.9, 0.2, 0.05)
#: From one item of a customer to the next, in seconds.
_SCAN_SECONDS = (1.0, 4.0)
_MICROS_AN_HOUR = 3_600_000_000


@dataclass(frozen=True)
class Retail:
    """Some stores over some hours; the same arguments give the same table.

    Args:
        hours: How long, from ``start``.
        start: When the first customer may come, in UTC; busy hours follow this clock.
        seed: Of everything that is drawn by chance.
        stores: How many there are.
        items: How many different ones are sold.
        customers_per_hour: Of each store, in its busiest hour.
        basket: How many items a customer buys, on average.
        popularity: The item at place n sells as often as n to the minus this: 0 is all alike.
        alike: The share of items that have the same place in every store.
        closed: How often a store closes its tills for ``closed_minutes``, each of them.
        closed_minutes: How long such a gap is; nothing is sold in it.
        missing: The share of rows that never come.
        disordered: The share of rows that are held up, by no more than ``disorder_seconds``.
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
        for name in ("hours", "stores", "items", "customers_per_hour"):
            check_above_zero(name, getattr(self, name))
        for name in ("popularity", "closed", "closed_minutes"):
            check_not_negative(name, getattr(self, name))
        check_share("alike", self.alike)
        check_zone("start", self.start)
        self._arriving()  # which checks the rest
        if self.basket < 1:
            raise ArgumentError("basket", self.basket, "a customer buys one item or more")
        if self.hours * 60 < self.closed * self.closed_minutes:
            expected = "the gaps must leave some of the hours"
            raise ArgumentError("closed_minutes", self.closed_minutes, expected)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the stores."""
        return tuple(f"S{number + 1}" for number in range(self.stores))

    def sales(self) -> pa.Table:
        """A row for every item that was sold, in the order of arrival; prices are in cents."""
        visits = [self._visits(store) for store in range(self.stores)]
        store = np.repeat(np.arange(self.stores), [len(v.micros) for v in visits])
        micros = np.concatenate([visit.micros for visit in visits])
        item = np.concatenate([visit.item for visit in visits])
        # Sales are numbered over all stores, so that a number says which sale it was.
        sale = np.concatenate([visit.sale * self.stores + n for n, visit in enumerate(visits)])
        order = np.lexsort((sale, store, micros))
        rows = pa.table(
            {
                "ts": timestamps(self.start, micros[order]),
                "store": pa.array(self.names).take(pa.array(store[order])),
                "sale": pa.array(sale[order]),
                "item": pa.array(item[order]),
                "price": pa.array(self.prices[item[order]]),
            }
        )
        return self._arriving().sort(self._rng("arrival of sales"), rows, micros[order])

    @cached_property
    def prices(self) -> Integers:
        """Of the items, in cents and the same in all stores."""
        drawn = self._rng("prices").lognormal(np.log(400), 0.9, self.items)
        return np.maximum(10, drawn).astype(np.int64)

    def ranking(self, store: int) -> Integers:
        """The items of a store, the most popular one first.

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
        """What one store sells."""
        rng = self._rng(f"visits of {store}")
        begins = self._arrivals(rng)
        size = 1 + rng.poisson(self.basket - 1, len(begins))
        sale = np.repeat(np.arange(len(begins)), size)
        scanned = rng.uniform(*_SCAN_SECONDS, len(sale)).cumsum()
        first = np.concatenate([[0], size.cumsum()[:-1]]).astype(np.int64)
        # A customer's own first item is scanned at once, whatever was scanned before.
        after = scanned - np.repeat(scanned[first], size) if len(sale) else scanned
        micros = np.repeat(begins, size) + (after * 1e6).astype(np.int64)
        place = rng.choice(self.items, len(sale), p=self._shares)
        kept = self._is_open(rng, micros)
        return _Visits(micros[kept], sale[kept], self.ranking(store)[place[kept]])

    def _arrivals(self, rng: np.random.Generator) -> Integers:
        """When customers come to the tills, thinned to how busy the hour is."""
        most = rng.poisson(self.customers_per_hour * self.hours)
        micros = np.sort(rng.integers(round(self.hours * _MICROS_AN_HOUR), size=most))
        midnight = self.start.hour + self.start.minute / 60
        busy = np.interp((midnight + micros / _MICROS_AN_HOUR) % 24, _HOURS, _BUSY)
        chosen: Integers = micros[rng.random(most) < busy]
        return chosen

    def _is_open(self, rng: np.random.Generator, micros: Integers) -> np.ndarray:
        """Whether tills work at these times: one gap in each part of the hours."""
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

    def _arriving(self) -> ArrivalDelays:
        return ArrivalDelays(self.disordered, self.disorder_seconds, self.missing)

    def _rng(self, purpose: str) -> np.random.Generator:
        return generator(self.seed, purpose)


@dataclass(frozen=True, eq=False)
class _Visits:
    """Rows of one store: when, in microseconds since the start, in which sale, and which item."""

    micros: Integers
    sale: Integers
    item: Integers
