"""Streams without keys: every kind of window and frame with every property, and their fills.

The other matrices have keys. Without them a table of keys has rows and no columns, which Arrow
treats otherwise: it forgets how many rows there are when some are taken or tables are joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest

from muntin.errors import ArgumentError
from muntin.operators.build import build
from muntin.operators.fill.operator import FillOperator
from muntin.operators.fill.segments import OperatorSegments
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.protocol import Operator
from muntin.specs.windows import Window
from muntin.testing import assert_same_rows
from tests.matrix import test_fill_properties as fills
from tests.matrix import test_frame_properties as frames
from tests.matrix import test_window_properties as windows
from tests.properties import sequences
from tests.properties.fillings import FillCase, Framed
from tests.properties.harness import EVERY_SLOT

Row = dict[str, Any]


@dataclass(frozen=True)
class FramesWithoutKeys(Framed):
    """Frames of a stream without keys."""

    @property
    def by(self) -> tuple[str, ...]:
        return ()

    def typed(self) -> FrameOperatorInputs:
        return replace(super().typed(), keys=())

    def table(self, rows: Sequence[Row]) -> pa.Table:
        return super().table(rows).drop_columns(["k0"])

    def segments(self) -> OperatorSegments:
        return replace(super().segments(), keys=())


def framed(kind: str, options: Row) -> FramesWithoutKeys | None:
    """Return frames with aggregates of their own rows; None if they are refused."""
    spec, column = frames.EXAMPLES[kind]
    framing = frames.framing_of(spec, options)
    if framing is None:
        return None
    keyed = frames.framed(framing, column)
    batches = [[row for row in rows if row["k"] == "a"] for rows in keyed.batches]
    return FramesWithoutKeys(**{**vars(keyed), "batches": batches, "calls": EVERY_SLOT})


@pytest.mark.parametrize("name", frames.PROPERTIES)
@pytest.mark.parametrize("kind", frames.EXAMPLES)
def test_frames(kind: str, name: str) -> None:
    case = framed(kind, frames.PROPERTIES[name])
    if case is None:
        return
    filled = without_keys(case, {"before": 1, "after": 2})
    longest = case.framing.longest  # known only at the end of input
    try:
        ran = filled.run_at_once() if longest else filled.run()
    except ArgumentError as refusal:
        assert len(str(refusal).split()) >= 8
        return
    wanted = filled.expected_at_once() if longest else filled.expected()
    assert_same_rows(ran.results, wanted.results)


@dataclass(frozen=True)
class FillWithoutKeys(FillCase):
    """Frames or windows without keys, and rows without keys that fill them."""

    def operator(self) -> FillOperator:
        made = tuple(filler.fill(self.bounded.edge) for filler in self.fillers)
        return FillOperator(self.bounded.segments(), made, ())


def without_keys(case: Any, options: Row) -> FillWithoutKeys:
    along = getattr(case, "along", None)
    rows = fills.filler(case.domain, {**options, "keyed": False}, along)
    return FillWithoutKeys(case, [rows], [len(case.batches), len(rows.batches) + 1])


@dataclass(frozen=True)
class WindowsWithoutKeys(fills.FilledWindow):
    """Windows of a stream without keys."""

    @property
    def by(self) -> tuple[str, ...]:
        return ()

    def operator(self) -> Operator:
        typed = replace(sequences.inputs(self), keys=(), ranked_keys=0)
        return build(self.spec, typed)

    def table(self, rows: Sequence[Row]) -> pa.Table:
        return super().table(rows).drop_columns(["k0"])

    def segments(self) -> OperatorSegments:
        return replace(super().segments(), keys=())


#: Properties of windows that know of keys, or of the progress of all of them.
PROPERTIES = ("nothing", "unfinished flagged", "consistent", "rows", "marks", "each", "double")


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("kind", windows.KINDS)
def test_windows(kind: str, name: str) -> None:
    keyed = windows.case_of(kind, windows.PROPERTIES[name])
    if keyed is None:
        return
    case = WindowsWithoutKeys(**vars(keyed))
    windows.check(case, f"{kind}, {name}")
    if fills.fillable(case.spec):
        filled = without_keys(replace(case, calls=()), {"before": 1, "after": 2})
        ran, wanted = filled.run_at_once(), filled.expected_at_once()
        assert_same_rows(ran.results, wanted.results)
        if isinstance(case.spec, Window):
            fills.check(filled)
