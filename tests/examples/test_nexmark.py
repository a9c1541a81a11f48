"""Each query of examples/nexmark/full.py against a slow and obvious answer in plain Python.

The answers in Python are themselves checked by cases made by hand, which Spark has to answer too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.nexmark import full as nexmark
from muntin.simulate.auction import AuctionHouse
from muntin.testing import assert_same_rows

Row = dict[str, Any]
Rows = list[Row]

MINUTE, TEN = timedelta(minutes=1), timedelta(minutes=10)
HOUSE = AuctionHouse(
    hours=1.5, n_persons=15, n_auctions=90, n_bids=400, seats=3, gaps=1, gap_minutes=12
)


def at(text: str) -> datetime:
    """A time of the day: ``at("09:05")`` or ``at("09:05:30")``."""
    return datetime.fromisoformat(f"2026-03-03 {text}")


def floor(moment: datetime, length: timedelta) -> datetime:
    return moment - (moment - datetime(1970, 1, 1)) % length


def hot_items(bids: Rows) -> Rows:
    answer: Rows = []
    end = floor(min(bid["ts"] for bid in bids), MINUTE) + MINUTE
    while end - TEN <= max(bid["ts"] for bid in bids):
        counts = Counter(bid["auction"] for bid in bids if end - TEN <= bid["ts"] < end)
        answer += [
            {"window_start": end - TEN, "window_end": end, "auction": auction, "bids": n}
            for auction, n in counts.items()
            if n == max(counts.values())
        ]
        end += MINUTE
    return answer


def average_selling_price(closings: Rows) -> Rows:
    answer: Rows = []
    for seller in {row["seller"] for row in closings}:
        sales = [row for row in closings if row["seller"] == seller and row["price"] is not None]
        sales.sort(key=lambda row: row["closes"])
        for count in range(1, len(sales) + 1):
            last = sales[:count][-10:]
            answer.append(
                {
                    "seller": seller,
                    "window_start": count - len(last),
                    "window_end": count,
                    "on_start": last[0]["closes"],
                    "on_end": last[-1]["closes"],
                    "average": sum(row["price"] for row in last) / len(last),
                }
            )
    return answer


def highest_bid(bids: Rows) -> Rows:
    answer: Rows = []
    for start in {floor(bid["ts"], TEN) for bid in bids}:
        inside = [bid for bid in bids if start <= bid["ts"] < start + TEN]
        highest = max(bid["price"] for bid in inside)
        answer += [
            {
                "window_start": start,
                "window_end": start + TEN,
                "auction": bid["auction"],
                "bidder": bid["bidder"],
                "price": bid["price"],
                "ts": bid["ts"],
            }
            for bid in inside
            if bid["price"] == highest
        ]
    return answer


def new_users(persons: Rows, auctions: Rows) -> Rows:
    answer: Rows = []
    for person in persons:
        start = floor(person["registered"], TEN)
        own = [row for row in auctions if row["seller"] == person["person"]]
        soon = [row for row in own if start <= row["opens"] < start + TEN]
        if soon:
            answer.append(
                {
                    "window_start": start,
                    "window_end": start + TEN,
                    "person": person["person"],
                    "name": person["name"],
                    "registered": person["registered"],
                    "auctions": len(soon),
                }
            )
    return answer


def bids_per_session(bids: Rows) -> Rows:
    answer: Rows = []
    for bidder in {bid["bidder"] for bid in bids}:
        session: list[datetime] = []
        for ts in [*sorted(bid["ts"] for bid in bids if bid["bidder"] == bidder), datetime.max]:
            # As in Spark a bid exactly at the end of a session still belongs to it.
            if session and ts > session[-1] + TEN:
                answer.append(
                    {
                        "bidder": bidder,
                        "window_start": session[0],
                        "window_end": session[-1] + TEN,
                        "bids": len(session),
                    }
                )
                session = []
            session.append(ts)
    return answer


@dataclass(frozen=True)
class Query:
    """The two answers to a query, what it is asked of, and a case made by hand."""

    spark: Callable[..., DataFrame]
    python: Callable[..., Rows]
    tables: tuple[str, ...]
    given: tuple[pa.Table, ...]
    expected: Rows

    def __str__(self) -> str:
        return self.spark.__name__


def table(names: str, *rows: tuple[Any, ...]) -> pa.Table:
    """Rows under these names; a time of day is one in UTC, as the simulation has it."""
    moment = pa.timestamp("us", tz="UTC")
    columns = dict(zip(names.split(), zip(*rows, strict=True), strict=True))
    return pa.table(
        {
            name: pa.array(values, moment if isinstance(values[0], datetime) else None)
            for name, values in columns.items()
        }
    )


def named(names: str, *rows: tuple[Any, ...]) -> Rows:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


def plain(rows: pa.Table) -> Rows:
    """Rows as PySpark hands them to Python: timestamps without their zone."""
    return [
        {k: v.replace(tzinfo=None) if isinstance(v, datetime) else v for k, v in row.items()}
        for row in rows.to_pylist()
    ]


def ranks(prices: Sequence[int], seller: int) -> Rows:
    """The windows of a seller who makes a sale every minute from ten o'clock."""
    minutes = [at("10:00") + place * MINUTE for place in range(len(prices))]
    starts = [max(0, end - 10) for end in range(1, len(prices) + 1)]
    return [
        {
            "seller": seller,
            "window_start": start,
            "window_end": end,
            "on_start": minutes[start],
            "on_end": minutes[end - 1],
            "average": average,
        }
        for (end, start), average in zip(
            enumerate(starts, 1), RUNNING_AVERAGES[: len(prices)], strict=True
        )
    ]


#: Twelve sales, worked out by hand: the eleventh window is without the first sale, the twelfth
#: without the second.
PRICES = (100, 300, 200, 200, 200, 800, 300, 300, 300, 300, 1100, 0)
RUNNING_AVERAGES = (
    100.0,
    200.0,
    200.0,
    200.0,
    200.0,
    300.0,
    300.0,
    300.0,
    300.0,
    300.0,
    400.0,
    370.0,
)

QUERIES = [
    Query(
        nexmark.hot_items,
        hot_items,
        ("bids",),
        #  9:00    9:01          9:10    9:11
        #  1.......2...1.........2.......        the bid at 9:10 is not in [9:00, 9:10)
        (
            table(
                "auction bidder price ts",
                (1, 5, 100, at("09:00:30")),
                (2, 5, 100, at("09:01:00")),
                (1, 6, 100, at("09:01:30")),
                (2, 6, 100, at("09:10:00")),
            ),
        ),
        [
            *named(
                "window_start window_end auction bids",
                (at("08:51"), at("09:01"), 1, 1),
            ),
            *(
                {
                    "window_start": at("08:52") + n * MINUTE,
                    "window_end": at("09:02") + n * MINUTE,
                    "auction": 1,
                    "bids": 2,
                }
                for n in range(9)
            ),
            *named(
                "window_start window_end auction bids",
                (at("09:01"), at("09:11"), 2, 2),
            ),
            *(
                {
                    "window_start": at("09:02") + n * MINUTE,
                    "window_end": at("09:12") + n * MINUTE,
                    "auction": 2,
                    "bids": 1,
                }
                for n in range(9)
            ),
        ],
    ),
    Query(
        nexmark.average_selling_price,
        average_selling_price,
        ("closings",),
        # In the order of arrival, which is not that of the closings; seller 4 sells nothing.
        (
            table(
                "auction seller category closes price winner",
                *(
                    (place, 3, 0, at("10:00") + place * MINUTE, price, 9)
                    for place, price in reversed([*enumerate(PRICES)])
                ),
                (50, 3, 0, at("10:05:30"), None, None),
                (51, 4, 0, at("10:05:40"), None, None),
                (52, 5, 0, at("10:00"), 100, 9),
            ),
        ),
        [*ranks(PRICES, 3), *ranks(PRICES[:1], 5)],
    ),
    Query(
        nexmark.highest_bid,
        highest_bid,
        ("bids",),
        # 9:00          9:10          9:20          9:30          9:40
        #  70 90     90  60                          90
        (
            table(
                "auction bidder price ts",
                (1, 5, 70, at("09:00:00")),
                (1, 6, 90, at("09:01:00")),
                (2, 7, 90, at("09:09:59")),
                (2, 5, 60, at("09:10:00")),
                (3, 5, 90, at("09:30:00")),
            ),
        ),
        named(
            "window_start window_end auction bidder price ts",
            (at("09:00"), at("09:10"), 1, 6, 90, at("09:01:00")),
            (at("09:00"), at("09:10"), 2, 7, 90, at("09:09:59")),
            (at("09:10"), at("09:20"), 2, 5, 60, at("09:10:00")),
            (at("09:30"), at("09:40"), 3, 5, 90, at("09:30:00")),
        ),
    ),
    Query(
        nexmark.new_users,
        new_users,
        ("persons", "auctions"),
        # Two minutes apart but in two windows (Bela), two auctions (Ada), a later one (Chen).
        (
            table(
                "person name city registered",
                (1, "Ada", "Bend", at("09:00")),
                (2, "Bela", "Bend", at("09:09")),
                (3, "Chen", "Bend", at("09:15")),
            ),
            table(
                "auction seller category initial_bid reserve opens expires",
                (1, 1, 0, 10, 20, at("09:00"), at("09:30")),
                (2, 1, 0, 10, None, at("09:09:59"), at("09:30")),
                (3, 2, 0, 10, None, at("09:11"), at("09:30")),
                (4, 3, 0, 10, None, at("09:16"), at("09:30")),
                (5, 3, 0, 10, None, at("09:20"), at("09:30")),
            ),
        ),
        named(
            "window_start window_end person name registered auctions",
            (at("09:00"), at("09:10"), 1, "Ada", at("09:00"), 2),
            (at("09:10"), at("09:20"), 3, "Chen", at("09:15"), 1),
        ),
    ),
    Query(
        nexmark.bids_per_session,
        bids_per_session,
        ("bids",),
        #        9:00     9:10     9:20     9:30
        # 5       x....x.............x                exactly ten minutes apart is one session
        # 6       x.........(9:10:00.000001)x
        (
            table(
                "auction bidder price ts",
                (1, 5, 100, at("09:15:00")),
                (1, 5, 100, at("09:00:00")),
                (2, 5, 100, at("09:05:00")),
                (2, 6, 100, at("09:00:00")),
                (1, 6, 100, at("09:10:00") + timedelta(microseconds=1)),
            ),
        ),
        named(
            "bidder window_start window_end bids",
            (5, at("09:00"), at("09:25"), 3),
            (6, at("09:00"), at("09:10"), 1),
            (
                6,
                at("09:10") + timedelta(microseconds=1),
                at("09:20") + timedelta(microseconds=1),
                1,
            ),
        ),
    ),
]
#: Queries, the column that tells when a row of the answer is known, and the one that progresses.
ON_STREAMS = [(QUERIES[1], "on_end", "closes"), (QUERIES[4], "window_end", "ts")]


def generated(query: Query) -> list[pa.Table]:
    return [getattr(HOUSE, name)() for name in query.tables]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_python_answers_the_case_made_by_hand(query: Query) -> None:
    assert_same_rows(query.python(*map(plain, query.given)), query.expected)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_spark_answers_the_case_made_by_hand(query: Query, spark: SparkSession) -> None:
    answer = query.spark(*(spark.createDataFrame(rows) for rows in query.given))
    assert_same_rows(answer.collect(), query.expected)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_spark_answers_as_python_does(query: Query, spark: SparkSession) -> None:
    tables = generated(query)
    answer = query.spark(*(spark.createDataFrame(rows) for rows in tables))
    assert_same_rows(answer.collect(), query.python(*map(plain, tables)))


@pytest.mark.parametrize(("query", "known", "on"), ON_STREAMS, ids=["6", "11"])
def test_a_stream_gives_what_it_can_know(
    query: Query, known: str, on: str, spark: SparkSession, tmp_path: Path
) -> None:
    """The answers whose end the slack has passed, for rows in the order in which they arrive."""
    (rows,) = generated(query)
    source = write_files(rows, tmp_path / "rows")
    schema = spark.read.parquet(source).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    found: list[Any] = []
    writer = query.spark(reader.parquet(source)).writeStream.foreachBatch(
        lambda results, _: found.extend(results.collect())
    )
    checkpoint = str(tmp_path / "checkpoint")
    started = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    started.awaitTermination()
    # Query 6 never sees what was not sold.
    seen = [row[on] for row in plain(rows) if row["price"] is not None]
    passed = max(seen) - timedelta(seconds=HOUSE.disorder_seconds)
    expected = [row for row in query.python(plain(rows)) if row[known] < passed]
    assert len(expected) > 10
    assert_same_rows(found, expected)


def write_files(rows: pa.Table, folder: Path) -> str:
    """The rows in four files, one to a micro-batch."""
    folder.mkdir()
    cuts = [part * rows.num_rows // 4 for part in range(5)]
    for number, (start, end) in enumerate(pairwise(cuts)):
        path = folder / f"{number}.parquet"
        pq.write_table(rows.slice(start, end - start), path)
        # Spark takes files in the order of their times, which may be equal for quick writes.
        os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))
    return str(folder)


def test_the_house_has_what_the_queries_ask_for() -> None:
    """Ties, full row windows, people with several sessions: or the comparison would be idle."""
    bids, closings = plain(HOUSE.bids()), plain(HOUSE.closings())
    busiest = Counter(row["window_end"] for row in hot_items(bids))
    assert max(busiest.values()) > 1
    averages = average_selling_price(closings)
    assert sum(row["window_start"] > 0 for row in averages) > 10
    assert any(row["price"] is None for row in closings)
    assert len(highest_bid(bids)) >= 8
    assert len(new_users(plain(HOUSE.persons()), plain(HOUSE.auctions()))) > 3
    sessions = Counter(row["bidder"] for row in bids_per_session(bids))
    assert max(sessions.values()) > 2


def test_no_seller_closes_two_auctions_at_once() -> None:
    """Or which is in the last ten would be decided by a hash that Python does not know."""
    closes = [(row["seller"], row["closes"]) for row in plain(HOUSE.closings())]
    assert len(set(closes)) == len(closes)


def test_values_are_shown_as_one_reads_them() -> None:
    assert nexmark.shown("window_end", at("09:05:30")) == "09:05:30"
    assert nexmark.shown("price", 123456) == "$1,234.56"
    assert nexmark.shown("average", 2550.0) == "$25.50"
    assert nexmark.shown("bids", 12) == "12"
