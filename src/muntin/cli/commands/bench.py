"""``muntin bench``: how fast sliding windows are on this machine."""

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
    help="The length of a window in slides; may be given several times.",
)
@options.JSON
@options.spark_options
def command(**arguments: Any) -> None:
    """Measure this machine: sliding windows by Muntin beside Spark's own window().

    Spark's window() copies a row into every window that it is in; Muntin adds it to one pane. The
    numbers in the documentation come from `make bench`, which takes longer.
    """
    from muntin.cli.spark_session import session

    progress = CommandProgress(as_json=arguments["as_json"])
    with session(arguments["spark_options"], progress, workers=True) as spark:
        from muntin.cli.window_benchmark import measure

        if not arguments["as_json"]:
            click.echo(f"{arguments['rows']:,} rows, 50 keys, a window every second, max and avg")
            click.echo(f"{'overlap':>8} {'Muntin':>9} {'Spark':>9} {'ratio':>7}")
        measured = measure(spark, arguments["rows"], arguments["overlap"])
        while True:
            with progress.during("Measuring"):
                times = next(measured, None)
            if times is None:
                return
            if arguments["as_json"]:
                click.echo(json.dumps({**vars(times), "ratio": round(times.ratio, 2)}))
            else:
                seconds = f"{times.muntin:8.2f}s {times.spark:8.2f}s"
                click.echo(f"{times.overlap:>8} {seconds} {times.ratio:6.1f}x")
