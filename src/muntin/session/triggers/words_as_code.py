"""Where a program would read a value, or the row on its standard input, as code.

Programs that run code are known by their names. A command of somebody's own, which passes a value
on to a shell, is not: the page on triggers says so.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

#: ``{column}`` in a word.
PLACE = re.compile(r"\{([^{}]+)\}")
_SHELLS = (
    *("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox"),
    *("rbash", "pwsh", "powershell"),
)
#: Programs that read a word as code after these options.
_AFTER_OPTION = {
    **dict.fromkeys((*_SHELLS, "su", "runuser", "flock", "script"), ("-c", "--command")),
    **dict.fromkeys(("python", "pypy", "psql"), ("-c", "--command")),
    **dict.fromkeys(
        ("perl", "ruby", "node", "nodejs", "deno", "mysql", "mariadb", "groovy", "scala"),
        ("-e", "-E", "-p", "--eval", "--execute", "--print"),
    ),
    **dict.fromkeys(("php", "Rscript", "lua", "osascript"), ("-r", "-e")),
    "env": ("-S", "--split-string"),
}
#: Programs that read any of their words as code.
_IN_ANY_WORD = (
    *("awk", "gawk", "mawk", "nawk", "ssh", "eval", "watch", "parallel", "sqlite3", "sed", "jq"),
    *("make", "gmake", "expect", "tclsh", "gdb", "m4", "vi", "vim", "ex", "ed", "xterm", "duckdb"),
)
#: Programs that read code from standard input if no word has it, and those that always do.
_FROM_INPUT = (
    *_SHELLS,
    *("python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "psql", "mysql", "R"),
    *(
        "mariadb",
        "sqlite3",
        "duckdb",
        "tclsh",
        "expect",
        "gdb",
        "m4",
        "vi",
        "vim",
        "ex",
        "osascript",
    ),
)
#: Programs whose words are databases, not files of code.
_OF_DATABASES = ("psql", "mysql", "mariadb", "sqlite3", "duckdb")
_ALWAYS_FROM_INPUT = ("at", "batch", "ed", "dc", "crontab", "parallel")
#: Programs that run another, which is one of their words.
_RUNNERS = (
    *("env", "nice", "timeout", "sudo", "doas", "xargs", "nohup", "setsid", "stdbuf", "chroot"),
    *("time", "strace", "ltrace", "ionice", "exec", "command", "unshare", "nsenter", "taskset"),
    *("chrt", "setpriv", "runuser", "flock", "find", "busybox", "ld.so"),
)
_DATA = (
    "read the row from standard input, where it is JSON, or give values as words after the code: "
    "sh -c 'echo \"$1\"' sh {column}"
)
_VERSION = re.compile(r"[\d.]+$")
_SETTING = re.compile(r"-.*|\w+=.*|[\d.]+[smhd]?")


def code_in(words: Sequence[str]) -> str | None:
    """Return why a value or the row would be read as code, or None if it would not.

    >>> code_in(["sh", "-c", "echo {x}"]).partition(";")[0]
    'sh would read the value of echo {x} as code'
    >>> code_in(["sh"]).partition(";")[0]
    'sh would read the row on its standard input as code'
    """
    for place, word in enumerate(words):
        if PLACE.search(word):
            for before in range(place):
                why = _reads_as_code(words, before, place)
                if why is not None:
                    return f"{why}; {_DATA}"
        if _reads_input(words, place):
            return f"{_name(word)} would read the row on its standard input as code; {_DATA}"
    return None


def takes_options(words: Sequence[str]) -> bool:
    """Return whether a program may read the next word as an option; these come before it.

    >>> takes_options(["mail"]), takes_options(["mail", "--"])
    (True, False)
    """
    if "--" in words[1:]:
        return False
    name = _name(words[0])
    coded = name in (*_SHELLS, "python", "pypy") and _code_at(words, 0) is not None
    return not coded


def _reads_as_code(words: Sequence[str], program: int, place: int) -> str | None:
    name, word = _name(words[program]), words[place]
    between = words[program + 1 : place]
    options = _AFTER_OPTION.get(name, ())
    # The code follows its option, perhaps after other options, or is a part of the same word.
    last = [*itertools.takewhile(lambda given: given.startswith("-"), reversed(between))]
    joined = any(word.startswith(option) and word != option for option in options)
    if name in _IN_ANY_WORD or joined or any(_is_option(given, options) for given in last):
        return f"{name} would read the value of {word} as code"
    if name in _RUNNERS and PLACE.match(word) and all(map(_SETTING.fullmatch, between)):
        return f"{name} would run the program that is the value of {word}"
    return None


def _reads_input(words: Sequence[str], program: int) -> bool:
    """Return whether a program reads code from standard input."""
    # Which word a runner runs depends on its options, so it may be any.
    first = program == 0 or _name(words[0]) in _RUNNERS
    name, rest = _name(words[program]), words[program + 1 :]
    if name == "xargs" and first:  # which makes words of the input
        return any(_name(word) in (*_AFTER_OPTION, *_IN_ANY_WORD) for word in rest)
    if not first or name not in (*_FROM_INPUT, *_ALWAYS_FROM_INPUT):
        return False
    if name in _ALWAYS_FROM_INPUT:
        return True
    if _code_at(words, program) is not None:
        return False
    asked = name in _SHELLS and any(re.fullmatch(r"-\w*s\w*", word) for word in rest)
    files = [word for word in rest if not word.startswith("-") and name not in _OF_DATABASES]
    return asked or not files or "-" in rest or "/dev/stdin" in rest


def _code_at(words: Sequence[str], program: int) -> int | None:
    """Return which word has the code that an option gives a program; None if there is none."""
    options = _AFTER_OPTION.get(_name(words[program]), ())
    for place in range(program + 1, len(words) - 1):
        if not words[place].startswith("-"):
            return None
        if _is_option(words[place], options):
            return place + 1
    return None


def _name(word: str) -> str:
    """Return a program without its folder and version: ``/usr/bin/python3.12`` is ``python``."""
    name = Path(word).name
    return _VERSION.sub("", name) or name


def _is_option(word: str, options: tuple[str, ...]) -> bool:
    """Return whether a word is one of some options; ``-ec`` is ``-e`` and ``-c``."""
    letters = {option[1] for option in options if len(option) == 2}
    joined = word.startswith("-") and not word.startswith("--") and word[-1:] in letters
    return bool(options) and (word in options or joined)
