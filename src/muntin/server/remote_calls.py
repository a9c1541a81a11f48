"""The calls of the Python client over HTTP: those of the engine's socket, by role and checked.

The socket is for the owner of the home. What comes over HTTP may be of anybody with a token, so
texts are checked as ``--safe`` checks them, and every call needs a role.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from muntin.engine.remote.local_server import Served
from muntin.parser.hidden_secrets import without_secrets
from muntin.server.problems import HttpError
from muntin.server.safe_texts import SafeTexts
from muntin.server.security.roles import Caller, Role
from muntin.specs.secrets import HIDDEN, origin_of

_READ = (
    *("hello", "record", "queries", "wait", "results", "latest", "newest", "as_of", "counts"),
    *("cost", "explain", "would_add", "costs", "estimated_bytes", "demand", "network", "taps"),
    *("tap_by_id", "tap_open", "tap_rows", "tap_wait", "sinks", "qos", "delay", "budgets"),
    *("sizing", "quality", "overload", "spent", "summaries"),
)
_ASK = ("preview", "tap", "tap_remove", "ask", "sql", "run", "invoke")
_ADMINISTER = (
    *("register", "change", "command", "stage", "settle", "keep", "process_available", "end"),
    *("stop", "budget", "drop_budget", "summary"),
)
#: The role that each call needs.
ROLES: Mapping[str, Role] = MappingProxyType(
    dict.fromkeys(_READ, Role.READ)
    | dict.fromkeys(_ASK, Role.ASK)
    | dict.fromkeys(_ADMINISTER, Role.ADMINISTER)
)
#: Calls that may wait for long.
WAITS = ("wait", "tap_wait", "invoke", "process_available", "ask", "run")
#: The longest time that a call waits, in seconds.
LONGEST = 600.0
#: Arguments by name, wherever they are, and what they are.
_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    dict.fromkeys(
        ("id", "name", "text", "kind", "query", "stream", "ttl", "on", "method", "action", "at"),
        (str,),
    )
    | dict.fromkeys(("owner", "description", "tag", "where", "emit", "answer", "into"), (str,))
    | dict.fromkeys(("after", "generation", "rows", "seq"), (int,))
    | dict.fromkeys(("timeout", "confidence"), (int, float))
    | dict.fromkeys(("start", "until", "every", "value"), (str, int, float))
    | dict.fromkeys(("options", "arguments"), (dict,))
    | dict.fromkeys(("apply", "on_change"), (bool,))
    | {"tags": (list,)}
)
#: Sinks whose arguments are places of files, and secrets are not among them.
_FILES = ("csv", "json", "parquet", "memory", "console", "stdout", "insert")


@dataclass(frozen=True)
class RemoteCalls:
    """Runs calls by name.

    Args:
        calls: The calls of the engine.
        texts: Checks texts.
        run_sql: Runs statements that have been checked.
        role_of_run: Returns the role that a text needs to be run as a batch.
        known: Returns whether a query of this name is there.
    """

    calls: Mapping[str, Served]
    texts: SafeTexts
    run_sql: Callable[[str], object]
    role_of_run: Callable[[str], Role]
    known: Callable[[str], bool]

    def run(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> object:
        """Return the value of a call."""
        if name not in ROLES or name not in self.calls:
            raise HttpError(404, f"there is no call {name!r}", "is the client of another version?")
        caller.check(ROLES[name])
        _check_types(name, arguments)
        self._check(caller, name, arguments)
        if name == "sql":
            return self.run_sql(str(arguments.get("text")))
        given = dict(arguments)
        if "timeout" in given:
            given["timeout"] = min(float(given["timeout"]), LONGEST)
        try:
            value = self.calls[name](**given)
        except TypeError as error:
            raise HttpError(422, f"{name} does not take these arguments: {error}") from error
        return _shown(name, arguments, value)

    def _check(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> None:
        """Raise if a call has a text that may not be run, or needs another role for it."""
        text = arguments.get("text")
        options = arguments.get("options") or {}
        if name == "sql" and text is not None:
            caller.check(self.texts.check_statements(text))
        elif name == "run" and text is not None:
            caller.check(self.role_of_run(text))  # the run checks the text itself
        elif text is not None and name != "queries":
            self.texts.check_query(text)
        if name == "explain" and not self.known(query := str(arguments.get("query"))):
            self._check_select(query)
        if options.get("into") is not None:
            self.texts.check_call("into", options["into"])
        if options.get("where") is not None:
            self.texts.check_condition(options["where"])
        if name == "command" and arguments.get("kind") == "drop":
            return
        if name == "sinks":
            self._check_sinks(caller, arguments)

    def _check_select(self, query: str) -> None:
        if len(query.split()) > 1:
            self.texts.check_query(query)

    def _check_sinks(self, caller: Caller, arguments: Mapping[str, Any]) -> None:
        if arguments.get("method") != "status":
            caller.check(Role.ADMINISTER)
        action = arguments.get("arguments", {}).get("action")
        if action is not None:
            self.texts.check_call("action", action)


def _check_types(name: str, arguments: Mapping[str, Any]) -> None:
    """Raise if an argument is not what all arguments of its name are."""
    for argument, value in arguments.items():
        kinds = _TYPES.get(argument)
        whole = bool not in kinds if kinds else False
        wrong = kinds and not isinstance(value, kinds)
        if value is not None and (wrong or (whole and isinstance(value, bool))):
            words = " or ".join(kind.__name__ for kind in kinds or ())
            raise HttpError(422, f"{argument} of {name} is {words}")
        if isinstance(value, dict):
            _check_types(name, value)
        if isinstance(value, list) and not all(
            isinstance(part, str | int | float) for part in value
        ):
            raise HttpError(422, f"{argument} of {name} is a list of words")


def _shown(name: str, arguments: Mapping[str, Any], value: Any) -> object:
    """Return a value without the secrets that it may have."""
    if name == "record":
        return _record(value)
    if name == "queries":
        return [_record(own) for own in value]
    if name == "sinks" and arguments.get("method") == "status":
        return [_sink(own) for own in value]
    return value


def _record(record: Mapping[str, Any]) -> dict[str, Any]:
    return {**record, "text": without_secrets(record["text"])}


def _sink(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far a sink is, with the places that it writes to but nothing that lets one in."""
    record = status["record"]
    call = record["call"]
    if call["connector"] not in _FILES:
        shown = [_place(argument) for argument in call["arguments"]]
        hidden = dict.fromkeys(call["options"], HIDDEN)
        call = {**call, "arguments": shown, "options": hidden}
    return {**status, "record": {**record, "call": call}}


def _place(argument: object) -> str:
    text = str(argument)
    return origin_of(text) if text.startswith(("http://", "https://")) else HIDDEN
