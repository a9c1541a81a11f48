"""An auction house: people register, open auctions and bid in them, and some auctions sell.

It has the three streams of the NEXMark benchmark, and a fourth one, the closings. The model is our
own: bids are sealed, so a later bid may be lower, and people come for a visit, bid a few times and
leave.

>>> house = AuctionHouse(hours=1, n_persons=20, n_auctions=30, n_bids=400)
>>> house.persons().column_names
['person', 'name', 'city', 'registered']
>>> house.auctions().column_names
['auction', 'seller', 'category', 'initial_bid', 'reserve', 'opens', 'expires']
>>> house.bids().column_names
['auction', 'bidder', 'price', 'ts']
>>> house.closings().column_names
['auction', 'seller', 'category', 'closes', 'price', 'winner']
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.simulate.model import Integers, StreamModel

_FIRST_NAMES = ("Ada", "Bela", "Chen", "Dina", "Emil", "Fay", "Goran", "Hana", "Ivo", "Jun")
_LAST_NAMES = ("Abbott", "Brandt", "Costa", "Dubois", "Eriksen", "Fischer", "Greco", "Horvat")
_CITIES = ("Astoria", "Bend", "Corvallis", "Eugene", "Medford", "Portland", "Salem")
#: The share of auctions opened by one of the newest persons, and how many count as new. The others
#: are opened by anybody, and the longer somebody is there the more.
_BY_NEWCOMERS, _NEWCOMERS = 0.3, 5
_MICROS_A_MINUTE = 60_000_000


@dataclass(frozen=True)
class AuctionHouse(StreamModel):
    """An auction house over some hours; the same arguments give the same tables.

    Auctions open within the hours. Bidding goes on, and the last ones close, after them. Every
    table is in the order in which its rows arrive; money is in cents.

    Args:
        hours: How long, from ``start``.
        start: When the house opens its doors, in UTC.
        seed: Of everything that is random.
        n_persons: How many register, two of them at the start.
        n_auctions: How many are opened.
        n_bids: How many are made; a few auctions draw many of them, some draw none.
        categories: Of what is sold, numbered from 0.
        shortest_minutes: An auction is open for no less than this.
        longest_minutes: Nor for more than this.
        reserved: The share of auctions with a reserve, below which they do not sell.
        seats: How many can bid at the same time.
        visit_minutes: How long somebody keeps a seat. It is then free for another visitor.
        gaps: How often the house pauses.
        gap_minutes: How long a pause is. Nobody registers, opens, bids or closes in it, and
            auctions that were open stay open for that much longer.
        disordered: The share of rows that come late, by no more than ``disorder_seconds``.
        disorder_seconds: A stream with this slack loses nothing.
    """

    hours: float = 2
    start: datetime = datetime(2026, 3, 3, 9, tzinfo=UTC)
    seed: int = 7
    n_persons: int = 200
    n_auctions: int = 600
    n_bids: int = 6000
    categories: int = 5
    shortest_minutes: float = 5
    longest_minutes: float = 30
    reserved: float = 0.25
    seats: int = 40
    visit_minutes: float = 15
    gaps: int = 1
    gap_minutes: float = 12
    disordered: float = 0.05
    disorder_seconds: float = 10

    def __post_init__(self) -> None:
        self._check(
            above_zero=("hours", "categories", "shortest_minutes", "seats", "visit_minutes"),
            not_negative=("n_auctions", "n_bids", "gaps", "gap_minutes"),
            shares=("reserved",),
        )
        if self.n_persons < 2:
            raise ArgumentError("n_persons", self.n_persons, "it takes two, to sell and to bid")
        if self.longest_minutes < self.shortest_minutes:
            expected = f"it must not be below shortest_minutes={self.shortest_minutes}"
            raise ArgumentError("longest_minutes", self.longest_minutes, expected)
        if self.n_bids and not self.n_auctions:
            raise ArgumentError("n_auctions", 0, "bids need an auction; or set n_bids=0")
        if not self._open_micros > 0:
            expected = "the pauses must leave some of the hours"
            raise ArgumentError("gap_minutes", self.gap_minutes, expected)

    def persons(self) -> pa.Table:
        """Return who registered, and when."""
        rng = self._rng("names")
        first, last, city = (
            pa.array(names).take(pa.array(rng.integers(len(names), size=self.n_persons)))
            for names in (_FIRST_NAMES, _LAST_NAMES, _CITIES)
        )
        names = [
            f"{one} {two}" for one, two in zip(first.to_pylist(), last.to_pylist(), strict=True)
        ]
        table = {
            "person": pa.array(np.arange(self.n_persons)),
            "name": pa.array(names, pa.string()),
            "city": city,
            "registered": self._times(self._registered),
        }
        return self._arrived("persons", pa.table(table), self._clock(self._registered))

    def auctions(self) -> pa.Table:
        """Return what is offered; ``reserve`` is null if there is none."""
        drawn = self._auctions
        table = {
            "auction": pa.array(np.arange(self.n_auctions)),
            "seller": pa.array(drawn.seller),
            "category": pa.array(drawn.category, pa.int32()),
            "initial_bid": pa.array(drawn.initial),
            "reserve": pa.array(drawn.reserve, mask=drawn.reserve == 0),
            "opens": self._times(drawn.opens),
            "expires": self._times(drawn.expires),
        }
        return self._arrived("auctions", pa.table(table), self._clock(drawn.opens))

    def bids(self) -> pa.Table:
        """Return the bids, each made while its auction is open, and at least its initial bid."""
        drawn = self._bids
        table = {
            "auction": pa.array(drawn.auction),
            "bidder": pa.array(drawn.bidder),
            "price": pa.array(drawn.price),
            "ts": self._times(drawn.ts),
        }
        return self._arrived("bids", pa.table(table), self._clock(drawn.ts))

    def closings(self) -> pa.Table:
        """Return every auction when it expires, with the winning bid; null if it does not sell.

        The highest bid wins, the earliest among equals, unless it is below the reserve.
        """
        drawn, bids = self._auctions, self._bids
        # One of two bids at the same microsecond must win, too.
        order = np.lexsort((bids.bidder, bids.ts, -bids.price, bids.auction))
        auction, first = np.unique(bids.auction[order], return_index=True)
        best = order[first]
        price, winner = np.zeros((2, self.n_auctions), np.int64)
        price[auction], winner[auction] = bids.price[best], bids.bidder[best]
        unsold = (price == 0) | (price < drawn.reserve)
        table = {
            "auction": pa.array(np.arange(self.n_auctions)),
            "seller": pa.array(drawn.seller),
            "category": pa.array(drawn.category, pa.int32()),
            "closes": self._times(drawn.expires),
            "price": pa.array(price, mask=unsold),
            "winner": pa.array(winner, mask=unsold),
        }
        return self._arrived("closings", pa.table(table), self._clock(drawn.expires))

    @cached_property
    def _registered(self) -> Integers:
        """When each person registers, in microseconds of opening time, like all times below.

        Opening time stops in the pauses.
        """
        when = np.sort(self._rng("registered").integers(self._open_micros, size=self.n_persons))
        when[:2] = 0
        return when

    @cached_property
    def _auctions(self) -> _Auctions:
        rng, n = self._rng("auctions"), self.n_auctions
        opens = np.sort(rng.integers(self._open_micros, size=n))
        minutes = rng.uniform(self.shortest_minutes, self.longest_minutes, n)
        there = np.searchsorted(self._registered, opens, side="right")
        anybody = (there * rng.random(n) ** 2).astype(np.int64)
        newcomer = there - 1 - (np.minimum(there, _NEWCOMERS) * rng.random(n)).astype(np.int64)
        initial = np.maximum(100, rng.lognormal(np.log(2000), 1, n)).astype(np.int64)
        reserve = (initial * rng.uniform(1, 3, n)).astype(np.int64)
        return _Auctions(
            seller=np.where(rng.random(n) < _BY_NEWCOMERS, newcomer, anybody),
            category=rng.integers(self.categories, size=n),
            initial=initial,
            reserve=np.where(rng.random(n) < self.reserved, reserve, 0),
            opens=opens,
            expires=opens + (minutes * _MICROS_A_MINUTE).astype(np.int64),
        )

    @cached_property
    def _bids(self) -> _Bids:
        rng, n, auctions = self._rng("bids"), self.n_bids, self._auctions
        liked = rng.lognormal(0, 1, self.n_auctions)
        # Without bids there may be no auctions to share them among.
        counts = rng.multinomial(n, liked / liked.sum()) if n else np.zeros(len(liked), np.int64)
        auction = np.repeat(np.arange(self.n_auctions), counts)
        opens, lasts = auctions.opens[auction], (auctions.expires - auctions.opens)[auction]
        # The root: more come towards the end. It may round up to 1, which is too late.
        ts = opens + np.minimum(lasts - 1, (lasts * np.sqrt(rng.random(n))).astype(np.int64))
        worth = (auctions.initial * (1 + rng.exponential(1, self.n_auctions)))[auction]
        price = (worth * rng.lognormal(0, 0.25, n)).astype(np.int64)
        price = np.maximum(auctions.initial[auction], price)
        bidder = self._visitors(rng, ts, auctions.seller[auction])
        order = np.lexsort((bidder, ts))
        return _Bids(auction[order], bidder[order], price[order], ts[order])

    def _visitors(self, rng: np.random.Generator, ts: Integers, seller: Integers) -> Integers:
        """Return who bids at these times: one of those who have a seat, not the seller."""
        visit = max(1, round(self.visit_minutes * _MICROS_A_MINUTE))
        seat = rng.integers(self.seats, size=len(ts))
        # Visits do not all begin at the same time.
        shift = rng.integers(visit, size=self.seats)
        turn = (ts + shift[seat]) // visit
        sits_down = np.maximum(0, turn * visit - shift[seat])
        there = np.searchsorted(self._registered, sits_down, side="right")
        chosen = rng.random((self.seats, int(turn.max(initial=0)) + 1))[seat, turn]
        visitor = (there * chosen).astype(np.int64)
        other: Integers = (visitor + (visitor == seller)) % there
        return other

    @cached_property
    def _pauses(self) -> Integers:
        """When the pauses begin: one in each part of the hours."""
        places = (np.arange(self.gaps) + self._rng("pauses").random(self.gaps)) / max(1, self.gaps)
        return (places * self._open_micros).astype(np.int64)

    @property
    def _open_micros(self) -> int:
        return round((self.hours * 60 - self.gaps * self.gap_minutes) * _MICROS_A_MINUTE)

    def _clock(self, open_time: Integers) -> Integers:
        """Return microseconds since the start, from opening time."""
        passed = np.searchsorted(self._pauses, open_time, side="right")
        return open_time + passed * round(self.gap_minutes * _MICROS_A_MINUTE)

    def _times(self, open_time: Integers) -> pa.Array:
        return self._timestamps(self._clock(open_time))


@dataclass(frozen=True, eq=False)
class _Auctions:
    """The columns of auctions; a reserve of 0 is none."""

    seller: Integers
    category: Integers
    initial: Integers
    reserve: Integers
    opens: Integers
    expires: Integers


@dataclass(frozen=True, eq=False)
class _Bids:
    """The columns of bids, in the order in which they are made."""

    auction: Integers
    bidder: Integers
    price: Integers
    ts: Integers
