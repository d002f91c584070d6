"""Comparison of outputs with recorded ones. Pure."""

from collections import deque
from typing import Final

from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.payloads.splitter import Splitter

# Many steps in a row get one of a few outputs.
_RECENT: Final = 4


class References:
    """References that recordings of outputs have: their digests as stored. Those of recent outputs are kept."""

    def __init__(self) -> None:
        self._recent: deque[tuple[JSONValue, str]] = deque(maxlen=_RECENT)

    def reference_of(self, output: JSONValue) -> str:
        """Return the reference; empty for None, which is not stored."""
        for recent_output, known_reference in self._recent:
            if recent_output is output:
                return known_reference
        reference = "" if output is None else Splitter().split(output)
        self._recent.append((output, reference))
        return reference


def is_same_answer(first: JSONValue, second: JSONValue) -> bool:
    """True if two outputs of model steps have the same message, or are the same if they have none."""
    messages = _message(first), _message(second)
    # Values that differ in Python have different canonical forms, which take longer to compare.
    return messages[0] == messages[1] and digest(messages[0]) == digest(messages[1])


def message_digest(output: JSONValue) -> str:
    """Digest of the message of a model's output, or of an output that has none."""
    return digest(_message(output))


def _message(output: JSONValue) -> JSONValue:
    return output.get("message") if isinstance(output, dict) else output
