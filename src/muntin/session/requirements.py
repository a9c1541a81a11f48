"""What a text needs before Spark starts: its sources and sinks, and whether it streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin.parser.statements import (
    ConnectorCall,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
    Statement,
)

#: Sources that may never end, so that they are read as streams.
_ENDLESS = frozenset({"stdin", "socket"})


def called(statements: Sequence[Statement]) -> set[str]:
    """Return the names of the sources, sinks and actions of a text."""
    return {call.name.lower() for call in _calls(statements)}


def streams(statements: Sequence[Statement]) -> bool:
    """Return whether a text reads a source that may never end."""
    streams = (statement for statement in statements if isinstance(statement, CreateStream))
    return any(stream.source.name.lower() in _ENDLESS for stream in streams)


def _calls(statements: Sequence[Statement]) -> Iterator[ConnectorCall]:
    for statement in statements:
        match statement:
            case CreateStream(source=call) | CreateTable(source=call):
                yield call
            case CreateQuery(into=into, late=late):
                yield from (call for call in (into, late) if call is not None)
            case CreateTrigger(action=call):
                yield call
