"""Muntin: windows for Apache Spark. DataFrame in, DataFrame out, batch and streaming alike.

>>> import muntin as mt
>>> print(mt.max("speed").alias("hi").column_name)
hi
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # What is public and where it lives. A name is imported when it is first asked for: a worker
    # needs few of these modules, and whoever starts one waits for all it imports.
    from muntin.aggregates.correlated import correlated
    from muntin.aggregates.functions import (
        Aggregate,
        all,
        any,
        avg,
        collect,
        collect_set,
        count,
        count_distinct,
        count_if,
        first,
        heavy_hitters,
        last,
        max,
        median,
        min,
        mode,
        own,
        quantile,
        stddev_pop,
        stddev_samp,
        sum,
        top_k,
        var_pop,
        var_samp,
        weighted_avg,
    )
    from muntin.aggregates.own_aggregate import (
        OwnAggregate,
        grouped_count,
        grouped_max,
        grouped_min,
        grouped_sum,
    )
    from muntin.aggregates.sketches import approx_count_distinct, approx_quantile, approx_top_k
    from muntin.aggregates.synopses.composed import Composable, Composed
    from muntin.aggregates.synopses.extremes import SlidingExtreme
    from muntin.aggregates.synopses.functions import (
        approx_avg,
        approx_count,
        approx_distinct_window,
        approx_sum,
        hash_counts,
        lp_norm,
        own_synopsis,
        value_histogram,
    )
    from muntin.aggregates.synopses.summary import ExponentialHistogram, Summary
    from muntin.errors import (
        ArgumentError,
        CheckpointError,
        EmptySlotsError,
        ExpressionError,
        MuntinError,
        OwnAggregateError,
        OwnFramingError,
        OwnFunctionError,
        RequirementError,
        SumOverflowError,
        TieError,
        UnknownColumnError,
        UnsupportedTypeError,
    )
    from muntin.parser.errors import SqlError
    from muntin.session.sql import sql
    from muntin.spark.api.combine import combine
    from muntin.spark.api.control import control, end, heartbeat, punctuate
    from muntin.spark.api.fill import Filled
    from muntin.spark.api.frame_kinds import (
        aggregate,
        between,
        boundary,
        delta,
        density,
        region,
        threshold,
        trend,
    )
    from muntin.spark.api.frames import Frames
    from muntin.spark.api.join import Joined
    from muntin.spark.api.lookup import Probed
    from muntin.spark.api.merge import merge
    from muntin.spark.api.resample import Resampled
    from muntin.spark.api.stored_frames import Stored, frames
    from muntin.spark.api.stream import Stream, stream
    from muntin.spark.api.windows import Windowed
    from muntin.spark.plan.plan import Plan
    from muntin.spark.queries.write import progress, write
    from muntin.specs.disorder import (
        Disorder,
        each,
        ordered,
        per_key,
        per_partition,
        punctuated,
        slack,
    )
    from muntin.specs.frames.framing import Framing
    from muntin.specs.frames.own_function import CompiledFraming, FramingFunction
    from muntin.specs.frames.schedule import Schedule, schedule
    from muntin.specs.frames.schemes import Scheme, adjacent, cover
    from muntin.specs.idle import clock, follow, wait
    from muntin.specs.row_windows import (
        Landmarks,
        RowWindow,
        Session,
        SlideOnWindow,
        TupleWindow,
    )
    from muntin.specs.windows import Context, Landmark, Window

__version__ = "0.1.0"

__all__ = [
    "Aggregate",
    "ArgumentError",
    "CheckpointError",
    "CompiledFraming",
    "Composable",
    "Composed",
    "Context",
    "Disorder",
    "EmptySlotsError",
    "ExponentialHistogram",
    "ExpressionError",
    "Filled",
    "Frames",
    "Framing",
    "FramingFunction",
    "Joined",
    "Landmark",
    "Landmarks",
    "MuntinError",
    "OwnAggregate",
    "OwnAggregateError",
    "OwnFramingError",
    "OwnFunctionError",
    "Plan",
    "Probed",
    "RequirementError",
    "Resampled",
    "RowWindow",
    "Schedule",
    "Scheme",
    "Session",
    "SlideOnWindow",
    "SlidingExtreme",
    "SqlError",
    "Stored",
    "Stream",
    "SumOverflowError",
    "Summary",
    "TieError",
    "TupleWindow",
    "UnknownColumnError",
    "UnsupportedTypeError",
    "Window",
    "Windowed",
    "adjacent",
    "aggregate",
    "all",
    "any",
    "approx_avg",
    "approx_count",
    "approx_count_distinct",
    "approx_distinct_window",
    "approx_quantile",
    "approx_sum",
    "approx_top_k",
    "avg",
    "between",
    "boundary",
    "clock",
    "collect",
    "collect_set",
    "combine",
    "control",
    "correlated",
    "count",
    "count_distinct",
    "count_if",
    "cover",
    "delta",
    "density",
    "each",
    "end",
    "first",
    "follow",
    "frames",
    "grouped_count",
    "grouped_max",
    "grouped_min",
    "grouped_sum",
    "hash_counts",
    "heartbeat",
    "heavy_hitters",
    "last",
    "lp_norm",
    "max",
    "median",
    "merge",
    "min",
    "mode",
    "ordered",
    "own",
    "own_synopsis",
    "per_key",
    "per_partition",
    "progress",
    "punctuate",
    "punctuated",
    "quantile",
    "region",
    "schedule",
    "slack",
    "sql",
    "stddev_pop",
    "stddev_samp",
    "stream",
    "sum",
    "threshold",
    "top_k",
    "trend",
    "value_histogram",
    "var_pop",
    "var_samp",
    "wait",
    "weighted_avg",
    "write",
]


def __getattr__(name: str) -> object:
    """A public name, from the module that is named for it above."""
    if name not in __all__:
        raise AttributeError(f"module 'muntin' has no attribute {name!r}")
    import ast
    import importlib
    from pathlib import Path

    block = next(n for n in ast.parse(Path(__file__).read_text()).body if isinstance(n, ast.If))
    for node in block.body:
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            found: object = getattr(importlib.import_module(str(node.module)), name)
            globals()[name] = found
            return found
    raise AssertionError(f"{name} is public and lives nowhere")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _FrontDoor(ModuleType):
    """``muntin.sql`` is the function, also when the package of that name is imported first."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "sql" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor


def load_ipython_extension(shell: object) -> None:
    """``%load_ext muntin`` in a notebook: cells that begin with ``%%muntin`` are SQL."""
    from muntin.session.notebook import register

    register(shell)
