"""``mt.sql``: statements of the language over DataFrames, from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from muntin.errors import ArgumentError, MuntinError
from muntin.session.safe.safe_mode import SafeMode
from muntin.session.session import SqlSession
from muntin.session.sources import Sources
from muntin.spark.api.stream import Stream
from muntin.spark.columns import DataFrame, SparkSession
from muntin.spark.requirements import active_session


def sql(
    text: str,
    /,
    *,
    functions: object = None,
    safe: bool = False,
    root: object = None,
    **tables: object,
) -> DataFrame:
    """Run SQL with windows, frames and fills over DataFrames and return the answer, a DataFrame.

    ``mt.sql("SELECT max(speed) AS hi FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE WATTR ts]",
    traffic=df)``. Several statements run one after the other, and the last one answers. What they
    create lives as long as the call. Sources that ``CREATE STREAM`` and ``CREATE TABLE`` name are
    read once; ``muntin run`` follows them, and keeps their malformed rows.

    Args:
        text: Statements with semicolons between them.
        functions: Aggregates (:class:`muntin.OwnAggregate`) and framing functions of your own, by
            the names under which the text calls them: ``geometric_mean(x)``,
            ``[FRAME FUNCTION fallen]``. Those of a stream (``mt.stream(..., functions=...)``) are
            known as well.
        safe: Whether the text is of somebody who is not trusted. It then reads the tables that it
            is given and no others, calls functions that compute and no others, and reaches no
            network, program, secret or setting. What is not known to be harmless is refused.
        root: With ``safe``, the folder below which the text may read and write files; without it
            there are no files.
        **tables: DataFrames, or streams of :func:`muntin.stream`, by their names in the text.
            Any other name in the text is a table of Spark's, unless ``safe``.
    """
    own = {} if functions is None else functions
    if not isinstance(own, Mapping):
        expected = "write {'geometric_mean': GeometricMean()}; a table needs another name"
        raise ArgumentError("functions", functions, expected)
    streams = [table for table in tables.values() if isinstance(table, Stream)]
    known = [*own, *(name for stream in streams for name in stream.functions)]
    mode = SafeMode.of(safe, root, known)
    session = SqlSession(session_of(tables), tables, functions=own, safe=mode)
    Sources.serving(session, text)
    return session.sql(text)


def session_of(tables: Mapping[str, object]) -> SparkSession:
    """Return the session of the tables, or the active one if there are none."""
    for table in tables.values():
        df = table.df if isinstance(table, Stream) else table
        session = getattr(df, "sparkSession", None)
        if session is not None:
            return cast("SparkSession", session)  # on Spark Connect it is another class
    active = active_session()
    if active is None:
        raise MuntinError("there is no Spark session; start one, or pass a DataFrame")
    return active
