"""Why was the freezer too warm? ``full.py`` beside this looks at the day before, too."""

import os
import sys

from pyspark.sql import SparkSession

import muntin as mt
from muntin.simulate.freezer import Freezers

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
freezers = Freezers()
readings = mt.stream(spark.createDataFrame(freezers.readings()), on="ts", by="freezer")
doors = mt.stream(spark.createDataFrame(freezers.doors()), on="ts", by="freezer")

# Frames: periods in which a freezer was above 32 degrees. Missing readings do not end them.
warm = readings.frames(mt.threshold("temperature > 32"), missing="carry")
# Their own rows, and what the door did meanwhile, side by side.
warmest = warm.plan("max(temperature) AS warmest")
opened = warm.fill(doors).plan("count_if(door = 'open') AS opened")
mt.combine(warmest, opened).df.orderBy("freezer", "frame_start").show()
