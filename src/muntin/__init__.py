"""Muntin: windows for Apache Spark. DataFrame in, DataFrame out, batch and streaming alike.

>>> import muntin as mt
>>> print(mt.max("speed").alias("hi").column_name)
hi
"""

from muntin.aggregates.functions import (
    Aggregate,
    all,
    any,
    avg,
    count,
    count_if,
    first,
    last,
    max,
    min,
    stddev_pop,
    stddev_samp,
    sum,
    var_pop,
    var_samp,
    weighted_avg,
)
from muntin.semantics.disorder import Disorder, ordered, slack
from muntin.semantics.errors import (
    ArgumentError,
    CheckpointError,
    ExpressionError,
    MuntinError,
    RequirementError,
    SumOverflowError,
    UnknownColumnError,
    UnsupportedTypeError,
)
from muntin.semantics.window import Context, Landmark, Window
from muntin.spark.control import control, end, punctuate
from muntin.spark.plan import Plan
from muntin.spark.stream import Stream, stream
from muntin.spark.windowed import Windowed
from muntin.spark.write import progress, write

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "ArgumentError",
    "CheckpointError",
    "Context",
    "Disorder",
    "ExpressionError",
    "Landmark",
    "MuntinError",
    "Plan",
    "RequirementError",
    "Stream",
    "SumOverflowError",
    "UnknownColumnError",
    "UnsupportedTypeError",
    "Window",
    "Windowed",
    "all",
    "any",
    "avg",
    "control",
    "count",
    "count_if",
    "end",
    "first",
    "last",
    "max",
    "min",
    "ordered",
    "progress",
    "punctuate",
    "slack",
    "stddev_pop",
    "stddev_samp",
    "stream",
    "sum",
    "var_pop",
    "var_samp",
    "weighted_avg",
    "write",
]
