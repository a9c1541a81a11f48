"""Simulators as sources: ``simulate('router', 'messages', seed => 8, disordered => 0.2)``.

The rows of a simulator are written as files in the order of their arrival. Spark then reads them
like any folder: at once, or one file per micro-batch.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from muntin.errors import ArgumentError
from muntin.simulate.auction import AuctionHouse
from muntin.simulate.freeway import Freeway
from muntin.simulate.freezer import Freezers
from muntin.simulate.retail import Retail
from muntin.simulate.router import Network
from muntin.spark.connectors.signature import Literal, Parameter, Signature, named


@dataclass(frozen=True)
class Simulator:
    """A model and its streams; the first one is the default."""

    model: type[Any]
    streams: tuple[str, ...]

    def signature(self, name: str) -> Signature:
        """Return the parameters of the model, and those of how its rows arrive."""
        own = [Parameter(f.name, _KINDS[str(f.type)]) for f in fields(self.model)]
        stream = Parameter("stream", str, self.streams[0], choices=self.streams)
        arrival = (Parameter("files", int, 8, positive=True), Parameter("seconds", float, 0.0))
        return Signature(f"simulate('{name}')", (stream, *arrival, *own))


#: The type of the literal for a field of a model, by the type of the field.
_KINDS: Mapping[str, type] = {"float": float, "int": int, "datetime": str}
SIMULATORS: Mapping[str, Simulator] = MappingProxyType(
    {
        "freeway": Simulator(Freeway, ("readings",)),
        "router": Simulator(Network, ("losses", "messages")),
        "freezer": Simulator(Freezers, ("readings", "doors")),
        "retail": Simulator(Retail, ("sales",)),
        "auction": Simulator(AuctionHouse, ("bids", "persons", "auctions", "closings")),
    }
)


@dataclass(frozen=True)
class Simulation:
    """Rows that arrive in a number of files over a number of seconds."""

    rows: pa.Table
    files: int
    seconds: float

    def write(self, folder: Path, *, live: bool) -> Callable[[], bool]:
        """Write the files, ``live`` over the seconds; returns a function: are all of them there?"""
        folder.mkdir(parents=True, exist_ok=True)
        if not live or not self.seconds:
            for number, piece in self._pieces():
                _write(piece, folder, number)
            return lambda: True
        over = threading.Event()
        threading.Thread(target=self._arrive, args=(folder, over), daemon=True).start()
        return over.is_set

    def _arrive(self, folder: Path, over: threading.Event) -> None:
        for number, piece in self._pieces():
            _write(piece, folder, number)
            time.sleep(self.seconds / self.files)
        over.set()

    def _pieces(self) -> Iterator[tuple[int, pa.Table]]:
        cuts = [part * self.rows.num_rows // self.files for part in range(self.files + 1)]
        for number, (start, end) in enumerate(pairwise(cuts)):
            yield number, self.rows.slice(start, end - start)


def simulation(arguments: Sequence[Literal], options: Mapping[str, Literal]) -> Simulation:
    """Return the rows of ``simulate(arguments, options)``.

    >>> simulation(["freezer", "doors"], {"days": 1, "visits_a_day": 10}).rows.column_names
    ['ts', 'freezer', 'door']
    """
    if not arguments or not isinstance(arguments[0], str):
        expected = f"it needs the name of a simulator: {', '.join(SIMULATORS)}"
        raise ArgumentError("simulate", list(arguments), expected)
    name = named("simulator", arguments[0], SIMULATORS)
    simulator = SIMULATORS[name]
    bound = simulator.signature(name).bind(arguments[1:], options)
    files, seconds = bound.number("files"), bound.values["seconds"]
    assert isinstance(seconds, float)
    arguments_of_model = {
        f.name: _value(str(f.type), bound.values[f.name])
        for f in fields(simulator.model)
        if bound.values[f.name] is not None
    }
    model = simulator.model(**arguments_of_model)
    return Simulation(getattr(model, bound.text("stream"))(), files, seconds)


def _value(kind: str, value: Literal) -> object:
    if kind != "datetime":
        return value
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise ArgumentError("start", value, "it is a time, such as '2026-03-03 08:00'") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _write(piece: pa.Table, folder: Path, number: int) -> None:
    """Write a file in one step; its modification time gives its place in Spark's order."""
    name = f"{number:06d}.parquet"
    hidden = folder / f".{name}"
    pq.write_table(piece, hidden)
    moment = int(time.time()) - 10_000 + number
    os.utime(hidden, (moment, moment))
    hidden.replace(folder / name)
