"""The network of a stream as boxes and arrows: where rows go, and how many [Aurora 2.1, AV-44]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from muntin.engine.costs.draw_network import drawn
from muntin.engine.costs.network_boxes import NetworkArrow, NetworkBox
from muntin.engine.costs.query_cost import QueryCost, RunningPart
from muntin.engine.costs.stream_costs import PartCost

SOURCE, KEPT = "source", "kept"


class StreamNetwork(list[dict[str, object]]):
    """What runs for a stream: a list of its parts, each with the queries that share it.

    ``boxes`` and ``arrows`` are the same with sources, kept rows, queries and sinks; ``svg`` is a
    drawing of them, and ``json`` plain data. A notebook shows the drawing.
    """

    def __init__(
        self,
        stream: str,
        parts: Iterable[Mapping[str, object]],
        boxes: Sequence[NetworkBox] = (),
        arrows: Sequence[NetworkArrow] = (),
    ) -> None:
        super().__init__(dict(part) for part in parts)
        self.stream = stream
        self.boxes, self.arrows = tuple(boxes), tuple(arrows)

    def box(self, id: str) -> NetworkBox:
        """Return a box by its id, such as ``part:w1f...`` or ``query:slow``."""
        return next(box for box in self.boxes if box.id == id)

    @property
    def json(self) -> dict[str, object]:
        """The network as plain data: ``stream``, ``parts``, ``boxes`` and ``arrows``."""
        return {
            "stream": self.stream,
            "parts": [dict(part) for part in self],
            "boxes": [asdict(box) for box in self.boxes],
            "arrows": [asdict(arrow) for arrow in self.arrows],
        }

    @classmethod
    def of_json(cls, data: Mapping[str, object]) -> StreamNetwork:
        """Return the network that :attr:`json` describes."""
        boxes, arrows, parts = data["boxes"], data["arrows"], data["parts"]
        assert isinstance(boxes, list) and isinstance(arrows, list) and isinstance(parts, list)
        return cls(
            str(data["stream"]),
            parts,
            [NetworkBox(**box) for box in boxes],
            [NetworkArrow(**arrow) for arrow in arrows],
        )

    @property
    def svg(self) -> str:
        """The network as SVG text; equal networks have equal drawings."""
        return drawn(self.boxes, self.arrows)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class SinkFigures:
    """A sink or trigger of a query: how it is called, and the rows that it got."""

    query: str
    name: str
    connector: str
    delivered: int
    stopped: str | None = None


@dataclass
class NetworkDrawing:
    """Collects the boxes and arrows of a stream."""

    boxes: list[NetworkBox] = field(default_factory=list)
    arrows: list[NetworkArrow] = field(default_factory=list)

    def source(self, stream: str, rows: int, kept_batches: int | None) -> None:
        """Add the source, and the rows that it keeps, to which new queries connect."""
        self.boxes.append(NetworkBox(SOURCE, "source", stream, {"rows": rows}))
        if kept_batches is not None:
            figures = {"micro_batches": kept_batches}
            self.boxes.append(NetworkBox(KEPT, "connection point", "kept rows", figures))
            self.arrows.append(NetworkArrow(SOURCE, KEPT, rows))

    def part(self, part: RunningPart, cost: PartCost, rows: int) -> None:
        """Add a part that runs queries."""
        figures: dict[str, int | float | str] = {
            "queries": len(part.queries),
            "cpu_seconds": round(cost.cpu_seconds, 6),
            "cells": cost.cells,
            "message_bytes": cost.message_bytes,
            "state_bytes": cost.state_bytes,
        }
        id = f"part:{part.name}"
        self.boxes.append(NetworkBox(id, "part", part.kind, figures))
        self.arrows.append(NetworkArrow(SOURCE, id, rows))

    def query(self, cost: QueryCost, part: str, status: str, *, from_kept: bool) -> None:
        """Add a query, with an arrow from the part that runs it."""
        id = f"query:{cost.query}"
        figures: dict[str, int | float | str] = {
            "status": status,
            "rows": cost.rows,
            "used": cost.used,
            "refused": cost.refused,
            "answers": cost.answers,
        }
        self.boxes.append(NetworkBox(id, "query", cost.query, figures))
        if part:
            self.arrows.append(NetworkArrow(f"part:{part}", id, cost.answers))
        if from_kept:
            self.arrows.append(NetworkArrow(KEPT, id, None))

    def sink(self, sink: SinkFigures) -> None:
        """Add a sink or trigger of a query."""
        id = f"sink:{sink.query}:{sink.name}"
        title = f"{sink.name}: {sink.connector}" if sink.name else sink.connector
        figures: dict[str, int | float | str] = {"delivered": sink.delivered}
        if sink.stopped is not None:
            figures["state"] = "stopped"
        self.boxes.append(NetworkBox(id, "sink", title, figures))
        self.arrows.append(NetworkArrow(f"query:{sink.query}", id, sink.delivered))

    def tap(self, name: str, box: str, rows: int, most: int) -> None:
        """Add a tap on a box."""
        id = f"tap:{name}"
        self.boxes.append(NetworkBox(id, "tap", name, {"rows": rows, "most": most}))
        self.arrows.append(NetworkArrow(box, id, rows))
