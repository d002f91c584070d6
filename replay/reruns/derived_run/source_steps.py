"""The steps of a recording, taken one after the other by what an agent does again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from replay.core.vocabulary import RerunDecision
from traces.core.vocabulary import StepType
from traces.ingest.step_rows import StepRow
from traces.models import Run, Step
from traces.payloads.lost_payloads import LostPayloads

CALLS = frozenset({StepType.TOOL, StepType.RETRIEVAL})
# Steps that contain others.
GROUPS = frozenset({StepType.AGENT, StepType.TURN, StepType.PLANNER})
# What the SDK reports only of a program whose model calls it records too.
_GROUP_MARKS = frozenset({*GROUPS, StepType.OUTPUT})


@dataclass(kw_only=True)
class SourceSteps:
    """The recorded steps: all by number, and those that are left by type and name.

    `losses` are the unreadable payloads of steps, by number, as far as they were looked for.
    """

    steps: Mapping[int, Step]
    losses: Mapping[int, LostPayloads]
    _left: dict[tuple[str, str], list[Step]]
    _children: Mapping[int, Sequence[Step]]

    @classmethod
    def load(cls, run: Run) -> "SourceSteps":
        steps = {step.sequence_no: step for step in Step.objects.filter(run=run).order_by("sequence_no")}
        left: dict[tuple[str, str], list[Step]] = {}
        children: dict[int, list[Step]] = {}
        for step in steps.values():
            left.setdefault(_name(step), []).append(step)
            if step.parent_no is not None:
                children.setdefault(step.parent_no, []).append(step)
        return cls(steps=steps, losses={}, _left=left, _children=children)

    @property
    def has_groups(self) -> bool:
        """Whether the recording says which agent or turn its calls belong to."""
        return any(type in _GROUP_MARKS for type, _ in self._left)

    def take_number(self, no: int) -> Step:
        """Return a step, which may have been taken before."""
        step = self.steps[no]
        if step in (left := self._left[_name(step)]):
            left.remove(step)
        return step

    def take(self, row: StepRow, decisions: Mapping[int, str]) -> Step | None:
        """Return the recorded step that a step is: of the same name with the same id or input.

        A call that was answered after volatile values were renamed is the next one that was answered so. Of the
        agent's own steps the next one of the name is the same with another input.
        """
        steps = self._left.get(_name(row), [])
        same_ids = (step for step in steps if step.call_id and step.call_id == row.call_id)
        same_inputs = (step for step in steps if step.input_ref == row.input_ref)
        source = next(chain(same_ids, same_inputs, _next_steps(row, steps, decisions)), None)
        if source is not None:
            steps.remove(source)
        return source

    def contents_of(self, no: int) -> Iterator[Step]:
        """Yield what a recorded step contains, at every depth. Parents come before what they contain."""
        for child in self._children.get(no, ()):
            yield child
            yield from self.contents_of(child.sequence_no)


def _name(step: Step | StepRow) -> tuple[str, str]:
    return step.type, step.tool_name or step.name


def _next_steps(row: StepRow, steps: Sequence[Step], decisions: Mapping[int, str]) -> Iterator[Step]:
    if row.type not in CALLS:
        return iter(steps)
    return (step for step in steps if decisions.get(step.sequence_no) == RerunDecision.CACHED)
