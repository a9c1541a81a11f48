"""Muntin: windows for Apache Spark. DataFrame in, DataFrame out, batch and streaming alike.

>>> import muntin as mt
>>> print(mt.max("speed").alias("hi").column_name)
hi
"""

#: Every public name, and the module that defines it. A module is imported when one of its names is
#: first used: a worker needs few of them, and its start waits for all that it imports.
#: ``__init__.pyi`` says the same to type checkers.
_MODULES = {
    "Aggregate": "muntin.aggregates.functions",
    "ArgumentError": "muntin.errors",
    "CheckpointError": "muntin.errors",
    "CompiledFraming": "muntin.specs.frames.own_function",
    "Composable": "muntin.aggregates.synopses.composed",
    "Composed": "muntin.aggregates.synopses.composed",
    "Context": "muntin.specs.windows",
    "Disorder": "muntin.specs.disorder",
    "EmptySlotsError": "muntin.errors",
    "Engine": "muntin.engine.engine",
    "ExponentialHistogram": "muntin.aggregates.synopses.summary",
    "ExpressionError": "muntin.errors",
    "Filled": "muntin.spark.api.segments",
    "Frames": "muntin.spark.api.frames",
    "Framing": "muntin.specs.frames.framing",
    "FramingFunction": "muntin.specs.frames.own_function",
    "Joined": "muntin.spark.api.join",
    "Landmark": "muntin.specs.windows",
    "Landmarks": "muntin.specs.row_windows",
    "Lookup": "muntin.spark.api.lookup",
    "MuntinError": "muntin.errors",
    "OwnAggregate": "muntin.aggregates.own_aggregate",
    "OwnAggregateError": "muntin.errors",
    "OwnFramingError": "muntin.errors",
    "OwnFunctionError": "muntin.errors",
    "Plan": "muntin.spark.api.plan",
    "Policy": "muntin.specs.overload",
    "Probed": "muntin.spark.api.lookup",
    "Qos": "muntin.specs.qos",
    "RequirementError": "muntin.errors",
    "Resampled": "muntin.spark.api.resample",
    "RowWindow": "muntin.specs.row_windows",
    "ScanError": "muntin.errors",
    "Schedule": "muntin.specs.frames.schemes",
    "Scheme": "muntin.specs.frames.schemes",
    "Session": "muntin.specs.row_windows",
    "SlideOnWindow": "muntin.specs.row_windows",
    "SlidingExtreme": "muntin.aggregates.synopses.extremes",
    "SqlError": "muntin.parser.errors",
    "Stored": "muntin.spark.api.segments",
    "StoredFrames": "muntin.spark.api.segments",
    "Stream": "muntin.spark.api.stream",
    "SumOverflowError": "muntin.errors",
    "Summary": "muntin.aggregates.synopses.summary",
    "TieError": "muntin.errors",
    "TooManyPlacesError": "muntin.errors",
    "TupleWindow": "muntin.specs.row_windows",
    "UnknownColumnError": "muntin.errors",
    "UnsupportedTypeError": "muntin.errors",
    "Window": "muntin.specs.windows",
    "Windowed": "muntin.spark.api.segments",
    "Windows": "muntin.spark.api.segments",
    "adjacent": "muntin.specs.frames.schemes",
    "aggregate": "muntin.spark.api.frame_kinds",
    "all": "muntin.aggregates.functions",
    "any": "muntin.aggregates.functions",
    "any_value": "muntin.aggregates.functions",
    "approx_avg": "muntin.aggregates.synopses.functions",
    "approx_count": "muntin.aggregates.synopses.functions",
    "approx_count_distinct": "muntin.aggregates.functions",
    "approx_distinct_window": "muntin.aggregates.synopses.functions",
    "approx_quantile": "muntin.aggregates.functions",
    "approx_sum": "muntin.aggregates.synopses.functions",
    "approx_top_k": "muntin.aggregates.functions",
    "avg": "muntin.aggregates.functions",
    "avg_distinct": "muntin.aggregates.functions",
    "avg_high": "muntin.aggregates.functions",
    "avg_low": "muntin.aggregates.functions",
    "between": "muntin.spark.api.frame_kinds",
    "bit_and": "muntin.aggregates.functions",
    "bit_or": "muntin.aggregates.functions",
    "bit_xor": "muntin.aggregates.functions",
    "boundary": "muntin.spark.api.frame_kinds",
    "clock": "muntin.specs.idle",
    "collect": "muntin.aggregates.functions",
    "collect_set": "muntin.aggregates.functions",
    "combine": "muntin.spark.api.combine",
    "configure": "muntin.spark.requirements",
    "connect": "muntin.engine.client",
    "control": "muntin.spark.api.control",
    "corr": "muntin.aggregates.functions",
    "correlated": "muntin.aggregates.correlated",
    "count": "muntin.aggregates.functions",
    "count_distinct": "muntin.aggregates.functions",
    "count_if": "muntin.aggregates.functions",
    "covar_pop": "muntin.aggregates.functions",
    "covar_samp": "muntin.aggregates.functions",
    "cover": "muntin.specs.frames.schemes",
    "csv": "muntin.spark.connectors.sources.open_files",
    "delta": "muntin.spark.api.frame_kinds",
    "density": "muntin.spark.api.frame_kinds",
    "each": "muntin.specs.disorder",
    "end": "muntin.spark.api.control",
    "extent": "muntin.reference.extents",
    "first": "muntin.aggregates.functions",
    "follow": "muntin.specs.idle",
    "frames": "muntin.spark.api.stored_frames",
    "grouped_count": "muntin.aggregates.own_aggregate",
    "grouped_max": "muntin.aggregates.own_aggregate",
    "grouped_min": "muntin.aggregates.own_aggregate",
    "grouped_sum": "muntin.aggregates.own_aggregate",
    "hash_counts": "muntin.aggregates.synopses.functions",
    "heartbeat": "muntin.spark.api.control",
    "heavy_hitters": "muntin.aggregates.functions",
    "json": "muntin.spark.connectors.sources.open_files",
    "kurtosis": "muntin.aggregates.functions",
    "last": "muntin.aggregates.functions",
    "listagg": "muntin.aggregates.functions",
    "local_session": "muntin.spark.start.spark_session",
    "lp_norm": "muntin.aggregates.synopses.functions",
    "max": "muntin.aggregates.functions",
    "max_by": "muntin.aggregates.functions",
    "median": "muntin.aggregates.functions",
    "merge": "muntin.spark.api.merge",
    "min": "muntin.aggregates.functions",
    "min_by": "muntin.aggregates.functions",
    "mode": "muntin.aggregates.functions",
    "ordered": "muntin.specs.disorder",
    "own": "muntin.aggregates.functions",
    "own_synopsis": "muntin.aggregates.synopses.functions",
    "parquet": "muntin.spark.connectors.sources.open_files",
    "pattern": "muntin.spark.api.frame_kinds",
    "per_key": "muntin.specs.disorder",
    "per_partition": "muntin.specs.disorder",
    "progress": "muntin.spark.queries.write",
    "punctuate": "muntin.spark.api.control",
    "punctuated": "muntin.specs.disorder",
    "quantile": "muntin.aggregates.functions",
    "region": "muntin.spark.api.frame_kinds",
    "schedule": "muntin.specs.frames.schemes",
    "skewness": "muntin.aggregates.functions",
    "slack": "muntin.specs.disorder",
    "sql": "muntin.session.sql",
    "stddev_pop": "muntin.aggregates.functions",
    "stddev_samp": "muntin.aggregates.functions",
    "stream": "muntin.spark.api.stream",
    "sum": "muntin.aggregates.functions",
    "sum_distinct": "muntin.aggregates.functions",
    "threshold": "muntin.spark.api.frame_kinds",
    "top_k": "muntin.aggregates.functions",
    "trend": "muntin.spark.api.frame_kinds",
    "value_histogram": "muntin.aggregates.synopses.functions",
    "var_pop": "muntin.aggregates.functions",
    "var_samp": "muntin.aggregates.functions",
    "wait": "muntin.specs.idle",
    "weighted_avg": "muntin.aggregates.functions",
    "wids": "muntin.reference.extents",
    "write": "muntin.spark.queries.write",
}

__version__ = "0.1.0"
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> object:
    """Import a public name from the module that defines it."""
    if name not in _MODULES:
        raise AttributeError(f"module 'muntin' has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def load_ipython_extension(shell: object) -> None:
    """Let notebook cells that begin with ``%%muntin`` be SQL; ``%load_ext muntin`` calls this."""
    from muntin.session.notebook import register

    register(shell)
