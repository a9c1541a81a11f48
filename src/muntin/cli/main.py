"""``muntin``: the group of all commands, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Mapping
from types import MappingProxyType

import click

from muntin.cli.errors import Exit, as_json, exit_for, spark_message
from muntin.cli.options import is_verbose, speaks_json
from muntin.errors import MuntinError

#: Each command with its module and its line in the list of commands. A module is imported when its
#: command is called, so that the list comes at once.
COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "run": ("run", "Run a file of SQL, on a batch or as a stream."),
        "sql": ("sql", "Type SQL and see results, live on streams."),
        "explain": ("explain", "Print how the queries of a file will run, without running them."),
        "check": ("check", "Find mistakes in a file, without running it."),
        "engine": ("engine", "Run many queries over one stream, and ask, add and drop them."),
        "serve": ("serve", "Serve an engine to a team: its API and its page."),
        "token": ("token", "Make a token for a served engine."),
        "plot": ("plot", "Draw the frames or windows of a query."),
        "demo": ("demo", "Run one of the demonstrations."),
        "state": ("state", "Show what a checkpoint holds."),
        "bench": ("bench", "Measure this machine: Muntin beside Spark's own windows."),
        "doctor": ("doctor", "Look for what keeps Muntin from running here."),
        "completion": (
            "completion",
            "Print the script that makes your shell complete these commands.",
        ),
    }
)


class Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"muntin.cli.commands.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except MuntinError as error:
            _report(ctx, error, str(error))
            ctx.exit(exit_for(error))
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
            ctx.exit(Exit.INTERRUPTED)
        except Exception as error:
            message = spark_message(error)
            if message is None:
                raise
            _report(ctx, error, message)
            ctx.exit(Exit.FAILED)


def _report(ctx: click.Context, error: Exception, message: str) -> None:
    """Print what went wrong: a line for people, or JSON if the command has ``--json``."""
    if is_verbose(ctx):
        traceback.print_exception(error)
    click.echo(as_json(error, message) if speaks_json(ctx) else f"Error: {message}", err=True)


@click.command(
    cls=Commands,
    epilog=f"Exit codes: {'; '.join(f'{code.value} {code.meaning}' for code in Exit)}.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="muntin")
def main() -> None:
    """Windows, frames, fills and joins over streams and batches, in SQL."""
