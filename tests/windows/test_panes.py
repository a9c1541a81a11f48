"""Rows that are sent as they are, together with rows that were combined."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from muntin.aggregates.definition import AggregateCall
from muntin.operators.windows.panes import PaneEdges, Panes
from muntin.specs.axis import Domain
from muntin.specs.windows import Window

CALLS = {
    # Raw rows (value, condition, order) have as many columns as panes (count, tick, value).
    "first": AggregateCall("first", "first(s)", (0, 1), (pa.string(), pa.bool_()), True),
    "mode": AggregateCall("mode", "mode(s)", (0,), (pa.string(),), True),
    "collect": AggregateCall("collect", "collect(s)", (0,), (pa.string(),), True),
}


def panes(call: AggregateCall) -> Panes:
    spec = Window(10, 10, "on")
    axis = spec.axis(Domain.INTEGER, scale=0, zone="UTC")
    return Panes((pa.string(),), (call,), axis, PaneEdges((spec.edges(axis),)), pa.int64())


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    columns: dict[str, Any] = {
        "on": pa.array([on for on, _ in pairs], pa.int32()),
        "k0": pa.array(["k"] * len(pairs)),
        "s0": pa.array([value for _, value in pairs], pa.string()),
        "s1": pa.array([True] * len(pairs)),
    }
    return pa.table(columns)


#   pane 0     b at 3                 one row: sent as it is
#              a at 1, null, b at 2   three rows: combined into a pane
@pytest.mark.parametrize(
    ("function", "kept"),
    [
        ("first", [1, "a"]),
        ("mode", [["a", "b"], [1, 2]]),
        ("collect", [[1, 2, 3], ["a", "b", "b"]]),
    ],
)
def test_both_merge(function: str, kept: list[Any]) -> None:
    layout = panes(CALLS[function])
    raw = layout.route(rows((3, "b"))).partial
    combined = layout.route(rows((1, "a"), (2, None), (2, "b"))).partial
    assert "s0" in raw.column_names
    assert combined.schema == layout.schema
    for order in ([raw, combined], [combined, raw]):
        (merged,) = layout.merge(order).to_pylist()
        assert list(merged.values()) == ["k", 0, 4, *kept]
