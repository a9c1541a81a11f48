"""``muntin sql``: statements typed one after the other, results as tables, live on streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from muntin.cli import options
from muntin.cli.progress import CommandProgress
from muntin.cli.spark_errors import from_spark
from muntin.errors import MuntinError

if TYPE_CHECKING:
    from muntin.cli.live_output import LiveTables
    from muntin.session.pipeline import Pipeline
    from muntin.spark.start.fetch_packages import FetchedPackages

_HELP = """Statements end with a semicolon; an empty line sends what was begun.
  CREATE STREAM traffic FROM simulate('freeway', hours => 1) ON ts BY station;
  SELECT station, max(speed) AS hi FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY station;
  SHOW STREAMS;   SHOW QUERIES;   EXPLAIN SELECT ...;   DROP STREAM traffic;
Ctrl-C stops a stream that is shown, or throws away what was begun. exit or Ctrl-D ends."""


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
@options.spark_options
def command(**given: Any) -> None:
    """Type SQL and see results, live on streams.

    Lines are remembered from one session to the next, and the tab key completes words, names and
    columns.
    """
    from muntin.cli.spark_session import session

    progress = CommandProgress()
    with (
        session(given["spark_options"], progress) as spark,
        TemporaryDirectory(prefix="muntin-") as folder,
    ):
        from muntin.cli.live_output import LiveTables
        from muntin.session.pipeline import Pipeline
        from muntin.spark.start.fetch_packages import FetchedPackages

        boards = LiveTables(given["rows"], progress)
        pipeline = Pipeline(spark, Path(folder), given["stream"], boards.sink, boards.answer)
        options = given["spark_options"]
        fetching = FetchedPackages(spark, options.packages) if options.fetches else None
        shell = Shell(pipeline, boards, progress, fetching)
        if given["file"] is not None:
            shell.run(given["file"].read_text())
        shell.loop()


class Shell:
    """Reads statements and runs them until the end of input."""

    def __init__(
        self,
        pipeline: Pipeline,
        boards: LiveTables,
        progress: CommandProgress,
        fetching: FetchedPackages | None,
    ) -> None:
        self._pipeline = pipeline
        self._boards = boards
        self._progress = progress
        self._fetching = fetching
        self._told: set[str] = set()

    def loop(self) -> None:
        """Read and run."""
        from muntin.cli.prompt import Completer, is_command, prepare

        save = prepare(Completer(self.names))
        click.echo("Muntin. help says how; exit ends.")
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
            self.tell_ended()
            for one in self._pipeline.running:
                one.query.stop()

    def _next(self) -> str | None:
        from muntin.cli.prompt import read

        self.tell_ended()
        return read(input)

    def tell_ended(self) -> None:
        """Queries that run behind and have ended since somebody last looked, and why."""
        from muntin.spark.queries.stop import check

        for one in [one for one in self._pipeline.running if not one.query.isActive]:
            self._pipeline.running.remove(one)
            try:
                check(one.query)
                click.echo(f"query {one.name} has ended", err=True)
            except MuntinError as error:
                click.echo(f"Error: {error}", err=True)

    def run(self, text: str) -> None:
        """Run a text; what is wrong with it is said, and the session goes on."""
        from muntin.cli.interrupts import cancelling

        try:
            self._fetch(text)
            with (
                cancelling(self._pipeline.spark.interruptAll, self._boards.say),
                self._progress.during("Running", lambda: self._pipeline.batch.look().as_dict()),
            ):
                ran = self._pipeline.run(text)
            if not ran:
                click.echo("ok")
            self._tell_malformed()
            self._follow()
        except MuntinError as error:
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("\nStopped.", err=True)
        except Exception as error:
            told = from_spark(error)
            if told is None:
                raise
            click.echo(f"Error: {told}", err=True)

    def _fetch(self, text: str) -> None:
        """Have what the sources and sinks of a text need; nobody knew when the session started."""
        from muntin.parser.parse import parse
        from muntin.session.requirements import called

        if self._fetching is None:
            return
        for package in self._fetching.missing(called(parse(text))):
            with self._progress.during(f"Fetching {package}"):
                self._fetching.fetch(package)

    def _tell_malformed(self) -> None:
        """Sources with malformed rows, each the first time that it is read."""
        for name, count, _ in self._pipeline.malformed():
            if name not in self._told:
                click.echo(f"{name}: {count:,} malformed rows are left out", err=True)
                self._told.add(name)

    def _follow(self) -> None:
        """Show the streams that were selected until Ctrl-C; queries with a sink go on behind."""
        from muntin.cli.interrupts import interrupts
        from muntin.session.wait import wait

        shown = [one for one in self._pipeline.running if one.shown]
        if not shown:
            return
        behind = [one for one in self._pipeline.running if one not in shown]
        self._pipeline.running = shown
        try:
            with interrupts(self._boards.say) as pressed, self._boards.following():
                wait(self._pipeline, pressed.asked, pressed.hurry, self._boards.show)
        finally:
            self._pipeline.running = behind

    def names(self) -> Iterator[str]:
        """What can be completed: everything that was created, and its columns."""
        catalog = self._pipeline.session.catalog
        for name, made in catalog.relations.items():
            yield made.name
            opened = self._pipeline.sources.opened.get(made.name)
            if opened is not None and name:
                yield from opened.df.columns
