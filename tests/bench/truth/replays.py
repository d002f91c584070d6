"""Recordings that are themselves replays, as their events build them, with outputs that no agent produced."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Final

from replay.core.calls import Answer, Call
from replay.core.events import ContainerClosed, Event, StepResolved, StepsReused
from replay.core.graph import ReplayOutput
from tests.support.memory_replays import Replay
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, Reason

NO_REPLAY_OUTPUTS: Final[Mapping[int, ReplayOutput]] = {}
_NEW: Final = "new:"
_OUTPUTS: Final = (
    ReplayOutput(label=Label.SIMULATED, reason=Reason.OPERATOR_OVERRIDE),
    ReplayOutput(label=Label.SIMULATED, reason=Reason.LIVE_MODEL),
    ReplayOutput(label=Label.SIMULATED, reason=Reason.DERIVED),
    ReplayOutput(label=Label.CACHED, reason=Reason.CACHE_SEMANTIC),
)


def random_replay_outputs(run: RecordedRun, random: Random) -> dict[int, ReplayOutput]:
    numbers = random.sample(range(1, len(run.steps) + 1), k=max(1, len(run.steps) // 3))
    return {no: random.choice(_OUTPUTS) for no in numbers}


def mark_replay_outputs(fork: Replay, outputs: Mapping[int, ReplayOutput]) -> None:
    """Mark the steps of a fork's source whose outputs came about in a replay."""
    nodes = [replace(node, replay_output=outputs.get(node.no)) for node in fork.graph.nodes]
    fork.graph = replace(fork.graph, nodes=tuple(nodes))


def is_new(step: RecordedStep) -> bool:
    """True if a step was not in the recording of the agent."""
    return step.key.startswith(_NEW)


class DerivedRun:
    """The run that a replay of a recording writes."""

    def __init__(
        self, run: RecordedRun, fork: int, events: Iterable[Event], replay_outputs: Mapping[int, ReplayOutput]
    ) -> None:
        self._source, self._source_outputs = run, replay_outputs
        self._steps = {no: run.steps[no - 1] for no in range(1, fork)}
        # Outputs of this run that no agent produced.
        self.outputs = {no: output for no, output in replay_outputs.items() if no < fork}
        containers: list[ContainerClosed] = []
        for event in events:
            match event:
                case StepsReused():
                    self._reuse(event)
                case StepResolved():
                    self._resolve(event.call, event.answer)
                case ContainerClosed():
                    containers.append(event)
                case _:
                    pass
        for event in containers:
            self._steps[event.no] = replace(self._steps[event.no], output=event.output)
            self._label(event.no, event.label, event.reason)

    @property
    def run(self) -> RecordedRun:
        return replace(self._source, steps=tuple(self._steps[no] for no in sorted(self._steps)))

    def _reuse(self, event: StepsReused) -> None:
        for no in range(event.first, event.last + 1):
            self._steps[no + event.offset] = self._source.steps[no - 1]
            if (output := self._source_outputs.get(no)) is not None:
                self.outputs[no + event.offset] = output
            if no in event.assumptions:
                self._label(no + event.offset, Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)

    def _resolve(self, call: Call, answer: Answer) -> None:
        recorded = None if call.node is None else self._source.steps[call.node.no - 1]
        step = recorded or RecordedStep(
            key=f"{_NEW}{call.no}",
            type=call.type,
            name=call.name,
            provider=call.provider,
            model=call.model,
            tool_name=call.tool_name,
            call_id=call.call_id,
            input=call.input,
        )
        if answer.label is not Label.EXACT:
            input = call.input if recorded is None or call.differs else recorded.input
            step = replace(step, input=input, output=answer.output, status=answer.status)
        self._steps[call.no] = replace(step, parent=None if call.parent is None else self._steps[call.parent].key)
        self._label(call.no, answer.label or Label.SIMULATED, answer.reason or Reason.POLICY_FALLBACK)

    def _label(self, no: int, label: Label, reason: Reason) -> None:
        self.outputs.pop(no, None)
        if label is not Label.EXACT:
            self.outputs[no] = ReplayOutput(label=label, reason=reason)
