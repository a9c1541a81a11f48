"""Build the punctuator of a disorder rule, with lengths converted to ticks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from muntin.errors import ArgumentError
from muntin.operators.progress.per_key import PerKeyPunctuator, PerValuePunctuator, Quiet
from muntin.operators.progress.punctuated import KeyMarkPunctuator, MarkPunctuator
from muntin.operators.progress.slack import Punctuator, RowSlackPunctuator
from muntin.specs import disorder as rules
from muntin.specs.axis import Axis
from muntin.specs.idle import Clock, Follow, Idle
from muntin.specs.lengths import Length


def punctuator(
    disorder: rules.Disorder | None,
    axis: Axis,
    keys: Sequence[pa.DataType],
    values: Sequence[pa.DataType] = (),
) -> Punctuator:
    """Return the punctuator of a stream with a disorder rule.

    ``keys`` has the types of its keys, ``values`` those of the columns of ``mt.each``.
    """
    match disorder:
        case None:
            return Punctuator(None)
        case rules.Slack(slack=slack):
            return Punctuator(_ticks(axis, slack))
        case rules.RowSlack(rows=rows):
            return RowSlackPunctuator(None, rows, axis)
        case rules.Punctuated(key=False):
            return MarkPunctuator(None, axis)
        case rules.Punctuated():
            return KeyMarkPunctuator(None, axis, tuple(keys))
        case rules.PerKey(slack=slack, idle=idle):
            return PerKeyPunctuator(_ticks(axis, slack), axis, tuple(keys), _quiet(axis, idle))
        case rules.Each(slack=slack, idle=idle, expect=expect):
            expected = _expected(expect, values)
            return PerValuePunctuator(_ticks(axis, slack), axis, expected, _quiet(axis, idle))
    raise AssertionError(f"a rule that was not resolved: {disorder}")


def _ticks(axis: Axis, slack: Length | None) -> int:
    return 0 if slack is None else axis.length("slack", slack)


def _quiet(axis: Axis, idle: Idle) -> Quiet:
    match idle:
        case Follow(length):
            return Quiet(follow=axis.length("follow", length))
        case Clock(length):
            return Quiet(clock=length.micros)
    return Quiet()


def _expected(expect: Sequence[tuple[object, ...]], types: Sequence[pa.DataType]) -> pa.Table:
    """Return the expected values as a table with columns ``v0..``; raise if a type does not fit."""
    columns = {}
    for place, type_ in enumerate(types):
        values = [value[place] for value in expect]
        try:
            columns[f"v{place}"] = pa.array(values, type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise ArgumentError(
                "expect", values, f"they must be values of the column, which has type {type_}"
            ) from error
    return pa.table(columns)
