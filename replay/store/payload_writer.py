"""Payload storage for a replay: each message of a conversation is stored once."""

from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter
from traces.storage import artifacts


class PayloadWriter:
    """Stores payloads; parts shared with earlier ones are not split or written again."""

    def __init__(self) -> None:
        self._splitter = Splitter()

    def __call__(self, value: JSONValue) -> str:
        """Store a value and return its digest; the caller must not change the value afterwards."""
        ref = self._splitter.split(value)
        artifacts.write_many(self._splitter.parts)
        self._splitter.parts.clear()
        return ref
