"""Opening what CREATE STREAM and CREATE TABLE name: a source of Spark's, or a simulator.

What was opened is remembered: its malformed rows are counted and kept, and the end of its input is
reported to the stream.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from muntin.errors import ArgumentError
from muntin.parser.inline_sources import alias_of
from muntin.parser.statements import ConnectorCall, CreateStream
from muntin.session.catalog import Catalog
from muntin.session.connector_calls import at_call
from muntin.session.session import SqlSession
from muntin.session.simulated_source import simulation
from muntin.spark.api.control import control, end
from muntin.spark.columns import DataFrame, SparkSession, to_spark
from muntin.spark.connectors.signature import named
from muntin.spark.connectors.sources.protocol import OpenedSource
from muntin.spark.connectors.sources.registry import SOURCES, open_source
from muntin.spark.connectors.temporary_folder import temporary_folder
from muntin.spark.queries.stop import StreamingQuery
from muntin.spark.scan.file_source import FileSource

#: Sources whose rows come only once, or are made here.
_KEPT = ("stdin", "socket", "simulate")


@dataclass
class Sources:
    """Opens the sources of a catalog; ``folder`` is where input that comes only once is kept.

    Without one, it is kept in a temporary folder of this process.

    Errors show the place of a call in ``text``. A source that was declared by an earlier text and
    is opened only now has that text in ``texts``, by its name.
    """

    spark: SparkSession
    catalog: Catalog
    folder: Path | None
    text: str = ""
    opened: dict[str, OpenedSource] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    #: The names of sources that a query itself names, by how they are called.
    _inline: dict[str, str] = field(default_factory=dict)

    @classmethod
    def serving(cls, session: SqlSession, text: str = "", folder: Path | None = None) -> Sources:
        """Return the sources that a session opens from now on; the default folder is temporary."""
        sources = cls(session.spark, session.catalog, folder, text)
        session.open_source, session.control = sources.open, sources.control
        session.found = sources.found
        return sources

    def found(self, call: ConnectorCall) -> Mapping[str, str]:
        """Return the options of a source that were found in its first file."""
        opened = self.opened.get(self._name(call))
        return {} if opened is None else opened.found

    def open(
        self, spark: SparkSession, call: ConnectorCall, schema: str | None, streaming: bool
    ) -> DataFrame | FileSource:
        """Return the rows of a source; a :class:`muntin.session.session.SqlSession` calls this."""
        name = self._name(call)
        with at_call(self.texts.get(name, self.text), call):
            keeps = call.name.lower() in _KEPT
            folder = self._place / "received" / name if keeps else None
            opened = self._open(call, schema, streaming, folder)
            if opened.goes_on and self._ended.exists():
                raise ArgumentError(
                    "checkpoint",
                    str(self._place),
                    "its streams have ended, so no line could count any more; begin with another "
                    "folder. Without --end the end of a pipe only pauses them",
                )
        self.opened[name] = opened
        return opened.files or opened.df

    def _open(
        self, call: ConnectorCall, schema: str | None, streaming: bool, folder: Path | None
    ) -> OpenedSource:
        if named("source", call.name, [*SOURCES, "simulate"]) != "simulate":
            arguments = call.name, call.arguments, call.options, schema
            return open_source(
                self.spark,
                *arguments,
                streaming=streaming,
                folder=folder,
                kept=self._kept(self._name(call)) if streaming else None,
            )
        simulated = simulation(call.arguments, call.options)
        assert folder is not None  # simulated rows are kept
        over = simulated.write(folder, live=streaming)
        columns = ", ".join(
            f"{f.name} {to_spark(f.type).simpleString()}" for f in simulated.rows.schema
        )
        one_by_one = {"max_files": 1} if streaming else {}
        read = open_source(
            self.spark, "parquet", [str(folder)], one_by_one, columns, streaming=streaming
        )
        return OpenedSource(read.df, over=over, files=read.files)

    def peek(self, spark: SparkSession, call: ConnectorCall) -> Sequence[str]:
        """Return the columns of files, without keeping them open."""
        arguments = call.name, call.arguments, call.options, None
        return open_source(spark, *arguments, streaming=False).df.columns

    def control(self, declared: CreateStream) -> DataFrame:
        """Return the control rows of a stream, which report that it is over."""
        return control(self.spark, self._control(declared.name))

    def over(self) -> bool:
        """Return whether the inputs of all streams have ended; some sources can never know."""
        streams = [source for source in self.opened.values() if source.df.isStreaming]
        # Each is asked, because one that lost lines raises.
        over = [source.over is not None and source.over() for source in streams]
        return bool(over) and all(over)

    @property
    def go_on(self) -> bool:
        """Whether another pipe may go on where one has ended."""
        return any(source.goes_on for source in self.opened.values())

    def note_end(self) -> None:
        """Note that the streams have ended, and all of their queries know."""
        if self.go_on:
            self._ended.parent.mkdir(parents=True, exist_ok=True)
            self._ended.touch()

    @property
    def _ended(self) -> Path:
        return self._place / "ended"

    @cached_property
    def _place(self) -> Path:
        return temporary_folder("received") if self.folder is None else self.folder

    def sweep(self, queries: Sequence[StreamingQuery]) -> None:
        """Remove input that came only once and that these queries, all there are, have read."""
        for source in self.opened.values():
            if source.sweep is not None and source.df.isStreaming:
                source.sweep.remove(queries)

    def end(self) -> None:
        """Report to every stream that it is over."""
        for name, source in self.opened.items():
            if source.df.isStreaming and self._control(name).is_dir():
                end(self._control(name))

    def forget_end(self) -> None:
        """Take back that streams are over, for queries that begin to read them now."""
        for name in self.opened:
            for row in self._control(name).glob("*.json"):
                row.unlink(missing_ok=True)

    def _control(self, name: str) -> Path:
        return self._place / "control" / name

    def _kept(self, name: str) -> Path | None:
        """Return the file that keeps how the files of a stream are written, for the next run."""
        return None if self.folder is None else self.folder / "forms" / f"{name}.json"

    def _name(self, call: ConnectorCall) -> str:
        for declared in self.catalog.relations.values():
            if getattr(declared, "source", None) is call:
                return declared.name
        shown = str(call)
        if shown not in self._inline:
            taken = {*self._inline.values(), *self.catalog.relations}
            plain = re.sub(r"\W", "_", alias_of(call))
            numbered = (f"{plain}_{number}" for number in itertools.count(2))
            names = itertools.chain([plain], numbered)
            self._inline[shown] = next(name for name in names if name.casefold() not in taken)
        return self._inline[shown]
