"""What a text needs before it can run: which sources and sinks it names, and whether it streams."""

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

#: Sources that may never end, so that whoever reads them wants a stream.
_ENDLESS = frozenset({"stdin", "socket"})


def called(statements: Sequence[Statement]) -> set[str]:
    """The names of the sources, sinks and actions of a text."""
    return {call.name.lower() for call in _calls(statements)}


def streams(statements: Sequence[Statement]) -> bool:
    """Whether a text reads something that may never end."""
    sources = [one.source for one in statements if isinstance(one, CreateStream)]
    return any(source.name.lower() in _ENDLESS for source in sources)


def _calls(statements: Sequence[Statement]) -> Iterator[ConnectorCall]:
    for statement in statements:
        match statement:
            case CreateStream(source=call) | CreateTable(source=call):
                yield call
            case CreateQuery(into=into, late=late):
                yield from (call for call in (into, late) if call is not None)
            case CreateTrigger(action=call):
                yield call
