"""Forks of a program's recording: previews and executions, and the labels of their steps."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from replay.core.calls import LIVE_REASONS, NO_REVIEW, Answer, Call, ToolReview
from replay.core.events import ContainerClosed, Event, StepResolved, StepsReused
from replay.core.graph import Graph, ReplayOutput, Witness
from replay.engine.replayer import Replayer
from replay.inputs.witnesses import WitnessStep, places, witness
from replay.overrides.policy import Policy
from replay.resolution import lost_recordings
from tests.bench.truth import brain
from tests.bench.truth.damage import NO_LOSSES, Losses, lose
from tests.bench.truth.replays import NO_REPLAY_OUTPUTS, DerivedRun, mark_replay_outputs
from tests.bench.truth.runtime import NOTE_TOOLS, Changes, Runtime
from tests.support.memory_replays import MemoryEnvironment, Replay, labels, planned_labels
from tests.support.replay_runs import graph_of
from traces.core.json_access import as_object
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason
from traces.payloads.parts import MissingPart


@dataclass
class LiveEnvironment(MemoryEnvironment):
    """Answers live calls like the program's own model and tools."""

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return "bench"

    def live(self, call: Call, provider: str) -> Answer:
        ids = (f"live_{call.no}_{number}" for number in range(100))
        message = brain.answer(as_object(call.input), call.model, lambda: next(ids))
        output: JSONValue = {"message": message, "finish_reason": "stop"}
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_MODEL, output=output)

    def tool(self, name: str) -> ToolReview:
        # A fork has no notes of the calls before it.
        return NO_REVIEW if name in NOTE_TOOLS else ToolReview(safe=True, executor="bench")

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        output, status = Runtime().call_tool(call.callee, as_object(call.input))
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_TOOL, output=output, status=status)


@dataclass(frozen=True, kw_only=True)
class ForkLabels:
    """Labels and reasons by source step: previewed, replayed without a provider, and followed with live calls."""

    previewed: Mapping[int, str]
    replayed: Mapping[int, str]
    followed: Mapping[int, str]
    # Requests that were answered live, with the source steps in whose places or after which they were made.
    live_requests: Sequence[tuple[int, JSONValue]]
    # Steps whose recordings are unreadable.
    lost: Collection[int] = ()
    # Steps whose recorded outputs are those of a replay.
    replay_outputs: Collection[int] = ()
    # The run that the fork with live calls writes.
    derived: DerivedRun


class Refused(Exception):
    """The fork needs a recording that is lost, or changes what the format of the recording has as another step."""


def fork_labels(
    run: RecordedRun,
    changes: Changes,
    numbers: Mapping[str, int],
    *,
    tools: bool,
    others: Sequence[RecordedRun] = (),
    losses: Losses = NO_LOSSES,
    replay_outputs: Mapping[int, ReplayOutput] = NO_REPLAY_OUTPUTS,
) -> ForkLabels:
    """Fork at the first change, and label its steps; `others` are recordings of the same app. Raises `Refused`.

    The recording may itself be a replay, whose outputs in `replay_outputs` no agent produced.
    """
    entries: list[JSONValue] = [{"match": {"step": numbers[key]}, **change} for key, change in changes.items()]
    fork = Replay(run=run, fork=min(numbers[key] for key in changes), entries=entries, policy=Policy())
    live = Replay(
        run=run, fork=fork.fork, entries=entries, policy=Policy(allow=["model", "tool"] if tools else ["model"])
    )
    for replay in (fork, live):
        _add_witnesses(replay, others)
        mark_replay_outputs(replay, replay_outputs)
        lose(replay, losses)
    plan = fork.plan()
    if plan.refusals:
        raise Refused
    try:
        followed = list(Replayer(live.context(LiveEnvironment(payloads=live.payloads))).run())
    except MissingPart as error:
        # A live answer reached a step whose input is lost, which no plan can foresee.
        raise Refused from error
    return ForkLabels(
        previewed=planned_labels(plan),
        replayed=_labels(fork.execute(), fork.graph),
        followed=_labels(followed, live.graph),
        live_requests=list(_live_requests(followed)),
        lost=[node.no for node in fork.graph.nodes if node.losses],
        replay_outputs=replay_outputs.keys(),
        derived=DerivedRun(run, live.fork, followed, replay_outputs),
    )


def _labels(events: list[Event], graph: Graph) -> dict[int, str]:
    """Labels of the derived run, in which reused steps with an unreadable recording are simulated."""
    labels_by_step = labels(events)
    for event in events:
        if isinstance(event, StepsReused):
            for no in range(event.first, event.last + 1):
                if labels_by_step[no] == f"{Label.EXACT} source_output_reused":
                    labels_by_step[no] = f"{graph.by_no[no].reuse_label} source_output_reused"
                if losses := graph.by_no[no].losses:
                    labels_by_step[no] = f"simulated {lost_recordings.reason(losses)}"
    # A container gets another label at its end.
    ends = [event for event in events if isinstance(event, ContainerClosed)]
    return labels_by_step | {event.node.no: f"{event.label} {event.reason}" for event in ends}


def _add_witnesses(fork: Replay, others: Sequence[RecordedRun]) -> None:
    numbers = places(_witness_steps(graph_of(fork.run)[0]))
    witnesses: list[Witness] = []
    for other in others:
        graph, payloads = graph_of(other)
        witnesses.append(witness(_witness_steps(graph), numbers))
        fork.payloads.update(payloads)
    fork.graph = replace(fork.graph, witnesses=tuple(witnesses))


def _witness_steps(graph: Graph) -> list[WitnessStep]:
    return [
        WitnessStep(
            no=node.no,
            type=node.type,
            name=node.name,
            output_ref=node.output_ref,
            digests=tuple(item.digest for item in node.unexplained),
        )
        for node in graph.nodes
    ]


def _live_requests(events: Iterable[Event]) -> Iterator[tuple[int, JSONValue]]:
    no = 0
    for event in events:
        if isinstance(event, StepResolved):
            no = no if event.call.node is None else event.call.node.no
            if event.answer.reason in LIVE_REASONS:
                yield no, event.call.input
