from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from muntin.errors import ArgumentError
from muntin.simulate.router import HIGH_LOSS, KINDS, Network, Trouble

MOMENT = pa.timestamp("us", tz="UTC")


@pytest.fixture(scope="module")
def network() -> Network:
    return Network()


@pytest.fixture(scope="module")
def messages(network: Network) -> pa.Table:
    return network.messages()


def behind_seconds(table: pa.Table, on: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How far each row is behind the largest time that came before it."""
    ts = table[on].cast(pa.int64()).to_numpy()
    behind: np.ndarray[Any, np.dtype[np.float64]] = (np.maximum.accumulate(ts) - ts) / 1e6
    return behind


def during(table: pa.Table, on: str, start: datetime, end: datetime) -> pa.Table:
    after = pc.greater_equal(table[on], pa.scalar(start, MOMENT))
    return table.filter(pc.and_(after, pc.less_equal(table[on], pa.scalar(end, MOMENT))))


def routing(messages: pa.Table, trouble: Trouble, start: datetime, end: datetime) -> int:
    """How many updates and withdrawals the router of a trouble got in some time."""
    here = during(messages, "at", start, end)
    own = pc.equal(here["router_id"], trouble.router)
    return here.filter(pc.and_(own, pc.not_equal(here["kind"], "keepalive"))).num_rows


def test_schemas(network: Network, messages: pa.Table) -> None:
    assert network.losses().schema == pa.schema(
        [("ts", MOMENT), ("router", pa.string()), ("loss_rate", pa.float64())]
    )
    assert messages.schema == pa.schema(
        [("at", MOMENT), ("router_id", pa.string()), ("kind", pa.string()), ("routes", pa.int32())]
    )


def test_the_same_seed_gives_the_same_tables(network: Network, messages: pa.Table) -> None:
    assert Network().losses().equals(network.losses())
    assert Network().messages().equals(messages)
    assert not Network(seed=8).losses().equals(network.losses())
    assert not Network(seed=8).messages().equals(messages)


def test_more_messages_do_not_change_the_loss(network: Network) -> None:
    assert Network(updates_per_hour=100).losses().equals(network.losses())


def test_every_router_reports_on_schedule(network: Network) -> None:
    whole = Network(hours=1, missing=0).losses()
    assert whole.num_rows == whole.group_by(["ts", "router"]).aggregate([]).num_rows == 4 * 360
    share = 1 - network.losses().num_rows / (network.hours * 360 * 4)
    assert share == pytest.approx(network.missing, rel=0.3)


def test_loss_is_high_in_troubles_and_nowhere_else(network: Network) -> None:
    rows = network.losses().to_pylist()
    for row in rows:
        inside = any(
            row["router"] == one.router
            and one.start <= row["ts"] <= one.start + timedelta(minutes=one.minutes)
            for one in network.happened
        )
        assert (row["loss_rate"] > HIGH_LOSS) == inside
    assert len(network.happened) == network.troubles
    assert sum(one.burst for one in network.happened) == 4


def test_a_burst_of_updates_begins_just_before_a_trouble_that_it_explains(
    network: Network, messages: pa.Table
) -> None:
    half = timedelta(seconds=30)
    for one in network.happened:
        inside = routing(messages, one, one.start, one.start + timedelta(minutes=one.minutes))
        assert (inside > 10 * one.minutes) == one.burst
        assert (routing(messages, one, one.start - half, one.start) > 2) == one.burst
        assert routing(messages, one, one.start - 10 * half, one.start - half) < 8


def test_kinds(messages: pa.Table) -> None:
    assert set(messages["kind"].to_pylist()) == set(KINDS)
    silent = messages.filter(pc.equal(messages["kind"], "keepalive"))
    assert set(silent["routes"].to_pylist()) == {0}
    others = messages.filter(pc.not_equal(messages["kind"], "keepalive"))
    assert pc.min(others["routes"]).as_py() >= 1


def test_a_keepalive_of_each_router_every_half_minute(messages: pa.Table) -> None:
    alive = messages.filter(pc.equal(messages["kind"], "keepalive"))
    for router in Network().names:
        at = alive.filter(pc.equal(alive["router_id"], router))["at"].cast(pa.int64()).to_numpy()
        assert np.unique(np.diff(np.sort(at)) // 1_000_000).tolist() in ([30], [29, 30])


def test_disorder_is_bounded(network: Network, messages: pa.Table) -> None:
    for table, on in ((network.losses(), "ts"), (messages, "at")):
        assert 10 < behind_seconds(table, on).max() <= network.disorder_seconds
    ordered = Network(disorder_seconds=0)
    assert behind_seconds(ordered.losses(), "ts").max() == 0
    assert behind_seconds(ordered.messages(), "at").max() == 0


def test_a_network_without_troubles() -> None:
    calm = Network(hours=1, troubles=0, updates_per_hour=0)
    assert calm.happened == ()
    assert pc.max(calm.losses()["loss_rate"]).as_py() < HIGH_LOSS
    assert set(calm.messages()["kind"].to_pylist()) == {"keepalive"}


@pytest.mark.parametrize("seed", range(5))
def test_troubles_lie_inside_the_hours(seed: int) -> None:
    network = Network(seed=seed, troubles=9)
    for one in network.happened:
        assert network.start <= one.start
        assert one.start + timedelta(minutes=one.minutes) < network.start + timedelta(hours=4)


@pytest.mark.parametrize(
    ("argument", "given", "expected"),
    [
        ("hours", 0, "it must be above zero"),
        ("routers", -1, "it must be above zero"),
        ("troubles", -1, "it must not be negative"),
        ("disorder_seconds", -1, "it must not be negative"),
        ("missing", 1.5, "it is a share, from 0 to 1"),
        ("explained", 2, "it is a share, from 0 to 1"),
        ("start", datetime(2026, 3, 3), "it needs a time zone, such as tzinfo=UTC"),
    ],
)
def test_what_cannot_be_simulated(argument: str, given: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=expected):
        Network(**{argument: given})


def test_another_start() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert pc.min(Network(hours=1, start=noon).losses()["ts"]).as_py() == noon
