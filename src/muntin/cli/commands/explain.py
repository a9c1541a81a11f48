"""``muntin explain FILE.sql``: how its queries will run."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from muntin.cli import options
from muntin.cli.progress import CommandProgress


@click.command()
@options.FILE
@options.STREAM
@click.option("--query", "only", help="The name of one query; by default all of them.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file for the plan of one query, drawn as SVG.",
)
@options.JSON
@options.spark_options
def command(**arguments: Any) -> None:
    """Print how the queries of a file will run, without running them.

    For each query: windows and panes, operators, shards, and what is kept and whether that is
    bounded.
    """
    from muntin.cli.spark_session import called, session, streams
    from muntin.parser.parse import parse

    text = arguments["file"].read_text()
    statements = parse(text)
    streaming = streams(statements) if arguments["stream"] is None else arguments["stream"]
    progress = CommandProgress(as_json=arguments["as_json"])
    with (
        session(arguments["spark_options"], progress, called(statements)) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.session.check import Check
        from muntin.session.session import explanations

        check = Check(spark, Path(folder), streaming)
        check.check(text)
        for mistake in check.mistakes:
            raise mistake
        drawn = arguments["output"] is not None
        plans = explanations(
            check.session, statements, arguments["only"], "svg" if drawn else "text"
        )
    if drawn:
        _draw(arguments["output"], plans)
        return
    for name, plan in plans.items():
        line = (
            json.dumps({"query": name, "plan": plan})
            if arguments["as_json"]
            else f"{name}\n{plan}\n"
        )
        click.echo(line)


def _draw(path: Path, plans: dict[str, str]) -> None:
    if len(plans) != 1:
        names = ", ".join(plans) or "none"
        raise click.UsageError(f"--output draws one query; choose with --query among {names}")
    (drawn,) = plans.values()
    path.write_text(drawn)
    click.echo(f"Picture: {path}")
