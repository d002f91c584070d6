"""Plans and replays of handmade recordings in memory."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from replay.core.applied_profile import apply_profile
from replay.core.calls import NO_REVIEW, Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.core.context import ReplayContext
from replay.core.environment import ReplayEnvironment
from replay.core.events import ContainerClosed, Event, StepResolved, StepSkipped, StepsReused
from replay.core.plan import Plan
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning.plan_environment import Sources
from replay.planning.planner import plan
from tests.support.replay_runs import graph_of, order_desk
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason, StepType

Model = Callable[[Call], JSONObject]
Library = Callable[[Call], list[JSONValue]]


@dataclass
class MemoryEnvironment:
    """In-memory environment; `model` answers live calls, and without one no provider is configured."""

    payloads: dict[str, JSONValue]
    model: Model | None = None
    library: Library | None = None
    planning: bool = False

    def payload(self, ref: str) -> JSONValue:
        return self.payloads[ref]

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return None

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return None if self.model is None else "desk"

    def live(self, call: Call, provider: str) -> Answer:
        assert self.model is not None
        output: JSONValue = {"message": {"role": "assistant", **self.model(call)}}
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_MODEL, output=output)

    def tool(self, name: str) -> ToolReview:
        return NO_REVIEW

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        raise AssertionError(f"{call.callee} is not reviewed and must not run")

    def retriever(self, call: Call) -> RetrieverMatch:
        return (
            RetrieverMatch(reason="no retriever is configured")
            if self.library is None
            else RetrieverMatch(name="library")
        )

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        assert self.library is not None
        output: JSONValue = {"documents": self.library(call)}
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_RETRIEVAL, output=output)

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None


@dataclass
class Replay:
    """One fork of one recording."""

    run: RecordedRun
    fork: int
    entries: list[JSONValue]
    policy: Policy

    def __post_init__(self) -> None:
        self.graph, self.payloads = graph_of(self.run, self.fork)
        self.profile = apply_profile(OverrideProfile.model_validate({"overrides": self.entries}), self.graph)

    def plan(self, *, live: bool = False) -> Plan:
        """Plan of the fork; with `live`, a provider is configured."""

        def price(provider: str, model: str, tokens_in: int | None, tokens_out: int | None) -> float | None:
            return None

        sources = Sources(
            payload=self.payloads.__getitem__,
            cached=lambda signature, exclude: None,
            provider=lambda provider, model, override: "desk" if live else None,
            price=price,
        )
        return plan(self.graph, self.profile, self.policy, sources)

    def context(self, world: ReplayEnvironment) -> ReplayContext:
        """Context of a replay of this fork in an environment."""
        return ReplayContext(graph=self.graph, profile=self.profile, policy=self.policy, environment=world)

    def execute(self, model: Model | None = None, library: Library | None = None) -> list[Event]:
        world = MemoryEnvironment(payloads=self.payloads, model=model, library=library)
        return list(Replayer(self.context(world)).run())


def replay(*entries: JSONValue, run: RecordedRun | None = None, fork: int = 1, policy: Policy | None = None) -> Replay:
    return Replay(run=run or order_desk(), fork=fork, entries=list(entries), policy=policy or Policy())


def labels(events: list[Event]) -> dict[int, str]:
    """Label and reason by source step; `unreached` for skipped ones."""
    labels_by_step: dict[int, str] = {}
    for event in events:
        match event:
            case StepsReused():
                labels_by_step.update(dict.fromkeys(range(event.first, event.last + 1), "exact source_output_reused"))
                labels_by_step.update(dict.fromkeys(event.assumptions, "simulated assumed_unaffected"))
            case StepResolved() if (node := event.call.node or event.answer.source) is not None:
                labels_by_step[node.no] = f"{event.answer.label} {event.answer.reason or ''}"
            case StepSkipped():
                labels_by_step[event.node.no] = "unreached"
            case ContainerClosed():
                labels_by_step[event.node.no] = f"{event.label} {event.reason}"
            case _:
                pass
    return labels_by_step


def planned_labels(plan: Plan) -> dict[int, str]:
    return {
        step.sequence_no: "unreached" if step.action == "unreached" else f"{step.label} {step.reason}"
        for step in plan.steps
    }


def resolved_step(events: list[Event], no: int) -> StepResolved:
    return next(event for event in events if isinstance(event, StepResolved) and event.call.no == no)


def assert_every_step_counts_once(fork: Replay, events: Iterable[Event]) -> None:
    """The derived steps have no gaps, and each step of the source is used: once, or again by an idempotent tool."""
    numbers, seen_numbers = count_steps(events)
    assert numbers == list(range(fork.fork, fork.fork + len(numbers)))
    assert set(seen_numbers) == {node.no for node in fork.graph.nodes}
    repeated_numbers = [no for no in seen_numbers if seen_numbers.count(no) > 1]
    assert all(fork.graph.by_no[no].type is StepType.TOOL for no in repeated_numbers)


def count_steps(events: Iterable[Event]) -> tuple[list[int], list[int]]:
    """Numbers of the derived steps in order, and the source steps that they replace or skip."""
    numbers: list[int] = []
    seen_numbers: list[int] = []
    for event in events:
        match event:
            case StepsReused():
                numbers += range(event.first + event.offset, event.last + event.offset + 1)
                seen_numbers += range(event.first, event.last + 1)
            case StepResolved():
                numbers.append(event.call.no)
                node = event.answer.source or event.call.node
                seen_numbers += [] if node is None else [node.no]
            case StepSkipped():
                seen_numbers.append(event.node.no)
            case _:
                pass
    return numbers, seen_numbers
