"""Payload storage for a replay: each message of a conversation is stored once."""

from collections.abc import Callable
from uuid import UUID

from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter
from traces.storage import artifacts


class PayloadWriter:
    """Stores payloads of a run; parts shared with earlier ones are not split or written again.

    `find_run` returns the run's id, which exists from the first payload on.
    """

    def __init__(self, find_run: Callable[[], UUID]) -> None:
        self._find_run = find_run
        self._splitter = Splitter()

    def __call__(self, value: JSONValue) -> str:
        """Store a value and return its digest; the caller must not change the value afterwards."""
        ref = self._splitter.split(value)
        artifacts.write_many({self._find_run(): self._splitter.parts})
        self._splitter.parts.clear()
        return ref
