"""Tables on a terminal: they fit its width, and values are as SQL writes them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import pytest
from pyspark.sql import Row
from rich.console import Console

from muntin.spark.connectors.sinks.fitted_table import FittedTable, sql_text


def drawn(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width).print(FittedTable(columns, rows))
    return text.getvalue().splitlines()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (Row(a=1, ok=None, inner=Row(b=False)), "{a: 1, ok: NULL, inner: {b: false}}"),
        ([1, None], "[1, NULL]"),
        ({"k": [True]}, "{k: [true]}"),
        (b"\x01\xab", "X'01AB'"),
        (Decimal("1.50"), "1.50"),
        (date(2026, 3, 2), "2026-03-02"),
        ("[red]not markup[/red]", "[red]not markup[/red]"),
    ],
)
def test_values_are_as_sql_writes_them(value: object, text: str) -> None:
    assert sql_text(value) == text
    assert text in "\n".join(drawn(["v"], [[value]], 60))


@pytest.mark.parametrize("width", [40, 80, 130])
def test_whatever_the_width_every_value_is_there_and_no_line_is_longer(width: int) -> None:
    columns = [f"column {n}" for n in range(12)]
    rows = [[f"value {n} {'x' * n * 3}" for n in range(12)]]
    lines = drawn(columns, rows, width)
    assert max(map(len, lines)) <= width
    shown = "".join(line.replace("│", "").replace(" ", "") for line in lines)
    assert all(name.replace(" ", "") in "".join(shown.split("┃")) for name in columns)
    folded = sum(line.count("x") for line in lines)
    assert folded == sum(n * 3 for n in range(12))


def test_a_short_column_keeps_its_width_beside_a_long_one() -> None:
    lines = drawn(["id", "time", "text"], [[1, "2026-03-02 23:56:00", "long " * 60]], 60)
    assert any("│ 2026-03-02 23:56:00 │" in line for line in lines)
