"""A user's own framing functions find what the built-in kinds find, under every property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from muntin.operators.frames.build import build
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary, Delta
from muntin.specs.frames.own_function import CompiledFraming, FramingFunction, OwnFraming, own_kind
from muntin.testing import assert_same_rows
from tests.properties.arriving import renamed
from tests.properties.framings import FrameCase, frame_cases
from tests.thorough import examples


class Unchanged(FramingFunction):
    """Finds the frames of ``boundary("v")``."""

    columns = ("v",)

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["v"] = row["v"]
        return True

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        return bool(row["v"] == state["v"])


class CompiledUnchanged(CompiledFraming):
    """Finds the same frames, compiled."""

    columns = ("v",)
    numbers = 1

    @staticmethod
    def open(row: Any, state: Any) -> bool:
        state[0] = row[0]
        return True

    @staticmethod
    def update(row: Any, state: Any) -> bool:
        return bool(row[0] == state[0])


class Near(FramingFunction):
    """Finds the frames of :data:`NEAR`: they begin where ``b`` holds, beside each other."""

    columns = ("v", "b")
    overlapping = True

    def open(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["least"] = state["greatest"] = row["v"]
        return bool(row["b"])

    def update(self, row: Mapping[str, Any], state: dict[str, Any]) -> bool:
        state["least"] = min(state["least"], row["v"])
        state["greatest"] = max(state["greatest"], row["v"])
        return bool(state["greatest"] - state["least"] < 1.5)


class CompiledNear(CompiledFraming):
    """Finds the same frames, compiled."""

    columns = ("v", "b")
    numbers = 2
    overlapping = True

    @staticmethod
    def open(row: Any, state: Any) -> bool:
        state[0] = state[1] = row[0]
        return bool(row[1] != 0)

    @staticmethod
    def update(row: Any, state: Any) -> bool:
        state[0], state[1] = min(state[0], row[0]), max(state[1], row[0])
        return bool(state[1] - state[0] < 1.5)


NEAR = Delta("v", "1.5", start="b", restart="continue")


def framed(case: FrameCase, kind: Any) -> Framing:
    """Return the framing of a case with another kind."""
    names = [
        part for part in case.framing.__dataclass_fields__ if part not in ("kind", "on", "scheme")
    ]
    return Framing(kind, "on", **{name: getattr(case.framing, name) for name in names})


def is_plain(case: FrameCase) -> bool:
    kind, framing = case.framing.kind, case.framing
    unchanged = isinstance(kind, Boundary) and kind.every is None and case.column == "v"
    return unchanged and not framing.predicted


@pytest.mark.parametrize("own", [Unchanged(), CompiledUnchanged()], ids=lambda own: own.name)
def test_an_own_function_is_as_good_as_a_kind(own: OwnFraming) -> None:
    @examples(400)
    @given(frame_cases(kinds=(Boundary("v"),)).filter(is_plain))
    def check(case: FrameCase) -> None:
        typed = replace(case.typed(), digest=own.name)
        ran = case.run(build(framed(case, own_kind(own)), typed))
        wanted = case.expected()
        assert_same_rows([renamed(row) for row in ran.results], wanted.results)
        assert ran.chunks_left == 0

    check()


@pytest.mark.parametrize("own", [Near(), CompiledNear()], ids=lambda own: own.name)
def test_several_frames_of_an_own_function_are_open_at_once(own: OwnFraming) -> None:
    @examples(400)
    @given(frame_cases(kinds=(NEAR,)).filter(is_read_as_it_came))
    def check(case: FrameCase) -> None:
        case = replace(case, batches=[[_started(row) for row in rows] for rows in case.batches])
        typed = replace(case.typed(), read=(pa.float64(), pa.bool_()), digest=own.name)
        framing = framed(case, own_kind(own))
        ran = _OfTwoColumns(**vars(case)).run(build(framing, typed))
        wanted = case.expected()
        assert_same_rows([renamed(row) for row in ran.results], wanted.results)
        assert ran.chunks_left == 0

    check()


def is_read_as_it_came(case: FrameCase) -> bool:
    """True unless rows are combined: ``s`` and ``b`` would no longer say the same."""
    return not (case.framing.predicted or case.framing.combines_ties)


def _started(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of which `b` says, as `s` does, whether a frame may begin."""
    return {**row, "b": row["s"] == "a"}


class _OfTwoColumns(FrameCase):
    """A case of an own function that reads ``v`` and ``b``."""

    def table(self, rows: Sequence[dict[str, Any]]) -> pa.Table:
        return super().table(rows).append_column("f1", pa.array([row["b"] for row in rows]))
