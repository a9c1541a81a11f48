"""What a session knows by name: streams, tables, queries and triggers, and which names it takes."""

from __future__ import annotations

import re
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
#: What would lead out of a folder, or what Spark reads as a pattern or an address.
_NO_FOLDER = re.compile(r"[/\\:*?\[\]{}\x00-\x1f\x7f]|^\.")
#: The names of queries without a name of their own.
_SELECT = re.compile(r"select_\d+", re.IGNORECASE)


@dataclass
class Catalog:
    """Statements by the name that they create; the case of a name does not matter.

    Streams, tables and queries share one space of names, because a query can read all of them.
    """

    relations: dict[str, CreateStream | CreateTable | CreateQuery] = field(default_factory=dict)
    triggers: dict[str, CreateTrigger] = field(default_factory=dict)

    def find(self, name: str) -> CreateStream | CreateTable | CreateQuery | None:
        return self.relations.get(name.casefold())

    def kept(self, kind: Kept) -> list[Declared]:
        """Return all statements of a kind, in the order in which they were created."""
        every: list[Declared] = [*self.relations.values(), *self.triggers.values()]
        return [declared for declared in every if kind_of(declared) == kind]

    def add(self, declared: Declared) -> bool:
        """Keep a statement; False if its name is taken."""
        name = declared.name.casefold()
        if isinstance(declared, CreateTrigger):
            if name in self.triggers:
                return False
            self.triggers[name] = declared
            return True
        if name in self.relations:
            return False
        self.relations[name] = declared
        return True

    def drop(self, kind: Kept, name: str) -> bool:
        """Forget a statement, and the triggers of a query; False if there is none of that name."""
        if kind == "TRIGGER":
            return self.triggers.pop(name.casefold(), None) is not None
        declared = self.relations.get(name.casefold())
        if declared is None or kind_of(declared) != kind:
            return False
        for trigger in self.triggers_on(name) if kind == "QUERY" else ():
            del self.triggers[trigger.name.casefold()]
        del self.relations[name.casefold()]
        return True

    def triggers_on(self, query: str) -> list[CreateTrigger]:
        """Return the triggers on a query."""
        name = query.casefold()
        return [
            trigger for trigger in self.triggers.values() if trigger.query_name.casefold() == name
        ]


def kind_of(declared: Declared) -> Kept:
    return _KINDS[type(declared)]


def refusal(kind: Kept, name: str) -> str | None:
    """Return why a name cannot be used: names of queries, triggers and sources become folders.

    >>> refusal("QUERY", "select_1")
    'select_1 cannot be a name: queries without one are called select_1, select_2, ...'
    >>> refusal("QUERY", "slow segments")
    """
    if _NO_FOLDER.search(name):
        rule = "it becomes a folder, so it has none of / \\ : * ? [ ] { } and no dot at its start"
        return f"{name!r} cannot be a name: {rule}"
    if kind == "QUERY" and _SELECT.fullmatch(name):
        return f"{name} cannot be a name: queries without one are called select_1, select_2, ..."
    return None


def unnamed(number: int) -> str:
    """Return the name of the n-th query that has none."""
    return f"select_{number}"
