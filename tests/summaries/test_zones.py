"""Zones of summaries: they equal the reference, partition the line, and keep all counts."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.operators.summaries.cell_counts import HashedValues
from muntin.operators.summaries.zones import SummaryZones
from muntin.reference.summaries import ReferenceSummary
from muntin.specs.axis import Axis, Domain
from muntin.specs.summaries import StreamSummary, ZoneLengths
from tests.summaries.rows import hashes_of, skewed_rows

LENGTHS = ZoneLengths(60, 4, 3, 5, 20)


def summary(**given: object) -> StreamSummary:
    return StreamSummary("s", "v", 60, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("theta", [0.2, 0.5])
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 1000), max_size=4))
def test_zones_equal_the_reference(theta: float, seed: int, cuts: list[int]) -> None:
    spec = summary(theta=theta, buckets=2, width=8, rows=3)
    order, values = skewed_rows(seed, 300, length=1500)
    hashes = hashes_of(values)
    zones = SummaryZones(spec, LENGTHS)
    reference = ReferenceSummary(LENGTHS, theta, 2, 8, 3)
    edges = [0, *np.searchsorted(order, sorted({*cuts, 1500})).tolist()]
    for first, stop in itertools.pairwise(edges):
        zones.summarize(order[first:stop], hashes[first:stop])
        for at, value in zip(order[first:stop].tolist(), hashes[first:stop].tolist(), strict=True):
            reference.summarize(at, value)
        if stop:
            zones.collapse(int(order[stop - 1]))
            reference.collapse(int(order[stop - 1]))
    assert [(z.granularity, z.start, z.rows) for z in zones.zones] == [
        (z.granularity, z.start, len(z.values)) for z in reference.zones
    ]
    assert zones.forgotten == reference.forgotten
    asked = HashedValues.of(np.unique(hashes), spec)
    for zone, own in zip(zones.zones, reference.zones, strict=True):
        expected = [own.estimate(value) for value in asked.hashes.tolist()]
        assert zone.counts.estimate(asked).tolist() == expected
        assert zone.counts.confidence() == pytest.approx(own.confidence)


@given(seed=st.integers(0, 10**6), method=st.sampled_from(["sketch", "exact", "frequencies"]))
def test_zones_partition_the_line_and_keep_all_counts(seed: int, method: str) -> None:
    spec = summary(method=method)
    order, values = skewed_rows(seed, 400, length=2000)
    shuffled = np.random.default_rng(seed).permutation(400)
    zones = SummaryZones(spec, LENGTHS)
    for part in np.array_split(shuffled, 5):
        zones.summarize(order[part], hashes_of(values[part]))
        zones.collapse(int(order[part].max()))
        assert all(a.end == b.start for a, b in itertools.pairwise(zones.zones))
        assert [z.granularity for z in zones.zones] == sorted(
            (z.granularity for z in zones.zones), reverse=True
        )
    assert zones.rows + zones.forgotten == 400


def test_collapse_conserves_the_counts_of_every_value() -> None:
    spec = summary(method="exact")
    order, values = skewed_rows(3, 500, length=1200)
    zones = SummaryZones(spec, LENGTHS)
    zones.summarize(order, hashes_of(values))
    zones.collapse(1200)
    assert zones.forgotten == 0 and {z.granularity for z in zones.zones} == {1, 2, 3}
    counted = Counter(hashes_of(values).tolist())
    asked = HashedValues.of(np.array([*counted], np.uint64), spec)
    assert zones.estimates(asked).sum(axis=0).tolist() == [*counted.values()]


def test_a_granularity_is_rate_times_as_long_as_the_one_before() -> None:
    zones = SummaryZones(summary(), LENGTHS)
    order = np.arange(0, 5000)
    for part in np.array_split(order, 100):
        zones.summarize(part, hashes_of(part % 7))
        zones.collapse(int(part[-1]))
    spans = {
        number: [(z.start, z.end) for z in zones.zones if z.granularity == number]
        for number in (1, 2, 3)
    }
    for number in (2, 3):
        length = LENGTHS.length(number)
        covered = spans[number][-1][1] - spans[number][0][0]
        # A zone stays until its end is too old, so that up to one more is there.
        assert length <= covered <= length + 2 * LENGTHS.zone(number)
        whole = spans[number][1:-1]
        assert whole and {end - start for start, end in whole} == {LENGTHS.zone(number)}


@pytest.mark.parametrize("granularity", [100, 1_000, 10_000])
def test_the_size_does_not_grow_with_the_granularity(granularity: int) -> None:
    """Twenty times the granularity, with as many rows in each unit of time: as many zones."""
    spec = StreamSummary("s", "v", granularity, theta=0.5)
    zones = SummaryZones(spec, spec.ticks(Axis(Domain.INTEGER)))
    order = np.arange(0, 20 * granularity)
    for part in np.array_split(order, 50):
        zones.summarize(part, hashes_of(part % 50))
        zones.collapse(int(part[-1]))
    counts = Counter(zone.granularity for zone in zones.zones)
    assert counts[1] <= 2 * (spec.zones + 1)
    assert max(counts[2], counts[3]) <= spec.rate + 2
    assert {len(zone.counts.packed()) for zone in zones.zones} == {4 * 64 * 5 * 8}


def test_zones_are_shorter_where_a_value_is_frequent() -> None:
    """Confidence falls where one value comes all the time, and zones end earlier there."""
    order = np.arange(0, 2000) // 10
    values = np.where(order < 100, np.arange(2000) % 997, 1)
    zones = SummaryZones(summary(theta=0.3), ZoneLengths(100, 4, 3, 5, 50))
    zones.summarize(order, hashes_of(values))
    calm = sum(zone.start < 100 for zone in zones.zones)
    busy = len(zones.zones) - calm
    assert calm == 2 and busy > 5


def test_a_kept_summary_goes_on_as_it_was() -> None:
    spec = summary(theta=0.5)
    order, values = skewed_rows(5, 600)
    whole, kept = SummaryZones(spec, LENGTHS), SummaryZones(spec, LENGTHS)
    for part in np.array_split(np.arange(600), 6):
        for zones in (whole, kept):
            zones.summarize(order[part], hashes_of(values[part]))
            zones.collapse(int(order[part[-1]]))
        kept = SummaryZones.of_table(spec, LENGTHS, kept.table(), kept.forgotten)
    assert kept.table().equals(whole.table())


def test_levels_prune_zones_and_find_the_same_where_a_value_is() -> None:
    spec = summary(method="exact")
    order, values = skewed_rows(9, 800)
    zones = SummaryZones(spec, LENGTHS)
    zones.summarize(order, hashes_of(values))
    asked = HashedValues.of(np.unique(hashes_of(values)), spec)
    direct = np.array([zone.counts.estimate(asked) for zone in zones.zones])
    assert (zones.estimates(asked) == direct).all()


def test_rows_that_come_before_the_first_zone_have_a_zone_before_it() -> None:
    zones = SummaryZones(summary(), LENGTHS)
    zones.summarize(np.array([100, 101]), hashes_of(np.array([1, 2])))
    zones.summarize(np.array([30, 102]), hashes_of(np.array([1, 2])))
    assert [(z.start, z.rows) for z in zones.zones] == [(30, 1), (100, 3)]
