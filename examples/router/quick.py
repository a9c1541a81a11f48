"""Why do routers lose packets? ``full.py`` beside this also runs on two streams and draws it."""

import os
import sys

from pyspark.sql import SparkSession

import muntin as mt
from muntin.simulate.router import Network

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
network = Network()
losses = mt.stream(spark.createDataFrame(network.losses()), on="ts", by="router")
messages = mt.stream(spark.createDataFrame(network.messages()), on="at", by="router_id")

# Frames: five minutes or more in which a router loses much.
high_loss = losses.frames(
    mt.threshold("loss_rate > 0.3"), min_duration="5 minutes", missing="carry"
)
# Filled with the routing messages from 30 seconds before a frame to its end.
updates = high_loss.fill(messages, before="30 seconds").agg("count_if(kind = 'update') AS updates")
updates.orderBy("frame_start").show()
