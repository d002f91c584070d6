"""ReplayControl: suppress calls that succeeded earlier in the same turn; failed calls may be retried. Pure."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONValue

DUPLICATE: Final = "duplicate"


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool's declared properties; a tool without a declaration counts as idempotent."""

    name: str
    idempotent: bool = True


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether to skip a call; `step` is the step whose success makes it a duplicate."""

    skip: bool
    reason: str = ""
    step: int | None = None


def call_key(tool_name: str, arguments: JSONValue) -> str:
    """MD5 of the name and the key-sorted arguments: 1, 1.0 and "1" make three different calls."""
    raw = f"{tool_name}:{json.dumps(arguments, sort_keys=True)}"
    return hashlib.md5(raw.encode(), usedforsecurity=False).hexdigest()


@dataclass
class _History:
    has_success: bool = False
    step: int | None = None


@dataclass
class ReplayControl:
    """Calls of one turn; a success stays recorded whatever later calls with the same key do."""

    _history_by_key: dict[str, _History] = field(default_factory=dict)

    def should_skip(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> Decision:
        """Decide whether a call repeats a successful one; a tool that is not idempotent is never skipped."""
        if spec is not None and not spec.idempotent:
            return Decision(skip=False)
        earlier = self._history_by_key.get(call_key(tool_name, arguments))
        if earlier is None or not earlier.has_success:
            return Decision(skip=False)
        return Decision(skip=True, reason=DUPLICATE, step=earlier.step)

    def record_success(
        self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None, *, step: int | None = None
    ) -> None:
        history = self._history(tool_name, arguments)
        if not history.has_success:
            history.has_success, history.step = True, step

    def record_failure(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> None:
        self._history(tool_name, arguments)

    def record_timeout(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> None:
        self._history(tool_name, arguments)

    def record_denied(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> None:
        self._history(tool_name, arguments)

    def history_size(self) -> int:
        """Number of distinct calls."""
        return len(self._history_by_key)

    def _history(self, tool_name: str, arguments: JSONValue) -> _History:
        return self._history_by_key.setdefault(call_key(tool_name, arguments), _History())
