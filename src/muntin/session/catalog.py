"""What a session knows by name: streams, tables, queries and triggers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from muntin.parser.statements import CreateQuery, CreateStream, CreateTable, CreateTrigger, Kept

Declared = CreateStream | CreateTable | CreateQuery | CreateTrigger
_KINDS: Mapping[type[object], Kept] = {
    CreateStream: "STREAM",
    CreateTable: "TABLE",
    CreateQuery: "QUERY",
    CreateTrigger: "TRIGGER",
}


@dataclass
class Catalog:
    """Statements by the name that they create; names do not look at case.

    Streams, tables and queries share one space of names, because a query can read all of them.
    """

    relations: dict[str, CreateStream | CreateTable | CreateQuery] = field(default_factory=dict)
    triggers: dict[str, CreateTrigger] = field(default_factory=dict)

    def find(self, name: str) -> CreateStream | CreateTable | CreateQuery | None:
        return self.relations.get(name.casefold())

    def kept(self, what: Kept) -> list[Declared]:
        """Everything of a kind, in the order in which it was created."""
        every: list[Declared] = [*self.relations.values(), *self.triggers.values()]
        return [one for one in every if kind_of(one) == what]

    def add(self, made: Declared) -> bool:
        """Keep a statement; False if its name is taken."""
        name = made.name.casefold()
        if isinstance(made, CreateTrigger):
            if name in self.triggers:
                return False
            self.triggers[name] = made
            return True
        if name in self.relations:
            return False
        self.relations[name] = made
        return True

    def drop(self, what: Kept, name: str) -> bool:
        """Forget a statement, and the triggers of a query; False if there is none of that name."""
        if what == "TRIGGER":
            return self.triggers.pop(name.casefold(), None) is not None
        found = self.relations.get(name.casefold())
        if found is None or kind_of(found) != what:
            return False
        for trigger in self.reading(name) if what == "QUERY" else ():
            del self.triggers[trigger.name.casefold()]
        del self.relations[name.casefold()]
        return True

    def reading(self, name: str) -> list[CreateTrigger]:
        """The triggers on a query."""
        return [
            one for one in self.triggers.values() if one.query_name.casefold() == name.casefold()
        ]


def kind_of(made: Declared) -> Kept:
    return _KINDS[type(made)]
