from __future__ import annotations

import pyarrow as pa

from muntin.operators.protocol import REASONS, MemoryState


def test_state_in_memory_takes_changes_in() -> None:
    first, second = pa.table({"a": [1]}), pa.table({"a": [2]})
    state = MemoryState()
    assert state.buckets("panes") == []
    state.apply({("panes", 3): first, ("panes", -1): first, ("rows", 3): second})
    assert sorted(state.buckets("panes")) == [-1, 3]
    assert state.buckets("rows") == [3]
    assert state.read("panes", 3) is first
    state.apply({("panes", 3): second, ("panes", -1): None, ("panes", 9): None})
    assert state.buckets("panes") == [3]
    assert state.read("panes", 3) is second


def test_the_reasons_for_refusing_a_row() -> None:
    on = ("late", "ahead", "null_on", "nan_on", "before_origin", "out_of_range")
    also = ("null_slide_on", "slide_on_fell", "no_gap", "no_until", "no_along", "tie")
    assert (*on, *also) == REASONS
