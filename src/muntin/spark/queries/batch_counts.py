"""Looking at a batch while it runs: rows counted on their way, and tasks that are done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812


def counted(rows: DataFrame) -> tuple[DataFrame, Callable[[], int]]:
    """The same rows, and how many the first action on them saw; to be asked after it."""
    seen = Observation()

    def count() -> int:
        return int(seen.get["rows"])

    return rows.observe(seen, F.count(F.lit(1)).alias("rows")), count


@dataclass(frozen=True)
class Tasks:
    """The tasks of the stages that run now; those of later stages are not known yet."""

    done: int
    all: int


def tasks(spark: SparkSession) -> Tasks | None:
    """How far Spark is; None where nothing runs, and on Spark Connect, which does not say."""
    try:
        tracker = spark.sparkContext.statusTracker()
    except PySparkException:
        return None
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    if not known:
        return None
    return Tasks(
        sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
    )
