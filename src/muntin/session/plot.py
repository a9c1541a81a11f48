"""Drawing a query: its frames over the rows they were found in, or its windows' results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from muntin.parser.statements import Query
from muntin.session.session import SqlSession
from muntin.spark.api.frames import Frames
from muntin.spark.api.plan import Plan
from muntin.spark.plan.fill import FillPlan
from muntin.spark.plan.frames import FramePlan
from muntin.spark.plan.windows import WindowPlan
from muntin.spark.plot.windows import draw, lines_of

#: The columns that a picture of frames needs.
_FRAME = ("frame_id", "frame_start", "frame_end", "status")


def draw_query(
    session: SqlSession,
    query: Query,
    path: Path,
    *,
    value: str | None,
    keys: Sequence[str],
    title: str | None,
    width: int,
    height: int,
) -> None:
    """Draw the results of a query to a file that ends in ``.png``, ``.svg`` or ``.html``.

    The default ``value`` of frames is the column that they were found in.
    """
    answer = session.answer(query)
    framed = [frames for plan in answer.running_plans if (frames := _frames(plan)) is not None]
    if not framed:
        by = [name for plan in answer.running_plans for name in _by(plan)]
        lines = lines_of(answer.df, value, list(dict.fromkeys(by)))
        draw(lines, path, width=width, height=height, title=title)
        return
    frames = framed[-1]
    wanted = [*frames.source.by, *_FRAME]
    whole = all(name in answer.df.columns for name in wanted)
    frames.plot(
        value,
        frames=answer.df if whole else None,
        key=list(keys) or None,
        path=path,
        width=width,
        height=height,
        title=title,
    )


def _frames(plan: Plan) -> Frames | None:
    """Return the frames of a plan, filled or not; None if it has none."""
    inner = plan.parts.segments if isinstance(plan.parts, FillPlan) else plan.parts
    if not isinstance(inner, FramePlan):
        return None
    return Frames(inner.source, inner.prefix, inner.framing)


def _by(plan: Plan) -> Sequence[str]:
    return plan.parts.source.by if isinstance(plan.parts, WindowPlan) else ()
