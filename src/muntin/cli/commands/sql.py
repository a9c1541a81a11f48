"""``muntin sql``: statements typed one after the other, results as tables, live on streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.errors import spark_message
from muntin.cli.progress import CommandProgress
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from muntin.cli.output import LiveTables
    from muntin.session.pipeline import Pipeline
    from muntin.spark.start.fetch_packages import FetchedPackages

_HELP = """Statements end with a semicolon; an empty line sends what was typed.
  CREATE STREAM traffic FROM simulate('freeway', hours => 1) ON ts BY station;
  SELECT station, max(speed) AS hi FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY station;
  SHOW STREAMS;   SHOW QUERIES;   EXPLAIN SELECT ...;   DROP STREAM traffic;
Ctrl-C stops a stream that is shown, or discards what was typed. exit or Ctrl-D leaves."""


@click.command()
@click.option("--stream/--batch", "stream", default=False, help="Follow streams as they grow.")
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file to run first.",
)
@click.option(
    "--rows", default=options.SHOWN_ROWS, show_default=True, help="How many rows a table shows."
)
@options.CONNECT
@options.safe_options
@options.SECRETS
@options.spark_options
def command(**arguments: Any) -> None:
    """Type SQL and see results, live on streams.

    Lines are remembered from one session to the next, and the tab key completes words, names and
    columns.
    """
    if arguments["connect"] is not None:
        from muntin.cli.connected import ConnectedShell

        ConnectedShell(arguments["connect"], arguments["rows"]).start(arguments["file"])
        return
    from muntin.cli.spark_session import session

    progress = CommandProgress()
    with (
        session(arguments["spark_options"], progress, workers=True) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.cli.output import LiveTables
        from muntin.session.pipeline import Pipeline
        from muntin.spark.start.fetch_packages import FetchedPackages

        tables = LiveTables(arguments["rows"], progress)
        pipeline = Pipeline(
            spark,
            Path(folder),
            arguments["stream"],
            tables.sink,
            tables.answer,
            safe=arguments["safe_mode"],
        )
        options = arguments["spark_options"]
        fetched = FetchedPackages(spark, options.packages) if options.fetches else None
        shell = Shell(pipeline, tables, progress, fetched)
        if arguments["file"] is not None:
            shell.run(arguments["file"].read_text())
        shell.loop()


class Shell:
    """Reads statements and runs them until the end of input."""

    def __init__(
        self,
        pipeline: Pipeline,
        tables: LiveTables,
        progress: CommandProgress,
        packages: FetchedPackages | None,
    ) -> None:
        self._pipeline = pipeline
        self._tables = tables
        self._progress = progress
        self._packages = packages
        self._reported: set[str] = set()

    def loop(self) -> None:
        """Read and run."""
        from muntin.cli.prompt import Completer, is_command, prepare

        save = prepare(Completer(self.names))
        click.echo("Muntin. Type help for help, exit to leave.")
        try:
            while (text := self._next()) is not None:
                if is_command(text):
                    if text.strip().rstrip(";").lower() in ("exit", "quit", "\\q"):
                        return
                    click.echo(_HELP)
                    continue
                self.run(text)
        finally:
            save()
            self.report_ended()
            for running in self._pipeline.running:
                running.query.stop()

    def _next(self) -> str | None:
        from muntin.cli.prompt import read

        self.report_ended()
        return read(input)

    def report_ended(self) -> None:
        """Print which queries in the background have ended since the last prompt, and why."""
        from muntin.spark.queries.stop import check

        for ended in [query for query in self._pipeline.running if not query.query.isActive]:
            self._pipeline.running.remove(ended)
            try:
                check(ended.query)
                click.echo(f"query {ended.name} has ended", err=True)
            except MuntinError as error:
                click.echo(f"Error: {error}", err=True)

    def run(self, text: str) -> None:
        """Run a text; errors are printed, and the session goes on."""
        from muntin.cli.interrupts import cancelling

        try:
            self._fetch(text)
            with (
                cancelling(self._pipeline.spark.interruptAll, self._tables.say),
                self._progress.during("Running", self._pipeline.batch.look),
            ):
                ran = self._pipeline.run(text)
            if not ran:
                click.echo("ok")
            self._report_malformed()
            self._follow()
        except MuntinError as error:
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
        except Exception as error:
            message = spark_message(error)
            if message is None:
                raise
            click.echo(f"Error: {message}", err=True)

    def _fetch(self, text: str) -> None:
        """Fetch what the sources and sinks of a text need and the session does not have yet."""
        from muntin.cli.spark_session import called
        from muntin.parser.parse import parse

        if self._packages is None:
            return
        statements = parse(text)
        if self._pipeline.safe is not None:
            self._pipeline.safe.check(text, statements)
        for package in self._packages.missing(called(statements)):
            with self._progress.during(f"Fetching {package}"):
                self._packages.fetch(package)

    def _report_malformed(self) -> None:
        """Print which sources have malformed rows, each the first time that it is read."""
        for name, count, _ in self._pipeline.malformed():
            if name not in self._reported:
                click.echo(f"{name}: {count:,} malformed rows are left out", err=True)
                self._reported.add(name)

    def _follow(self) -> None:
        """Show the selected streams until Ctrl-C; queries with a sink go on in the background."""
        from muntin.cli.interrupts import interrupts
        from muntin.session.wait import wait

        shown = [query for query in self._pipeline.running if query.shown]
        if not shown:
            return
        others = [query for query in self._pipeline.running if query not in shown]
        self._pipeline.running = shown
        try:
            with interrupts(self._tables.say) as pressed, self._tables.following():
                wait(self._pipeline, pressed.stop, pressed.hurry, self._tables.show)
        finally:
            self._pipeline.running = others

    def names(self) -> Iterator[str]:
        """Yield the names that can be completed: everything created, and its columns."""
        catalog = self._pipeline.session.catalog
        for declared in catalog.relations.values():
            yield declared.name
            opened = self._pipeline.sources.opened.get(declared.name)
            if opened is not None:
                yield from opened.df.columns
