"""What became of a request with events."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

DEFAULT_RETRY_S: Final = 1.0


class Outcome(StrEnum):
    """Result of one request."""

    SUCCESS = "success"
    BUSY = "busy"
    FORBIDDEN = "forbidden"
    TOO_LARGE = "too_large"
    INVALID = "invalid"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A result with its details. `rejected_reasons` has one entry for each rejected line of an accepted request."""

    outcome: Outcome
    reason: str = ""
    retry_after_s: float = DEFAULT_RETRY_S
    rejected_reasons: tuple[str, ...] = ()
