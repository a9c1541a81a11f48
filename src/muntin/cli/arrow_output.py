"""Arrow tables on standard output: a table for people, JSON lines or CSV for programs."""

from __future__ import annotations

import csv
import json
import sys

import click
import pyarrow as pa

from muntin.cli.output import FORMATS

__all__ = ["FORMATS", "show_table"]


def show_table(table: pa.Table, form: str | None, rows: int) -> None:
    """Print a table; by default as a table on a terminal and as JSON lines elsewhere."""
    if form is None:
        form = "table" if sys.stdout.isatty() else "json"
    if form == "table":
        _for_people(table, rows)
    elif form == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(table.column_names)
        writer.writerows(row.values() for row in table.to_pylist())
    else:
        for row in table.to_pylist():
            click.echo(json.dumps(row, default=str))


def _for_people(table: pa.Table, rows: int) -> None:
    from rich.console import Console

    from muntin.spark.connectors.sinks.fitted_table import FittedTable

    shown = [[*row.values()] for row in table.slice(0, rows).to_pylist()]
    kinds = enumerate(field.type for field in table.schema)
    number = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
    numbers = frozenset(n for n, kind in kinds if any(is_(kind) for is_ in number))
    Console().print(FittedTable(table.column_names, shown, numbers))
    if table.num_rows > rows:
        click.echo(f"{table.num_rows - rows:,} more rows; --rows N shows more", err=True)
