from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin.errors import ArgumentError
from muntin.session.simulated_source import SIMULATORS, simulation
from muntin.simulate.router import Network

SMALL: dict[str, dict[str, Any]] = {
    "freeway": {"hours": 0.1},
    "router": {"hours": 0.5, "troubles": 1},
    "freezer": {"days": 0.1, "left_open": 0, "gaps": 0},
    "retail": {"hours": 0.5},
    "auction": {"hours": 1, "n_persons": 5, "n_auctions": 5, "n_bids": 50},
}


@pytest.mark.parametrize(
    ("name", "stream"), [(name, s) for name, one in SIMULATORS.items() for s in one.streams]
)
def test_every_stream_of_every_simulator(name: str, stream: str, tmp_path: Path) -> None:
    made = simulation([name, stream], {**SMALL[name], "seed": 3, "disordered": 0.2})
    over = made.write(tmp_path, live=False)
    assert over()
    files = sorted(tmp_path.glob("*.parquet"))
    assert len(files) == 8
    assert pa.concat_tables(map(pq.read_table, files)).equals(made.rows)
    times = [path.stat().st_mtime for path in files]
    assert times == sorted(set(times))


def test_parameters_reach_the_model() -> None:
    made = simulation(["router", "losses"], {"hours": 1, "seed": 3, "start": "2026-01-01 08:00"})
    start = pa.compute.min(made.rows["ts"]).as_py()
    assert start.isoformat() == "2026-01-01T08:00:00+00:00"
    assert made.rows.num_rows == Network(hours=1, seed=3).losses().num_rows


def test_files_arrive_over_some_seconds(tmp_path: Path) -> None:
    made = simulation(["freeway"], {"hours": 0.1, "files": 3, "seconds": 0.6})
    over = made.write(tmp_path, live=True)
    assert not over()
    limit = time.monotonic() + 10
    while not over():
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert len([*tmp_path.glob("*.parquet")]) == 3


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ([], {}, "it needs the name of a simulator: freeway, router"),
        (["freway"], {}, r"no such simulator \(did you mean 'freeway'\?\)"),
        (["router", "loses"], {}, r"one of losses, messages \(did you mean 'losses'\?\)"),
        (
            ["router"],
            {"sed": 3},
            r"has no such option \(did you mean 'seed'\?\)",
        ),
        (["router"], {"start": "noon"}, "it is a time, such as '2026-03-03 08:00'"),
        (["router"], {"disordered": 2.0}, "it is a share, from 0 to 1"),
        (["router"], {"files": 0}, "files=0 cannot be used"),
    ],
)
def test_what_cannot_be_simulated(arguments: list[Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        simulation(arguments, options)
