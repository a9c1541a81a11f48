"""Query 6 of NEXMark: the average of each seller's last ten sales. ``full.py`` has four more."""

import os
import sys

from pyspark.sql import SparkSession

import muntin as mt
from muntin.simulate.auction import AuctionHouse

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
closings = spark.createDataFrame(AuctionHouse().closings())
sales = mt.stream(closings.where("price IS NOT NULL"), on="closes", by="seller")

# A window over rows: the last ten sales of a seller, after each sale.
last_ten = sales.rows(range=10, slide=1, unfinished="drop")
last_ten.agg("avg(price) AS average").orderBy("seller", "window_end").show(10)
