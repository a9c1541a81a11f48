"""Two questions about one stream of traffic. ``full.py`` beside this has six people who ask."""

import os
import sys
import tempfile

from pyspark.sql import SparkSession

import muntin as mt
from muntin.simulate.freeway import Freeway

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
builder = SparkSession.builder.config("spark.sql.session.timeZone", "UTC")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
mt.configure(spark)
files, home = tempfile.mkdtemp(), tempfile.mkdtemp()
spark.createDataFrame(Freeway(hours=1).readings()).write.mode("append").parquet(files)
with mt.Engine(spark, home) as desk:
    rows = mt.parquet(spark, files, streaming=True)
    desk.stream("traffic", rows, on="ts", by="station", disorder=mt.slack("1 minute"))
    last = "FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE]"
    slow = desk.register("slow", f"SELECT station, min(speed) AS slowest {last} GROUP BY station")
    busy = desk.register("busy", f"SELECT window_end, sum(volume) AS vehicles {last}")
    desk.start().process_available()
    print("The latest answers:", slow.latest().to_pandas(), busy.latest().to_pandas(), sep="\n")
