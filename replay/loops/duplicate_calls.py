"""ReplayControl: within one turn, a call that succeeded is not made again; failed calls may be retried."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_types import JSONValue

DUPLICATE: Final = "duplicate"


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """What a tool declares about itself; a tool without one counts as idempotent."""

    name: str
    idempotent: bool = True


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`step` is the step whose success makes this call a duplicate."""

    skip: bool
    reason: str = ""
    step: int | None = None


def call_key(tool_name: str, arguments: JSONValue) -> str:
    """The MD5 of the name and the key-sorted arguments: 1, 1.0 and "1" are three different calls."""
    raw = f"{tool_name}:{json.dumps(arguments, sort_keys=True)}"
    return hashlib.md5(raw.encode(), usedforsecurity=False).hexdigest()


@dataclass
class _History:
    succeeded: bool = False
    step: int | None = None


@dataclass
class ReplayControl:
    """The calls of one turn. A success stays one, whatever the same call does later."""

    _seen: dict[str, _History] = field(default_factory=dict)

    def should_skip(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> Decision:
        """Whether the call repeats one that succeeded; a tool that is not idempotent is never skipped."""
        if spec is not None and not spec.idempotent:
            return Decision(skip=False)
        earlier = self._seen.get(call_key(tool_name, arguments))
        if earlier is None or not earlier.succeeded:
            return Decision(skip=False)
        return Decision(skip=True, reason=DUPLICATE, step=earlier.step)

    def record_success(
        self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None, *, step: int | None = None
    ) -> None:
        history = self._of(tool_name, arguments)
        if not history.succeeded:
            history.succeeded, history.step = True, step

    def record_failure(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> None:
        self._of(tool_name, arguments)

    def record_timeout(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> None:
        self._of(tool_name, arguments)

    def record_denied(self, tool_name: str, arguments: JSONValue, spec: ToolSpec | None = None) -> None:
        self._of(tool_name, arguments)

    def history_size(self) -> int:
        """How many distinct calls were seen."""
        return len(self._seen)

    def _of(self, tool_name: str, arguments: JSONValue) -> _History:
        return self._seen.setdefault(call_key(tool_name, arguments), _History())
