"""Five queries of the NEXMark benchmark over a simulated auction house.

``quick.py`` is the short version. Run this one with ``python examples/nexmark/full.py``. It has
continuous queries over the persons, auctions and bids of an auction house: those about windows,
queries 5, 6, 7, 8 and 11.

Queries 6 and 11 are windows of Muntin and nothing else, and take a streaming DataFrame as well as a
batch. Queries 5, 7 and 8 continue with ordinary DataFrame operations on the results of windows, a
maximum over all auctions or a join, and are written for a batch.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.table import Table

import muntin as mt
from muntin.simulate.auction import AuctionHouse

#: How late rows may be. A batch does not need it, a stream does.
DISORDER = mt.slack("10 seconds")
#: How many rows of an answer are shown.
ROWS = 5


def hot_items(bids: DataFrame) -> DataFrame:
    """Query 5: the auctions with the most bids in the last ten minutes, every minute.

    Where several auctions have equally many, all of them. The windows count; the maximum over the
    auctions of a window is an ordinary window function of Spark, which needs a batch.
    """
    counted = (
        mt.stream(bids, on="ts", by="auction", disorder=DISORDER)
        .window(range="10 minutes", slide="1 minute")
        .agg("count(*) AS bids")
    )
    together = Window.partitionBy("window_start", "window_end")
    busiest = counted.withColumn("most", F.max("bids").over(together)).where("bids = most")
    return busiest.select("window_start", "window_end", "auction", "bids")


def average_selling_price(closings: DataFrame) -> DataFrame:
    """Query 6: the average price of each seller's last ten sales, after each sale.

    The first nine windows of a seller hold the sales there are. An auction that closed without a
    winner is no sale. ``unfinished="drop"``: at the end of input the windows that wait for more
    sales would hold fewer than ten again.
    """
    sales = closings.where("price IS NOT NULL")
    last_ten = mt.stream(sales, on="closes", by="seller", disorder=DISORDER).rows(
        range=10, slide=1, unfinished="drop"
    )
    return last_ten.agg("avg(price) AS average")


def highest_bid(bids: DataFrame) -> DataFrame:
    """Query 7: the highest bid of every ten minutes, with its auction and bidder.

    Where several bids are equally high, all of them. The windows find the price; the join that
    finds the bids again is an ordinary one, in a batch.
    """
    highest = (
        mt.stream(bids, on="ts", disorder=DISORDER)
        .tumbling("10 minutes")
        .agg("max(price) AS price")
    )
    highest_bids = bids.join(highest, "price").where("window_start <= ts AND ts < window_end")
    return highest_bids.select("window_start", "window_end", "auction", "bidder", "price", "ts")


def new_users(persons: DataFrame, auctions: DataFrame) -> DataFrame:
    """Query 8: who registered and opened an auction within the same ten minutes.

    Two windowed results joined where person and window are the same: an ordinary join, in a batch.
    """
    registered = (
        mt.stream(persons, on="registered", by=["person", "name"], disorder=DISORDER)
        .tumbling("10 minutes")
        .agg("min(registered) AS registered")
    )
    sellers = auctions.withColumnRenamed("seller", "person")
    opened = (
        mt.stream(sellers, on="opens", by="person", disorder=DISORDER)
        .tumbling("10 minutes")
        .agg("count(*) AS auctions")
    )
    both = registered.join(opened, ["person", "window_start", "window_end"])
    return both.select("window_start", "window_end", "person", "name", "registered", "auctions")


def bids_per_session(bids: DataFrame) -> DataFrame:
    """Query 11: how often each user bid in each session, a run of bids.

    As in Spark's ``session_window`` a session ends ten minutes after its last bid, and a bid up to
    then belongs to it.
    """
    return (
        mt.stream(bids, on="ts", by="bidder", disorder=DISORDER)
        .session(gap="10 minutes")
        .agg("count(*) AS bids")
    )


@dataclass(frozen=True)
class Answer:
    """A query with its result, and what to say about it."""

    number: int
    sentence: str
    df: DataFrame
    order: tuple[str, ...]

    def table(self) -> Table:
        """The first rows, in the order that suits the query."""
        rows = self.df.orderBy(*self.order).limit(ROWS).toArrow()
        table = Table(title=f"Query {self.number}: {self.sentence}", title_justify="left")
        for name in rows.column_names:
            table.add_column(name, justify="left" if name == "name" else "right")
        for row in rows.to_pylist():
            table.add_row(*(shown(name, value) for name, value in row.items()))
        return table


def answers(spark: SparkSession, house: AuctionHouse) -> Iterator[Answer]:
    persons, auctions, bids, closings = (
        spark.createDataFrame(table).cache()
        for table in (house.persons(), house.auctions(), house.bids(), house.closings())
    )
    yield Answer(
        5,
        "which auctions had the most bids in the last ten minutes?",
        hot_items(bids),
        ("window_end", "auction"),
    )
    yield Answer(
        6,
        "what did each seller's last ten sales bring on average?",
        # Only windows that are full, which hold ten sales.
        average_selling_price(closings).where("window_end - window_start = 10"),
        ("seller", "window_end"),
    )
    yield Answer(
        7,
        "what was the highest bid of each ten minutes?",
        highest_bid(bids),
        ("window_end", "ts"),
    )
    yield Answer(
        8,
        "who registered and opened an auction within the same ten minutes?",
        new_users(persons, auctions),
        ("window_end", "person"),
    )
    yield Answer(
        11,
        "how often did each user bid before pausing for more than ten minutes?",
        bids_per_session(bids),
        ("bidder", "window_start"),
    )


def shown(name: str, value: object) -> str:
    """A value as one reads it: the time of day, and cents as dollars."""
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    if name in ("price", "average") and isinstance(value, int | float):
        return f"${value / 100:,.2f}"
    return str(value)


def start_spark() -> SparkSession:
    """Spark on this machine, quiet; a batch needs no state store."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master("local[*]")
        .appName("nexmark")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="NEXMark queries over a simulated auction house.")
    parser.add_argument("--seed", type=int, default=7, help="another seed is another day (7)")
    options = parser.parse_args()
    console = Console(highlight=False)
    with console.status("Starting Spark"):
        spark = start_spark()
    try:
        for answer in answers(spark, AuctionHouse(seed=options.seed)):
            console.print(answer.table(), "")
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
