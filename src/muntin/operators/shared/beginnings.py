"""How new members begin in a shard: when, and with what of the past.

A member without history begins with the rows of its first micro-batch. Others begin with the state
or the cells that a run over kept rows left, with the panes of an older member, or with the base
panes of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from muntin.operators.protocol import Changes, ChunkKey, MemoryState, ScopedState, State
from muntin.operators.shared.base_panes import BASE, BasePanes
from muntin.operators.shared.cells.cell_store import CELLS
from muntin.operators.shared.program import QueryProgram
from muntin.operators.shared.query_group import Birth, QueryGroup, failure

#: The table of the state that has, for each member, the progress of the stream when it began.
BIRTHS = "births"
#: Every table of a group has the name of the group and this sign before its own.
WITHIN = "/"
_COLUMNS = pa.schema([("member", pa.int64()), ("punctuation", pa.int64()), ("largest", pa.int64())])


@dataclass(frozen=True)
class Seed:
    """The state with which a query begins in a shard, and when its history began."""

    chunks: Mapping[ChunkKey, pa.Table]
    birth: Birth


#: Returns the state with which a query begins in a shard, from the name of its seed.
Seeds = Callable[[str], Seed]


def births_table(births: Mapping[int, Birth]) -> pa.Table:
    """Return when members began as a table of the state."""
    rows = [(member, birth.punctuation, birth.largest) for member, birth in births.items()]
    arrays = [pa.array(column, pa.int64()) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_COLUMNS)


@dataclass
class Beginnings:
    """When the members of a version began, and what new ones begin with.

    Args:
        births: When each member began.
        states: The states of groups that begin with a seed.
        cells: Cells of the past, for groups that share panes.
        past: Results of the past that a new member answers at once.
        failed: Why a member could not begin.
        changes: The changes of the state that remember the births.
    """

    births: dict[int, Birth]
    states: dict[str, MemoryState] = field(default_factory=dict)
    cells: dict[str, list[pa.Table]] = field(default_factory=dict)
    past: dict[int, Sequence[pa.Table]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    changes: Changes = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        state: State,
        groups: Mapping[str, QueryGroup],
        programs: Mapping[int, QueryProgram],
        now: Mapping[int, Birth],
        seeds: Seeds | None,
    ) -> Beginnings:
        """Return the beginnings of a version's members, of which some are new in a shard.

        ``now`` has the birth of each member, and of base panes, if it begins in this micro-batch.
        """
        known: dict[int, Birth] = {}
        for bucket in state.buckets(BIRTHS):
            for row in state.read(BIRTHS, bucket).to_pylist():
                known[row["member"]] = Birth(row["punctuation"], row["largest"])
        base = next((g for g in groups.values() if isinstance(g, BasePanes)), None)
        begun = cls({member: known.get(member, birth) for member, birth in now.items()})
        for group in groups.values():
            for member in group.members:
                program = programs[member]
                if member in known:
                    continue
                # A seed belongs to the member that it names, not to later generations.
                if str(member) in (program.seed, program.cells) and seeds is not None:
                    begun._with_seed(group.name, program, seeds)
                elif program.donors:
                    begun._with_donor(program, known)
                elif program.takes_base and BASE in known and base is not None:
                    begun._with_base(state, group.name, program, base, now[BASE].punctuation)
        if begun.births != known:
            table = births_table(begun.births) if begun.births else None
            begun.changes = {(BIRTHS, 0): table}
        return begun

    def _with_seed(self, group: str, program: QueryProgram, seeds: Seeds) -> None:
        found = seeds(str(program.member))
        self.births[program.member] = found.birth
        if program.cells is None:
            named = {(group + WITHIN + t, b): chunk for (t, b), chunk in found.chunks.items()}
            self.states[group] = MemoryState(named)
        else:
            cells = [chunk for (table, _), chunk in found.chunks.items() if table == CELLS]
            self.cells.setdefault(group, []).extend(cells)

    def _with_donor(self, program: QueryProgram, known: Mapping[int, Birth]) -> None:
        births = [known[donor] for donor in program.donors if donor in known]
        if births:
            self.births[program.member] = births[0]

    def _with_base(
        self, state: State, group: str, program: QueryProgram, base: BasePanes, reached: int | None
    ) -> None:
        within = ScopedState(state, base.name + WITHIN)
        try:
            begun = base.begin(within, program, self.births[BASE], reached)
        except Exception as error:  # whatever a query raises stops that query only
            self.failed[program.member] = failure(error)
            return
        self.births[program.member] = begun.birth
        self.cells.setdefault(group, []).extend(begun.cells)
        if program.panes is not None and program.panes.past:
            self.past[program.member] = begun.results
