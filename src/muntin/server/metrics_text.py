"""Figures in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class Metric:
    """A figure with its values: a counter, which only grows, or a gauge.

    Args:
        name: Its name, without the prefix.
        kind: ``counter`` or ``gauge``.
        help: What it is.
        values: The labels and the value of each.
    """

    name: str
    kind: str
    help: str
    values: list[tuple[Mapping[str, object], float]] = field(default_factory=list)

    def add(self, value: float | None, **labels: object) -> None:
        """Add a value; None is left out."""
        if value is not None:
            self.values.append((labels, float(value)))


def written(metrics: Iterable[Metric], prefix: str = "muntin_") -> str:
    r"""Return metrics as text.

    >>> rows = Metric("rows_total", "counter", "Rows.", [({"query": 'a"b'}, 2.0)])
    >>> print(written([rows]), end="")
    # HELP muntin_rows_total Rows.
    # TYPE muntin_rows_total counter
    muntin_rows_total{query="a\"b"} 2
    """
    lines: list[str] = []
    for metric in metrics:
        name = prefix + metric.name
        lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {metric.kind}"]
        lines += [f"{name}{_labels(labels)} {_number(value)}" for labels, value in metric.values]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, object]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
