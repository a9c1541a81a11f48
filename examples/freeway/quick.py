"""Where and when was traffic slow? ``full.py`` beside this streams a whole day and draws it."""

import os
import sys

from pyspark.sql import SparkSession

import muntin as mt
from muntin.simulate.freeway import Freeway

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
readings = spark.createDataFrame(Freeway(hours=1).readings())
traffic = mt.stream(readings, on="ts", by="station")

# Windows: five-minute averages of every station, every minute.
averages = traffic.window(range="5 minutes", slide="1 minute").agg("avg(speed) AS speed")
averages.orderBy("speed").show(5)

# Frames: as long as traffic was slow, ten minutes or more. The lanes of a station become one row.
slow = traffic.frames(
    mt.threshold("speed < 45"), min_duration="10 minutes", missing="carry", ties="mean"
)
slow.agg("avg(speed) AS speed").orderBy("station", "frame_start").show(5)
