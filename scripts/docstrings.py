"""Griffe extension: docstrings as Markdown that the reference pages can show.

Sources write examples as doctests without a heading and refer to names with roles, which other
readers of docstrings understand; Markdown would make quotes and stray colons of them.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|meth|class|mod|attr):`~?([^`]+)`")


class MarkdownDocstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Doctests in fences, roles as plain code.

    >>> print(as_markdown("See :func:`end`.").replace("`", "'"))
    See 'end'.
    """
    paragraphs: list[str] = []
    for blank, lines in groupby(text.splitlines(), key=lambda line: not line.strip()):
        if blank:
            paragraphs.extend(lines)
        else:
            paragraphs.extend(_fenced(list(lines)))
    return _ROLE.sub(r"`\1`", "\n".join(paragraphs))


def _fenced(paragraph: list[str]) -> list[str]:
    first = paragraph[0]
    if not first.lstrip().startswith(">>>"):
        return paragraph
    indent = first[: len(first) - len(first.lstrip())]
    return [f"{indent}```pycon", *paragraph, f"{indent}```"]
