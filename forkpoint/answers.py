"""Outcomes of calls, from the recording that a rerun is answered from."""

import builtins
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

# A generator's output is recorded up to this many items.
MAX_ITEMS = 1000
# Of the classes that are made here: another error of the same class is not derived from the first.
_MARK = "_forkpoint_recorded"


class RecordedError(Exception):
    """An error that a call raised in the recording, of a class that this process does not have."""


@dataclass(frozen=True)
class Answer:
    """What a call returned in the recording, or the error that it raised, as `Class: message`.

    `is_text`: the output is known only as the text that the model got, which may be JSON. `messages` are what an MCP
    server said during the call. `check` gets what its client has responded to them so far, and returns whether the
    outcome is that of this call; if not, the call is to be made.
    """

    output: Any = None
    error: str = ""
    is_text: bool = False
    messages: Sequence[Any] = ()
    check: Callable[[list[Any]], bool] = field(default=lambda _: True, compare=False, repr=False)
    # Reports that the agent gets less than the call returned.
    report_loss: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)

    @property
    def has_questions(self) -> bool:
        """Whether the outcome follows from what a client responded to an MCP server."""
        return any("response" in message for message in self.messages)

    def result(self, function: Callable[..., Any] | None = None) -> Any:
        """Return what the call returned, or raise what it raised. `function` says by its annotation if that is text."""
        if self.error:
            raise exception(self.error)
        if self.is_text and function is not None and inspect.signature(function).return_annotation not in (str, "str"):
            return _parse(self.output)
        return self.output

    def items(self, function: Callable[..., Any]) -> Iterator[Any]:
        """Yield what a generator yielded."""
        items = self.result(function)
        yield from items if isinstance(items, list) else ()


@dataclass(frozen=True)
class Reply:
    """What a rerun decides about a call. Without an answer the call is made: with its own arguments, or with others.

    `call` is the id under which the rerun knows the call.
    """

    answer: Answer | None = None
    arguments: Any = None
    call: str = ""


def exception(text: str) -> Exception:
    """Return the exception that was recorded as this text: of its class, if this process has exactly one by the name.

    >>> exception("ValueError: no stock")
    ValueError('no stock')
    """
    name, _, message = text.partition(": ")
    if not name.isidentifier():
        name, message = RecordedError.__name__, text
    try:
        return _make(_find_class(name) or RecordedError, name, message)
    except TypeError:
        # A class that cannot be derived from.
        return _make(RecordedError, name, message)


def _make(base: type[Exception], name: str, message: str) -> Exception:
    """Return an exception with this text, past its constructor, which may want anything and make the text of it."""
    fields = {"__str__": lambda self: message, "__module__": base.__module__, _MARK: True}
    kind: type[Exception] = type(name, (base,), fields)
    return kind.__new__(kind, message)


def _find_class(name: str) -> type[Exception] | None:
    builtin = getattr(builtins, name, None)
    if isinstance(builtin, type) and issubclass(builtin, Exception):
        return builtin
    classes = {kind for kind in _subclasses(Exception) if kind.__name__ == name and _MARK not in vars(kind)}
    return classes.pop() if len(classes) == 1 else None


def _subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _parse(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
