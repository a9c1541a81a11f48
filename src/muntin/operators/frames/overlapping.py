"""Frames that overlap: a scheme picks them from the frames that begin at every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from muntin.kernels.arrays import Ints
from muntin.kernels.frames.overlapping_fast import candidates_in_one_pass, in_one_pass
from muntin.kernels.frames.records import FOUND
from muntin.kernels.frames.schemes import (
    choose_adjacent,
    choose_advancing,
    choose_all,
    choose_cover,
)
from muntin.kernels.frames.walk import candidates
from muntin.operators.common.keys import KeyedTables
from muntin.operators.frames.held_rows import FoundFrames, HeldRowFrames
from muntin.operators.frames.ordered_rows import OrderedRows


@dataclass(frozen=True)
class OverlappingFrames(HeldRowFrames):
    """Frames by a ``scheme`` [Frames 4.2]; ``overlap`` is that of adjacent frames, in ticks."""

    scheme: str = "unconstrained"
    overlap: int = 0

    @property
    def remembered_names(self) -> tuple[str, ...]:
        """The last row whose frame is decided, and how far frames reached until then."""
        return ("decided", "reached")

    @property
    def in_one_pass(self) -> bool:
        """True if every row is read once, and not once for each frame that it lies in."""
        return in_one_pass(self.record)

    def find_frames(
        self,
        rows: OrderedRows,
        memory: dict[str, Ints],
        keys: KeyedTables,
        complete: Ints,
        ended: bool,
    ) -> FoundFrames:
        key = np.repeat(np.arange(len(keys)), np.diff(rows.starts))
        over = rows.order <= memory["decided"][key]
        since = rows.starts[:-1] + np.bincount(key[over], minlength=len(keys))
        if self.scheme == "cover":
            since = rows.starts[:-1]
        candidate_frames = np.zeros(len(rows), FOUND)
        # The next adjacent frame starts before the end of the last one, reported or not.
        give_up = int(self.scheme != "adjacent")
        find = candidates_in_one_pass if self.in_one_pass else candidates
        find(self.record, rows.kernel_columns, int(ended), give_up, since, candidate_frames)
        chosen = np.zeros(len(rows), np.uint8)
        needed, reached = np.empty(len(keys), np.int64), memory["reached"].copy()
        self._choose(rows, since, candidate_frames, chosen, needed, reached)
        decided = memory["decided"].copy()
        moved = needed > rows.starts[:-1]
        decided[moved] = np.maximum(decided[moved], rows.order[needed[moved] - 1])
        place = np.flatnonzero(chosen)
        picked = candidate_frames[place]
        picked["key"] = key[place]
        return FoundFrames(picked, needed, {"decided": decided, "reached": reached})

    def _choose(
        self,
        rows: OrderedRows,
        since: Ints,
        candidate_frames: np.ndarray,
        chosen: npt.NDArray[np.uint8],
        needed: Ints,
        reached: Ints,
    ) -> None:
        match self.scheme:
            case "advancing":
                minimal = int(self.record["minimal"][0])
                choose_advancing(
                    rows.starts,
                    since,
                    rows.order,
                    candidate_frames,
                    minimal,
                    chosen,
                    needed,
                    reached,
                )
            case "adjacent":
                doubles, length = (
                    int(self.record["doubles"][0]),
                    self.overlap / 10**self.axis.digits,
                )
                columns = rows.starts, since, rows.order, rows.what, candidate_frames, doubles
                choose_adjacent(*columns, self.overlap, length, chosen, needed, reached)
            case "cover":
                cover_columns = rows.starts, rows.order, rows.what, candidate_frames
                choose_cover(*cover_columns, chosen, needed, reached)
            case _:
                choose_all(rows.starts, since, candidate_frames, chosen, needed)
