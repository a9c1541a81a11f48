"""Two streams, joined or laid side by side: ``stream.join``, ``stream.asof``, ``stream.zipper``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from muntin.errors import ArgumentError, UnknownColumnError
from muntin.spark.plan.inputs import Source
from muntin.spark.plan.join import JoinPlan, JoinSpec
from muntin.spark.plan.plan import Plan
from muntin.spark.plan.second_input import Key, check_other, matching, other_source, same_kind
from muntin.specs.windows import column_names

_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True, eq=False)
class Joined:
    """Two streams and how they are joined. Nothing runs."""

    compiled: JoinPlan

    @property
    def df(self) -> DataFrame:
        """The results: the columns of the left side, then those of the right."""
        return self.plan().df

    def plan(self) -> Plan:
        """As :attr:`df`, but a plan: for :func:`muntin.write`, and refused rows."""
        return Plan(self.compiled)

    def explain(self) -> None:
        """Print what is joined, and what a stream holds for it."""
        self.plan().explain()


def joined(
    own: Source,
    other: Any,
    spec: JoinSpec,
    on: str | None,
    key: Key,
    *,
    prefix: str,
    where: object = None,
    limit: object = None,
    tiebreak: str | Sequence[str] | None = None,
) -> Joined:
    """What the methods of a stream return: a join found and checked."""
    if other is None:
        raise ArgumentError("other", None, "it is a Spark DataFrame or what mt.stream returns")
    source, described = other_source(own, other, on)
    left, right = _keyed(own, source, key, described)
    same_kind(left, right)
    if not isinstance(prefix, str):
        raise ArgumentError("prefix", prefix, "it must be text such as 'right_'")
    if where is not None and not isinstance(where, str):
        raise ArgumentError(
            "where",
            where,
            "it is SQL text such as 'left.price = right.price'; with an inner join any other "
            "condition can follow as .df.where(...)",
        )
    compiled = JoinPlan(spec, (left, right), prefix, where, _bytes(limit), _ties(tiebreak, right))
    compiled.operator.result_schema  # noqa: B018  (a type that does not suit is said here)
    compiled.finisher  # noqa: B018  (and a name that is taken)
    for feed in compiled.feeds:
        feed.punctuator  # noqa: B018
    if compiled.is_streaming:
        for side in (left, right):
            check_other(side, "is joined")
    return Joined(compiled)


def _keyed(
    own: Source, source: Source, key: Key, described: tuple[str, ...] | None
) -> tuple[Source, Source]:
    """Both sides by the keys that match; those of the left that do not are no keys here."""
    by, matches = matching(own.by, own.df.schema, source, key, described)
    return replace(own, by=tuple(own.by[n] for n in matches)), replace(source, by=by)


def _bytes(limit: object) -> int | None:
    """A size as people write it."""
    if limit is None:
        return None
    if isinstance(limit, str):
        found = _SIZE.fullmatch(limit)
        unit = "b" if found is None else (found.group(2).lower() or "b")
        size = 0 if found is None else int(float(found.group(1)) * _UNITS.get(unit, 0))
        if size > 0:
            return size
    elif type(limit) is int and limit > 0:
        return limit
    raise ArgumentError("limit", limit, "it is a size such as '100 MB', or a number of bytes")


def _ties(given: str | Sequence[str] | None, right: Source) -> tuple[str, ...]:
    names = column_names("tiebreak", given)
    for name in names:
        if name not in right.df.columns:
            raise UnknownColumnError("tiebreak", name, right.df.columns)
    return names
