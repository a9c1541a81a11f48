"""Statements as they are shown: without passwords and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from muntin.parser.statements import ConnectorCall, CreateQuery, CreateTrigger
from muntin.session.catalog import Declared
from muntin.session.triggers.trigger import ACTIONS
from muntin.spark.connectors.signature import Signature
from muntin.spark.connectors.sinks.registry import SINKS
from muntin.spark.connectors.sources.registry import SOURCES


def masked(made: Declared) -> Declared:
    """The same statement, with stars where it has secrets."""
    if isinstance(made, CreateTrigger):
        return replace(made, action=_masked(made.action))
    if isinstance(made, CreateQuery):
        into, late = (None if one is None else _masked(one) for one in (made.into, made.late))
        return replace(made, into=into, late=late)
    return replace(made, source=_masked(made.source))


def _masked(call: ConnectorCall) -> ConnectorCall:
    for signature in _signatures(call.name.lower()):
        arguments, options = signature.hidden(call.arguments, call.options)
        call = replace(call, arguments=arguments, options=options)
    return call


def _signatures(name: str) -> Iterator[Signature]:
    """All that a call of this name can be; one that is unknown is judged by its words alone."""
    if name in SOURCES:
        yield SOURCES[name].signature
    if name in SINKS:
        yield SINKS[name].signature
    if name in ACTIONS:
        yield ACTIONS[name][0]
    yield Signature(name, ())
