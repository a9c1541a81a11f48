"""What a query's sink or trigger is, as data that the registry keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from muntin.spark.connectors.signature import Literal

#: The name of a query's own sink; no trigger has it.
INTO = ""


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
    """Return a call as JSON."""
    return json.dumps(asdict(call), sort_keys=True)


def from_text(text: str) -> SinkCall:
    """Return the call that :func:`to_text` wrote."""
    values = json.loads(text)
    return SinkCall(**{**values, "arguments": _tuples(values["arguments"])})


def _tuples(value: object) -> object:
    """Return lists of JSON as the tuples that they were."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
