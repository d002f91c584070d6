"""Deviations of an execution from its plan, as sentences. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from replay.core import wording
from replay.core.graph import Node
from traces.core.vocabulary import Label, StepType

_MAX_TEXTS: Final = 200


class Deviations:
    """Compares outcomes of source steps with the plan; the plan omits reused steps."""

    def __init__(self, plan: Mapping[str, Sequence[Any]]) -> None:
        self._plan = plan
        self._texts: list[str] = []
        # Label and reason of open containers.
        self._open_containers: dict[int, tuple[str, str]] = {}
        # Skipped steps that the plan expected to reach.
        self._unreached_numbers: list[int] = []
        # Recorded tool calls that the replay no longer makes.
        self.unused_calls: list[int] = []

    @property
    def texts(self) -> list[str]:
        return [*self._texts, *wording.unreached_steps(self._unreached_numbers)]

    def add(self, text: str) -> None:
        """Record a deviation, up to a limit."""
        if len(self._texts) < _MAX_TEXTS:
            self._texts.append(text)

    def resolve(self, no: int, label: str, reason: str, *, is_container: bool) -> None:
        """Compare a step's label with the plan; containers are compared when they close."""
        if is_container:
            self._open_containers[no] = (label, reason)
        else:
            self._compare(no, label, reason)

    def close(self, no: int, label: str, reason: str) -> None:
        self._open_containers.pop(no, None)
        self._compare(no, label, reason)

    def skip(self, node: Node, *, is_reported: bool) -> None:
        """Record a skipped step."""
        if node.type is StepType.TOOL:
            self.unused_calls.append(node.no)
        if not is_reported and self._expected(node.no) != "unreached":
            self._unreached_numbers.append(node.no)

    def finish(self) -> None:
        for no in sorted(self._open_containers):
            self._compare(no, *self._open_containers[no])

    def _compare(self, no: int, label: str, reason: str) -> None:
        expected = self._expected(no)
        if expected != label and (label or expected != "blocked"):
            self.add(wording.deviation(no, expected, reason))

    def _expected(self, no: int) -> str:
        """Planned label of a source step, or its action if it has no label."""
        action, label, _ = self._plan.get(str(no), ["reuse", Label.EXACT, ""])
        return str(label or action)
