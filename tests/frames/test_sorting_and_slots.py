"""Kernels that sort rows and insert missing ones, against plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from muntin.kernels.frames.records import NEVER
from muntin.kernels.frames.slots import fill_slots, follow_on
from muntin.kernels.grouping import by_key_and_order

Ints = npt.NDArray[np.int64]
KEYS = 4
#: Slots of each key that have a row, in order; the last slot processed; the slot that is due.
KeySlots = tuple[list[int], int | None, int | None]


def ints(values: object) -> Ints:
    return np.array(values, np.int64)


@given(st.lists(st.tuples(st.integers(0, KEYS - 1), st.integers(-3, 3))))
def test_rows_are_sorted_by_key_and_order_stably(rows: list[tuple[int, int]]) -> None:
    key, order = ints([key for key, _ in rows]), ints([order for _, order in rows])
    place, starts = by_key_and_order(key, order, KEYS)
    assert place.tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
    counts = [sum(key == one for key, _ in rows) for one in range(KEYS)]
    assert starts.tolist() == [0, *itertools.accumulate(counts)]


def test_no_rows_of_no_keys() -> None:
    place, starts = by_key_and_order(ints([]), ints([]), 0)
    assert (place.tolist(), starts.tolist()) == ([], [0])


@st.composite
def slots_of_keys(draw: st.DrawFn) -> list[KeySlots]:
    made = []
    for _ in range(draw(st.integers(0, 3))):
        before = draw(st.none() | st.integers(-3, 3))
        least = -5 if before is None else before + 1
        rows = sorted(draw(st.sets(st.integers(least, 12), max_size=5)))
        until = draw(st.none() | st.integers(-5, 16))
        made.append((rows, before, until))
    return made


def filled(keys: list[KeySlots], lead: int) -> tuple[list[list[tuple[int, int, int]]], list[int]]:
    """Return each key's slots as (slot, source, slots covered), and the last slots processed."""
    starts = ints([0, *itertools.accumulate(len(rows) for rows, _, _ in keys)])
    given_ = (
        starts,
        ints([slot for rows, _, _ in keys for slot in rows]),
        ints([NEVER if before is None else before for _, before, _ in keys]),
        ints([NEVER if until is None else until for _, _, until in keys]),
        lead,
    )
    none, new_starts, dealt = ints([]), np.empty_like(starts), np.empty(len(keys), np.int64)
    made = fill_slots(*given_, none, none, none, new_starts, dealt)
    source, slot, stands = np.empty((3, made), np.int64)
    assert fill_slots(*given_, source, slot, stands, new_starts, dealt) == made
    told = list(zip(slot.tolist(), source.tolist(), stands.tolist(), strict=True))
    found = [told[low:high] for low, high in itertools.pairwise(new_starts.tolist())]
    return found, dealt.tolist()


@given(slots_of_keys(), st.integers(1, 4) | st.just(2**63 - 1))
def test_empty_slots_lie_between_rows_and_up_to_what_is_due(
    keys: list[KeySlots], lead: int
) -> None:
    found, dealt = filled(keys, lead)
    first = 0
    for (rows, before, until), mine, last in zip(keys, found, dealt, strict=True):
        source = {slot: first + place for place, slot in enumerate(rows)}
        first += len(rows)
        known = ([] if before is None else [before]) + rows
        wanted: list[int] = []
        if known:
            stop = max(known[-1] + 1, NEVER if until is None else until)
            wanted = [s for s in range(known[0], stop) if s != before]
            assert last == stop - 1
        else:
            assert last == NEVER
        told: list[tuple[int, int, int]] = []
        for is_row, run in itertools.groupby(wanted, source.__contains__):
            slots = list(run)
            single = slots if is_row or len(slots) <= lead else slots[:lead]
            told += [(slot, source.get(slot, -1), 1) for slot in single]
            if len(single) < len(slots):  # the last of neighbouring empty slots is for the others
                told.append((slots[-1], -1, len(slots) - len(single)))
        assert mine == told


@given(slots_of_keys(), st.data())
def test_rows_follow_on_while_no_slot_is_missing(keys: list[KeySlots], data: st.DataObject) -> None:
    starts = ints([0, *itertools.accumulate(len(rows) for rows, _, _ in keys)])
    slot = ints([slot for rows, _, _ in keys for slot in rows])
    before = ints([NEVER if before is None else before for _, before, _ in keys])
    passed = [data.draw(st.integers(0, len(rows))) for rows, _, _ in keys]
    flags = [
        place < n
        for (rows, _, _), n in zip(keys, passed, strict=True)
        for place in range(len(rows))
    ]
    final = ints(flags)
    follow_on(starts, slot, before, final)
    wanted = []
    for (rows, dealt, _), n in zip(keys, passed, strict=True):
        reached, mine = dealt, []
        for place, one in enumerate(rows):
            follows = place < n or (reached is not None and one <= reached + 1)
            if not follows:
                break
            mine.append(1)
            reached = one
        wanted += mine + [0] * (len(rows) - len(mine))
    assert final.tolist() == wanted
