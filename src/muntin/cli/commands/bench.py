"""``muntin bench``: what this machine does with sliding windows."""

from __future__ import annotations

import json
from typing import Any

import click

from muntin.cli import options
from muntin.cli.progress import CommandProgress


@click.command()
@click.option("--rows", default=500_000, show_default=True, help="How many rows.")
@click.option(
    "--overlap",
    multiple=True,
    type=click.IntRange(1, 3600),
    default=(10, 60),
    show_default=True,
    help="How many slides a window is long; may be given several times.",
)
@options.JSON
@options.spark_options
def command(**given: Any) -> None:
    """Measure this machine: sliding windows by Muntin beside Spark's own window().

    A row of Spark's window() is copied into every window that it is in; Muntin adds it to one pane.
    The figures of the documentation are made by `make bench`, which takes longer.
    """
    from muntin.cli.spark_session import session

    progress = CommandProgress(as_json=given["as_json"])
    with session(given["spark_options"], progress) as spark:
        from muntin.cli.window_benchmark import measure

        if not given["as_json"]:
            click.echo(f"{given['rows']:,} rows, 50 keys, a window every second, max and avg")
            click.echo(f"{'overlap':>8} {'Muntin':>9} {'Spark':>9} {'ratio':>7}")
        measured = measure(spark, given["rows"], given["overlap"])
        while True:
            with progress.during("Measuring"):
                one = next(measured, None)
            if one is None:
                return
            if given["as_json"]:
                click.echo(json.dumps({**vars(one), "ratio": round(one.ratio, 2)}))
            else:
                times = f"{one.muntin:8.2f}s {one.spark:8.2f}s"
                click.echo(f"{one.overlap:>8} {times} {one.ratio:6.1f}x")
