from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import ArgumentError
from muntin.simulate.auction import AuctionHouse

TABLES = ("persons", "auctions", "bids", "closings")
WHEN = {"persons": "registered", "auctions": "opens", "bids": "ts", "closings": "closes"}
MOMENT = pa.timestamp("us", tz="UTC")

houses = st.builds(
    AuctionHouse,
    hours=st.sampled_from([0.3, 1, 3]),
    seed=st.integers(0, 10**6),
    n_persons=st.integers(2, 30),
    n_auctions=st.integers(1, 40),
    n_bids=st.integers(0, 300),
    shortest_minutes=st.sampled_from([1e-7, 0.5, 4]),
    longest_minutes=st.sampled_from([4, 45]),
    reserved=st.sampled_from([0, 0.5, 1]),
    seats=st.integers(1, 12),
    visit_minutes=st.sampled_from([1, 15, 500]),
    gaps=st.integers(0, 3),
    gap_minutes=st.sampled_from([0, 1, 5]),
    disordered=st.sampled_from([0, 0.1, 1]),
    disorder_seconds=st.sampled_from([0, 10, 600]),
)


@pytest.fixture(scope="module")
def house() -> AuctionHouse:
    return AuctionHouse()


def tables(house: AuctionHouse) -> dict[str, pa.Table]:
    return {name: getattr(house, name)() for name in TABLES}


def rows(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def moments(house: AuctionHouse, name: str) -> list[datetime]:
    found: list[datetime] = getattr(house, name)()[WHEN[name]].to_pylist()
    return found


def behind_seconds(house: AuctionHouse, name: str) -> float:
    """How far a row can be behind the newest that came before it."""
    micros = getattr(house, name)()[WHEN[name]].cast(pa.int64()).to_numpy()
    return float((np.maximum.accumulate(micros) - micros).max() / 1e6)


def test_schemas(house: AuctionHouse) -> None:
    whole = pa.int64()
    assert house.persons().schema == pa.schema(
        {"person": whole, "name": pa.string(), "city": pa.string(), "registered": MOMENT}
    )
    assert house.auctions().schema == pa.schema(
        {
            "auction": whole,
            "seller": whole,
            "category": pa.int32(),
            "initial_bid": whole,
            "reserve": whole,
            "opens": MOMENT,
            "expires": MOMENT,
        }
    )
    assert house.bids().schema == pa.schema(
        {"auction": whole, "bidder": whole, "price": whole, "ts": MOMENT}
    )
    assert house.closings().schema == pa.schema(
        {
            "auction": whole,
            "seller": whole,
            "category": pa.int32(),
            "closes": MOMENT,
            "price": whole,
            "winner": whole,
        }
    )


def test_the_same_seed_gives_the_same_tables() -> None:
    assert tables(AuctionHouse(seed=3)) == tables(AuctionHouse(seed=3))


@pytest.mark.parametrize("name", TABLES)
def test_another_seed_gives_other_tables(name: str) -> None:
    one, other = AuctionHouse(seed=3), AuctionHouse(seed=4)
    assert not getattr(one, name)().equals(getattr(other, name)())


def test_more_bids_do_not_change_what_is_offered() -> None:
    few, many = AuctionHouse(n_bids=10), AuctionHouse(n_bids=5000)
    assert few.persons().equals(many.persons())
    assert few.auctions().equals(many.auctions())


def test_as_many_as_asked_for() -> None:
    asked = AuctionHouse(n_persons=11, n_auctions=12, n_bids=130)
    assert [table.num_rows for table in tables(asked).values()] == [11, 12, 130, 12]


def test_nobody_bids() -> None:
    silent = AuctionHouse(n_bids=0)
    assert silent.bids().num_rows == 0
    assert silent.closings()["price"].null_count == silent.n_auctions


def test_nothing_is_offered() -> None:
    assert AuctionHouse(n_auctions=0, n_bids=0).closings().num_rows == 0


@given(houses)
@settings(max_examples=500)
def test_rows_refer_to_rows_that_are_there_in_time(house: AuctionHouse) -> None:
    registered = {row["person"]: row["registered"] for row in rows(house.persons())}
    auctions = {row["auction"]: row for row in rows(house.auctions())}
    assert len(registered) == house.n_persons
    assert len(auctions) == house.n_auctions
    for auction in auctions.values():
        assert registered[auction["seller"]] <= auction["opens"] < auction["expires"]
        assert 0 <= auction["category"] < house.categories
        assert auction["reserve"] is None or auction["reserve"] >= auction["initial_bid"] > 0
    for bid in rows(house.bids()):
        auction = auctions[bid["auction"]]
        assert auction["opens"] <= bid["ts"] < auction["expires"]
        assert registered[bid["bidder"]] <= bid["ts"]
        assert bid["bidder"] != auction["seller"]
        assert bid["price"] >= auction["initial_bid"]


@given(houses)
@settings(max_examples=500)
def test_winning_bids_by_brute_force(house: AuctionHouse) -> None:
    bids = rows(house.bids())
    expected = []
    for auction in rows(house.auctions()):
        made = [bid for bid in bids if bid["auction"] == auction["auction"]]
        enough = [bid for bid in made if bid["price"] >= (auction["reserve"] or 0)]
        best = min(enough, key=lambda b: (-b["price"], b["ts"], b["bidder"]), default=None)
        expected.append(
            {
                "auction": auction["auction"],
                "seller": auction["seller"],
                "category": auction["category"],
                "closes": auction["expires"],
                "price": best and best["price"],
                "winner": best and best["bidder"],
            }
        )
    assert sorted(rows(house.closings()), key=lambda row: row["auction"]) == sorted(
        expected, key=lambda row: row["auction"]
    )


def test_some_auctions_sell_and_some_do_not(house: AuctionHouse) -> None:
    unsold = house.closings()["price"].null_count
    assert 0.03 < unsold / house.n_auctions < 0.3
    assert AuctionHouse(reserved=0).closings()["price"].null_count < unsold


def test_a_later_bid_may_be_lower(house: AuctionHouse) -> None:
    highest: dict[int, int] = {}
    lower = 0
    for bid in sorted(rows(house.bids()), key=lambda bid: bid["ts"]):
        lower += bid["price"] < highest.get(bid["auction"], 0)
        highest[bid["auction"]] = max(bid["price"], highest.get(bid["auction"], 0))
    assert lower > house.n_bids / 10


def test_the_reserved_share(house: AuctionHouse) -> None:
    reserves = house.auctions()["reserve"]
    assert 1 - reserves.null_count / len(reserves) == pytest.approx(house.reserved, abs=0.05)


def test_auctions_last_as_long_as_they_may() -> None:
    open_ = AuctionHouse(shortest_minutes=3, longest_minutes=4, gaps=0).auctions()
    lasted = [row["expires"] - row["opens"] for row in rows(open_)]
    assert timedelta(minutes=3) <= min(lasted) < max(lasted) <= timedelta(minutes=4)


@given(houses)
@settings(max_examples=300)
def test_disorder_is_bounded(house: AuctionHouse) -> None:
    for name in TABLES:
        if getattr(house, name)().num_rows:
            assert behind_seconds(house, name) <= house.disorder_seconds


def test_there_is_disorder(house: AuctionHouse) -> None:
    assert behind_seconds(house, "bids") > house.disorder_seconds / 2
    assert behind_seconds(AuctionHouse(disordered=0), "bids") == 0
    assert behind_seconds(AuctionHouse(disorder_seconds=0), "bids") == 0


def test_disorder_changes_the_order_alone(house: AuctionHouse) -> None:
    ordered = AuctionHouse(disordered=0)
    for name in TABLES:
        keys = [(column, "ascending") for column in getattr(house, name)().column_names]
        one, other = getattr(house, name)(), getattr(ordered, name)()
        assert one.sort_by(keys).equals(other.sort_by(keys))
        assert not one.equals(other)


def test_nothing_happens_in_a_pause() -> None:
    """
    hours   0         1         2         3
    rows     x xxxx xx|  pause  |xxx x xxxx
    """
    paused = AuctionHouse(hours=3, gaps=1, gap_minutes=60, n_auctions=2000, n_bids=20000)
    end = paused.start + timedelta(hours=3)
    found = sorted(moment for name in TABLES for moment in moments(paused, name))
    # After the end there are few auctions left, and they may be long apart.
    every = [moment for moment in found if moment < end]
    apart = [later - earlier for earlier, later in pairwise(every)]
    assert timedelta(hours=1) <= max(apart) < timedelta(hours=1, seconds=10)
    assert sorted(apart)[-2] < timedelta(minutes=1)


def test_pauses_are_as_many_as_asked_for() -> None:
    paused = AuctionHouse(hours=10, gaps=4, gap_minutes=50, n_auctions=2000, n_bids=20000)
    every = sorted(moments(paused, "bids"))
    apart = [later - earlier for earlier, later in pairwise(every)]
    assert sum(gap >= timedelta(minutes=50) for gap in apart) == 4


def test_auctions_open_within_the_hours(house: AuctionHouse) -> None:
    begin = datetime(2026, 3, 3, 9, tzinfo=UTC)
    for name in ("persons", "auctions"):
        assert begin <= min(moments(house, name))
        assert max(moments(house, name)) < begin + timedelta(hours=2)
    assert max(moments(house, "closings")) <= begin + timedelta(hours=2, minutes=30)


def test_people_come_for_a_visit() -> None:
    """In one seat nobody bids between the bids of another who keeps it."""
    single = AuctionHouse(seats=1, n_persons=50, gaps=0, visit_minutes=20)
    bids = sorted(rows(single.bids()), key=lambda bid: bid["ts"])
    # A visitor does not bid in an auction of his own; his neighbour then does.
    visits = sum(abs(a["bidder"] - b["bidder"]) > 1 for a, b in pairwise(bids))
    assert 4 <= visits <= 10


def test_some_sellers_sell_more_than_ten(house: AuctionHouse) -> None:
    sold = [row["seller"] for row in rows(house.closings()) if row["price"] is not None]
    assert sum(sold.count(seller) > 10 for seller in set(sold)) >= 3


@pytest.mark.parametrize(
    ("argument", "given", "expected"),
    [
        ("hours", 0, "it must be above zero"),
        ("seats", 0, "it must be above zero"),
        ("n_bids", -1, "it must not be negative"),
        ("reserved", 1.5, "it is a share, from 0 to 1"),
        ("n_persons", 1, "it takes two, to sell and to bid"),
        ("n_auctions", 0, "bids need an auction; or set n_bids=0"),
        ("longest_minutes", 4, "it must not be below shortest_minutes=5"),
        ("gap_minutes", 120, "the pauses must leave some of the hours"),
        ("start", datetime(2026, 3, 3), "it needs a time zone, such as tzinfo=UTC"),
    ],
)
def test_what_cannot_be_simulated(argument: str, given: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=f"{argument}=.*{expected}"):
        AuctionHouse(**{argument: given})
