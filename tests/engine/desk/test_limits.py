"""Limits: along each dimension, what costs more than in proportion shows in the processor time.

Each case is timed at a size and at four times the size, which is 1,000 in ``make soak``. In
proportion the ratio is 4, and with the square of the size it is 16.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from muntin.engine.registry import Registry
from muntin.engine.result_log import ResultLog
from muntin.expressions.arrow_columns import ArrowColumns
from muntin.expressions.predicate_sets import PredicateSets
from muntin.expressions.row_expression import RowExpression, compile_row_expression
from muntin.expressions.spark_expressions import Name
from muntin.operators.progress.progress import Punctuator
from muntin.operators.protocol import InputBatch, MemoryState, Punctuation
from muntin.operators.shared.as_json import from_json, to_json
from muntin.operators.shared.member_sets import MemberSets
from muntin.operators.shared.members import Member
from muntin.operators.shared.network import QueryNetwork, StreamRule
from muntin.operators.shared.program import AnswerColumns, ProgramInput, QueryProgram
from muntin.operators.shared.shared_windows import SharedWindows
from muntin.operators.windows.operator import WindowOperator
from muntin.spark.exchange.pinned_versions import Pin, VersionFiles
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Edges
from tests.shared.test_shared_windows import COUNT

INTEGER = Axis(Domain.INTEGER)
SIZES = [(25, 100), pytest.param((250, 1000), marks=pytest.mark.slow)]
#: The square of the size would be 16 times.
MOST = 8.0
ROWS = 2000
TYPES = {"x": pa.int64(), "v": pa.float64()}
#: Times below this are noise.
LEAST = 0.01


def cost(make: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return the least processor time of three runs."""
    taken = []
    for _ in range(3):
        work = make(size)
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


#: Times of what is made at a size, and compares them.
InProportion = Callable[[Callable[[int], Callable[[], object]]], None]


@pytest.fixture(params=SIZES, ids=lambda sizes: f"{sizes[1]}")
def in_proportion(request: pytest.FixtureRequest) -> InProportion:
    few, many = request.param

    def compare(make: Callable[[int], Callable[[], object]]) -> None:
        make(few)()  # compiles kernels
        small, large = cost(make, few), cost(make, many)
        assert large < MOST * max(small, LEAST), f"{small:.3f} s at {few}, {large:.3f} s at {many}"

    return compare


def compiled(text: str, types: dict[str, pa.DataType] = TYPES) -> RowExpression:
    return compile_row_expression(text, types, zone="UTC", errors="null")


def rows(columns: int = 0) -> pa.Table:
    chance = np.random.default_rng(1)
    table = pa.table({"x": np.arange(ROWS), "v": chance.uniform(0, 100, ROWS)})
    for number in range(columns):
        table = table.append_column(f"c{number}", pa.array(np.arange(ROWS) % (number + 2)))
    return table


def chooser(number: int, predicate: RowExpression | None) -> QueryProgram:
    nothing = ProgramInput(ArrowColumns((), pa.schema([])), predicate)
    answers = AnswerColumns((), (("x", compiled("x")),))
    return QueryProgram(number, (nothing,), None, answers)


def rule() -> StreamRule:
    columns = ArrowColumns((("on", Name("x")),), pa.schema([("on", pa.int64())]))
    return StreamRule(INTEGER, columns, Punctuator(5))


def windows(number: int, key: str | None = None) -> QueryProgram:
    first = [("on", Name("x"))] + ([] if key is None else [("k0", Name(key))])
    schema = pa.schema([(name, pa.int64()) for name, _ in first])
    keys = () if key is None else (pa.int64(),)
    operator = WindowOperator(INTEGER, Edges(20, 10, 0, False), keys, (COUNT,), pa.int64())
    return QueryProgram(number, (ProgramInput(ArrowColumns(tuple(first), schema)),), operator, None)


def routed_and_stepped(network: QueryNetwork, table: pa.Table) -> object:
    routed = network.route(table)
    arrived: dict[tuple[str, int], list[pa.Table]] = {}
    for group, part in routed.parts:
        arrived.setdefault((group, part.source), []).append(part.routed.partial)
    return network.step(MemoryState(), arrived, Punctuation(None, ROWS - 5, ROWS), None)


def test_queries_that_choose_rows(in_proportion: InProportion) -> None:
    table = rows()

    def make(size: int) -> Callable[[], object]:
        low = np.linspace(0, 99, size)
        programs = [
            chooser(n, compiled(f"v >= {a:.4f} AND v < {a + 100 / size:.4f}"))
            for n, a in enumerate(low)
        ]
        return lambda: QueryNetwork(rule(), tuple(programs)).route(table)

    in_proportion(make)


def test_window_queries(in_proportion: InProportion) -> None:
    table = rows()

    def make(size: int) -> Callable[[], object]:
        programs = tuple(windows(number) for number in range(size))
        return lambda: routed_and_stepped(QueryNetwork(rule(), programs), table)

    in_proportion(make)


def test_columns_of_a_stream(in_proportion: InProportion) -> None:
    def make(size: int) -> Callable[[], object]:
        types = {f"c{n}": pa.int64() for n in range(size)}
        programs = tuple(chooser(n, compiled(f"c{n} = 1", types)) for n in range(size))
        table = rows(size).slice(0, 200)
        return lambda: QueryNetwork(rule(), programs).route(table)

    in_proportion(make)


def test_groups_with_different_keys(in_proportion: InProportion) -> None:
    def make(size: int) -> Callable[[], object]:
        programs = tuple(windows(number, f"c{number}") for number in range(size))
        table = rows(size).slice(0, 50)
        return lambda: routed_and_stepped(QueryNetwork(rule(), programs), table)

    in_proportion(make)


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "x IN (" + ", ".join(map(str, range(0, 3 * n, 3))) + ")",
        lambda n: "NOT (" + " AND ".join(f"x <> {3 * k}" for k in range(n)) + ")",
        lambda n: " AND ".join(f"x <> {3 * k}" for k in range(n)),
        lambda n: " AND ".join(f"v + {k} > {k}" for k in range(n)),
    ],
    ids=["IN", "NOT of one part", "AND of one part", "AND of many parts"],
)
def test_conditions_of_a_query(text: Callable[[int], str], in_proportion: InProportion) -> None:
    table = rows().slice(0, 200)

    def make(size: int) -> Callable[[], object]:
        predicate = compiled(text(size))
        return lambda: PredicateSets.of([(1, predicate)]).evaluate(table)

    in_proportion(make)


def test_results_of_a_micro_batch(in_proportion: InProportion) -> None:
    """A hundred windows of each member close at once."""

    def make(size: int) -> Callable[[], object]:
        members = tuple(Member(n, Edges(2, 1, 0, False), (COUNT,), "keep") for n in range(size))
        work = SharedWindows(INTEGER, (), pa.int64(), members)
        sets = MemberSets(np.array([0, size]), np.arange(size))
        routed = work.route(
            pa.table({"on": pa.array(np.arange(100))}), np.zeros(100, np.int64), sets
        )
        batch = InputBatch([routed.routed.partial], Punctuation(None, 90, 99))
        return lambda: work.step(MemoryState(), batch)

    in_proportion(make)


def test_answers_in_the_result_log(tmp_path: Path, in_proportion: InProportion) -> None:
    numbers = iter(range(1000))
    answer = pa.table({"k": ["b", "a"], "n": [1, 2]})

    def make(size: int) -> Callable[[], object]:
        log = ResultLog(tmp_path / str(next(numbers)))
        answers = dict.fromkeys(range(size), answer)
        order = dict.fromkeys(range(size), ("k",))
        return lambda: (log.write(0, answers, order), [log.read([n]) for n in range(0, size, 10)])

    in_proportion(make)


def test_versions_one_after_the_other(tmp_path: Path, in_proportion: InProportion) -> None:
    numbers = iter(range(1000))
    program = to_json(chooser(0, None))

    def make(size: int) -> Callable[[], object]:
        files = VersionFiles(str(tmp_path / str(next(numbers))))

        def work() -> None:
            parent: Pin | None = None
            for version in range(1, size + 1):
                gone = [version - 5] if version > 5 else []
                parent = files.write(version, parent, {version: program}, gone)
                files.pin(version, parent)
                files.forget_before(version - 100)

        return work

    in_proportion(make)


def test_a_program_is_read_in_proportion(in_proportion: InProportion) -> None:
    def make(size: int) -> Callable[[], object]:
        texts = [to_json(windows(number)) for number in range(size)]
        return lambda: [from_json(text) for text in texts]

    in_proportion(make)


def test_a_commit_after_many_queries_were_dropped(tmp_path: Path) -> None:
    """What each commit asks of the registry does not depend on how many queries there once were."""
    program = to_json(chooser(0, None))
    registry = Registry(tmp_path)
    registry.log("s", "create_stream", None, {})
    taken = []
    for _ in range(4):
        for number in range(25):
            added = registry.add("s", f"query {number}", "SELECT x FROM s", program)
            registry.log("s", "drop", added.query.id, {})
        change = registry.next_version("s")
        assert change is not None
        registry.record_version("s", change.number, "digest")
        for command in registry.unacknowledged("s", change.number):
            registry.acknowledge(
                command.seq, micro_batch=1, epoch=1, punctuation=None, filled="no", how="in place"
            )
        began = time.process_time()
        for _ in range(50):
            registry.live("s")
            registry.unacknowledged("s", change.number)
            registry.drop_ended_previews("s")
            registry.next_version("s")
        taken.append(time.process_time() - began)
    registry.close()
    assert taken[-1] < 2 * max(taken[0], LEAST), taken
