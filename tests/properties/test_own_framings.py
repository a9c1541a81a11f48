"""A user's own framing functions find what the built-in kinds find, under every property."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from muntin.operators.frames.build import build
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Boundary
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


def framed(case: FrameCase, kind: Any) -> Framing:
    """Return the framing of a case with another kind."""
    names = [
        part for part in case.framing.__dataclass_fields__ if part not in ("kind", "on", "scheme")
    ]
    return Framing(kind, "on", **{name: getattr(case.framing, name) for name in names})


def is_plain(case: FrameCase) -> bool:
    kind, framing = case.framing.kind, case.framing
    unchanged = isinstance(kind, Boundary) and kind.every is None and case.column == "v"
    return unchanged and not framing.longest and not framing.predicted


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
