"""Frames that match a pattern of conditions: a regular expression over rows [Frames, appendix E].

The text of a pattern has names of conditions, ``? * + {m} {m,} {m,n}`` after a name or a group,
groups in parentheses, and ``|`` between alternatives. It is read into a small tree of frozen nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from muntin.errors import ArgumentError, ExpressionError, did_you_mean
from muntin.specs.frames.frame_kind import (
    FrameKind,
    FramingProperties,
    Operand,
    check_points,
    clash,
    shown,
)

#: The most names of a pattern once its repetitions are written out: ``a{3}`` has three.
MOST_STEPS = 1000
#: The most different conditions: one bit of a 64-bit number each.
MOST_CONDITIONS = 62
#: Groups nested deeper are refused before Python's recursion is.
MOST_GROUPS = 50
_TOKEN = re.compile(r"\s*(?:([^\W\d]\w*)|(\{[^{}]*\}?)|(.))", re.DOTALL)
_COUNTS = re.compile(r"\{\s*(\d{1,9})\s*(?:(,)\s*(\d{1,9})?\s*)?\}")
_QUANTIFIERS: Mapping[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


@dataclass(frozen=True)
class PatternNode:
    """A part of a pattern."""

    @property
    def least(self) -> int:
        """The fewest rows that it matches."""
        raise NotImplementedError

    @property
    def most(self) -> int | None:
        """The most rows that it matches; None if there is no limit."""
        raise NotImplementedError

    @property
    def steps(self) -> int:
        """The number of its names once repetitions are written out."""
        raise NotImplementedError

    @property
    def names(self) -> Iterator[str]:
        """The names in it, in their order."""
        raise NotImplementedError


@dataclass(frozen=True)
class NamedRow(PatternNode):
    """One row that satisfies the condition of this name."""

    name: str

    @property
    def least(self) -> int:
        return 1

    @property
    def most(self) -> int:
        return 1

    @property
    def steps(self) -> int:
        return 1

    @property
    def names(self) -> Iterator[str]:
        yield self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PatternParts(PatternNode):
    """Several parts; subclasses decide how they lie to each other."""

    parts: tuple[PatternNode, ...]

    @property
    def steps(self) -> int:
        return sum(part.steps for part in self.parts)

    @property
    def names(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.names

    @property
    def _limits(self) -> list[int] | None:
        """The most rows of each part; None if a part has no limit."""
        most = [part.most for part in self.parts]
        known = [each for each in most if each is not None]
        return known if len(known) == len(most) else None


@dataclass(frozen=True)
class Successive(PatternParts):
    """Parts that follow each other."""

    @property
    def least(self) -> int:
        return sum(part.least for part in self.parts)

    @property
    def most(self) -> int | None:
        return None if self._limits is None else sum(self._limits)

    def __str__(self) -> str:
        return " ".join(_grouped(part, Alternatives) for part in self.parts)


@dataclass(frozen=True)
class Alternatives(PatternParts):
    """Parts of which one matches."""

    @property
    def least(self) -> int:
        return min(part.least for part in self.parts)

    @property
    def most(self) -> int | None:
        return None if self._limits is None else max(self._limits)

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


@dataclass(frozen=True)
class Repeated(PatternNode):
    """A part that follows itself from ``low`` to ``high`` times; without limit if that is None."""

    part: PatternNode
    low: int
    high: int | None

    @property
    def least(self) -> int:
        return self.low * self.part.least

    @property
    def most(self) -> int | None:
        if self.part.most is None or self.high is None:
            return None
        return self.high * self.part.most

    @property
    def steps(self) -> int:
        return self.part.steps * max(1, self.low if self.high is None else self.high)

    @property
    def names(self) -> Iterator[str]:
        return self.part.names

    def __str__(self) -> str:
        known = {counts: sign for sign, counts in _QUANTIFIERS.items()}
        high = "" if self.high is None else self.high
        counts = f"{{{self.low}}}" if self.low == self.high else f"{{{self.low},{high}}}"
        sign = known.get((self.low, self.high), counts)
        return f"{_grouped(self.part, Alternatives, Successive, Repeated)}{sign}"


def _grouped(part: PatternNode, *kinds: type[PatternNode]) -> str:
    return f"({part})" if isinstance(part, kinds) else str(part)


def parse_pattern(text: object) -> PatternNode:
    """Read the text of a pattern; an error shows the place.

    >>> print(parse_pattern("rise+ flat{2,5} (fall | drop)"))
    rise+ flat{2,5} (fall | drop)
    """
    if not isinstance(text, str) or not text.strip():
        raise ArgumentError("pattern", text, "it is text such as 'rise+ flat{2,5} fall'")
    node = _PatternReader(text).read()
    if node.steps > MOST_STEPS:
        problem = f"written out, the pattern has {node.steps:,} names; {MOST_STEPS:,} are allowed"
        raise ExpressionError(f"{problem}; use + or * for a long repetition", text)
    if node.least == 0:
        problem = "the pattern matches without any row; let one part of it be there at least once"
        raise ExpressionError(problem, text)
    return node


class _PatternReader:
    """Reads the tokens of a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (match.group(match.lastindex or 0), match.start(match.lastindex or 0))
            for match in _TOKEN.finditer(text.rstrip())
        ]
        self.at = 0

    @property
    def peek(self) -> str:
        """The next token; empty after the last."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    @property
    def offset(self) -> int:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text.rstrip())

    def fail(self, problem: str) -> NoReturn:
        raise ExpressionError(problem, self.text, self.offset)

    def read(self) -> PatternNode:
        node = self._alternatives(0)
        if self.peek == ")":
            self.fail("this ) closes no group")
        return node

    def _alternatives(self, depth: int) -> PatternNode:
        parts = [self._successive(depth)]
        while self.peek == "|":
            self.at += 1
            parts.append(self._successive(depth))
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def _successive(self, depth: int) -> PatternNode:
        parts: list[PatternNode] = []
        while self.peek not in ("", "|", ")"):
            parts.append(self._repeated(depth))
        if not parts:
            self.fail("a name or a group is missing here")
        return parts[0] if len(parts) == 1 else Successive(tuple(parts))

    def _repeated(self, depth: int) -> PatternNode:
        part = self._part(depth)
        counts = self._counts()
        if counts is None:
            return part
        if self.peek == "?":
            self.fail("the longest match is taken, so nothing is repeated reluctantly")
        if self._counts() is not None:
            self.at -= 1
            self.fail("this repeats a repetition; put parentheses around what is repeated")
        return Repeated(part, *counts)

    def _part(self, depth: int) -> PatternNode:
        token, offset = self.peek, self.offset
        if token == "(":
            if depth == MOST_GROUPS:
                self.fail("this is nested too deeply to be read")
            self.at += 1
            node = self._alternatives(depth + 1)
            if self.peek != ")":
                raise ExpressionError("this ( is never closed", self.text, offset)
            self.at += 1
            return node
        if token.isidentifier():
            self.at += 1
            return NamedRow(token)
        problem = f"{token!r} is not part of a pattern; names, ? * + {{m,n}}, ( ) and | are"
        if token in _QUANTIFIERS or token.startswith("{"):
            problem = "nothing is before this that could be repeated"
        raise ExpressionError(problem, self.text, offset)

    def _counts(self) -> tuple[int, int | None] | None:
        """Read how often a part is repeated; None if it is not."""
        token = self.peek
        if token in _QUANTIFIERS:
            self.at += 1
            return _QUANTIFIERS[token]
        if not token.startswith("{"):
            return None
        match = _COUNTS.fullmatch(token)
        if match is None:
            self.fail("a repetition is written {m}, {m,} or {m,n}")
        low, comma, high = match.groups()
        most = None if comma and high is None else int(low if high is None else high)
        if most is not None and (most < int(low) or most == 0):
            self.fail("it must end at one or more, and not below where it begins")
        self.at += 1
        return int(low), most


@dataclass(frozen=True)
class Pattern(FrameKind):
    """Stretches of rows that match a pattern of conditions, the leftmost and then the longest.

    A row may satisfy several conditions, and any assignment of names to rows counts. Local
    conditions limit the match itself: a frame is the longest match that meets them. The search goes
    on after the last row of a frame.

    >>> print(Pattern("rise+ fall", {"rise": "x > prev.x", "fall": "x < prev.x"}).label)
    pattern(rise+ fall, rise=x > prev.x, fall=x < prev.x)
    """

    tree: PatternNode
    conditions: tuple[tuple[str, object], ...]
    word: ClassVar[str] = "pattern"

    def __init__(self, pattern: object, conditions: Mapping[str, object]) -> None:
        tree = parse_pattern(pattern)
        names = tuple(dict.fromkeys(tree.names))
        text = str(pattern)
        for name in names:
            if name not in conditions:
                hint = did_you_mean(name, conditions)
                short = name if len(name) < 100 else f"{name[:100]}..."
                problem = f"{short} has no condition{hint}; give it one, such as {short}='TRUE'"
                place = re.search(rf"\b{name}\b", text)
                raise ExpressionError(problem, text, None if place is None else place.start())
        for name, given in conditions.items():
            if name not in names:
                hint = did_you_mean(name, names)
                raise ArgumentError(name, given, f"the pattern {text!r} has no such name{hint}")
            if given is None or (isinstance(given, str) and not given.strip()):
                raise ArgumentError(name, given, "it is SQL text or a PySpark column")
        if len(names) > MOST_CONDITIONS:
            why = f"it has {len(names)} conditions; {MOST_CONDITIONS} are allowed"
            raise ArgumentError("pattern", pattern, why)
        object.__setattr__(self, "tree", tree)
        # By the order of the pattern, so that the order of the arguments does not matter.
        object.__setattr__(self, "conditions", tuple((name, conditions[name]) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the conditions, in the order of the pattern."""
        return tuple(name for name, _ in self.conditions)

    @property
    def label(self) -> str:
        defined = ", ".join(f"{name}={shown(given)}" for name, given in self.conditions)
        return f"pattern({self.tree}, {defined})"

    @property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(Operand(name, given, "condition") for name, given in self.conditions)

    @property
    def looks_back(self) -> bool:
        return True

    def held_rows(self, framing: FramingProperties) -> tuple[str, bool]:
        rows = "the rows from the first one that may still begin a match or be part of a longer one"
        limited = framing.max_duration is not None or framing.max_count is not None
        if self.tree.most is None:
            return rows, limited
        return f"{rows}, at most {self.tree.most:,}", True

    def check(self, framing: FramingProperties) -> None:
        check_points(self, framing)
        least, most = self.tree.least, self.tree.most
        if framing.max_count is not None and framing.max_count < least:
            clash("pattern", "max_count", f"its shortest match has {least} rows")
        if framing.min_count is not None and most is not None and framing.min_count > most:
            clash("pattern", "min_count", f"its longest match has {most} rows")
