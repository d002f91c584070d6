"""Storing what a replay made, each message of a conversation once."""

from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter
from traces.storage import artifacts


class PayloadWriter:
    """Stores payloads; what one of them shares with those before it is neither cut nor written again."""

    def __init__(self) -> None:
        self._splitter = Splitter()

    def __call__(self, value: JSONValue) -> str:
        """The digest under which `value` is stored; it must not change afterwards."""
        ref = self._splitter.split(value)
        artifacts.put_many(self._splitter.parts)
        self._splitter.parts.clear()
        return ref
