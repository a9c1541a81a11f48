"""Taps and sinks of an engine in another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:  # they import Spark, for which a client need not wait
    from muntin.engine.sinks.deliveries import SinkStatus
    from muntin.engine.sinks.delivery_ledger import DeadLetter


class CalledEngine(Protocol):
    """An engine of another process."""

    def call(
        self, name: str, arguments: Mapping[str, object] | None = None, wait: float = 0.0
    ) -> Any:
        """Return the value of a call."""


@dataclass(frozen=True, eq=False)
class RemoteTap:
    """A tap of an engine in another process, with the methods of a tap of this one.

    Args:
        engine: The client of the engine.
        id: The id of the tap.
        most: How many rows it copies at most.
        about: What it copies, in words.
    """

    engine: CalledEngine
    id: str
    most: int
    about: str

    @property
    def open(self) -> bool:
        """True until the tap has copied its rows, its time is over, or it was removed."""
        return bool(self.engine.call("tap_open", {"id": self.id}))

    def rows(self) -> pa.Table:
        """Return the rows that were copied; the last column is the micro-batch of each."""
        return self.engine.call("tap_rows", {"id": self.id})

    def wait(self, timeout: float = 60.0) -> pa.Table:
        """Wait until the tap is no longer open, and return its rows."""
        return self.engine.call("tap_wait", {"id": self.id, "timeout": timeout}, wait=timeout)

    def remove(self) -> None:
        """Remove the tap; its rows can still be read for a day."""
        self.engine.call("tap_remove", {"id": self.id})


@dataclass(frozen=True, eq=False)
class RemoteSinks:
    """The sinks and triggers of a query in another process, as the handle's ``sinks`` are.

    Args:
        engine: The client of the engine.
        query_id: The query.
    """

    engine: CalledEngine
    query_id: str

    def add(self, name: str, action: str, *, on_change: bool = False) -> None:
        """Add a trigger: its action is done once for each row that is answered from now on."""
        self._call("add", name=name, action=action, on_change=on_change)

    def drop(self, name: str = "") -> None:
        """Remove the sink or a trigger; what it wrote stays."""
        self._call("drop", name=name)

    def status(self) -> list[SinkStatus]:
        """Return how far the sinks are, since their query was first answered in that process."""
        from muntin.engine.sinks.deliveries import SinkStatus
        from muntin.engine.sinks.delivery_ledger import LogPosition
        from muntin.engine.sinks.sink_call import SinkCall, SinkRecord

        found = []
        for fields in self._call("status"):
            record, position = fields["record"], LogPosition(**fields["position"])
            call = SinkCall(**{**record["call"], "arguments": tuple(record["call"]["arguments"])})
            whole = SinkRecord(**{**record, "call": call, "first": tuple(record["first"])})
            found.append(SinkStatus(**{**fields, "record": whole, "position": position}))
        return found

    def resume(self, name: str = "") -> None:
        """Let a sink that stopped itself go on where it was."""
        self._call("resume", name=name)

    def letters(self, name: str) -> list[DeadLetter]:
        """Return the rows that a trigger could not deliver."""
        from muntin.engine.sinks.delivery_ledger import DeadLetter

        return [DeadLetter(**fields) for fields in self._call("letters", name=name)]

    def redeliver(self, name: str) -> int:
        """Try the rows again that a trigger could not deliver; return how many it could."""
        return int(self._call("redeliver", name=name))

    def _call(self, method: str, **arguments: object) -> Any:
        asked = {"id": self.query_id, "method": method, "arguments": arguments}
        return self.engine.call("sinks", asked)
