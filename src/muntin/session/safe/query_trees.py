"""What a query may be made of in safe mode: known nodes of its tree, and known functions.

The tree is what reaches Spark: the text is written again from it. So what is not in the list of
nodes is refused, be it new in Spark, misread by the parser, or not thought of here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from sqlglot import exp

from muntin.parser.dialect import SQL, written
from muntin.session.safe.spark_functions import ALLOWED, REFUSED

#: Nodes that are relations and clauses, and nodes that are expressions without a name.
_CLAUSES = (
    *(exp.Select, exp.Subquery, exp.Union, exp.Intersect, exp.Except, exp.With, exp.CTE),
    *(exp.From, exp.Join, exp.Table, exp.TableAlias, exp.TableSample, exp.Values, exp.Lateral),
    *(exp.Where, exp.Group, exp.Cube, exp.Rollup, exp.GroupingSets, exp.Having, exp.Qualify),
    *(exp.Order, exp.Ordered, exp.Sort, exp.Cluster, exp.Distribute, exp.Limit, exp.Offset),
    *(exp.Pivot, exp.PivotAlias, exp.Window, exp.WindowSpec, exp.Distinct),
)
_EXPRESSIONS = (
    *(exp.Alias, exp.Aliases, exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Null),
    *(exp.Boolean, exp.HexString, exp.Var, exp.Interval, exp.IntervalSpan, exp.DataType),
    *(exp.DataTypeParam, exp.ColumnDef, exp.Tuple, exp.Array, exp.Bracket, exp.Dot, exp.Paren),
    *(exp.Lambda, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Kwarg),
    *(exp.And, exp.Or, exp.Not, exp.Xor, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike),
    *(exp.RegexpLike, exp.Escape, exp.Exists, exp.Any, exp.All, exp.Case, exp.If, exp.Cast),
    *(exp.TryCast, exp.Extract, exp.Trim, exp.StrPosition, exp.Overlay, exp.Substring),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe, exp.Collate),
    *(exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift),
    *(exp.BitwiseRightShift, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime),
    *(exp.Localtimestamp, exp.CurrentUser, exp.SessionUser, exp.Transform),
)
_NODES = frozenset((*_CLAUSES, *_EXPRESSIONS))
#: The parts of a relation that are a name and what follows it; none of them is a version or a path.
_TABLE = {"this", "alias", "joins", "laterals", "pivots", "sample"}
_NAME = re.compile(r"\w+")
#: ``${env:HOME}``: Spark puts settings and variables of the environment in its place, anywhere.
_VARIABLE = "${"


def problems(
    tree: exp.Expr, functions: Collection[str] = (), *, columns: bool = False
) -> Iterator[tuple[str, exp.Expr]]:
    """Yield what a tree has that is not allowed, each with its node.

    Args:
        tree: A query or an expression.
        functions: Names that are allowed besides those of Spark: Muntin's and the user's own.
        columns: Whether columns with types are declared, which queries do not do.
    """
    for node in tree.walk():
        problem = _problem(node, functions, columns=columns)
        if problem is not None:
            yield problem, node
    text = written(tree)
    if _VARIABLE in text:
        yield _variable(), tree
    if _runs_script(text):
        yield "USING is followed by columns in parentheses here", tree


def _problem(node: exp.Expr, functions: Collection[str], *, columns: bool) -> str | None:
    if type(node) is exp.Anonymous:
        return _of_call(node, functions)
    if type(node) not in _NODES or (isinstance(node, exp.ColumnDef) and not columns):
        return f"{type(node).__name__.upper()} is not allowed in safe mode"
    match node:
        case exp.Table():
            return _of_table(node)
        case exp.ColumnDef():
            extra = {name for name, value in node.args.items() if value} - {"this", "kind"}
            return f"a column has a name and a type here, and no {min(extra)}" if extra else None
        case exp.Dot() if isinstance(node.expression, exp.Func):
            return "a function has a plain name in safe mode, without a schema before it"
        case exp.DataType(this=exp.DataType.Type.USERDEFINED):
            return "a type of somebody's own is not allowed in safe mode"
        case exp.Literal() | exp.Identifier() | exp.Var() if _VARIABLE in str(node.this):
            return _variable()
        case exp.Var() if not _NAME.fullmatch(str(node.this)):
            return f"{str(node.this)[:40]} is not a word that is allowed in safe mode"
    return None


def _of_call(node: exp.Anonymous, functions: Collection[str]) -> str | None:
    called = node.this.name if isinstance(node.this, exp.Expr) else str(node.this)
    name = called.lower()
    if name in REFUSED:
        return f"{name} is not allowed in safe mode: {REFUSED[name]}"
    if name in ALLOWED or name in functions:
        return None
    return f"there is no function {called[:40]} in safe mode"


def _of_table(node: exp.Table) -> str | None:
    parts = {name for name, value in node.args.items() if value}
    if {"db", "catalog"} & parts:
        return (
            f"{'.'.join(part.name for part in node.parts)[:80]} is not allowed in safe mode: a "
            "relation is a name that was given or created, not a path or a table of a catalog"
        )
    if parts - _TABLE:
        return f"{min(parts - _TABLE).upper()} after a relation is not allowed in safe mode"
    if not isinstance(node.this, exp.Identifier | exp.Anonymous):
        return f"a relation that is a {type(node.this).__name__} is not allowed in safe mode"
    return None


def _variable() -> str:
    return (
        "${ is not allowed in safe mode: Spark would put a variable of the environment or a "
        "setting in its place"
    )


def _runs_script(text: str) -> bool:
    """Return whether a word USING begins anything but a list of columns."""
    tokens = [*SQL().tokenize(text)]
    return any(
        token.text.upper() == "USING" and token.token_type.name not in ("IDENTIFIER", "STRING")
        and (place + 1 == len(tokens) or tokens[place + 1].token_type.name != "L_PAREN")
        for place, token in enumerate(tokens)
    )  # fmt: skip
