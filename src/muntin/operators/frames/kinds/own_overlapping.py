"""Frames of a user's own framing function that may overlap: one may begin at every row.

Such frames are found again from their first rows in every micro-batch until they are over, so
nothing that the function remembers is kept, only the rows since the oldest open frame began.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from muntin.kernels.arrays import Ints
from muntin.kernels.frames.own import (
    Answers,
    begin_anew,
    compiled_candidates,
    decide_row,
    end_key,
    is_beyond,
    settle_row,
)
from muntin.kernels.frames.records import (
    CLOSED,
    EXTENDS,
    EXTENDS_LAST,
    FOUND,
    OPEN,
    OPENS,
    OPENS_LAST,
    REAL,
    fresh,
)
from muntin.kernels.frames.step import MOST
from muntin.operators.frames.held_rows import OverlappingFrames
from muntin.operators.frames.ordered_rows import OrderedRows
from muntin.operators.frames.own_calls import OwnCalls, compiled_errors, matrix
from muntin.specs.frames.own_function import CompiledFraming, FramingFunction, OwnFraming


@dataclass(frozen=True)
class OverlappingOwnFrames(OverlappingFrames):
    """All frames that ``own`` opens, beside each other; ``digest`` identifies its code."""

    own: OwnFraming | None = None
    digest: str = ""

    @property
    def in_one_pass(self) -> bool:
        return False

    def _find_candidates(
        self, rows: OrderedRows, ended: bool, give_up: int, since: Ints, found: np.ndarray
    ) -> None:
        if isinstance(self.own, CompiledFraming):
            self._find_compiled(self.own, rows, ended, give_up, since, found)
            return
        assert isinstance(self.own, FramingFunction)
        by_row = _CandidatesByRow(OwnCalls(self.own), self.record, rows, ended, bool(give_up))
        for key, start in enumerate(since.tolist()):
            for first in range(start, int(rows.starts[key + 1])):
                by_row.find(key, first, found)

    def _find_compiled(
        self,
        own: CompiledFraming,
        rows: OrderedRows,
        ended: bool,
        give_up: int,
        since: Ints,
        found: np.ndarray,
    ) -> None:
        find = compiled_candidates(Answers(self.digest, own.open, own.update, own.close))
        columns = self.record, rows.starts, rows.order, rows.what, rows.read("reach"), rows.gap
        values, numbers = matrix(rows, len(self.kind.types)), np.zeros(own.numbers)
        states, room = fresh(len(rows.starts) - 1), np.zeros(MOST, FOUND)
        known = values, int(ended), give_up, np.ascontiguousarray(since)
        with compiled_errors(own):
            find(*columns, *known, states, numbers, room, found)


class _CandidatesByRow:
    """Finds frames by calling a framing function in Python about every row of each of them."""

    def __init__(
        self, calls: OwnCalls, asked: np.ndarray, rows: OrderedRows, ended: bool, give_up: bool
    ) -> None:
        self.calls, self.asked, self.rows = calls, asked, rows
        self.ended, self.give_up = ended, give_up
        self.values, self.real = calls.values(rows), (rows.what == REAL).tolist()
        self.reach = rows.read("reach").astype(np.int64)
        self.states, self.room = fresh(len(rows.starts) - 1), np.zeros(MOST, FOUND)

    def find(self, key: int, first: int, found: np.ndarray) -> None:
        """Find the frame that begins at a row, as the kernel ``candidates`` does."""
        found[first]["fits"] = -1
        if not self.real[first]:
            return
        begin_anew(self.states, key)
        for n in self._applied(key, first):
            mode = self.states[key]["mode"]
            if n:
                found[first] = self.room[0]
                return
            if mode == CLOSED:
                return
            if self.give_up and is_beyond(self.asked, self.states, key):
                found[first]["fits"] = 0
                return
        if not self.ended:
            found[first]["fits"] = -2
        elif end_key(self.asked, self.states, key, self.room):
            found[first] = self.room[0]

    def _applied(self, key: int, first: int) -> Iterator[int]:
        """Apply one row after the other; yield how many frames each of them closed."""
        rows, state = self.rows, dict[str, Any]()
        for row in range(first, int(rows.starts[key + 1])):
            arguments = self.asked, self.states, key, row, rows.order
            n = settle_row(*arguments, rows.what, self.reach, rows.gap, self.room)
            if self.real[row] and (row == first or self.states[key]["mode"] == OPEN):
                answer = self._answer(row == first, self.values[row], state)
                n += decide_row(*arguments, self.reach, answer, self.room[n:])
            yield n

    def _answer(self, is_first: bool, row: dict[str, Any], state: dict[str, Any]) -> int:
        method, yes, last = "update", EXTENDS, EXTENDS_LAST
        if is_first:
            method, yes, last = "open", OPENS, OPENS_LAST
        if not self.calls.ask(method, row, state):
            return 0
        return yes | (last if self.calls.ask("close", row, state) else 0)
