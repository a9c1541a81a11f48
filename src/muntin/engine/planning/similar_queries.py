"""Planning a query that is like one before, without asking Spark again.

Spark analyses the first query of a shape, which takes most of the time of a registration. Two
queries have the same shape if they differ only in WHERE, which workers evaluate, and in how long
their windows are and how far these slide. Neither changes the type of any column. Whatever is
unusual is planned in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from muntin.engine.plan_query import PlannedQuery, plan_parsed
from muntin.engine.planning.preferences import plain_query
from muntin.errors import ArgumentError, CannotEvaluate
from muntin.operators.build import WindowOperatorInputs, build
from muntin.operators.protocol import Operator
from muntin.operators.shared.program import QueryProgram
from muntin.operators.windows.operator import WindowOperator
from muntin.parser.dialect import written
from muntin.parser.parse import parse_query
from muntin.parser.query import check_continuous
from muntin.parser.statements import Query, Windowing
from muntin.planner.aggregates import replaced
from muntin.planner.relations import Columns
from muntin.planner.translate import tables_of
from muntin.spark.api.stream import Stream
from muntin.spark.plan.worker_program import carried_schema, condition_of, zone_of
from muntin.specs.axis import Axis, Domain
from muntin.specs.windows import Window

#: So many shapes are remembered; the oldest goes first.
_MOST_SHAPES = 1000
#: The methods whose windows a shape leaves open, and the arguments that say how long they are.
_LENGTHS = {"window": ("range", "slide"), "tumbling": ("length",)}
#: On an axis with decimals, these depend on the lengths of windows.
_WITH_DECIMALS = (Domain.DECIMAL, Domain.DOUBLE)


@dataclass
class SimilarQueries:
    """Plans the queries of one stream, and remembers their shapes.

    ``inputs`` are those of the stream, by name, and ``axis`` is theirs. ``beyond`` are the same
    inputs with all columns of their sources, if Spark may prepare what workers cannot evaluate.
    """

    inputs: Mapping[str, Stream]
    axis: Axis
    beyond: Mapping[str, Stream] | None = None
    _shapes: dict[str, PlannedQuery] = field(default_factory=dict)

    def plan(self, text: str) -> PlannedQuery:
        """Plan a query, with the help of one that has its shape if there was one."""
        query = parse_query(text)
        check_continuous(query)
        return self.plan_parsed(query)

    def plan_parsed(self, query: Query) -> PlannedQuery:
        """Plan a query that was parsed, without a look at when it is asked."""
        query = plain_query(query, self.inputs, self.axis)
        shape = self._shape(query)
        known = None if shape is None else self._shapes.get(shape)
        if known is not None:
            try:
                return self._like(query, known)
            except (ArgumentError, CannotEvaluate):
                pass  # planned in full, it is refused with the place of the mistake
        declared = {name: (stream, self.axis) for name, stream in self.inputs.items()}
        planned = plan_parsed(query, declared, self.beyond)
        usual = planned.finish is None and not planned.program.prepared
        if shape is not None and usual and self._usual(planned.program, query):
            self._remember(shape, planned)
        return planned

    def _shape(self, query: Query) -> str | None:
        """Return a text that only queries of one shape have; None if the query is unusual."""
        tree = query.tree
        usual = isinstance(tree, exp.Select) and not (
            query.alignments or query.hyphenated or query.per_window or query.unbounded
        )
        if not usual or len(query.windowings) > 1 or len(list(tree.find_all(exp.Query))) > 1:
            return None
        clauses = [_open_clause(clause) for clause in query.windowings.values()]
        if None in clauses:
            return None
        rest = tree.copy()
        rest.set("where", None)
        if len({name.casefold() for name in tables_of(query)}) != 1:
            return None
        return repr((zone_of(next(iter(self.inputs.values()))), written(rest), clauses))

    def _usual(self, program: QueryProgram, query: Query) -> bool:
        """Return True if the windows of a program can be replaced by others."""
        if not query.windowings:
            return program.operator is None
        return (
            isinstance(program.operator, WindowOperator)
            and not program.operator.edges.landmark
            and self.axis.domain not in _WITH_DECIMALS
        )

    def _remember(self, shape: str, planned: PlannedQuery) -> None:
        if len(self._shapes) >= _MOST_SHAPES:
            del self._shapes[next(iter(self._shapes))]
        self._shapes[shape] = planned

    def _like(self, query: Query, known: PlannedQuery) -> PlannedQuery:
        """Return the plan of a query that has the shape of another."""
        program = known.program
        inputs = (replace(program.inputs[0], predicate=None),)
        stream = tuple(self.inputs.values())[program.inputs[0].of]
        carried = carried_schema(stream)
        if (where := query.tree.args.get("where")) is not None:
            table = query.tree.args["from_"].this
            columns = Columns(table.alias_or_name, carried.names)
            text = written(replaced(where.this, columns.bare))
            text = f"({text})" if query.windowings else text
            predicate = condition_of(text, carried, zone_of(stream))
            inputs = (replace(inputs[0], predicate=predicate),)
        program = replace(program, inputs=inputs)
        for clause in query.windowings.values():
            operator = self._windows(clause, stream, program.operator)
            program = replace(program, operator=operator)
        return replace(known, text=query.text, program=program)

    def _windows(self, clause: Windowing, stream: Stream, operator: Operator | None) -> Operator:
        """Return the operator of another query with the windows of a clause."""
        assert isinstance(operator, WindowOperator)  # else the shape is not remembered
        given = clause.arguments
        lengths = [given[name] for name in _LENGTHS[clause.method]]
        window = Window(lengths[0], lengths[-1], stream.on, given.get("origin"))
        disorder = stream.disorder
        slack = () if disorder is None else disorder.lengths
        typed = WindowOperatorInputs(
            axis=operator.axis,
            keys=operator.keys,
            ranked_keys=0,
            calls=operator.calls,
            bound_type=operator.bound_type,
            lateness_type=operator.lateness_type,
            late=operator.late,
            unfinished=operator.unfinished,
            lag=sum(self.axis.length("slack", length) for length in slack),
            slide_axis=None,
            ties=(),
        )
        return build(window, typed)


def _open_clause(clause: Windowing) -> tuple[object, ...] | None:
    """Return what a shape has of a clause; None if more than lengths may differ."""
    lengths = _LENGTHS.get(clause.method)
    unusual = clause.fills or clause.interval or clause.disorder or clause.on
    if lengths is None or unusual or not set(lengths) <= {*clause.arguments}:
        return None
    rest = {name: value for name, value in clause.arguments.items() if name not in lengths}
    return clause.table, clause.alias, clause.method, repr(sorted(rest.items())), clause.by
