from __future__ import annotations

import numpy as np
import pytest

from muntin.aggregates.synopses.norms import TugOfWar, Vector, lp_norm
from muntin.errors import ArgumentError

N = 3000


def rows(seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    index = np.floor(random.pareto(1.0, N) * 3) % 50
    amount = random.integers(0, 20, N) * (1.0 + 9 * (np.arange(N) // 300 % 2))
    return np.arange(N), index, amount


def exact(p: float, start: int, end: int, index: np.ndarray, amount: np.ndarray) -> float:
    start = max(start, 0)
    vector = np.bincount(index[start:end].astype(int), amount[start:end])
    return float((vector**p).sum() ** (1 / p))


@pytest.mark.parametrize(
    ("p", "eps", "measured"),
    [(1, 0.2, 0.2), (1, 0.05, 0.05), (1.5, 0.1, 0.05), (2, 0.4, 0.15), (2, 0.1, 0.06)],
)
def test_norms_against_exact(p: float, eps: float, measured: float) -> None:
    """For p = 1 the bound is proven; for p > 1 it is the error measured on this stream."""
    ticks, index, amount = rows()
    ends = np.arange(50, N, 37)
    starts = ends - 500
    kind = lp_norm(p, eps, bounds=True)
    estimate, low, high = kind.new().run(ticks, [index, amount], starts, ends)
    truth = np.array([exact(p, s, e, index, amount) for s, e in zip(starts, ends, strict=True)])
    assert (low <= truth * (1 + 1e-12)).all()
    assert (truth <= high * (1 + 1e-12)).all()
    proven = eps + kind.function.constant - 1
    assert (truth**p - estimate**p <= (proven + 1e-9) * truth**p).all()
    assert ((truth - estimate) / truth).max() <= measured


def test_a_sketch_of_fixed_size() -> None:
    ticks, index, amount = rows()
    ends = np.arange(600, N, 200)
    kind = lp_norm(2, 0.1, sketched=0.2)
    (estimate,) = kind.new().run(ticks, [index, amount], ends - 500, ends)
    truth = np.array([exact(2, e - 500, e, index, amount) for e in ends])
    assert np.mean(np.abs(estimate - truth) / truth > 0.2) <= 0.1
    assert not np.array_equal(estimate, truth)


def test_tug_of_war_is_as_accurate_as_said() -> None:
    """Over 60 vectors at most a tenth may be off by more than the accuracy."""
    sketch = TugOfWar(0.3)
    off = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        vector = random.integers(1, 100, 40).astype(np.float64)
        sums = sketch.init(seed * 1000.0, vector[0])
        for i, amount in enumerate(vector[1:], start=1):
            sums = sketch.compose(sums, sketch.init(seed * 1000.0 + i, amount))
        truth = float((vector**2).sum())
        off += abs(sketch.value(sums) - truth) > 0.3 * truth
    assert off <= 6


def test_composing_leaves_the_parts_alone() -> None:
    vector = Vector(2.0)
    older, newer = vector.init(1.0, 2.0), vector.init(1.0, 3.0)
    assert vector.compose(older, newer) == {1.0: 5.0}
    assert (older, newer) == ({1.0: 2.0}, {1.0: 3.0})
    assert vector.init(-0.0, 1.0) == vector.init(0.0, 1.0)


def test_dump_and_load_in_the_middle() -> None:
    ticks, index, amount = rows()
    for kind in (lp_norm(1.5, 0.2), lp_norm(2, 0.2, sketched=0.5)):
        ends = np.array([N])
        (whole,) = kind.new().run(ticks, [index, amount], ends - 700, ends)
        half = kind.new()
        none = np.empty(0, np.int64)
        half.run(ticks[:1600], [index[:1600], amount[:1600]], none, none)
        other = kind.load(half.dump())
        (answer,) = other.run(ticks[1600:], [index[1600:], amount[1600:]], ends - 700, ends)
        assert answer.tolist() == whole.tolist()


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"p=3 .* from 1 to 2"):
        lp_norm(3, 0.1)
    with pytest.raises(ArgumentError, match=r"p='2' .* from 1 to 2"):
        lp_norm("2", 0.1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"sketched=0.1 .* p=2 only"):
        lp_norm(1.5, 0.1, sketched=0.1)
    with pytest.raises(ArgumentError, match=r"sketched=2 .* between 0 and 1"):
        lp_norm(2, 0.1, sketched=2)
    with pytest.raises(ArgumentError, match=r"amount=-1.0 .* from 0 upwards"):
        Vector(1.0).init(0.0, -1.0)
