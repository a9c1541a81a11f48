"""``make bench``: measure the claims and write what was found into the documentation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks import batch_overlap, correlated, figure3, state, stream
from benchmarks.measure import Report, machine, publish, session

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS: Mapping[str, Callable[[SparkSession, bool], Report]] = {
    "batch_overlap": batch_overlap.run,
    "correlated": correlated.run,
    "figure3": figure3.run,
    "stream": stream.run,
    "state": state.run,
}


def main() -> int:
    """Zero when every target was met, or when the sizes were too small to say so."""
    options = parse()
    # Figures of small sizes are for looking at, not for the documentation.
    folder = ROOT / "build" / "bench" if options.quick else ROOT / "docs"
    missed = 0
    with session() as spark:
        where = machine(spark)
        print(where)
        for name in options.names or BENCHMARKS:
            print(f"\n{name}", flush=True)
            report = BENCHMARKS[name](spark, options.quick)
            print(f"\n{report.markdown()}")
            print(f"\nWritten to {publish(report, where, folder)}", flush=True)
            missed += sum(not target.met for target in report.targets)
    if options.quick:
        print("\nQuick: the sizes are too small to judge the targets.")
        return 0
    return 1 if missed else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    # argparse holds a default against `choices`, so the names are checked by hand.
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(BENCHMARKS)} (all)")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes; leaves the documentation alone"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
