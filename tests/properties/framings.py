"""Random framings, and how to run their operators without Spark."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
from hypothesis import strategies as st

from muntin.aggregates.definition import AggregateCall
from muntin.aggregates.functions import Aggregate
from muntin.aggregates.parse_conditions import parse_bridge, parse_with_previous
from muntin.errors import ArgumentError
from muntin.expressions.nodes import Comparison, Node, Slot, Text
from muntin.operators.frames.arrow_kind import FrameOperatorInputs
from muntin.operators.frames.build import build
from muntin.operators.frames.kinds.aggregate import KNOWN_TO_KERNELS
from muntin.operators.frames.ordered_rows import Bridge, CombinedTies, RowCondition
from muntin.operators.protocol import InputBatch, MemoryState, Operator, Punctuation
from muntin.reference import aggregates
from muntin.reference.frames.frames import FrameReference
from muntin.reference.windows import END, Evaluate, MicroBatch, Outcome
from muntin.specs.axis import Axis, Domain
from muntin.specs.frames.boundary_levels import level, level_of_time
from muntin.specs.frames.frame_kind import FrameKind, Starting
from muntin.specs.frames.framing import Framing
from muntin.specs.frames.kinds import (
    AggregateCondition,
    Between,
    Boundary,
    Crossing,
    Delta,
    Threshold,
    Trend,
    TrendRuns,
)
from muntin.specs.frames.pattern import Pattern, parse_pattern
from muntin.specs.frames.row_kinds import Cluster, Density, Region
from muntin.specs.frames.schemes import Schedule, Scheme
from muntin.specs.lengths import Duration, Number
from tests.properties import measures
from tests.properties.arriving import (
    DISTANCES,
    LENGTHS,
    ON_TYPES,
    RULES,
    SLOT_TYPES,
    SLOTS,
    WITHOUT_KEYS,
    Arrivals,
    Ran,
    arrivals,
    row_values,
    some_rows,
    steps,
)
from tests.properties.harness import EVERY_SLOT, Called, bound_calls, evaluators

Row = dict[str, Any]
#: Columns that no aggregate reads; ``w`` has the type that Spark gives to Python's Decimal.
OTHERS = {
    "w": pa.decimal128(38, 18),
    "f": pa.float32(),
    "o": pa.date32(),
    "t": pa.timestamp("us", tz="UTC"),
    "n": pa.timestamp("us"),
}
TYPES = {**dict(zip(SLOTS, SLOT_TYPES, strict=True)), **OTHERS}
#: The axes of the columns of times, and lengths by which they move.
TIMES = {
    "o": Axis(Domain.DATE),
    "t": Axis(Domain.TIMESTAMP),
    "n": Axis(Domain.TIMESTAMP_NTZ),
}
MOVES = {"o": ("1 day", "2 days"), **dict.fromkeys("tn", ("1 hour", "90 minutes", "1 day"))}
#: The aggregates of frames; few, because other tests check the aggregates.
CALLS: tuple[Called, ...] = (
    ("count", (), ()),
    ("sum", (1,), ()),
    ("first", (0,), ()),
    ("last", (2,), ()),
    ("max", (4,), ()),
    ("median", (0,), ()),
)


@dataclass(frozen=True)
class FrameCase(Arrivals):
    """A framing, and the rows that arrive for it."""

    framing: Framing
    column: str
    calls: Sequence[Called] = ()

    @property
    def axis(self) -> Axis:
        scale = 1 if self.domain is Domain.DECIMAL else 0
        return self.framing.axis(self.domain, scale=scale, zone="UTC", also=self.disorder.finest)

    def read(self, row: Row) -> Any:
        """Return what the kind reads of a row."""
        kind = self.framing.kind
        value = row.get(self.column)
        match kind:
            case Threshold() | Region():
                return row["b"]
            case Between():
                return row["b"] is True, row["s"] == "a"
            case Crossing(aggregate=Aggregate() as deciding):
                return None if measures.lacks(deciding, row) else True
            case AggregateCondition(aggregates=deciding_all):
                return None if any(measures.lacks(a, row) for a in deciding_all) else True  # type: ignore[arg-type]
            case Boundary(every=Number() as every):
                return level(value, every.value)
            case Boundary(every=Duration() as every):
                return level_of_time(value, every, TIMES[self.column])
        return value

    def reference(self) -> FrameReference:
        kind = self.framing.kind
        return FrameReference(
            framing=self.framing,
            axis=self.axis,
            by=self.by,
            reading=self.read,
            reading_after=self.read_after if isinstance(kind, Pattern) else None,
            aggregate=_meaning(kind),
            along=lambda row: row[self.column],
            starts=lambda row: row["s"] == "a",
            until=lambda row: row["until"],
            bridged=BRIDGES.get(self.framing.missing, rising),
            tie=lambda row: row["tie"],
            combine=self.combine,
            aggregates={f"r{place}": evaluate for place, evaluate in enumerate(self.meanings())},
        )

    def read_after(self, before: Row | None, row: Row) -> frozenset[str] | None:
        """Return the names of a pattern whose conditions a row satisfies."""
        assert isinstance(self.framing.kind, Pattern)
        held = {
            name: ROW_CONDITIONS[str(text)](before, row)
            for name, text in self.framing.kind.conditions
        }
        names = frozenset(name for name, holds in held.items() if holds)
        return None if not names and None in held.values() else names

    @property
    def _row_conditions(self) -> tuple[RowCondition, ...]:
        """The conditions of a pattern, as the parser reads them; columns are delivered."""
        kind = self.framing.kind
        if not isinstance(kind, Pattern):
            return ()
        conditions = []
        for _, text in kind.conditions:
            tree, slots = with_previous(str(text))
            conditions.append(
                RowCondition(tree, tuple((row, SLOTS.index(name)) for row, name in slots))
            )
        return tuple(conditions)

    def meanings(self) -> list[Evaluate]:
        return [evaluators([called])["r0"] for called in self.calls]

    def operator(self) -> Operator:
        return build(self.framing, self.typed())

    def typed(self) -> FrameOperatorInputs:
        """Return the inputs of the operator that a plan over these columns has."""
        _, bound_type, _ = ON_TYPES[self.domain]
        chosen = self.framing.ties in ("first", "last")
        return FrameOperatorInputs(
            axis=self.axis,
            keys=(pa.string(),),
            calls=tuple(map(self._placed, (*self._measured, *bound_calls(self.calls)))),
            bound_type=bound_type,
            lateness_type=pa.duration("us") if self.domain.temporal else bound_type,
            read=self.read_types,
            ties=(pa.int64(),) if chosen else (),
            bridge=self._bridge,
            combined=self._combined,
            row_conditions=self._row_conditions,
        )

    def _slot(self, place: int) -> int:
        """Return the place of a slot; the slot of a density comes first, as in a plan."""
        if not isinstance(self.framing.kind, Density) or self.column == "*":
            return place
        first = SLOTS.index(self.column)
        return {0: first, first: 0}.get(place, place)

    def _placed(self, call: AggregateCall) -> AggregateCall:
        return replace(call, slots=tuple(map(self._slot, call.slots)))

    @property
    def _bridge(self) -> Bridge | None:
        """The condition on missing rows, as the parser reads it."""
        if not self.framing.predicted:
            return None
        tree, written = parse_bridge(str(self.framing.missing))
        sides = [column.split(".") for column in written]
        slots = tuple((side, self._bridged.index(name)) for side, name in sides)
        return Bridge(tree, slots, tuple(TYPES[name] for name in self._bridged))

    @property
    def _bridged(self) -> list[str]:
        """The columns that the condition on missing rows reads."""
        text = str(self.framing.missing)
        return [name for name in SLOTS if re.search(rf"\b(prev|next)\.{name}\b", text)]

    @property
    def _combined(self) -> CombinedTies | None:
        """How the columns of rows that tie are combined; None if they are not."""
        if not self.framing.combines_ties:
            return None
        calls = [
            AggregateCall(self._tied_by(name), name, (0,), (TYPES[name],), True)
            for name in self._tied_columns
        ]
        derived: list[tuple[str, Node]] = [
            (f"s{self._slot(p)}", Slot(p)) for p in range(len(SLOTS))
        ]
        starts = Comparison("=", Slot(SLOTS.index("s")), Text("a"))
        place = 0 if self.column == "*" else self._tied_columns.index(self.column)
        match self.framing.kind:
            case Threshold():
                derived.append(("f0", Slot(SLOTS.index("b"))))
            case Between():
                derived += [("f0", Slot(SLOTS.index("b"))), ("f1", starts)]
            case Pattern():
                derived += [(f"f{p}", Slot(p)) for p in range(len(SLOTS))]
            case _ if self.read_types:
                derived.append(("f0", Slot(place)))
        kind = self.framing.kind
        if isinstance(kind, Starting) and kind.start is not None:
            derived.append(("opens", starts))
        derived += [(f"m{p}", Slot(SLOTS.index(name))) for p, name in enumerate(self._bridged)]
        return CombinedTies(tuple(calls), tuple(derived))

    def combine(self, rows: Sequence[Row]) -> Row:
        """Return rows that tie as one row."""
        first = min(rows, key=lambda row: row["on"])
        how = {name: aggregates.FUNCTIONS[self._tied_by(name)] for name in self._tied_columns}
        return {**first, **{n: evaluate([row[n] for row in rows]) for n, evaluate in how.items()}}

    @property
    def _tied_columns(self) -> list[str]:
        """The columns that rows that tie combine: the slots, and the column that the kind reads."""
        return [*SLOTS, *(name for name in OTHERS if name == self.column)]

    def _tied_by(self, column: str) -> str:
        """Return the aggregate that combines a column of rows that tie."""
        how = self.framing.ties
        named = dict(how)[column] if isinstance(how, tuple) else str(how)
        return "avg" if named == "mean" else named

    @property
    def _measured(self) -> tuple[AggregateCall, ...]:
        """The call of the aggregate of a density, if the kind is one."""
        kind = self.framing.kind
        if not isinstance(kind, Density):
            return ()
        assert isinstance(kind.aggregate, Aggregate)
        return (measures.call(kind.aggregate),)

    @property
    def read_types(self) -> tuple[pa.DataType, ...]:
        match self.framing.kind:
            case Threshold():
                return (pa.bool_(),)
            case Between():
                return (pa.bool_(), pa.bool_())
            case Density() | Cluster(weight=None):
                return ()
            case Region():
                return (pa.bool_(), TYPES[self.column])
            case Pattern():
                return tuple(SLOT_TYPES)
            case Crossing(aggregate=Aggregate() as deciding):
                return measures.types(deciding)
            case AggregateCondition() as condition:
                return tuple(type_ for type_, _ in measures.operands(condition, ()))
        return (TYPES[self.column],)

    def table(self, rows: Sequence[Row]) -> pa.Table:
        table = super().table(rows)
        match self.framing.kind:
            case Threshold():
                read: list[list[Any]] = [[row["b"] for row in rows]]
            case Between():
                read = [[row["b"] for row in rows], [row["s"] == "a" for row in rows]]
            case Region():
                read = [[row["b"] for row in rows], [row[self.column] for row in rows]]
            case Density() | Cluster(weight=None):
                read = []
            case Pattern():
                read = [[row[name] for row in rows] for name in SLOTS]
            case Crossing(aggregate=Aggregate() as deciding):
                slots = [measures.slots(deciding, row) for row in rows]
                read = [[each[p] for each in slots] for p in range(len(self.read_types))]
            case AggregateCondition() as condition:
                read = [values for _, values in measures.operands(condition, rows)]
            case _:
                read = [[row[self.column] for row in rows]]
        for place, (values, type_) in enumerate(zip(read, self.read_types, strict=True)):
            table = table.append_column(f"f{place}", pa.array(values, type_, from_pandas=False))
        for place in range(len(SLOTS)):
            table = table.append_column(f"c{place}", table[f"s{place}"])
        for place, name in enumerate(self._tied_columns[len(SLOTS) :], len(SLOTS)):
            others = pa.array([row[name] for row in rows], TYPES[name], from_pandas=False)
            table = table.append_column(f"c{place}", others)
        for place in range(len(SLOTS)):
            at = table.column_names.index(f"s{self._slot(place)}")
            table = table.set_column(at, f"s{self._slot(place)}", table[f"c{place}"])
        lacks = [self.read(row) is None for row in rows]
        table = table.append_column("lacks", pa.array(lacks, pa.bool_()))
        table = table.append_column(
            "opens", pa.array([row["s"] == "a" for row in rows], pa.bool_())
        )
        table = table.append_column("t0", pa.array([row["tie"] for row in rows], pa.int64()))
        for place, name in enumerate(self._bridged):
            values = [row[name] for row in rows]
            table = table.append_column(
                f"m{place}", pa.array(values, TYPES[name], from_pandas=False)
            )
        until = pa.array([row["until"] for row in rows], ON_TYPES[self.domain][0])
        return table.append_column("until", until)

    def run(self, operator: Operator | None = None) -> Ran:
        """Run the steps; two tasks have the halves of each micro-batch."""
        halves = [len(rows) // 2 for rows in self.batches]
        dealt = [(r[:half], r[half:]) for r, half in zip(self.batches, halves, strict=True)]
        return steps(operator or self.operator(), self, dealt)

    def expected(self) -> Outcome:
        return self.reference().run(self.punctuated())

    def run_at_once(self) -> Ran:
        """Run one step with all rows and then their end, as the batch driver does."""
        work, ran = self.operator(), Ran()
        routed = work.map_sides[0].route(self.table(self.data()))
        end = Punctuation(None, None, routed.progress, ended=True)
        ran.refused += [reason for reason, n in routed.refused.items() for _ in range(n)]
        ran.take(work.step(MemoryState(), [InputBatch([routed.partial], end)]))
        return ran

    def expected_at_once(self) -> Outcome:
        return self.reference().run([MicroBatch(self.data(), END)])


def rising(before: Row, after: Row) -> bool | None:
    """``prev.v < next.v``"""
    if before["v"] is None or after["v"] is None:
        return None
    return bool(before["v"] < after["v"]) or (
        after["v"] != after["v"] and before["v"] == before["v"]
    )


def chosen(before: Row, after: Row) -> bool | None:
    """``CASE WHEN prev.i IS NULL THEN next.s LIKE 'a%' ELSE prev.i % 2 <= 0 END``"""
    if before["i"] is not None:
        return math.fmod(before["i"], 2) <= 0
    return None if after["s"] is None else str(after["s"]).startswith("a")


#: Conditions on the rows around a missing one, and their reference functions.
BRIDGES: dict[object, Callable[[Row, Row], bool | None]] = {
    str(meaning.__doc__).strip("`"): meaning for meaning in (rising, chosen)
}


def with_previous(text: str) -> tuple[Node, list[tuple[Literal["this", "prev"], str]]]:
    """Return a condition on a row and the one before it, and the row and column of each slot."""
    read = parse_with_previous(text, columnwise=True)
    if read is None:
        tree, written = parse_bridge(text)
        return tree, [("this", name) for name in written]
    tree, parts = read
    return tree, [(part.row, part.columns[0]) for part in parts]


def _true(before: Row | None, row: Row) -> bool | None:
    """``b``"""
    return row["b"]


def _lettered(before: Row | None, row: Row) -> bool | None:
    """``s = 'a'``"""
    return None if row["s"] is None else bool(row["s"] == "a")


def _rises(before: Row | None, row: Row) -> bool | None:
    """``i > prev.i``"""
    if before is None or before["i"] is None or row["i"] is None:
        return None
    return bool(row["i"] > before["i"])


def _was_true(before: Row | None, row: Row) -> bool | None:
    """``prev.b``"""
    return None if before is None else before["b"]


def _stays_low(before: Row | None, row: Row) -> bool | None:
    """``coalesce(prev.i, 0) <= 1 AND i IS NOT NULL``"""
    last = 0 if before is None or before["i"] is None else before["i"]
    return bool(last <= 1) and row["i"] is not None


#: Conditions of patterns, and their reference functions.
ROW_CONDITIONS: dict[str, Callable[[Row | None, Row], bool | None]] = {
    str(meaning.__doc__).strip("`"): meaning
    for meaning in (_true, _lettered, _rises, _was_true, _stays_low)
}
#: Patterns of at most three names.
PATTERNS = (
    *("x+", "x y", "x+ y", "x{2}", "x (y x)*", "x y? z", "(x | y z){1,2}", "x+ y{1,2} z?"),
    *("x (y* z)?", "x{2,} | y", "(x y?)+ z*", "(x | x y) z{0,2}"),
)


def _meaning(kind: FrameKind) -> Evaluate | None:
    """Return the reference function of the aggregate that decides about frames."""
    if isinstance(kind, AggregateCondition):
        return measures.condition_truth(kind.text)
    if not isinstance(kind, Crossing | Density):
        return None
    assert isinstance(kind.aggregate, Aggregate)
    return measures.evaluator(kind.aggregate)


#: The aggregates of densities.
DENSITIES = tuple(filter(measures.is_plain, measures.MEASURES))


def _column(aggregate: Aggregate) -> str:
    return next(iter(measures.names(aggregate)), "*")


#: The kinds of frames, by the word for them here.
KINDS = (
    *("threshold", "boundary", "delta", "measure", "condition", "trend", "between"),
    *("density", "cluster", "region", "pattern"),
)


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Draw a pattern; about half of them have conditions that read the row before."""
    tree = parse_pattern(draw(st.sampled_from(PATTERNS)))
    texts = [*ROW_CONDITIONS] if draw(st.booleans()) else ["b", "s = 'a'"]
    return Pattern(str(tree), {name: draw(st.sampled_from(texts)) for name in tree.names})


@st.composite
def kinds(draw: st.DrawFn, domain: Domain, words: Sequence[str]) -> tuple[FrameKind, str]:
    """Draw a kind of frame, one of these, and the column that it reads."""
    start = draw(st.sampled_from([None, None, "s = 'a'"]))
    restart = None if start is None else draw(st.sampled_from(["close", "drop", "continue"]))
    match draw(st.sampled_from(words)):
        case "threshold":
            return Threshold("b"), "b"
        case "boundary":
            column = draw(st.sampled_from(["v", "i", "s", "d", "b", *OTHERS]))
            steps_of = MOVES.get(column, ("1", "1.5") if column in "vidwf" else ())
            every = draw(st.sampled_from([None, *steps_of]))
            return Boundary(column, every), column
        case "delta":
            column = draw(st.sampled_from(["v", "i", "d", *TIMES]))
            size = draw(st.sampled_from(MOVES.get(column, ("0.5", "1", "2.25"))))
            against = draw(st.sampled_from(["range", "first"]))
            span = draw(st.sampled_from(["maximal", "minimal"]))
            return Delta(column, size, against, span, start, restart), column
        case "measure":
            deciding = draw(st.sampled_from(measures.MEASURES))
            sign = draw(st.sampled_from(["<", "<=", ">", ">="]))
            limit = draw(st.sampled_from(measures.limits()))
            span = draw(st.sampled_from([None, None, "maximal", "minimal"]))
            return Crossing(deciding, sign, limit, span, start, restart), _column(deciding)
        case "condition":
            text = draw(st.sampled_from(list(measures.CONDITIONS)))
            span = draw(st.sampled_from([None, "maximal", "minimal"]))
            return measures.condition(text, span, start, restart), "*"
        case "trend":
            column = draw(st.sampled_from(["v", "i", "d", *OTHERS]))
            direction = draw(st.sampled_from(["increasing", "decreasing", "flat", None, None]))
            if direction is None:
                return TrendRuns(column), column
            return Trend(column, direction, draw(st.booleans())), column
        case "density":
            measuring = draw(st.sampled_from(DENSITIES))
            sign = draw(st.sampled_from(["<", "<=", ">", ">="]))
            limit = draw(st.sampled_from(measures.limits()))
            per = LENGTHS[domain](draw(st.integers(1, 8)))
            return Density(measuring, sign, limit, per), _column(measuring)
        case "cluster":
            rate = draw(st.sampled_from([0.1, 0.5, 2.0]))
            weight = draw(st.sampled_from([None, None, "i"]))
            p = draw(st.sampled_from([0.05, 0.4]))
            return Cluster(p, rate, LENGTHS[domain](4), weight), weight or "*"
        case "region":
            column = draw(st.sampled_from(["v", "i", "d"]))
            extent = draw(st.sampled_from([None, "0.5", "1", "2.5"]))
            prefer = draw(st.sampled_from(["longest", "widest", "all"]))
            return Region("b", column, extent, prefer), column
        case "pattern":
            return draw(patterns()), "b"
    return Between("b", "s = 'a'", draw(st.sampled_from(["both", "start", "end", "neither"]))), "b"


#: The values of rows; drawn together, because every draw takes time.
def _values(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    drawn = {
        "v": chance.choice([n / 2 for n in range(-2, 6)]),
        "i": chance.randint(-2, 4),
        "s": chance.choice(["a", "a", "b", ""]),
        "b": chance.random() < 0.7,
        "d": Decimal(chance.randint(-4, 8)).scaleb(-1) * 5,
        # With 18 decimals, few of these fit 64 bits.
        "w": Decimal(chance.choice(["-20.5", "0", "9.2", "9.5", "18.446744073709551616", "40"])),
        "f": chance.choice([-math.inf, -0.5, 0.25, 1.5, 1e30, math.inf]),
        "o": date(2026, 1, chance.randint(1, 4)),
        "t": datetime(2026, 1, 1, chance.randint(0, 3), tzinfo=UTC),
        "n": datetime(1969, 12, 31, 22) + timedelta(minutes=chance.randint(0, 7) * 30),
    }
    values: dict[str, Any] = {n: None if chance.random() < 0.15 else v for n, v in drawn.items()}
    if chance.random() < 0.05:
        values["v"] = math.nan
    return {**values, "tie": chance.randint(0, 10**6)}


VALUES = [_values(seed) for seed in range(200)]


#: How rows that tie are combined, by column; types do not change.
BY_COLUMN = {"v": "mean", "i": "sum", "s": "min", "b": "max", "d": "max"}


@st.composite
def schedules(draw: st.DrawFn, domain: Domain) -> Schedule:
    """Draw slots of a few units, counted from the epoch or from a place among the rows."""
    origin = draw(st.none() | st.integers(-3, 9).map(ON_TYPES[domain][2]))
    return Schedule(LENGTHS[domain](draw(st.integers(2, 5))), origin)


@st.composite
def framings(
    draw: st.DrawFn, domain: Domain, only: Sequence[FrameKind], words: Sequence[str]
) -> tuple[Framing, str]:
    """Draw a framing without contradictions, and its column."""
    kind, column = (draw(st.sampled_from(only)), "v") if only else draw(kinds(domain, words))
    length = LENGTHS[domain]
    few = st.integers(1, 9)

    def sometimes(strategy: st.SearchStrategy[Any], often: int = 3) -> Any:
        return draw(strategy) if draw(st.integers(0, often)) == 0 else None

    scheme = None
    if "advancing" in kind.schemes and draw(st.booleans()):
        scheme = draw(
            st.sampled_from(["advancing", "unconstrained"])
            | st.sampled_from([Scheme("cover"), Scheme("cover", fill="saturated")])
            | few.map(lambda n: Scheme("adjacent", overlap=length(n - 1)))
        )
    # A minimal frame grows until it meets its minima, which is drawn more often.
    minimal = kind.span == "minimal"
    options = {
        "min_duration": sometimes(few.map(length), 1 if minimal else 3),
        "max_duration": sometimes(st.integers(9, 20).map(length), 5),
        "min_count": sometimes(st.integers(1, 5 if minimal else 3), 1 if minimal else 3),
        "max_count": sometimes(st.integers(3, 6), 5),
        "cut": draw(st.booleans()),
        "scheme": scheme,
        "longest": draw(st.integers(0, 9)) == 0,
        "fragments": sometimes(few.map(length), 1),
        "missing": draw(st.sampled_from(["break", "satisfy", "carry", *BRIDGES])),
        "bounds": draw(st.sampled_from(["conservative", "liberal"])),
        "ties": draw(st.sampled_from(["fail", "refuse", "first", "last", "max", "min", BY_COLUMN])),
        "readings": draw(st.sampled_from(["point", "point", "until_next", "interval"])),
        "schedule": sometimes(schedules(domain), 2),
        "forget": sometimes(st.integers(1, 9).map(length), 2),
    }
    computed = isinstance(kind, Crossing) and not measures.is_plain(kind.aggregate)  # type: ignore[arg-type]
    computed = computed or isinstance(kind, AggregateCondition)
    if computed or column in OTHERS:
        ways = ["fail", "refuse", "first", "last", *(["max", "min"] if column in TIMES else [])]
        options["ties"] = draw(st.sampled_from(ways))
    if isinstance(kind, AggregateCondition) or (
        isinstance(kind, Crossing) and kind.aggregate.function not in KNOWN_TO_KERNELS  # type: ignore[attr-defined]
    ):
        options["scheme"] = None  # the frames of a condition evaluated row by row do not overlap
        kind = replace_restart(kind)
    if isinstance(kind, Cluster) and options["max_count"] is None:
        options["max_duration"] = options["max_duration"] or length(12)
    options["tie_order"] = "tie" if options["ties"] in ("first", "last") else None
    options["until"] = "until" if options["readings"] == "interval" else None
    return _agreeing(kind, options), column


def replace_restart(kind: Crossing | AggregateCondition) -> FrameKind:
    """Return the kind; where frames would go on beside others, they are dropped instead."""
    if kind.start is None or kind.restart != "continue":
        return kind
    if isinstance(kind, Crossing):
        return Crossing(kind.aggregate, kind.sign, kind.limit, kind.span, kind.start, "drop")
    return measures.condition(kind.text, kind.span, kind.start, "drop")


def _agreeing(kind: FrameKind, options: dict[str, Any]) -> Framing:
    """Return a framing without the options that contradict others."""
    while True:
        try:
            return Framing(kind, "on", **options)
        except ArgumentError as error:
            options = _without(options, str(error))


def _without(options: dict[str, Any], complaint: str) -> dict[str, Any]:
    usual: dict[str, Any] = {"bounds": "conservative", "readings": "point", "missing": "break"}
    usual |= {"ties": "fail", "cut": False}
    for name, words in (
        ("cut", "cut"),
        ("fragments", "fragments"),
        ("forget", "forget"),
        ("bounds", "liberal"),
        ("schedule", "schedule"),
        ("readings", "readings"),
        ("readings", "as points"),
        ("readings", "until_next"),
        ("min_duration", "min_duration"),
        ("min_count", "min_count"),
        ("max_count", "max_count"),
        ("missing", "missing"),
        ("ties", "ties"),
    ):
        if words in complaint and options[name] != usual.get(name):
            plain: dict[str, Any] = {**options, name: usual.get(name)}
            return {**plain, "until": None} if name == "readings" else plain
    raise AssertionError(complaint)


@st.composite
def frame_cases(
    draw: st.DrawFn,
    domains: Sequence[Domain] = tuple(Domain),
    kinds: Sequence[FrameKind] = (),
    words: Sequence[str] = KINDS,
) -> FrameCase:
    """Draw a case of the given kinds; if there are none, of any kind with one of these words."""
    domain = draw(st.sampled_from(domains))
    framing, column = draw(framings(domain, kinds, words))
    rows = draw(some_rows(row_values(domain, st.sampled_from(VALUES)), 16))
    whose = draw(st.sampled_from([["a"], ["a", "b", None]]))
    rows = [{**row, "k": whose[place % len(whose)]} for place, row in enumerate(rows)]
    gaps = draw(st.lists(st.integers(-1, 6), min_size=1, max_size=6))
    rows = [
        {**r, "until": _until(domain, r["on"], gaps[p % len(gaps)])} for p, r in enumerate(rows)
    ]
    scale = 1 if domain is Domain.DECIMAL else 0
    axis = framing.axis(domain, scale=scale, zone="UTC")
    # A rule that remembers every key for ever is refused where keys are forgotten.
    fields = draw(arrivals(domain, rows, RULES if framing.forget is None else WITHOUT_KEYS))
    if framing.ties == "fail":
        fields["batches"] = _one_each(fields["batches"], framing, column, axis)
    return FrameCase(
        framing=framing,
        column=column,
        calls=draw(st.sampled_from([(), (*EVERY_SLOT, *CALLS)])),
        **fields,
    )


def _until(domain: Domain, on: Any, gap: int) -> Any:
    if on is None or on != on or on in (math.inf, -math.inf):
        return None
    if gap < 0 and (hash(on) % 3):
        return None
    return on + DISTANCES[domain](max(gap, -1))


def _one_each(
    batches: Sequence[Sequence[Row]], framing: Framing, column: str, axis: Axis
) -> list[list[Row]]:
    """Return the micro-batches with the first of rows that tie."""
    along = isinstance(framing.kind, Region)
    seen: set[Any] = set()
    return [
        [row for row in rows if not _seen(row, seen, framing, column if along else None, axis)]
        for rows in batches
    ]


def _seen(row: Row, seen: set[Any], framing: Framing, along: str | None, axis: Axis) -> bool:
    """Return True if a row ties with one that was seen, and add it to these."""
    tick = axis.tick(row["on"])
    if tick is None:
        return False
    at = row["on"]
    if framing.schedule is not None:
        at = (tick - framing.schedule.start(axis)) // framing.schedule.period(axis)
    place = row["k"], at, None if along is None else row[along]
    tied = place in seen
    seen.add(place)
    return tied
