"""Change the operators in small ways, one at a time, and see whether the tests notice.

Run ``python scripts/mutate.py``: it draws ``--count`` places in ``--under`` by ``--seed``, and
prints for each change whether a test fails. A change that no test notices is a survivor: either a
test is missing, or the change makes no difference. The changes are made in a copy of the sources,
and the tests are those without Spark (``--tests`` names others).

The changes: ``<`` and ``<=``, ``>`` and ``>=``, ``==`` and ``!=``, ``and`` and ``or``, ``min`` and
``max``, ``+ 1`` and ``- 1``, a ``not`` left out.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
#: Names of functions, and what they become.
CALLS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
#: The seconds and bytes of memory that the tests of one change may take.
LONGEST = 900
MOST_BYTES = 6 * 2**30
_PROPERTIES = "tests/properties"
_MATRIX = "tests/matrix"
#: Tests without Spark that run the operators, by the sub-room of the change.
TESTS = {
    "windows": (
        "tests/windows/test_pane_store.py",
        "tests/windows/test_panes.py",
        "tests/windows/test_levels.py",
        "tests/windows/test_sessions.py",
        "tests/windows/test_windows_by_key.py",
        f"{_MATRIX}/test_window_properties.py",
        f"{_PROPERTIES}/test_steps.py",
        f"{_PROPERTIES}/test_sequences.py",
        f"{_PROPERTIES}/test_own_steps.py",
    ),
    "rows": (
        "tests/rows/test_cut.py",
        "tests/rows/test_cut_landmarks.py",
        "tests/rows/test_cut_slide_on.py",
        "tests/rows/test_cut_values.py",
        "tests/rows/test_operator.py",
        "tests/rows/test_synopses.py",
        f"{_MATRIX}/test_window_properties.py",
        f"{_PROPERTIES}/test_sequences.py",
        f"{_PROPERTIES}/test_synopses.py",
    ),
    "frames": (
        "tests/frames/test_aggregate_row_by_row.py",
        "tests/frames/test_certain.py",
        "tests/frames/test_empty_slots.py",
        "tests/frames/test_exact.py",
        "tests/frames/test_kept.py",
        "tests/frames/test_kind_columns.py",
        "tests/frames/test_own_function.py",
        "tests/frames/patterns/test_pattern.py",
        "tests/frames/test_region_sweep.py",
        "tests/frames/test_sequencer.py",
        "tests/frames/test_sorting_and_slots.py",
        f"{_PROPERTIES}/test_framings.py",
        f"{_PROPERTIES}/test_frame_runs.py",
        f"{_PROPERTIES}/test_own_framings.py",
        f"{_PROPERTIES}/test_frame_steps.py",
        f"{_PROPERTIES}/test_fillings.py",
        f"{_MATRIX}/test_frame_properties.py",
    ),
    "fill": (
        f"{_PROPERTIES}/test_fillings.py",
        "tests/fill/test_held_rows.py",
        f"{_MATRIX}/test_frame_properties.py",
    ),
    "join": (
        "tests/join/test_asof_operator.py",
        "tests/join/test_paired.py",
        f"{_MATRIX}/test_join_properties.py",
        f"{_PROPERTIES}/test_joinings.py",
        f"{_PROPERTIES}/test_resamplings.py",
    ),
    "resample": (f"{_MATRIX}/test_join_properties.py", f"{_PROPERTIES}/test_resamplings.py"),
    "progress": (
        "tests/disorder/test_rules.py",
        "tests/disorder/test_disorder.py",
        "tests/disorder/test_slack.py",
        "tests/operators",
        f"{_MATRIX}/test_window_properties.py",
        f"{_PROPERTIES}/test_steps.py",
        f"{_PROPERTIES}/test_sequences.py",
        f"{_PROPERTIES}/test_framings.py",
        f"{_PROPERTIES}/test_fillings.py",
        f"{_PROPERTIES}/test_joinings.py",
    ),
    "common": (
        "tests/operators",
        f"{_MATRIX}/test_window_properties.py",
        f"{_MATRIX}/test_join_properties.py",
        f"{_PROPERTIES}/test_steps.py",
        f"{_PROPERTIES}/test_sequences.py",
        f"{_PROPERTIES}/test_framings.py",
        f"{_PROPERTIES}/test_fillings.py",
        f"{_PROPERTIES}/test_joinings.py",
    ),
    "aggregation": (
        "tests/aggregates/test_combine.py",
        "tests/aggregates/test_correlated_operator.py",
        "tests/aggregates/test_own_aggregate_operator.py",
        "tests/aggregates/test_value_counts.py",
        f"{_MATRIX}/test_aggregates.py",
        f"{_PROPERTIES}/test_correlated_steps.py",
        f"{_PROPERTIES}/test_own_steps.py",
        f"{_PROPERTIES}/test_steps.py",
        f"{_PROPERTIES}/test_sequences.py",
        f"{_PROPERTIES}/test_framings.py",
    ),
}


@dataclass(frozen=True)
class Mutation:
    """A piece of a file, between two places in its bytes, and what it becomes."""

    file: Path
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.before} becomes {self.after}"


class Places:
    """Finds the places of one file where it may be changed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.text = file.read_bytes()
        self.lines = [0]
        for line in self.text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def mutations(self) -> Iterator[Mutation]:
        """Yield every change that may be made."""
        for node in ast.walk(ast.parse(self.text)):
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]) if (
                    type(op) in COMPARISONS
                ):
                    yield from self._between(left, right, *COMPARISONS[type(op)])
                case ast.BoolOp(op=op, values=[left, right, *_]):
                    words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                    yield from self._between(left, right, *words)
                case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1) as right):
                    yield from self._between(left, right, "+", "-")
                case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1) as right):
                    yield from self._between(left, right, "-", "+")
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    yield self._mutation(self._at(node), self._at(operand), "")
                case ast.Call(func=ast.Name(id=name) as called) if name in CALLS:
                    yield self._mutation(self._at(called), self._end(called), CALLS[name])
                case ast.Call(func=ast.Attribute(attr=name) as called) if name in CALLS:
                    end = self._end(called)
                    yield self._mutation(end - len(name), end, CALLS[name])

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[Mutation]:
        start, end = self._end(left), self._at(right)
        at = self.text.find(old.encode(), start, end)
        if at >= 0:
            yield self._mutation(at, at + len(old), new)

    def _mutation(self, start: int, end: int, after: str) -> Mutation:
        line = self.text.count(b"\n", 0, start) + 1
        return Mutation(self.file, line, start, end, self.text[start:end].decode(), after)

    def _at(self, node: ast.expr) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.lines[node.end_lineno - 1] + node.end_col_offset


def drawn(under: list[Path], count: int, seed: int) -> list[Mutation]:
    """Return so many changes of the files below the folders."""
    files = sorted(file for folder in under for file in folder.rglob("*.py"))
    every = [mutation for file in files for mutation in Places(file).mutations()]
    return random.Random(seed).sample(every, min(count, len(every)))


def tests_of(mutation: Mutation) -> Sequence[str]:
    """Return the tests of the change's sub-room, or those of all operators."""
    for part in mutation.file.relative_to(ROOT).parts:
        if part in TESTS:
            return TESTS[part]
    return ("tests/operators", _PROPERTIES)


def noticed(mutation: Mutation, copy: Path, tests: Sequence[str]) -> bool:
    """Return True if a test fails on the copy with this change."""
    file = copy / mutation.file.relative_to(ROOT)
    original = file.read_bytes()
    changed = original[: mutation.start] + mutation.after.encode() + original[mutation.end :]
    file.write_bytes(changed)
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--hypothesis-profile=unshrunk"]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", *tests],
            cwd=copy,
            env=environment,
            capture_output=True,
            check=False,
            preexec_fn=_limit_memory,
            timeout=LONGEST,
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True  # a loop that does not end
    finally:
        file.write_bytes(original)


def _limit_memory() -> None:
    """Let a loop that fills memory fail, and not the machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    default = [ROOT / "src/muntin/operators"]
    parser.add_argument("--under", type=Path, nargs="*", default=default, help="folders to change")
    parser.add_argument("--count", type=int, default=50, help="how many changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", default=[], help="files of tests")
    parser.add_argument("--only", type=int, nargs="*", help="of these changes, by their places")
    parser.add_argument("--list", action="store_true", help="print the changes and make none")
    options = parser.parse_args()
    under = [folder.resolve() for folder in options.under]
    mutations = drawn(under, options.count, options.seed)
    if options.only is not None:
        mutations = [mutations[place] for place in options.only]
    if options.list:
        print(*mutations, sep="\n")
        return
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "muntin"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "site"))
        for mutation in mutations:
            caught = noticed(mutation, copy, options.tests or tests_of(mutation))
            survivors += not caught
            print(f"{'noticed ' if caught else 'SURVIVED'}  {mutation}", flush=True)
    print(f"{len(mutations) - survivors} noticed, {survivors} survived")


if __name__ == "__main__":
    main()
