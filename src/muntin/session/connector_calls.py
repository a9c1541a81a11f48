"""The sources, sinks and actions that statements call, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from muntin.errors import ArgumentError, shown_value
from muntin.parser.errors import SqlError
from muntin.parser.statements import (
    ConnectorCall,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateTrigger,
)
from muntin.session.catalog import Declared
from muntin.session.simulated_source import simulation
from muntin.session.triggers.trigger import ACTIONS
from muntin.spark.connectors.signature import named
from muntin.spark.connectors.sinks.registry import SINKS
from muntin.spark.connectors.sources.registry import SOURCES


def calls_of(declared: Declared) -> Iterator[tuple[str, ConnectorCall]]:
    """Yield the sources, sinks and actions of a statement that creates something."""
    match declared:
        case CreateStream(source=call) | CreateTable(source=call):
            yield "source", call
        case CreateTrigger(action=call):
            yield "action", call
        case CreateQuery(into=into, late=late, query=query):
            yield from (("sink", call) for call in (into, late) if call is not None)
            yield from (("source", call) for call in query.sources.values())


def check_call(kind: str, call: ConnectorCall) -> None:
    """Raise if a call has arguments that its source, sink or action does not take."""
    if kind == "source" and call.name == "simulate":
        simulation(call.arguments, call.options)
    elif kind == "source":
        name = named(kind, call.name, [*SOURCES, "simulate"])
        SOURCES[name].signature.bind(call.arguments, call.options)
    elif kind == "sink":
        SINKS[named(kind, call.name, SINKS)].signature.bind(call.arguments, call.options)
    elif call.name != "insert":
        signature, _ = ACTIONS[named(kind, call.name, [*ACTIONS, "insert"])]
        signature.bind(call.arguments, call.options)


@contextmanager
def at_call(text: str, call: ConnectorCall) -> Iterator[None]:
    """Raise errors about the arguments of a call with its place in the text."""
    try:
        yield
    except ArgumentError as error:
        raise SqlError(f"{_given(error)}: {error.reason()}", text, call.place) from error


def _given(error: ArgumentError) -> str:
    """Return an argument and its value as SQL writes them."""
    match error.given:
        case None:
            return error.argument
        case bool(value):
            return f"{error.argument} => {str(value).upper()}"
        case value:
            return f"{error.argument} => {shown_value(value)}"
