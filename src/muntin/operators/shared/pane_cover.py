"""Whether the panes that are kept for one window query hold all that another one wants.

A window of the new query must be made of whole panes of the other one, and these must be there for
as long as the window is open. The rows, keys and accumulators must be the same, so that the windows
are exactly those that the new query would have if it had begun when the other one did.
"""

from __future__ import annotations

from collections.abc import Set

from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.window_edges import WindowEdges
from muntin.operators.shared.window_group import WindowGroup, can_share, edges_of, sharing_key
from muntin.specs.windows import Edges


def lacking(donor: QueryProgram, wanted: QueryProgram) -> str | None:
    """Return what the panes of a query lack for another one; None if they lack nothing."""
    if not (can_share(donor) and can_share(wanted)):
        return "shared panes"
    if sharing_key(donor) != sharing_key(wanted):
        return "the same groups"
    if donor.prepared != wanted.prepared:
        return "what Spark prepares"
    if donor.inputs[0].predicate != wanted.inputs[0].predicate:
        return "the same rows"
    if not _accumulators(wanted) <= _accumulators(donor):
        return "the aggregates"
    return _lacking_edges(edges_of(donor), edges_of(wanted))


def _accumulators(program: QueryProgram) -> Set[str]:
    return frozenset(WindowGroup((program,)).windows.layout.lasting_names)


def _lacking_edges(donor: Edges, wanted: Edges) -> str | None:
    """Return what panes with some edges lack for windows with others.

    A row is kept if a window of the donor that has its pane is open. Each window of the new query
    must lie within such a window, also where it begins between two windows of the donor.
    """
    if (donor.clipped, donor.clipped and donor.origin) != (
        wanted.clipped,
        wanted.clipped and wanted.origin,
    ):
        return "the same origin"
    if donor.range < donor.slide:
        return "rows in the gaps between its windows"
    kept = WindowEdges((donor,)).progressions
    for slide, phase in WindowEdges((wanted,)).progressions:
        if not any(slide % less == 0 and phase % less == rest for less, rest in kept):
            return "the edges of its windows"
    starts_with = (wanted.origin + wanted.start_offset - donor.origin - donor.start_offset) % (
        donor.slide
    ) == 0 and wanted.slide % donor.slide == 0
    if wanted.range > donor.range - (0 if starts_with else donor.slide):
        return "panes so far back"
    return None
