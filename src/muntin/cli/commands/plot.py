"""``muntin plot FILE.sql``: frames or windows of a query, as a picture."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.progress import CommandProgress

if TYPE_CHECKING:
    from muntin.parser.statements import Query


@click.command()
@options.FILE
@click.option(
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The picture: .png, .svg or .html.",
)
@click.option("--query", "only", help="The name of the query; by default the last one.")
@click.option(
    "--value",
    help="The column to draw; by default the one that frames read, or the first number of windows.",
)
@click.option("--key", multiple=True, help="A key to draw frames of; may be given several times.")
@click.option("--title", help="The title of the picture.")
@click.option("--width", default=720, show_default=True, help="In pixels.")
@click.option("--height", default=180, show_default=True, help="In pixels.")
@options.spark_options
def command(**arguments: Any) -> None:
    """Draw the frames or windows of a query.

    Frames are shaded over the values that they were found in. Results of windows are lines along
    window_end, one for every key. Needs pip install 'muntin[plot]'.
    """
    from muntin.cli.spark_session import called, session
    from muntin.parser.parse import parse
    from muntin.session.session import named_queries

    text = arguments["file"].read_text()
    statements = parse(text)
    query = _chosen(dict(named_queries(statements)), arguments["only"])
    progress = CommandProgress()
    with (
        session(arguments["spark_options"], progress, called(statements), workers=True) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
        progress.during("Drawing"),
    ):
        from muntin.session.pipeline import Pipeline
        from muntin.session.plot import draw_query

        pipeline = Pipeline(spark, Path(folder), False, _unused, _unused)
        pipeline.declare(statements, text)
        draw_query(
            pipeline.session,
            query,
            arguments["output"],
            value=arguments["value"],
            keys=arguments["key"],
            title=arguments["title"],
            width=arguments["width"],
            height=arguments["height"],
        )
    click.echo(f"Picture: {arguments['output']}")


def _chosen(queries: dict[str, Query], only: str | None) -> Query:
    if not queries:
        raise click.UsageError("the file has no query to draw")
    if only is None:
        return list(queries.values())[-1]
    if only not in queries:
        raise click.UsageError(f"there is no query {only}; there are {', '.join(queries)}")
    return queries[only]


def _unused(*arguments: object) -> Any:
    """Fail: a pipeline that only declares calls no sink."""
    raise AssertionError("nothing is run")
