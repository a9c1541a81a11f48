"""``muntin demo NAME``: SQL over a simulated stream, shown and run."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from muntin.cli import options

#: The demonstrations, in the order in which to look at them.
NAMES = ("freeway", "router", "freezer", "retail", "auction")
#: The demonstration that is a page in a browser.
_DESK = "desk"


def text_of(name: str) -> str:
    """Return the SQL of a demonstration."""
    return (files("muntin.cli.commands") / "demos" / f"{name}.sql").read_text()


@click.command(epilog="Demonstrations: " + ", ".join((*NAMES, _DESK)) + ".")
@click.argument("name", type=click.Choice((*NAMES, _DESK)))
@click.option("--stream", is_flag=True, help="Run as a stream, micro-batch by micro-batch.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the SQL to a file instead of running it.",
)
@click.option(
    "--rows", default=options.SHOWN_ROWS, show_default=True, help="How many rows a table shows."
)
@click.option("--port", default=8642, show_default=True, help="The port of the page of desk.")
@click.option(
    "--browser/--no-browser", default=True, show_default=True, help="Open the page of desk."
)
@click.option("--minutes", type=float, help="How long desk is served; until Ctrl-C unless given.")
@options.JSON
@options.spark_options
@click.pass_context
def command(ctx: click.Context, /, **arguments: Any) -> None:
    """Run one of the demonstrations: SQL over a simulated stream.

    desk is a page in a browser: six people ask questions of one freeway, with an incident and a
    storm, and you may ask, change and watch as well.
    """
    text = text_of(arguments["name"])
    desk = {name: arguments.pop(name) for name in ("port", "browser", "minutes")}
    if arguments["name"] == _DESK and (arguments["save"] or arguments["stream"]):
        raise click.UsageError(
            "desk is a page over a stream of its own; --save and --stream are for the others"
        )
    if arguments["save"] is not None:
        arguments["save"].write_text(text)
        click.echo(f"{arguments['save']}: run it with muntin run {arguments['save']}")
        return
    if not arguments["as_json"]:
        click.echo(text)
    if arguments["name"] == _DESK:
        from muntin.cli.desk_demo import serve_desk

        serve_desk(text, arguments["spark_options"], **desk)
        return
    from muntin.cli.commands.run import run_text

    as_run = {"checkpoint": None, "trigger": None, "once": False, "dead_letter": None, "form": None}
    run_text(ctx, text, {**as_run, **arguments, "file": arguments["name"]})
