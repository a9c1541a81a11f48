"""Rows as drawn timelines, and the frames that the reference finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from muntin.reference.frames.frames import FrameReference
from muntin.reference.windows import END, MicroBatch, Outcome, Row
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.frame_kind import FrameKind
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import Between, Crossing

INTEGER = Axis(Domain.INTEGER)
_WORDS = {"T": True, "F": False, "?": None}
_OF_THE_REFERENCE = {field.name for field in fields(FrameReference)}


def drawn(line: str, **more: Any) -> list[Row]:
    """A row for each word, at 0, 1, 2...: ``.`` no row, ``?`` one without a value.

    >>> drawn("T . 3")
    [{'on': 0, 'k': 'a', 'x': True}, {'on': 2, 'k': 'a', 'x': 3}]
    """
    return [
        {"on": on, "k": "a", "x": _value(word), **more}
        for on, word in enumerate(line.split())
        if word != "."
    ]


def rows_of(values: Sequence[Any]) -> list[Row]:
    """Return a row for each value, at 0, 1, 2..."""
    return [{"on": on, "k": "a", "x": x} for on, x in enumerate(values)]


def _value(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    return int(word) if word.lstrip("-").isdigit() else word


def framed(kind: FrameKind, *given: Sequence[Row] | MicroBatch | str, **choices: Any) -> Outcome:
    """Frames of drawn rows, all in one micro-batch, or of micro-batches as given."""
    chosen = {name: choices.pop(name) for name in [*choices] if name in _OF_THE_REFERENCE}
    batches = [each for each in given if isinstance(each, MicroBatch)]
    drawings = [drawn(each) if isinstance(each, str) else each for each in given]
    rows = [row for each in drawings if not isinstance(each, MicroBatch) for row in each]
    if choices.get("readings") == "interval":
        choices["until"] = "until"
        chosen["until"] = lambda row: row["until"]
    reference = FrameReference(
        Framing(kind, "on", **choices),
        chosen.pop("axis", INTEGER),
        chosen.pop("by", ["k"]),
        reading=chosen.pop("reading", lambda row: _read(kind, row["x"])),
        aggregate=chosen.pop("aggregate", lambda rows: sum(row["x"] for row in rows)),
        aggregates={"got": lambda rows: [row["on"] for row in rows]},
        **chosen,
    )
    return reference.run([*batches, MicroBatch(rows, END)] if rows else batches)


def _read(kind: FrameKind, value: Any) -> Any:
    if isinstance(kind, Between):
        return (value in ("s", "b"), value in ("e", "b"))
    if isinstance(kind, Crossing):
        return None if value is None or value != value else True
    return value


def spans(outcome: Outcome) -> list[tuple[Any, Any]]:
    return [(row["frame_start"], row["frame_end"]) for row in outcome.results]


def counted(outcome: Outcome) -> list[tuple[Any, ...]]:
    """Spans with the numbers of real and of bridged rows."""
    names = ("frame_start", "frame_end", "n", "n_missing")
    return [tuple(row[name] for name in names) for row in outcome.results]


def reported(outcome: Outcome) -> list[tuple[Any, ...]]:
    """The same with the frame's number and whether it is final."""
    names = ("frame_id", "frame_start", "frame_end", "n", "n_missing", "status")
    return [tuple(row[name] for name in names) for row in outcome.results]
