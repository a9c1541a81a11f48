"""Random predicates over the columns of ``row_tables``, with constants of every type.

Many have the form that predicates are indexed by, a column compared with constants; the rest has
any other form.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.expressions.row_tables import Expressions

_NUMBERS = [
    *("0", "1", "-1", "7", "-7", "127", "300", "65536", "2147483647", "-2147483648", "3000000000"),
    *(
        "9223372036854775807",
        "-9223372036854775808",
        "9007199254740993",
        "1.5",
        "-2.5",
        "0.5",
        "0.1",
    ),
    *("2.50", "-7.25", "99999999.99", "-0.05", "0.0000000001", "1e-10", "1e0", "0e0", "-0e0"),
    *("1.5D", "0.1D", "9007199254740992D", "1e300", "99999999999999999999.5", "NULL"),
    *("sqrt(-1)", "100Y", "7S", "1L", "1 + 1", "- 2", "CAST(7 AS SMALLINT)"),
]
_TEXTS = ["''", "'a'", "'ab'", "'B'", "'b'", "'a%b'", "'Zürich'", "'zz'", "' a '", "NULL"]
_DAYS = ["DATE '2026-03-29'", "DATE '1969-12-31'", "'2026-03-28'", "DATE '2000-01-01'", "NULL"]
_MOMENTS = [
    *("TIMESTAMP '2026-03-29 00:30:00'", "TIMESTAMP '1901-01-01 12:00:00'", "'2026-03-29'"),
    *("TIMESTAMP '2026-03-29 01:30:00.000001'", "DATE '2026-03-29'", "NULL"),
]
_CLOCKS = ["TIMESTAMP_NTZ '2026-03-29 02:30:00'", "TIMESTAMP_NTZ '2000-02-29 00:00:00'", "NULL"]
_TRUTHS = ["TRUE", "FALSE", "NULL"]
_INTERVALS = ["INTERVAL 1 DAY", "INTERVAL 90 MINUTES", "INTERVAL 0 SECONDS"]
#: Parts that are compared, with the constants that they are compared with.
COMPARED: dict[str, Sequence[str]] = {
    **dict.fromkeys(["y", "h", "i", "k", "f", "x", "d", "w", "st.num"], _NUMBERS),
    **dict.fromkeys(["i % 7", "x - f", "abs(x)", "d + w", "k * 2", "length(s)"], _NUMBERS),
    **dict.fromkeys(["s", "upper(s)", "st.name"], _TEXTS),
    **dict.fromkeys(["day", "date(ts)"], _DAYS),
    **dict.fromkeys(["ts", "ts + INTERVAL 1 DAY"], _MOMENTS),
    "tn": _CLOCKS,
    "ts - TIMESTAMP '2026-03-29 00:30:00'": _INTERVALS,
    **dict.fromkeys(["b", "x > f", "s LIKE 'a%'"], _TRUTHS),
}
_SIGNS = ["<", "<=", ">", ">=", "=", "<>", "<=>"]
_FORMS = [
    *("{part} {sign} {first}", "{first} {sign} {part}", "{part} BETWEEN {first} AND {other}"),
    *("{part} IN ({first}, {other})", "{part} NOT IN ({first}, {other})", "{part} IN ({first})"),
    *("{part} IS NULL", "{part} IS NOT NULL", "NOT {part} {sign} {first}"),
    "{part} IS DISTINCT FROM {first}",
]
_PLAIN = [
    *("b", "NOT b", "TRUE", "FALSE", "NULL", "s LIKE '%b'", "s NOT LIKE 'a_'", "x > f", "i = y"),
    *("b IS TRUE", "b IS NOT FALSE", "1 < 2", "NULL IS NULL", "isnan(x)", "k = x", "s < upper(s)"),
    *("x / i > 1", "CAST(s AS INT) > 0", "coalesce(i, 0) = 0", "CAST(k AS INT) = 7", "d > i"),
]


def comparisons() -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(COMPARED)).flatmap(
        lambda part: st.builds(
            lambda form, sign, first, other: form.format(
                part=f"({part})", sign=sign, first=first, other=other
            ),
            st.sampled_from(_FORMS),
            st.sampled_from(_SIGNS),
            st.sampled_from(COMPARED[part]),
            st.sampled_from(COMPARED[part]),
        )
    )


def others() -> st.SearchStrategy[str]:
    drawn = st.integers(0, 10_000).map(lambda seed: Expressions(seed).condition(2).raising)
    return st.sampled_from(_PLAIN) | drawn


def predicates() -> st.SearchStrategy[str]:
    """Comparisons and other conditions, joined by AND, OR and NOT."""
    return st.recursive(
        comparisons() | comparisons() | comparisons() | others(),
        lambda inner: (
            st.lists(inner, min_size=2, max_size=4).map(lambda some: f"({' AND '.join(some)})")
            | st.lists(inner, min_size=2, max_size=3).map(lambda some: f"({' OR '.join(some)})")
            | inner.map(lambda one: f"NOT ({one})")
        ),
        max_leaves=6,
    )
