"""For your own tests: streams that replay the rows you write, and assertions about rows.

>>> from muntin.testing import assert_same_rows
>>> assert_same_rows([{"n": 1}, {"n": 2}], [{"n": 2}, {"n": 1}])
"""

from muntin.testing.assertions import assert_same_rows
from muntin.testing.replay import END, Played, Replay, replay

__all__ = ["END", "Played", "Replay", "assert_same_rows", "replay"]
