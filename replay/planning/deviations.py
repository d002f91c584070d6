"""Deviations of an execution from its plan, as sentences. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from replay.core import wording
from replay.core.graph import Node
from traces.core.vocabulary import Label, StepType

_SHOWN: Final = 200


class Deviations:
    """Compares outcomes of source steps with the plan; `planned` omits reused steps."""

    def __init__(self, planned: Mapping[str, Sequence[Any]]) -> None:
        self._planned = planned
        self._said: list[str] = []
        # What steps that hold others became, until they are closed
        self._holding: dict[int, tuple[str, str]] = {}
        # By the plan they would have been reached
        self._unreached: list[int] = []
        # Recorded tool calls that nobody asks for any more
        self.unused: list[int] = []

    @property
    def said(self) -> list[str]:
        return [*self._said, *wording.unreached_steps(self._unreached)]

    def say(self, text: str) -> None:
        """Record a deviation, up to a limit."""
        if len(self._said) < _SHOWN:
            self._said.append(text)

    def became(self, no: int, label: str, reason: str, *, holds_others: bool) -> None:
        """Compare a step's label with the plan; containers are compared when they close."""
        if holds_others:
            self._holding[no] = (label, reason)
        else:
            self._compare(no, label, reason)

    def closed(self, no: int, label: str, reason: str) -> None:
        self._holding.pop(no, None)
        self._compare(no, label, reason)

    def left_out(self, node: Node, *, told: bool) -> None:
        """Record a skipped step."""
        if node.type is StepType.TOOL:
            self.unused.append(node.no)
        if not told and self._expected(node.no) != "unreached":
            self._unreached.append(node.no)

    def finish(self) -> None:
        for no in sorted(self._holding):
            self._compare(no, *self._holding[no])

    def _compare(self, no: int, label: str, reason: str) -> None:
        expected = self._expected(no)
        if expected != label and (label or expected != "blocked"):
            self.say(wording.deviation(no, expected, reason))

    def _expected(self, no: int) -> str:
        """Planned label of a source step, or its action if it has no label."""
        action, label, _ = self._planned.get(str(no), ["reuse", Label.EXACT, ""])
        return str(label or action)
