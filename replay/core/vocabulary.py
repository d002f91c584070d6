"""Statuses of replay sessions. Pure."""

from typing import Final, Literal

COMPLETED: Final = frozenset({"completed_exact", "completed_mixed", "completed_simulated"})
FAILED: Final = frozenset({"failed_execution", "failed_validation"})
ENDED: Final = COMPLETED | FAILED | {"cancelled"}


SessionStatus = Literal[
    "pending", "running", "completed_exact", "completed_simulated", "completed_mixed",
    "failed_validation", "failed_execution", "cancelled", "awaiting_operator",
]  # fmt: skip
