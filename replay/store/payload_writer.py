"""Payload storage for a replay: each message of a conversation is stored once."""

from collections.abc import Callable
from uuid import UUID

from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter
from traces.storage import artifacts


class PayloadWriter:
    """Collects payloads of a run and stores them together; parts shared with earlier ones are not split again.

    `find_run` returns the run's id, which exists from the first payload on.
    """

    def __init__(self, find_run: Callable[[], UUID]) -> None:
        self._find_run = find_run
        self._splitter = Splitter()

    def __call__(self, value: JSONValue) -> str:
        """Return a value's digest, which may be stored after `flush`; the caller must not change the value."""
        return self._splitter.split(value)

    def flush(self) -> None:
        """Store the collected values."""
        if self._splitter.parts:
            artifacts.write_many({self._find_run(): self._splitter.parts})
            self._splitter.parts.clear()
