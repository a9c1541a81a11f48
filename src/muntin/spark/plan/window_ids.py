"""``wid``: the number of a window, from where it ends [Window-ids 3.3]."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from muntin.errors import ArgumentError
from muntin.operators.windows.operator import Windows
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.windows import WindowPlan
from muntin.specs.axis import Domain
from muntin.specs.frames.framing import Framing
from muntin.specs.row_windows import RowWindow, TupleWindow


def with_wid(plan: Plan, results: DataFrame) -> DataFrame:
    """Results of a plan with a column ``wid``."""
    return results.withColumn("wid", _wid(plan))


def _wid(plan: Plan) -> Column:
    compiled = plan.compiled
    end = F.col("window_end")
    if not isinstance(compiled, WindowPlan):
        raise _unnumbered("these windows")
    if isinstance(compiled.spec, RowWindow):
        return F.expr(f"window_end div {compiled.spec.slide} - 1")
    if isinstance(compiled.spec, TupleWindow):
        return end  # the paper numbers them by the value that they end at
    if isinstance(compiled.spec, Framing) or not isinstance(compiled.operator, Windows):
        raise _unnumbered(str(compiled.spec))
    edges, axis = compiled.operator.edges, compiled.axis
    ticks = _ticks(end, axis.domain, axis.digits)
    from_origin = ticks - F.lit(edges.origin)
    return F.round(from_origin / F.lit(edges.slide)).cast("bigint") - F.lit(1)


def _ticks(end: Column, domain: Domain, digits: int) -> Column:
    """Window edges as whole numbers, as the axis counts them."""
    match domain:
        case Domain.TIMESTAMP:
            return F.unix_micros(end)
        case Domain.TIMESTAMP_NTZ:
            return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01").cast("timestamp_ntz"), end)
        case Domain.DATE:
            return F.unix_date(end)
        case Domain.INTEGER:
            return end
        case _:
            return F.round(end * F.lit(10**digits)).cast("bigint")


def _unnumbered(what: str) -> ArgumentError:
    expected = "only sliding, tumbling, landmark, row and tuple windows have numbers"
    return ArgumentError("wid", what, expected)
