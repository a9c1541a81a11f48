"""Summaries of an engine's streams: how often values came, for queries that prefer rows by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin.engine.engine_stream import EngineStream
from muntin.engine.registry import Registry
from muntin.errors import ArgumentError, UnknownColumnError
from muntin.specs.summaries import StreamSummary


class EngineSummaries:
    """The part of :class:`muntin.Engine` that declares summaries."""

    registry: Registry
    _streams: dict[str, EngineStream]

    if TYPE_CHECKING:

        def _commanded(self, stream: EngineStream) -> None: ...

    def summary(
        self,
        name: str,
        stream: str,
        attribute: str,
        granularity: str | int,
        rate: int = 4,
        depth: int = 3,
        *,
        method: str = "sketch",
        theta: float = 0.2,
        longest: str | int | None = None,
    ) -> StreamSummary:
        """Declare a summary: queries that prefer rows then estimate how often values came.

        It is kept beside each of these queries while it has a budget: in fixed room for each of
        ``depth`` granularities, of which each is ``rate`` times as long as the one before. It is
        what ``CREATE SUMMARY name ON stream(attribute) WITH GRANULARITY length AND COLLAPSE(rate,
        depth)`` declares.

        Args:
            name: Its name, unique in the engine.
            stream: The stream, or an input of a stream.
            attribute: The column whose values are counted.
            granularity: The length of the first granularity along ``on``.
            rate: How many times longer each further granularity is.
            depth: How many granularities there are; what is older is forgotten.
            method: ``"sketch"`` is a count-sketch, ``"exact"`` a dictionary, and ``"frequencies"``
                the frequent items of DataSketches.
            theta: A zone of time ends when the confidence in its counts falls below this number.
            longest: The longest a zone of the first granularity may be.
        """
        for own in self._streams.values():
            known = {read.name.casefold(): read for read in own.network.inputs}
            if stream.casefold() not in known:
                continue
            read = known[stream.casefold()]
            columns = {column.casefold(): column for column in read.carried}
            if attribute.casefold() not in columns:
                raise UnknownColumnError("attribute", attribute, read.carried)
            made = StreamSummary(
                *(read.name, columns[attribute.casefold()], granularity, rate, depth),
                longest=longest,
                theta=theta,
                method=method,
            )
            made.ticks(own.network.axis)  # raises if its lengths are not on the axis
            self.registry.add_summary(own.name, name, made)
            self._commanded(own)
            return made
        there = ", ".join(read for own in self._streams.values() for read in own.inputs)
        raise ArgumentError("stream", stream, f"the streams of the engine are {there or 'none'}")

    def summaries(self) -> dict[str, StreamSummary]:
        """Return the summaries of all streams, by name."""
        return {
            name: summary
            for stream in self._streams
            for name, summary in self.registry.summaries(stream).items()
        }
