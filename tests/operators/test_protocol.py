from __future__ import annotations

import pyarrow as pa

from muntin.operators.protocol import REASONS, MemoryState


def test_state_in_memory_takes_changes_in() -> None:
    one, two = pa.table({"a": [1]}), pa.table({"a": [2]})
    state = MemoryState()
    assert state.buckets("panes") == []
    state.apply({("panes", 3): one, ("panes", -1): one, ("rows", 3): two})
    assert sorted(state.buckets("panes")) == [-1, 3]
    assert state.buckets("rows") == [3]
    assert state.read("panes", 3) is one
    state.apply({("panes", 3): two, ("panes", -1): None, ("panes", 9): None})
    assert state.buckets("panes") == [3]
    assert state.read("panes", 3) is two


def test_the_reasons_for_refusing_a_row() -> None:
    on = ("late", "null_on", "nan_on", "before_origin", "out_of_range")
    also = ("null_slide_on", "slide_on_fell", "no_gap", "no_until", "no_along", "tie")
    assert (*on, *also) == REASONS
