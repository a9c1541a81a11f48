"""The words that go on with a query behind a relation: none of them is its alias."""

from __future__ import annotations

#: Words that end the list of relations in FROM.
ENDS_FROM = ("WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT")
#: Words that end it, or go on behind one relation.
BEHIND_RELATION = (
    *ENDS_FROM,
    *("JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ON", "USING"),
    *("LATERAL", "WINDOW", "CLUSTER", "DISTRIBUTE", "SORT", "TABLESAMPLE", "PIVOT", "UNPIVOT"),
    *("QUALIFY", "FILL", "BEGIN", "WITH", "INTO", "PER"),
)
