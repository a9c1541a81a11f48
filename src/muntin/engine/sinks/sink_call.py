"""What a query's sink or trigger is, as data that the registry keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.spark.connectors.signature import Literal
from muntin.specs.secrets import SecretReference

#: The name of a query's own sink; no trigger has it.
INTO = ""
#: The key of a secret by reference, in JSON.
_SECRET = "secret"


@dataclass(frozen=True)
class SinkCall:
    """A sink ``INTO csv('path')``, or a trigger ``DO webhook('https://...')``.

    Attributes:
        name: The name of the trigger; :data:`INTO` is the sink of the query itself.
        connector: ``csv``, ``postgres``, ``webhook``, ``command`` ... A trigger that inserts into
            a table names the sink that writes where the table is read.
        arguments: Its arguments, in order.
        options: Its named arguments.
        attempts: How often delivery is tried before a trigger's row becomes a dead letter, and
            before a sink stops.
        on_change: True if a trigger fires for early answers too, not only for final ones.
    """

    name: str
    connector: str
    arguments: tuple[Literal, ...] = ()
    options: Mapping[str, Literal] = field(default_factory=dict)
    attempts: int = 4
    on_change: bool = False


@dataclass(frozen=True)
class SinkRecord:
    """A sink or trigger of a query; its number is never used again.

    ``first`` is the epoch and the micro-batch whose answers it gets first.
    """

    number: int
    query_id: str
    stream: str
    call: SinkCall
    first: tuple[int, int] = (0, 0)


def to_text(call: SinkCall) -> str:
    """Return a call as JSON; a secret by reference is kept as its name."""
    values = {name: getattr(call, name) for name in SinkCall.__dataclass_fields__}
    return json.dumps(values, sort_keys=True, default=_reference)


def from_text(text: str) -> SinkCall:
    """Return the call that :func:`to_text` wrote."""
    values = json.loads(text)
    options = {name: _as_given(value) for name, value in values["options"].items()}
    return SinkCall(**{**values, "arguments": _as_given(values["arguments"]), "options": options})


def _reference(value: object) -> object:
    """Return a secret by reference, or a mapping, as JSON can say it."""
    return {_SECRET: value.name} if isinstance(value, SecretReference) else dict(value)  # type: ignore[call-overload]


def _as_given(value: object) -> object:
    """Return lists of JSON as the tuples that they were, and names as references to secrets."""
    if isinstance(value, dict):
        return SecretReference(value[_SECRET])
    return tuple(map(_as_given, value)) if isinstance(value, list) else value
