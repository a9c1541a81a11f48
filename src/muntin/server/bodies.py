"""What the bodies of requests hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

#: A text of SQL, a name, and a word for people.
Text = Annotated[str, Field(min_length=1, max_length=500_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[str, Field(max_length=2_000)]


class _Body(BaseModel):
    """A body with nothing besides what is named."""

    model_config = ConfigDict(extra="forbid")


class TextBody(_Body):
    """A text of SQL."""

    text: Text


class RegisterBody(_Body):
    """A query to add, with the arguments of ``mt.Engine.register``."""

    name: Name
    text: Text
    owner: Words | None = None
    description: Words = ""
    tags: Annotated[list[Name], Field(max_length=50)] = []
    start: Words | int | float = "now"
    until: Words | int | float | None = None
    emit: Words = "final"
    every: Words | int | float | None = None
    answer: Words = "eager"
    confidence: float | None = None
    into: Words | None = None


class PreviewBody(_Body):
    """A query to look at, and how long it stays."""

    text: Text
    ttl: Words = "10 minutes"


class KeepBody(_Body):
    """The name that a preview gets."""

    name: Name


class TapBody(_Body):
    """A tap, with the arguments of ``mt.Engine.tap``."""

    on: Name
    at: Words = "rows"
    rows: int = 20
    where: Text | None = None
    ttl: Words = "10 minutes"


class TokenBody(_Body):
    """A token, to log in with."""

    token: Annotated[str, Field(max_length=1_000)]


class CallBody(_Body):
    """The arguments of a call of the Python client."""

    arguments: dict[str, Any] = {}
