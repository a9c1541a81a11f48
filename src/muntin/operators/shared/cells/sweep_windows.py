"""The windows of many members that close in a step, in the order in which sweeps meet them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.set_sweeps import SweptWindows, choose_middles, closing_windows
from muntin.operators.protocol import Punctuation
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Members


@dataclass(frozen=True)
class KeyLists:
    """Keys in lists, of which all keys close the same windows.

    ``closed`` and ``closing`` have a row for each list and an entry for each of the distinct edges.
    """

    list_of: Ints
    closed: Ints
    closing: Ints

    @classmethod
    def of(cls, members: Members, keys: pa.Table, punctuation: Punctuation) -> KeyLists:
        by_key = punctuation.by_key
        if by_key is None or not by_key.num_rows or punctuation.over:
            closed, closing = members.edges.closed_and_closing(punctuation)
            return cls(np.zeros(keys.num_rows, np.int64), closed[None, :], closing[None, :])
        ticks = np.column_stack(punctuation.of(keys))
        pairs, number = np.unique(ticks, axis=0, return_inverse=True)
        closed, closing = (
            members.edges.last_closed(np.ascontiguousarray(pairs[:, side])).T for side in (0, 1)
        )
        closing = np.maximum(closed, closing)
        if punctuation.ended:
            _, of_stream = members.edges.closed_and_closing(punctuation)
            closing = np.maximum(closing, of_stream[None, :])
        return cls(number.reshape(-1).astype(np.int64), closed, closing)

    @cached_property
    def sizes(self) -> Ints:
        """The number of keys of each list."""
        return np.bincount(self.list_of, minlength=len(self.closed)).astype(np.int64)

    @cached_property
    def by_list(self) -> Ints:
        """The keys, sorted by list."""
        return np.argsort(self.list_of, kind="stable").astype(np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Where each list begins in ``by_list``."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def position(self) -> Ints:
        """The place of each key in its list."""
        position = np.empty(len(self.list_of), np.int64)
        within = np.arange(len(self.list_of)) - self.starts[self.list_of[self.by_list]]
        position[self.by_list] = within
        return position


@dataclass(frozen=True)
class ClosingWindows:
    """The windows of members that close, sorted by member; each stands for all keys of a list."""

    lists: KeyLists
    number: Ints
    member: Ints
    start: Ints
    end: Ints
    lap: Ints
    middle: Ints
    laps: int

    def __len__(self) -> int:
        return len(self.member)

    @classmethod
    def of(cls, members: Members, lists: KeyLists, panes: Ints, chosen: Mask) -> ClosingWindows:
        """Return the windows of the chosen members that hold a pane."""
        number, edges, start, end = _closing(members, lists, panes)
        order = np.lexsort((end, number))
        number, edges, start, end = (part[order] for part in (number, edges, start, end))
        lap, middle = np.empty(len(number), np.int64), np.empty(len(number), np.int64)
        laps = choose_middles(number, start, end, lap, middle)
        of_edges = MemberSets.of_pairs(
            members.edges_of[chosen], np.flatnonzero(chosen), len(members.edges)
        )
        count = of_edges.sizes[edges]
        window = np.repeat(np.arange(len(edges)), count)
        step = np.arange(len(window)) - np.repeat(np.cumsum(count) - count, count)
        member = of_edges.members[of_edges.offsets[edges[window]] + step]
        by_member = np.argsort(member, kind="stable")
        window, member = window[by_member], member[by_member]
        parts = (number, start, end, lap, middle)
        number, start, end, lap, middle = (np.ascontiguousarray(part[window]) for part in parts)
        return cls(lists, number, member, start, end, lap, middle, laps)

    @cached_property
    def base(self) -> Ints:
        """Where the results of each window begin, one for each key of its list; last, their end."""
        sizes = self.lists.sizes[self.number]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def window_of_result(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self.base))

    def key_of_result(self, window: Ints) -> Ints:
        """Return the key of each result, given its window."""
        place = np.arange(len(window)) - self.base[window]
        keys: Ints = self.lists.by_list[self.lists.starts[self.number[window]] + place]
        return keys

    @cached_property
    def _orders(self) -> dict[tuple[int, int], Ints]:
        """For each lap and sign, the windows in the order in which a sweep meets them."""
        orders = {}
        for lap in range(self.laps):
            own = np.flatnonzero(self.lap == lap)
            for sign, turn in ((-1, -self.start), (1, self.end)):
                within = own if sign < 0 else own[self.end[own] > self.middle[own]]
                orders[lap, sign] = within[np.lexsort((turn[within], self.number[within]))]
        return orders

    def sweep(self, lap: int, sign: int, wanted: MemberSets, chosen: Mask) -> SweptWindows:
        """Return the windows of the chosen members for a sweep; ``wanted`` has sets by member."""
        order = self._orders[lap, sign]
        order = order[chosen[self.member[order]]]
        number = self.number[order]
        middle = np.full(len(self.lists.closed), np.iinfo(np.int64).max)
        middle[number] = self.middle[order]
        begin = middle if sign > 0 else 1 - middle
        turn = self.end[order] - 1 if sign > 0 else -self.start[order]
        ends = np.cumsum(np.bincount(number, minlength=len(self.lists.closed)))
        return SweptWindows(
            np.ascontiguousarray(begin[self.lists.list_of]),
            self.lists.list_of,
            self.lists.position,
            ends.astype(np.int64),
            np.ascontiguousarray(turn),
            np.ascontiguousarray(self.member[order]),
            np.ascontiguousarray(self.base[:-1][order]),
            np.ascontiguousarray(wanted.offsets, np.int64),
            wanted.members,
        )


def _closing(members: Members, lists: KeyLists, panes: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the list, the edges, the start and the end of each window that closes."""
    edges = members.edges
    arguments = (
        panes,
        *(edges.ranges, edges.slides, edges.origins, edges.clipped.astype(np.int64)),
        np.ascontiguousarray(lists.closed).ravel(),
        np.ascontiguousarray(lists.closing).ravel(),
        np.array([len(lists.closed)]),
    )
    none = np.empty(0, np.int64)
    count = closing_windows(*arguments, none, none, none, none)
    filled = [np.empty(count, np.int64) for _ in range(4)]
    closing_windows(*arguments, *filled)
    return filled[0], filled[1], filled[2], filled[3]
