"""How many examples a property has: all of them in ``make soak``, an eighth in ``make test``.

Those of ``make test`` are the same in every run. They are not the first of ``make soak``: what
Hypothesis draws depends on how many it is to draw.
"""

from __future__ import annotations

from hypothesis import settings


def share(count: int) -> int:
    """As many of the examples as this run has."""
    return count if settings.get_current_profile_name() == "soak" else -(-count // 8)


def examples(count: int) -> settings:
    """The settings of a property that has so many examples."""
    return settings(max_examples=share(count))
