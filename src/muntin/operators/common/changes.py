"""The changes from one report to the next: which answers are new, replaced, final or withdrawn.

An answer is identified by its key and bounds. Whoever applies the changes to a table, in order, has
after each report what is final by then and what was open then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin.kernels.arrays import Ints, Mask
from muntin.kernels.grouping import find_keys
from muntin.specs.emission import CHANGE, FINAL

FIRST, REPLACED, WITHDRAWN = "+", "u", "-"
CHANGE_FIELDS = (pa.field(CHANGE, pa.string()), pa.field(FINAL, pa.bool_()))


@dataclass(frozen=True)
class Report:
    """The changes that are reported, and the open answers that are reported after it."""

    changes: pa.Table
    open: pa.Table


def report(
    before: pa.Table,
    final: pa.Table,
    hidden: pa.Table,
    now_open: pa.Table | None,
    identity: Sequence[str],
) -> Report:
    """Return what changes from the open answers that were reported before.

    Args:
        before: The open answers that were reported.
        final: Answers that are final now.
        hidden: Results that are final and no answers, because HAVING is not true.
        now_open: The open answers; None if they are not to be reported now.
        identity: The columns that identify an answer.
    """
    known = before.select(list(identity))
    of_final = _places(final, known)
    settled, gone = (_mask(before.num_rows, _places(table, known)) for table in (final, hidden))
    parts = [_marked(final, _first_or_replaced(of_final), True)]
    if now_open is None:
        still_open = before.filter(pa.array(~settled & ~gone))
    else:
        of_open = _places(now_open, known)
        gone |= ~settled & ~_mask(before.num_rows, of_open)
        changed = (of_open < 0) | ~_same(now_open, before, of_open, identity)
        revised = now_open.filter(pa.array(changed))
        parts.append(_marked(revised, _first_or_replaced(of_open[changed]), False))
        still_open = now_open
    withdrawn = before.filter(pa.array(gone))
    parts.insert(0, _marked(withdrawn, np.full(withdrawn.num_rows, WITHDRAWN), False))
    return Report(pa.concat_tables(parts), still_open)


def _places(answers: pa.Table, known: pa.Table) -> Ints:
    """Return for each answer its place among the known ones, or -1."""
    return find_keys(answers.select(known.column_names), known)


def _mask(rows: int, places: Ints) -> Mask:
    mask = np.zeros(rows, np.bool_)
    mask[places[places >= 0]] = True
    return mask


def _first_or_replaced(places: Ints) -> npt.NDArray[np.str_]:
    return np.where(places < 0, FIRST, REPLACED)


def _marked(answers: pa.Table, change: npt.NDArray[np.str_], final: bool) -> pa.Table:
    """Return answers with the columns ``change`` and ``final``."""
    flags = pa.repeat(pa.scalar(final), answers.num_rows)
    for field, column in zip(CHANGE_FIELDS, (pa.array(change, pa.string()), flags), strict=True):
        answers = answers.append_column(field, column)
    return answers


def _same(answers: pa.Table, before: pa.Table, places: Ints, identity: Sequence[str]) -> Mask:
    """Mask of the answers that are equal to those that were reported in their places."""
    same = places >= 0
    found = np.flatnonzero(same)
    old, new = before.take(pa.array(places[found])), answers.take(pa.array(found))
    for name in answers.column_names:
        if name not in identity:
            same[found] &= _equal(new[name].combine_chunks(), old[name].combine_chunks())
    return same


def _equal(new: pa.Array, old: pa.Array) -> Mask:
    """Mask of equal values; null equals null and NaN equals NaN."""
    type_ = new.type
    if pa.types.is_nested(type_) or pa.types.is_dictionary(type_):
        pairs = zip(new.to_pylist(), old.to_pylist(), strict=True)
        # As texts, because NaN inside of a list is equal to itself here.
        return np.array([repr(one) == repr(other) for one, other in pairs], np.bool_)
    equal = pc.fill_null(pc.equal(new, old), False)
    both_null = pc.and_(pc.is_null(new), pc.is_null(old))
    equal = pc.or_(equal, both_null)
    if pa.types.is_floating(type_):
        both_nan = pc.and_(pc.is_nan(new), pc.is_nan(old))
        equal = pc.or_(equal, pc.fill_null(both_nan, False))
    mask: Mask = equal.to_numpy(zero_copy_only=False)
    return mask
