"""Outcomes of calls, from the recording that a rerun is answered from."""

import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from forkpoint.outputs.errors import exception

# A generator's output is recorded up to this many items.
MAX_ITEMS = 1000


@dataclass(frozen=True)
class Answer:
    """What a call returned in the recording, or the error that it raised, as `Class: message`.

    `form` is what the JSON of the output, or the text of the error, loses. `is_text`: the output is known only as the
    text that the model got, which may be JSON. `messages` are what an MCP server said during the call. `check` gets
    what its client has responded to them so far, and returns whether the outcome is that of this call; if not, the
    call is to be made.
    """

    output: Any = None
    error: str = ""
    is_text: bool = False
    messages: Sequence[Any] = ()
    form: Any = None
    check: Callable[[list[Any]], bool] = field(default=lambda _: True, compare=False, repr=False)
    # Reports that the agent gets less than the call returned.
    report_loss: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)

    @property
    def has_questions(self) -> bool:
        """Whether the outcome follows from what a client responded to an MCP server."""
        return any("response" in message for message in self.messages)

    @property
    def is_cancellation(self) -> bool:
        """Whether the call never ended by itself: the agent cancelled it, such as after a time."""
        return self.error.partition(":")[0] == "CancelledError" and not self.output

    def result(self, function: Callable[..., Any] | None = None) -> Any:
        """Return what the call returned, or raise what it raised. `function` says by its annotation if that is text."""
        if self.error:
            raise exception(self.error, self.form)
        if self.is_text and function is not None and inspect.signature(function).return_annotation not in (str, "str"):
            return _parse(self.output)
        return self.output

    def items(self, function: Callable[..., Any]) -> Iterator[Any]:
        """Yield what a generator yielded, until it raised an error if it did."""
        items = self.output if self.error else self.result(function)
        yield from items if isinstance(items, list) else ()
        if self.error:
            self.result(function)


@dataclass(frozen=True)
class Reply:
    """What a rerun decides about a call. Without an answer the call is made: with its own arguments, or with others.

    `call` is the id under which the rerun knows the call.
    """

    answer: Answer | None = None
    arguments: Any = None
    call: str = ""


def _parse(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
