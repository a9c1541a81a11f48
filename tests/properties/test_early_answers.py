"""Early answers: applied in order, their changes give the exact answer over the rows so far.

After every micro-batch the table that they make is what the reference finds in the rows up to
then, ended there. At the end each answer has been final exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import assume, given

from muntin.operators.build import early
from muntin.operators.common.early_answers import REPORTED, EarlyAnswers
from muntin.operators.protocol import InputBatch, MapSide, Operator, State, Step
from muntin.testing import assert_same_rows
from tests.properties.arriving import Arrivals, renamed, steps
from tests.properties.framings import KINDS, FrameCase, frame_cases
from tests.properties.harness import Called, Case, cases, operator, some_calls
from tests.properties.sequences import SequenceCase, sequence_cases
from tests.properties.test_steps import expected
from tests.thorough import examples

Row = dict[str, Any]
#: Kinds of frames without early answers, because two of them may have equal bounds.
REFUSED = ("density", "cluster", "region")
#: Windows over rows that can have early answers.
WORDS = ("rows", "landmarks", "starts", "first", "session")


@dataclass
class Applied:
    """The table that changes make, and how often each answer was final."""

    identity: Sequence[str]
    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)
    final: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def apply(self, changes: Iterable[Row]) -> None:
        for row in map(dict, changes):
            key = tuple(repr(row[name]) for name in self.identity)
            change, final = row.pop("change"), row.pop("final")
            known = key in self.rows
            assert known == (change in "u-"), (change, row)
            assert not self.final[key], "an answer that was final has changed"
            if change == "-":
                assert not final
                assert self.rows.pop(key) == row or repr(row)
                continue
            if known and not final:
                assert repr(self.rows[key]) != repr(row), "nothing changed"
            self.rows[key] = row
            if final:
                self.final[key] += 1


@dataclass
class Watched:
    """An operator with early answers, and what its changes make after each step."""

    work: EarlyAnswers
    applied: Applied
    tables: list[list[Row]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    final: list[Row] = field(default_factory=list)

    @property
    def map_sides(self) -> Sequence[MapSide]:
        return self.work.map_sides

    def step(self, state: State, inputs: Sequence[InputBatch]) -> Step:
        step = self.work.step(state, inputs)
        self.applied.apply(step.results.to_pylist())
        self.tables.append([renamed(row) for row in self.applied.rows.values()])
        chunk = step.changes.get((REPORTED, 0))
        if (REPORTED, 0) in step.changes:
            self.kept.append(0 if chunk is None else chunk.num_rows)
        names = step.results.column_names[:-2]
        self.final += step.results.filter(step.results["final"]).select(names).to_pylist()
        return step


def watched(case: Any, work: Operator, every: int | None = None) -> Watched:
    """Run a case with early answers; two tasks have the halves of each micro-batch."""
    spec = case.framing if isinstance(case, FrameCase) else case.spec
    wrapped = early(spec, work, every)
    run = Watched(wrapped, Applied(wrapped.identity))
    halves = [len(rows) // 2 for rows in case.batches]
    dealt = [(r[:half], r[half:]) for r, half in zip(case.batches, halves, strict=True)]
    ran = steps(run, case, dealt)  # type: ignore[arg-type]
    landmark = isinstance(case, Case) and (case.landmark or case.latch)
    assert landmark or ran.chunks_left == 0
    assert set(run.kept[-1:]) <= {0}
    return run


def upto(case: Any, count: int) -> Any:
    """Return the case with its first micro-batches only."""
    told = case.told[:count]
    return replace(case, batches=case.batches[:count], clocks=case.clocks[:count], told=told)


def check(case: Arrivals, work: Operator, exact: Callable[[Any], list[Row]]) -> None:
    """Compare the table after every micro-batch, and what is final in the end."""
    run = watched(case, work)
    for count, table in enumerate(run.tables[:-1], 1):
        assert_same_rows(map(_without_flag, table), map(_without_flag, exact(upto(case, count))))
    wanted = exact(case)
    assert_same_rows(run.tables[-1], wanted)
    assert_same_rows(map(renamed, run.final), wanted)
    assert set(run.applied.final.values()) <= {1}
    assert run.applied.final.total() == len(run.applied.rows)


def _without_flag(row: Row) -> Row:
    # An open answer is never complete; one of a stream that has ended may be.
    return {name: value for name, value in row.items() if name != "complete"}


@examples(300)
@given(cases(), some_calls())
def test_windows_over_values(case: Case, calls: Sequence[Called]) -> None:
    check(case, operator(case, calls), lambda part: expected(part, calls).results)


@pytest.mark.parametrize("word", WORDS)
def test_windows_over_rows_and_sessions(word: str) -> None:
    @examples(60)
    @given(sequence_cases(words=[word]))
    def exact(case: SequenceCase) -> None:
        check(case, case.operator(), lambda part: part.expected().results)

    exact()


@pytest.mark.parametrize("word", [word for word in KINDS if word not in REFUSED])
def test_frames(word: str) -> None:
    @examples(40)
    @given(frame_cases(words=[word]))
    def exact(case: FrameCase) -> None:
        assume(case.framing.fragments is None)  # refused, as regions are
        check(case, case.operator(), lambda part: part.expected().results)

    exact()
