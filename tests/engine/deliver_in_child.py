"""Delivers three micro-batches to a sink of Spark, and may be killed at a delivery.

Called with a home, a sink call as JSON, jars, and where to die: ``before-1``, ``during-1``,
``after-1`` or ``never``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from muntin.engine.sinks.deliveries import Deliveries
from muntin.engine.sinks.sink_call import SinkCall, from_text
from muntin.engine.sinks.targets import AnswerKey, TableTarget, Target, open_target
from tests.engine.test_deliveries import Desk
from tests.sessions import configured

BATCHES = {0: [1, 2], 1: [3], 2: [4, 5]}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(target: Target, when: str, batch: int) -> Target:
    """The target, which ends the process around the delivery of a micro-batch."""
    assert isinstance(target, TableTarget)
    put = target.put

    def put_and_die(key: AnswerKey, table: pa.Table) -> None:
        here = key.micro_batch == batch
        if here and when == "before":
            die()
        if here and when == "during":
            threading.Timer(0.1, die).start()
        put(key, table)
        if here and when in ("during", "after"):
            die()

    target.put = put_and_die  # type: ignore[method-assign]
    return target


def main(home: str, text: str, jars: str, death: str) -> None:
    builder = configured(SparkSession.builder.master("local[2]")).config(
        "spark.driver.memory", "1g"
    )
    spark = (builder.config("spark.jars", jars) if jars else builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    when, _, batch = death.partition("-")
    desk = Desk(Path(home))

    def opened(call: SinkCall, query: str) -> Target:
        return dying(open_target(spark, call, query), when, int(batch or -1))

    desk.deliveries.close()
    desk.deliveries = Deliveries(
        desk.registry, desk.home, opened, lambda stream, epoch: desk.logs.get(epoch)
    )
    if desk.registry.find("slow") is None:
        desk.query("slow", from_text(text))
    for number, values in BATCHES.items():
        desk.commit(number, {1: values})
    print(desk.status())
    assert desk.status().stopped is None, desk.status().stopped
    desk.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
