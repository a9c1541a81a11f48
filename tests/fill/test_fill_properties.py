"""reference = batch = stream, for frames and windows filled from one source or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin as mt
from muntin.specs.axis import Domain
from muntin.testing import Played, Replay, assert_same_rows, replay
from tests.drivers.cases import COLUMNS, ddl, naive, texts
from tests.drivers.many_cases import Streamed, check_each, check_streams
from tests.drivers.test_properties import START
from tests.frames.test_frames import NAMES as FRAMED_COLUMNS
from tests.frames.test_frames import PROPERTIES, public, schema
from tests.properties.arriving import LENGTHS, ON_TYPES, Arrivals
from tests.properties.fillings import Expected, FillCase, Framed, Windowed, fill_cases
from tests.properties.harness import Called

Row = dict[str, Any]
#: Without doubles: their axis has as many decimals as the lengths of a plan need, and on another
#: axis other rows are late.
DOMAINS = tuple(domain for domain in Domain if domain is not Domain.DOUBLE)
#: Makes the stream of an input.
Described = Callable[[int, Arrivals, Any], mt.Stream]


def columns_of(arriving: Arrivals) -> tuple[str, ...]:
    return FRAMED_COLUMNS if isinstance(arriving, Framed) else COLUMNS


def schema_of(arriving: Arrivals) -> str:
    return schema(arriving) if isinstance(arriving, Framed) else ddl(arriving)


def plan(case: FillCase, streamed: Described) -> mt.Plan:
    """Return the plan of a case, as a user would write it."""
    bounded = case.bounded
    segmented: mt.Frames | mt.Windowed
    if isinstance(bounded, Framed):
        options = {name: getattr(bounded.framing, name) for name in PROPERTIES}
        stream = streamed(0, bounded, bounded.framing.schedule)
        segmented = stream.frames(public(bounded.framing.kind), **options)
    else:
        segmented = _windows(bounded, streamed(0, bounded, None))
    plans = [segmented.plan(*_named(bounded.calls, 0))] if bounded.calls else []
    first = len(bounded.calls)
    for place, filler in enumerate(case.fillers, 1):
        filling = filler.filling
        filled = segmented.fill(
            streamed(place, filler, None),
            key="k" if filler.keyed else (),
            before=filling.before,
            after=filling.after,
            shrink=filling.shrink,
            shift=list(filling.labels) if filling.compares else filling.shift,
            where="b" if filler.chosen else None,
            empty=filling.empty,
            along=filler.along,
        )
        plans.append(filled.plan(*_named(filler.calls, first)))
        first += len(filler.calls)
    return mt.combine(*plans)


def _windows(case: Windowed, stream: mt.Stream) -> mt.Windowed:
    length = LENGTHS[case.domain]
    origin = None if case.origin is None else ON_TYPES[case.domain][2](case.origin)
    return stream.window(length(case.range), length(case.slide), origin, unfinished=case.unfinished)


def _named(calls: Sequence[Called], first: int) -> list[str]:
    columns = texts(calls)
    return [
        text.replace(f" AS r{place}", f" AS r{place + first}") for place, text in enumerate(columns)
    ]


def wanted(case: FillCase, expected: Expected) -> list[Row]:
    """Return the expected results as a plan reports them."""
    shifts = [filler.filling for filler in case.fillers if filler.filling.compares]
    rows = []
    for row in expected.results:
        result = {name: value for name, value in row.items() if name not in ("n", "n_missing")}
        shifted = result.pop("shifted")
        if shifts:
            result["shift"] = shifts[0].labels[shifted]
        rows.append(result)
    return naive(rows)


def is_planned(case: FillCase) -> bool:
    """True unless windows have no end: they cannot be filled, as another test checks."""
    return not getattr(case.bounded, "landmark", False)


def is_streamed(case: FillCase) -> bool:
    """True if a stream may be filled so, in few micro-batches, which take a second each."""
    short = all(len(arriving.batches) <= 2 for arriving in case.inputs)
    return short and is_planned(case) and not _longest(case) and not case.forgets


def _longest(case: FillCase) -> bool:
    return isinstance(case.bounded, Framed) and case.bounded.framing.longest


@pytest.mark.hypothesis
def test_batch_equals_the_reference(spark: SparkSession) -> None:
    check_each(
        lambda case: check_batch(spark, case), fill_cases(DOMAINS, rows=False).filter(is_planned)
    )


def check_batch(spark: SparkSession, case: FillCase) -> None:
    def streamed(place: int, arriving: Arrivals, schedule: Any) -> mt.Stream:
        names = columns_of(arriving)
        rows = naive([row for batch in arriving.batches for row in batch])
        df = spark.createDataFrame(
            [tuple(row[n] for n in names) for row in rows], schema_of(arriving)
        )
        rule = arriving.disorder if arriving.rule in ("marks", "key marks") else None
        return mt.stream(df, "on", arriving.by, rule, schedule=schedule)

    planned = plan(case, streamed)
    rows = planned.df.collect()
    expected = _at_once(case)
    assert_same_rows([_sorted(row.asDict()) for row in rows], _all_sorted(wanted(case, expected)))
    refused = sorted((str(row["input"]), row["reason"]) for row in planned.refused.collect())
    assert refused == _refusals(case, expected)


def _at_once(case: FillCase) -> Expected:
    """Return what a batch gives: no row is late, and marks count only under a rule of marks."""
    return case.whole([_rows(arriving) for arriving in case.inputs])


def _rows(arriving: Arrivals) -> list[Row]:
    if arriving.rule in ("marks", "key marks"):
        return arriving.data()
    return [row for batch in arriving.batches for row in batch]


def _refusals(case: FillCase, expected: Expected) -> list[tuple[str, str]]:
    fills = ["fill"] if len(case.fillers) == 1 else ["fill0", "fill1"]
    names = ["rows", *fills]
    pairs = zip(names, expected.outcomes, strict=True)
    return sorted((name, why) for name, outcome in pairs for _, why in outcome.refused)


def _sorted(row: Row) -> Row:
    return dict(sorted(row.items()))


def _all_sorted(rows: Sequence[Row]) -> list[Row]:
    return [_sorted(row) for row in rows]


@pytest.mark.hypothesis
def test_stream_equals_the_reference(spark: SparkSession) -> None:
    cases = fill_cases(DOMAINS, rows=False).filter(is_streamed)
    check_streams(lambda case: streamed(spark, case), check_stream, cases)


def check_stream(case: FillCase, played: Played) -> None:
    expected = case.expected()
    results = [_sorted(row.asDict()) for row in played.results]
    assert_same_rows(results, _all_sorted(wanted(case, expected)))
    refused = sorted((str(row["input"]), row["reason"]) for row in played.refused)
    assert refused == _refusals(case, expected)
    row_count = sum(len(rows) for arriving in case.inputs for rows in arriving.batches)
    assert played.counts["rows_in"] == row_count
    assert played.counts["rows_used"] + played.counts["rows_refused"] == row_count


def streamed(spark: SparkSession, case: FillCase) -> Streamed:
    replays: list[Replay] = []

    def described(place: int, arriving: Arrivals, schedule: Any) -> mt.Stream:
        clock = [None if now is None else START + timedelta(seconds=now) for now in arriving.clocks]
        names = columns_of(arriving)
        played = replay(
            spark,
            [[{name: row[name] for name in names} for row in rows] for rows in arriving.batches],
            schema_of(arriving),
            clock=clock,
            punctuation=arriving.told_by_batch,
        )
        replays.append(played)
        return mt.stream(
            played.df,
            "on",
            arriving.by,
            arriving.disorder,
            control=played.control,
            shards=2 if place == 0 else None,
            schedule=schedule,
        )

    return Streamed(plan(case, described), replays)
