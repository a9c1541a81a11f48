"""QoS graphs as lines of text: a bar for each stretch of positions, as high as the worth."""

from __future__ import annotations

from collections.abc import Iterator

from muntin.specs.qos import Qos, QosGraph

_BARS = " ▁▂▃▄▅▆▇█"
#: So many bars a graph has.
_WIDTH = 30


def drawn_graph(graph: QosGraph, now: float | None = None) -> str:
    """Return a graph as bars between its least and greatest position, and where it is now.

    >>> print(drawn_graph(Qos(delay=[("2 seconds", 1.0), ("10 seconds", 0.0)]).delay, now=4))
    delay 0 s ███████▇▇▆▆▅▅▅▄▄▃▃▃▂▂▁▁        12 s; now 4 s, worth 0.75
    """
    low, high = _reach(graph)
    width = (high - low) / (_WIDTH - 1)
    worths = (graph.worth(low + place * width) for place in range(_WIDTH))
    bars = "".join(_BARS[round(worth * (len(_BARS) - 1))] for worth in worths)
    about = graph.about if graph.column is None else f"{graph.about} of {graph.column}"
    is_now = "" if now is None else f"; now {_at(graph, now)}, worth {graph.worth(now):.2f}"
    return f"{about} {_at(graph, low)} {bars} {_at(graph, high)}{is_now}"


def drawn_graphs(qos: Qos, delay: float | None = None, share: float | None = None) -> Iterator[str]:
    """Yield the graphs of a query, with the delay and the share that its answers have now."""
    yield drawn_graph(qos.delay, delay)
    if qos.tolerant:
        yield drawn_graph(qos.share, share)
    else:
        yield "share: every row counts, so none is shed"
    if qos.value is not None:
        yield drawn_graph(qos.value)


def _reach(graph: QosGraph) -> tuple[float, float]:
    """Return the least and greatest position that are drawn."""
    first, last = graph.points[0][0], graph.points[-1][0]
    if graph.about == "share":
        return 0.0, 1.0
    if graph.about == "delay":
        return 0.0, last * 1.2 or 1.0
    return (first, last) if first < last else (first - 1, last + 1)


def _at(graph: QosGraph, position: float) -> str:
    match graph.about:
        case "delay":
            return f"{position:.3g} s"
        case "share":
            return f"{position:.3g}"
        case _:
            return f"{position:g}"
