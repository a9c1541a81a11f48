from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from muntin.errors import ArgumentError
from muntin.simulate.retail import Retail


@pytest.fixture(scope="module")
def shops() -> Retail:
    return Retail()


@pytest.fixture(scope="module")
def sales(shops: Retail) -> pa.Table:
    return shops.sales()


def items_of(table: pa.Table, store: str) -> Counter[int]:
    return Counter(table.filter(pc.equal(table["store"], store))["item"].to_pylist())


def test_schema(sales: pa.Table) -> None:
    assert sales.schema == pa.schema(
        [
            ("ts", pa.timestamp("us", tz="UTC")),
            ("store", pa.string()),
            ("sale", pa.int64()),
            ("item", pa.int64()),
            ("price", pa.int64()),
        ]
    )


def test_the_same_seed_gives_the_same_table(sales: pa.Table) -> None:
    assert Retail().sales().equals(sales)
    assert not Retail(seed=8).sales().equals(sales)


def test_a_sale_is_of_one_store_and_of_a_basket(shops: Retail, sales: pa.Table) -> None:
    by_sale = sales.group_by("sale").aggregate([("store", "count_distinct"), ("item", "count")])
    assert pc.max(by_sale["store_count_distinct"]).as_py() == 1
    assert pc.mean(by_sale["item_count"]).as_py() == pytest.approx(shops.basket, rel=0.1)


def test_few_items_sell_most(shops: Retail, sales: pa.Table) -> None:
    for store in shops.names:
        sold = items_of(sales, store)
        top = sum(count for _, count in sold.most_common(20))
        assert top / sold.total() > 0.4


def test_popularity_is_shared_as_far_as_it_is_said() -> None:
    same, other = Retail(alike=1).sales(), Retail(alike=0).sales()
    tops = [
        [{item for item, _ in items_of(table, store).most_common(20)} for store in ("S1", "S2")]
        for table in (same, other)
    ]
    shared = [len(first & second) for first, second in tops]
    assert shared[0] >= 15
    assert shared[1] <= 5


def test_an_item_has_one_price(shops: Retail, sales: pa.Table) -> None:
    assert np.array_equal(sales["price"].to_numpy(), shops.prices[sales["item"].to_numpy()])
    assert shops.prices.min() >= 10


def test_nothing_is_sold_in_a_gap() -> None:
    busy = Retail(hours=2, customers_per_hour=2000, closed=2, closed_minutes=10)
    table = busy.sales()
    for store in busy.names:
        ts = np.sort(table.filter(pc.equal(table["store"], store))["ts"].cast(pa.int64()))
        assert (np.diff(ts) >= 9.9 * 60e6).sum() == 2


def test_disorder_is_bounded_and_rows_go_missing(shops: Retail, sales: pa.Table) -> None:
    ts = sales["ts"].cast(pa.int64()).to_numpy()
    behind = (np.maximum.accumulate(ts) - ts).max() / 1e6
    assert 5 <= behind <= shops.disorder_seconds
    fewer = Retail(missing=0.5).sales().num_rows / sales.num_rows
    assert fewer == pytest.approx(0.5, rel=0.1)


def test_a_quiet_night() -> None:
    night = Retail(hours=0.01, start=datetime.fromisoformat("2026-03-03T03:00:00+00:00"), closed=0)
    assert night.sales().num_rows < 20


@pytest.mark.parametrize(
    ("argument", "given", "expected"),
    [
        ("hours", 0, "it must be above zero"),
        ("stores", 0, "it must be above zero"),
        ("alike", 1.5, "it is a share, from 0 to 1"),
        ("missing", -0.1, "it is a share, from 0 to 1"),
        ("popularity", -1, "it must not be negative"),
        ("basket", 0.5, "a customer buys one item or more"),
        ("closed_minutes", 300, "the gaps must leave some of the hours"),
        ("start", datetime(2026, 3, 3), "it needs a time zone, such as tzinfo=UTC"),
    ],
)
def test_what_cannot_be_simulated(argument: str, given: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=expected):
        Retail(**{argument: given})
