"""What synopses leave in a checkpoint: plain values, read without running anything."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.aggregates.synopses.composed import Composed
from muntin.aggregates.synopses.norms import lp_norm
from muntin.aggregates.synopses.plain_values import plain_from_json, plain_to_json
from muntin.aggregates.synopses.protocol import SynopsisKind
from muntin.aggregates.synopses.tables import HashCounts, ValueHistogram
from muntin.errors import ArgumentError, CheckpointError

ARRAYS = st.lists(st.floats(allow_nan=False), max_size=3).map(np.array)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text() | st.floats(allow_nan=False) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(PLAIN)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    again = plain_from_json(plain_to_json(value))
    assert again == value
    assert repr(again) == repr(value)  # so that 1, 1.0 and True are told apart


@given(ARRAYS)
def test_arrays_come_back_and_can_be_changed(array: np.ndarray) -> None:
    again = plain_from_json(plain_to_json(array))
    assert again.dtype == array.dtype
    assert np.array_equal(again, array)
    again += 1  # a sketch may be added to in place


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, np.array([object()]), 10**5000, [lambda: 1]],
    ids=["object", "set", "objects", "digits", "function"],
)
def test_what_a_checkpoint_cannot_hold_is_refused_with_the_way_out(value: object) -> None:
    with pytest.raises(ArgumentError, match=r"to_bytes\(sketch\) and from_bytes\(data\)"):
        plain_to_json(value)


class Bag:
    """A sketch of a class of its own: how many rows."""

    def __init__(self, rows: int) -> None:
        self.rows = rows


class PairsOfBags:
    """Pairs of rows, by sketches that know how to become bytes."""

    constant = 2.0

    def init(self, x: float) -> Bag:
        return Bag(1)

    def compose(self, older: Bag, newer: Bag) -> Bag:
        return Bag(older.rows + newer.rows)

    def value(self, sketch: Bag) -> float:
        return float(sketch.rows**2)

    def to_bytes(self, sketch: Bag) -> bytes:
        return b"%d" % sketch.rows

    def from_bytes(self, data: bytes) -> Bag:
        return Bag(int(data))


class PairsWithoutBytes:
    """The same without the two methods."""

    constant = 2.0
    init, compose, value = PairsOfBags.init, PairsOfBags.compose, PairsOfBags.value


def fed(kind: SynopsisKind, columns: int = 1) -> Any:
    none = np.empty(0, np.int64)
    synopsis = kind.new()
    synopsis.run(np.arange(100), [np.arange(100.0) % 7] * columns, none, none)
    return synopsis


KINDS = [
    (HashCounts(8, 0.1), 1),
    (ValueHistogram((2.0, 4.0), 0.1, "sum"), 2),
    (lp_norm(1, 0.1), 2),
    (lp_norm(2, 0.1, sketched=0.5), 2),
    (Composed(PairsOfBags(), 0.1), 1),
]


@pytest.mark.parametrize(("kind", "columns"), KINDS)
def test_a_dump_is_loaded_again_and_goes_on_alike(kind: SynopsisKind, columns: int) -> None:
    there = fed(kind, columns)
    again = kind.load(there.dump())
    more = np.arange(100, 150), [np.ones(50)] * columns, np.array([20]), np.array([150])
    for one, other in zip(there.run(*more), again.run(*more), strict=True):
        assert np.array_equal(one, other)
    assert again.dump() == there.dump()
    assert not there.dump().startswith(b"\x80")


class Program:
    """What an attacker writes into a checkpoint: a pickle that runs a program when it is read."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> object:
        return (os.mkdir, (str(self.made),))


@pytest.mark.parametrize(("kind", "columns"), KINDS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_in_words_and_never_run(
    kind: SynopsisKind, columns: int, protocol: int, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    with pytest.raises(CheckpointError, match=r"as a pickle.*Begin with a new checkpointLocation"):
        kind.load(pickle.dumps(Program(made), protocol))
    assert not made.exists()


@pytest.mark.parametrize(("kind", "columns"), KINDS)
def test_no_damage_raises_anything_else(kind: SynopsisKind, columns: int) -> None:
    """A dump that was cut or changed is refused as a checkpoint, or read as other numbers."""
    dumped = fed(kind, columns).dump()

    @settings(max_examples=150)
    @given(st.integers(0, len(dumped) - 1), st.binary(max_size=3), st.booleans())
    def damage(at: int, piece: bytes, cut: bool) -> None:
        damaged = dumped[:at] + piece + (b"" if cut else dumped[at + len(piece) :])
        try:
            kind.load(damaged)
        except CheckpointError as error:
            assert "checkpoint" in str(error)

    damage()


def test_a_sketch_without_bytes_is_refused_before_it_is_stored() -> None:
    synopsis = fed(Composed(PairsWithoutBytes(), 0.1))
    with pytest.raises(ArgumentError, match="to_bytes"):
        synopsis.dump()


def test_one_method_without_the_other_is_refused() -> None:
    class Half(PairsWithoutBytes):
        def to_bytes(self, sketch: Bag) -> bytes:
            return b""

    with pytest.raises(ArgumentError, match="a checkpoint needs both"):
        Composed(Half(), 0.1)
