"""The drawing of a network: every box is there, none lies on another, and it is always the same."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from muntin.engine.costs.network_graph import NetworkDrawing, SinkFigures, StreamNetwork
from muntin.engine.costs.query_cost import QueryCost, RunningPart
from muntin.engine.costs.stream_costs import PartCost

NONE = QueryCost("", "s", "", (), 0, 0, None, 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0)


def network(queries: dict[str, list[str]]) -> StreamNetwork:
    """Parts with queries; the first query of each part has two sinks and a tap."""
    drawing = NetworkDrawing()
    drawing.source("s & <t>", 1_000, kept_batches=3)
    for name, own in queries.items():
        drawing.part(RunningPart(name, f"part {name}", tuple(own)), PartCost(0.1, 2, 3, 4), 1_000)
    for name, own in queries.items():
        for query in own:
            drawing.query(replace(NONE, query=query), name, "active", from_kept=query == own[-1])
        drawing.sink(SinkFigures(own[0], "", "parquet", 7))
        drawing.sink(SinkFigures(own[0], "page", "webhook", 7, "it failed"))
        drawing.tap(f"q{name}", f"query:{own[0]}", 2, 20)
    return StreamNetwork("s", (), drawing.boxes, drawing.arrows)


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    root = ElementTree.fromstring(svg)
    found = root.iter("{http://www.w3.org/2000/svg}rect")
    return [tuple(float(r.attrib[a]) for a in ("x", "y", "width", "height")) for r in found]  # type: ignore[misc]


def test_no_box_lies_on_another() -> None:
    drawn = network({"b": ["q1", "q2", "q3"], "a": ["q4"], "c": ["q5", "q6"]})
    placed = boxes(drawn.svg)
    assert len(placed) == len(drawn.boxes) == 20
    for place, (x, y, width, height) in enumerate(placed):
        for other_x, other_y, other_width, other_height in placed[:place]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawn.svg)
    assert size is not None
    assert all(x + w <= int(size[1]) and y + h <= int(size[2]) for x, y, w, h in placed)


def test_names_are_text_and_equal_networks_are_drawn_alike() -> None:
    one = network({"a": ["<b>", "a query with a very long name that no box has room for"]})
    assert "&lt;b&gt;" in one.svg and "s &amp; &lt;t&gt;" in one.svg and "..." in one.svg
    assert one.svg == StreamNetwork.of_json(one.json).svg == one._repr_svg_()
    assert "stopped" in one.svg


def test_many_queries_are_one_box_more() -> None:
    many = network({"a": [f"q{n}" for n in range(1_000)], "b": ["other"]})
    assert "976 more queries" in many.svg
    assert many.svg.count("<rect") < 50
    assert len(many.json["boxes"]) == 1_000 + 11  # type: ignore[arg-type]
