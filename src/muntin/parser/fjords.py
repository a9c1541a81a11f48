"""``AVG(s.speed, INTERVAL '5' MINUTES)``: a windowed aggregate of Fjords [FJ-5].

The second argument is the length of tumbling windows: the same as a bracket
``[TUMBLING 5 MINUTES]`` after the relation.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from muntin.parser.dialect import offset_of
from muntin.parser.errors import SqlError, place_at
from muntin.parser.expressions import check_length
from muntin.parser.relations import Found
from muntin.parser.statements import Windowing

#: Aggregates with one argument: a second one can only be a window.
_OF_ONE = ("avg", "mean", "sum", "min", "max", "count", "median", "stddev", "variance")


def find_windowed_aggregates(tree: exp.Expr, found: Found) -> None:
    """Turn the windowed aggregates of every SELECT into windows of its relation."""
    for select in list(tree.find_all(exp.Select)):
        calls = [
            call
            for call in select.find_all(exp.Anonymous)
            if call.find_ancestor(exp.Select) is select
        ]
        windowed = [call for call in calls if _interval(call) is not None]
        if windowed:
            _rewrite(select, windowed, found)


def _interval(call: exp.Anonymous) -> exp.Expr | None:
    """Return the interval that is the second argument of an aggregate; None if there is none."""
    if str(call.this).lower() not in _OF_ONE or len(call.expressions) != 2:
        return None
    last = call.expressions[1]
    return last if isinstance(last, exp.Interval) else None


def _rewrite(select: exp.Select, calls: Sequence[exp.Anonymous], found: Found) -> None:
    lengths = {_length(call, found.text): call for call in calls}
    if len(lengths) > 1:
        _, second = list(lengths.items())[1]
        problem = "the windowed aggregates of one query have windows of the same length"
        raise SqlError(problem, found.text, offset_of(second) or 0)
    table = _relation(select, calls[0], found.text)
    _check_plain(table, calls[0], found)
    place = place_at(found.text, offset_of(calls[0]) or 0)
    name = found.fresh_name()
    found.windowings[name] = Windowing(
        table=".".join(part.name for part in table.parts),
        alias=table.alias_or_name,
        method="tumbling",
        arguments={"length": next(iter(lengths))},
        on=None,
        by=None,
        disorder=None,
        fills=(),
        places={"length": place},
        place=place,
    )
    alias = table.alias_or_name
    table.replace(exp.alias_(exp.to_table(name), alias, table=True))
    for call in calls:
        call.set("expressions", call.expressions[:1])


def _check_plain(table: exp.Table, call: exp.Anonymous, found: Found) -> None:
    """Raise if the relation has windows already, or is a join."""
    if table.name in found.windowings:
        problem = f"there are two windows: {call.name} has one, and {table.alias} has its own"
        raise SqlError(problem, found.text, offset_of(call) or 0, expected="one of them")
    if table.name in found.alignments:
        problem = f"{call.name} has a window, and {table.alias} is not a plain relation"
        expected = f"(SELECT * FROM {found.alignments[table.name].method}(...)) [TUMBLING ...]"
        raise SqlError(problem, found.text, offset_of(call) or 0, expected=expected)


def _length(call: exp.Anonymous, text: str) -> str:
    interval = call.expressions[1]
    number = interval.this.name if interval.this else ""
    length = f"{number} {interval.text('unit')}".strip().lower()
    check_length(length, text, offset_of(call) or 0)
    return length


def _relation(select: exp.Select, call: exp.Anonymous, text: str) -> exp.Table:
    """Return the relation whose column is aggregated: the one with its alias, or the only one."""
    from_ = select.args.get("from_")
    joined = [join.this for join in select.args.get("joins") or []]
    tables = [t for t in [from_.this if from_ else None, *joined] if isinstance(t, exp.Table)]
    column = call.find(exp.Column)
    wanted = column.table if column is not None else ""
    fitting = [t for t in tables if not wanted or t.alias_or_name.lower() == wanted.lower()]
    if len(fitting) != 1:
        problem = (
            f"{call.name or 'this aggregate'} has a window, and it is not clear over which relation"
        )
        raise SqlError(problem, text, offset_of(call) or 0, expected="a column such as s.speed")
    return fitting[0]
