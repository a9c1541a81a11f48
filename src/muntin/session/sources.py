"""Opening what CREATE STREAM and CREATE TABLE name: a source of Spark's, or a simulator.

What was opened is remembered: malformed rows are counted and kept, and a stream whose input has
ended is told that it is over.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from muntin.errors import ArgumentError
from muntin.parser.errors import SqlError
from muntin.parser.statements import ConnectorCall, CreateStream
from muntin.session.catalog import Catalog
from muntin.session.session import SqlSession
from muntin.session.simulated_source import simulation
from muntin.spark.api.control import control, end
from muntin.spark.connectors.signature import named
from muntin.spark.connectors.sources.protocol import OpenedSource
from muntin.spark.connectors.sources.registry import SOURCES, open_source
from muntin.spark.queries.stop import StreamingQuery
from muntin.spark.types import DataFrame, SparkSession, to_spark


@dataclass
class Sources:
    """Opens the sources of a catalog; ``folder`` is where they keep what comes only once.

    ``text`` is what the calls stand in: whatever is wrong with one is said at its place. One that
    was typed before and is opened only now stands in another, which is in ``texts`` by its name.
    """

    spark: SparkSession
    catalog: Catalog
    folder: Path
    text: str = ""
    opened: dict[str, OpenedSource] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def serving(cls, session: SqlSession, text: str = "", folder: Path | None = None) -> Sources:
        """Sources that a session opens from now on; in a temporary folder unless one is given."""
        place = folder or Path(tempfile.gettempdir()) / f"muntin-received-{uuid.uuid4().hex[:12]}"
        made = cls(session.spark, session.catalog, place, text)
        session.open_source, session.control = made.open, made.control
        return made

    def open(
        self, spark: SparkSession, call: ConnectorCall, schema: str | None, streaming: bool
    ) -> DataFrame:
        """The rows of a source; a :class:`muntin.session.session.Session` asks for them."""
        name = self._name(call)
        with blamed(self.texts.get(name, self.text), call):
            made = self._open(call, schema, streaming, self.folder / "received" / name)
        self.opened[name] = made
        return made.df

    def _open(
        self, call: ConnectorCall, schema: str | None, streaming: bool, folder: Path
    ) -> OpenedSource:
        if named("source", call.name, [*SOURCES, "simulate"]) != "simulate":
            told = call.name, call.arguments, call.options, schema
            return open_source(self.spark, *told, streaming=streaming, folder=folder)
        made = simulation(call.arguments, call.options)
        over = made.write(folder, live=streaming)
        columns = ", ".join(f"{f.name} {to_spark(f.type).simpleString()}" for f in made.rows.schema)
        one_by_one = {"max_files": 1} if streaming else {}
        read = open_source(
            self.spark, "parquet", [str(folder)], one_by_one, columns, streaming=streaming
        )
        return OpenedSource(read.df, over=over)

    def control(self, declared: CreateStream) -> DataFrame:
        """The control rows of a stream, through which it is told that it is over."""
        return control(self.spark, self._control(declared.name))

    def over(self) -> bool:
        """Whether the inputs of all streams have ended; some can never know."""
        streams = [one for one in self.opened.values() if one.df.isStreaming]
        return bool(streams) and all(one.over is not None and one.over() for one in streams)

    def sweep(self, queries: Sequence[StreamingQuery]) -> None:
        """Remove what came only once and has been read by these queries, which must be all."""
        for one in self.opened.values():
            if one.sweep is not None and one.df.isStreaming:
                one.sweep.remove(queries)

    def end(self) -> None:
        """Tell every stream that it is over."""
        for name, one in self.opened.items():
            if one.df.isStreaming and self._control(name).is_dir():
                end(self._control(name))

    def forget_end(self) -> None:
        """Take back that streams are over, for queries that begin to read them now."""
        for name in self.opened:
            for told in self._control(name).glob("*.json"):
                told.unlink(missing_ok=True)

    def _control(self, name: str) -> Path:
        return self.folder / "control" / name

    def _name(self, call: ConnectorCall) -> str:
        for made in self.catalog.relations.values():
            if getattr(made, "source", None) is call:
                return made.name
        return call.name


@contextmanager
def blamed(text: str, call: ConnectorCall) -> Iterator[None]:
    """What is wrong with a call is said at its place in the text."""
    try:
        yield
    except ArgumentError as error:
        raise SqlError(str(error), text, call.place) from error
