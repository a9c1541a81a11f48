"""Take a SELECT over windows apart: groups, aggregates, and expressions over their results.

Nothing here needs Spark: trees go in and trees come out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from muntin.parser.dialect import offset_of, written
from muntin.parser.errors import SqlError
from muntin.parser.statements import Query
from muntin.planner.aggregates import (
    FoundAggregates,
    any_aggregate,
    in_subquery,
    own_columns,
    replaced,
    without_subqueries,
)
from muntin.planner.errors import unknown_column
from muntin.planner.relations import OF_SOME_FRAMES, OF_WINDOWS, Columns

#: The names of computed groups begin with this.
GROUP = "_group_"
#: Parts of a SELECT, beside its list, HAVING and ORDER BY, that are about results.
_OTHERS = ("qualify", "windows", "distribute", "cluster", "sort", "distinct")


@dataclass(frozen=True)
class SelectParts:
    """A SELECT taken apart.

    ``computed`` are columns that rows need before windows are made: groups that are expressions,
    and columns of joined tables. ``items``, ``having``, ``order`` and ``others`` are over results,
    in which aggregates have the names of :func:`muntin.planner.aggregates.name_of`. ``others`` are
    parts such as QUALIFY, by their names in the tree.
    """

    items: tuple[exp.Expr, ...]
    having: exp.Expr | None
    order: exp.Order | None
    groups: tuple[str, ...]
    computed: dict[str, exp.Expr]
    aggregates: tuple[exp.Expr, ...]
    others: Mapping[str, list[exp.Expr] | exp.Expr]

    @property
    def expressions(self) -> Iterator[exp.Expr]:
        """All expressions over results."""
        yield from self.items
        yield from [part for part in (self.having, self.order) if part is not None]
        yield from _listed(self.others.values())

    def names(self) -> set[str]:
        """Return the columns in expressions over results."""
        return {column.name for tree in self.expressions for column in own_columns(tree)}


def take_apart(
    query: Query,
    select: exp.Select,
    columns: Columns,
    known: Collection[str],
    *,
    grouped: bool = False,
) -> SelectParts:
    """Take a SELECT apart.

    GROUP BY or HAVING without an aggregate ask for groups as well, so rows are then counted.

    Args:
        query: The query it is in, for its text.
        select: The SELECT.
        columns: The columns of the stream, and the aliases of joined tables.
        known: The names of aggregates.
        grouped: Whether a result is of several rows even without aggregates, as a frame is.
    """
    _check_wid(query, select, columns)
    reader = _SelectReader(query, columns, FoundAggregates(known), tuple(_prefixes(query, select)))
    names = ("expressions", "having", "order", *_OTHERS)
    parts = list(_listed(select.args.get(name) for name in names))
    aggregated = any(any_aggregate(part, known) for part in parts)
    asked = bool(select.args.get("group") or select.args.get("having"))
    if aggregated or asked:
        _check_stars(query, select)
    groups = reader.groups(select) if aggregated or asked or grouped else ()
    items = tuple(reader.item(item) for item in select.expressions)
    having = select.args.get("having")
    order = select.args.get("order")
    reader.named = {item.alias.casefold() for item in select.expressions if item.alias}
    having_results = None if having is None else _unaliased(reader.over(having.this), items)
    order_results = None if order is None else reader.over(order)
    assert order_results is None or isinstance(order_results, exp.Order)
    others = {name: reader.part(select.args[name]) for name in _OTHERS if select.args.get(name)}
    aggregates = tuple(reader.collected.found)
    if asked and not aggregates and not grouped:
        aggregates = (exp.Anonymous(this="count", expressions=[exp.Star()]),)
    return SelectParts(
        items, having_results, order_results, groups, reader.computed, aggregates, others
    )


@dataclass
class _SelectReader:
    """Rewrites expressions over rows to expressions over results."""

    query: Query
    columns: Columns
    collected: FoundAggregates
    #: Prefixes of the columns of windows.
    prefixes: tuple[str, ...] = ()
    computed: dict[str, exp.Expr] = field(default_factory=dict)
    grouped: dict[exp.Expr, str] = field(default_factory=dict)
    #: Names of the select list, which HAVING and ORDER BY may use.
    named: set[str] = field(default_factory=set)

    def groups(self, select: exp.Select) -> tuple[str, ...]:
        """Return the columns of GROUP BY, or without it the plain ones of the select list."""
        group = select.args.get("group")
        if group is None:
            plain = [item.unalias() for item in select.expressions]
            wanted: list[exp.Expr] = [item for item in plain if isinstance(item, exp.Column)]
        else:
            self._check_group(group)
            wanted = [self._meant(part, select) for part in group.expressions]
        names = [self._group(part) for part in wanted if not self._of_window(part)]
        return tuple(dict.fromkeys(names))

    def _check_group(self, group: exp.Expr) -> None:
        extra = [name for name, value in group.args.items() if value and name != "expressions"]
        several = exp.Cube | exp.Rollup | exp.GroupingSets
        extra += [type(part).__name__ for part in group.expressions if isinstance(part, several)]
        if extra:
            problem = f"GROUP BY {extra[0].upper()} is not allowed over windows"
            at = self.query.at(group)
            raise SqlError(problem, self.query.text, at, expected="columns or expressions")

    def _meant(self, part: exp.Expr, select: exp.Select) -> exp.Expr:
        """Return the expression that ``GROUP BY 1`` or ``GROUP BY alias`` means."""
        if isinstance(part, exp.Literal) and part.is_int:
            place = int(part.name)
            if not 0 < place <= len(select.expressions):
                problem = f"GROUP BY {part.name} names no item of the select list"
                expected = f"a number up to {len(select.expressions)}, a column or an expression"
                at = self.query.at(select.args["group"])
                raise SqlError(problem, self.query.text, at, expected=expected)
            item: exp.Expr = select.expressions[place - 1]
            return self._no_aggregate(item.unalias())
        if isinstance(part, exp.Column) and self.columns.own(part) is None:
            wanted = part.name.casefold()
            named = [item for item in select.expressions if item.alias.casefold() == wanted]
            return self._no_aggregate(named[0].unalias() if named else part)
        return self._no_aggregate(part)

    def _no_aggregate(self, part: exp.Expr) -> exp.Expr:
        """Return a group; raise if an aggregate is in it."""
        if any_aggregate(part, self.collected.known):
            problem = f"groups are made before {written(part)} is computed, so it cannot be one"
            expected = "GROUP BY columns or expressions without aggregates"
            raise SqlError(problem, self.query.text, self.query.at(part), expected=expected)
        return part

    def _of_window(self, part: exp.Expr) -> bool:
        """Return whether a column is one of the window, which every result has anyway."""
        if not isinstance(part, exp.Column) or self.columns.own(part) is not None:
            return False
        beginnings = ["", *(prefix.lower() for prefix in self.prefixes)]
        name = part.name.lower()
        foreign = self.columns.foreign(part)
        names = OF_WINDOWS if foreign else (*OF_WINDOWS, *OF_SOME_FRAMES)
        return any(name == beginning + own for beginning in beginnings for own in names)

    def _group(self, part: exp.Expr) -> str:
        if isinstance(part, exp.Column) and not self.columns.foreign(part):
            own = self.columns.own(part)
            if own is None:
                names = self.columns.names
                raise unknown_column(self.query, part.name, self.query.at(part), names)
            if not self.columns.inside(part):
                return own
        elif isinstance(part, exp.Column):
            return self._foreign(part).name
        name = f"{GROUP}{len(self.grouped)}"
        self.grouped[part] = name
        self.computed[name] = part
        return name

    def item(self, item: exp.Expr) -> exp.Expr:
        """Return an item of the select list over results, under the name that it had."""
        result = self.over(item)
        if isinstance(item, exp.Alias | exp.Star) or item.is_star:
            return result
        if isinstance(item, exp.Column):
            plain = isinstance(result, exp.Column) and result.name == item.name
            return result if plain else exp.alias_(result, item.name, quoted=True)
        return exp.alias_(result, written(item), quoted=True)

    def part(self, part: list[exp.Expr] | exp.Expr) -> list[exp.Expr] | exp.Expr:
        """Return another part of the SELECT over results."""
        return [self.over(one) for one in part] if isinstance(part, list) else self.over(part)

    def over(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression over rows as one over results."""
        tree = tree.transform(self._placed_group) if self.grouped else tree.copy()
        tree = replaced(tree, self._own)
        return self.collected.without(tree)

    def _placed_group(self, node: exp.Expr) -> exp.Expr:
        name = None if in_subquery(node) else self.grouped.get(node)
        return node if name is None else exp.column(name, quoted=True)

    def _own(self, column: exp.Column) -> exp.Expr | None:
        """Return a column of a joined table under its name among the rows; else None."""
        alone = len(column.parts) == 1
        if alone and (column.name in self.computed or column.name.casefold() in self.named):
            return None
        if self.columns.foreign(column) and not self._of_window(column):
            return self._foreign(column)
        return None

    def _foreign(self, column: exp.Column) -> exp.Column:
        taken = {name.casefold() for name in (*self.columns.names, *OF_WINDOWS)}
        name = column.name
        if name.casefold() in taken:
            name = "_".join(part.name for part in column.parts)
        self.computed.setdefault(name, column.copy())
        renamed = exp.column(name, quoted=True)
        renamed.this.meta.update({"start": offset_of(column)})
        return renamed


def _check_stars(query: Query, select: exp.Select) -> None:
    for item in select.expressions:
        if item.is_star:
            problem = "* is not allowed beside aggregates, GROUP BY or HAVING"
            expected = "the columns that results are grouped by"
            raise SqlError(problem, query.text, query.at(item), expected=expected)


def _check_wid(query: Query, select: exp.Select, columns: Columns) -> None:
    """Raise if a query selects wid of windows with a prefix, which have none."""
    prefix = next(_prefixes(query, select), None)
    for column in own_columns(select):
        if prefix and column.name.lower() == "wid" and columns.own(column) is None:
            problem = "windows whose columns have a prefix have no wid"
            expected = f"{prefix}window_end"
            raise SqlError(problem, query.text, query.at(column), expected=expected)


def _prefixes(query: Query, select: exp.Select) -> Iterator[str]:
    """Return the prefixes that the clauses of a SELECT give to the columns of windows."""
    tables = [node for node in without_subqueries(select) if isinstance(node, exp.Table)]
    clauses = (query.windowings.get(table.name) for table in tables)
    prefixes = (clause.arguments.get("prefix") for clause in clauses if clause is not None)
    yield from (str(prefix) for prefix in prefixes if prefix)


def _listed(parts: Iterable[list[exp.Expr] | exp.Expr | None]) -> Iterator[exp.Expr]:
    """Yield the trees of parts of a SELECT, of which some are lists and some are missing."""
    for part in parts:
        yield from part if isinstance(part, list) else () if part is None else (part,)


def _unaliased(tree: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """Replace names of the select list in HAVING: it becomes a WHERE, which may not use them."""
    named = {item.alias.casefold(): item.this for item in items if isinstance(item, exp.Alias)}

    def meant(column: exp.Column) -> exp.Expr | None:
        item = named.get(column.name.casefold()) if len(column.parts) == 1 else None
        return None if item is None else exp.paren(item.copy())

    return replaced(tree, meant)
