"""The replayer without a database: plans and executions of handmade and generated runs."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.core.applied_profile import apply_profile
from replay.core.calls import NO_REVIEW, Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.core.context import ReplayContext
from replay.core.environment import ReplayEnvironment
from replay.core.events import ContainerClosed, Event, StepResolved, StepSkipped, StepsReused
from replay.core.graph import Graph
from replay.core.plan import Plan
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning import conflicts
from replay.planning.plan_environment import Sources
from replay.planning.planner import plan
from tests.support.replay_runs import CONVERSATION, ORDERS, Reply, ToolCall, graph_of, order_desk
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


WRONG: JSONValue = {"match": {"step": 4}, "tool": {"output": {"status": "not found"}}}


def test_placeholder_keeps_recorded_structure() -> None:
    labels_by_step = labels(replay(WRONG).execute())
    assert labels_by_step == {
        1: "simulated derived",
        2: "simulated derived",
        3: "exact source_output_reused",
        4: "simulated simulation_operator_override",
        5: "simulated simulation_policy_fallback",
        6: "exact source_output_reused",
        7: "simulated simulation_policy_fallback",
        8: "simulated derived",
        9: "simulated simulation_policy_fallback",
        10: "simulated simulation_policy_fallback",
    }


def test_equal_answer_stops_change() -> None:
    payloads: dict[str, JSONValue] = {}

    def same(call: Call) -> JSONObject:
        assert call.node is not None
        output = payloads[call.node.output_ref]
        assert isinstance(output, dict)
        message = output["message"]
        assert isinstance(message, dict)
        return message

    fork = replay({"match": {"step": 9}, "model": {"temperature": 1}})
    payloads.update(fork.payloads)
    labels_by_step = labels(fork.execute(same))
    assert {no: label for no, label in labels_by_step.items() if not label.startswith("exact")} == {
        1: "simulated derived",
        8: "simulated derived",
        9: "simulated live_model_call",
    }


def test_call_without_recorded_arguments_is_reused() -> None:
    run = order_desk()
    bare = [replace(step, input=None) if step.type is StepType.TOOL else step for step in run.steps]
    fork = replay({"match": {"step": 3}, "model": {"temperature": 1}}, run=replace(run, steps=tuple(bare)))
    request: JSONValue = {"id": "other", "name": "get_order", "arguments": {"order_id": "A-1"}}
    labels_by_step = labels(
        fork.execute(lambda call: {"content": "Let me see.", "tool_calls": [request]} if call.no == 3 else {})
    )
    assert labels_by_step[4] == "exact source_output_reused"


def test_zero_and_empty_are_values() -> None:
    events = replay(
        {"match": {"step": 9}, "model": {"temperature": 0, "max_tokens": 0, "stop": []}},
        run=order_desk(parameters={"temperature": 0.7}),
    ).execute()
    input = resolved_step(events, 9).call.input
    assert isinstance(input, dict)
    assert input["parameters"] == {"temperature": 0, "max_tokens": 0, "stop": []}


def test_system_prompt_stays_in_history() -> None:
    events = replay({"match": {"step": 3}, "prompt": {"system": "Be brief."}}).execute()
    for no in (3, 5, 7, 9):
        input = resolved_step(events, no).call.input
        assert isinstance(input, dict)
        messages = input["messages"]
        assert isinstance(messages, list)
        assert messages[0] == {"role": "system", "content": "Be brief."}


def test_message_edits_use_recorded_index() -> None:
    edits: JSONValue = [
        {"op": "delete", "index": 0},
        {"op": "insert", "index": 1, "role": "system", "content": "first"},
        {"op": "replace", "index": 1, "content": "Where is A-2?"},
        {"op": "insert", "index": 2, "content": "last"},
    ]
    input = resolved_step(replay({"match": {"step": 3}, "messages": edits}).execute(), 3).call.input
    assert isinstance(input, dict)
    assert input["messages"] == [
        {"role": "system", "content": "first"},
        {"role": "user", "content": "Where is A-2?"},
        {"role": "user", "content": "last"},
    ]


def test_tool_result_replaces_its_message() -> None:
    input = resolved_step(replay({"match": {"step": 4}, "tool": {"output": ORDERS["A-2"]}}).execute(), 5).call.input
    assert isinstance(input, dict)
    messages = input["messages"]
    assert isinstance(messages, list)
    assert messages[-1] == {
        "role": "tool",
        "content": '{"id": "A-2", "status": "delivered on monday", "carrier": "southern parcels"}',
        "tool_call_id": "call_turn1.0",
    }


def test_plan_describes_recognised_loop() -> None:
    assert replay(WRONG).plan().loop == (
        "Agent loop of 3 model steps whose messages extend each other under step 2, steps 3 to 7"
    )


def test_reexecute_calls_every_model() -> None:
    labels_by_step = labels(replay(policy=Policy(order="reexecute")).execute(lambda call: {"content": "new"}))
    assert labels_by_step[3] == "simulated live_model_call"
    assert labels_by_step[9] == "simulated live_model_call"


def test_reexecution_needs_live_calls() -> None:
    policy = Policy(order="reexecute")
    (refusal,) = replay(policy=policy).plan().refusals
    assert (refusal.code, refusal.where, refusal.step) == ("policy_conflict", "/policy/order", 3)
    assert replay(policy=policy).plan(live=True).refusals == []
    partly = replay(policy=Policy(order="reexecute", allow=["model", "tool"])).plan(live=True)
    assert "Steps 4 and 6 cannot be executed again; recorded or cached output is reused." in partly.warnings


def test_strict_plan_names_failing_step() -> None:
    override: JSONValue = {"match": {"step": 4}, "tool": {"output": {"status": "not found"}}}
    for fallback in ("simulate", "fail"):
        policy = Policy(strict=True, allow=[], fallback=fallback)
        (refusal,) = [
            refusal for refusal in replay(override, policy=policy).plan().refusals if refusal.where == "/policy/strict"
        ]
        assert refusal.step == 4


def test_strict_plan_refuses_new_calls() -> None:
    call = Call(no=8, parent=None, type=StepType.TOOL, name="refund", input={})
    answer = Answer(action="simulate", label=Label.SIMULATED, reason=Reason.SIDE_EFFECT_BLOCKED)
    event = StepResolved(call=call, answer=answer)
    (refusal,) = conflicts.strict(Policy(strict=True), [], [event])
    assert (refusal.where, refusal.step, "refund" in refusal.detail) == ("/policy/strict", 8, True)
    assert list(conflicts.strict(Policy(), [], [event])) == []


words = st.sampled_from(["lost", "parcel", "refund", "monday", "carrier", "northern", "policy", "order"])
texts = st.lists(words, min_size=3, max_size=12).map(" ".join)
results = st.one_of(texts, st.sampled_from(list(ORDERS.values())), st.none(), st.integers(-9, 99999))
asks = st.builds(
    ToolCall,
    st.sampled_from(["get_order", "search_policy", "send_email"]),
    st.fixed_dictionaries({"q": texts}),
    results,
)
conversations = st.lists(
    st.tuples(
        texts, st.tuples(st.lists(asks, max_size=3), st.builds(Reply, texts)).map(lambda pair: (*pair[0], pair[1]))
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def forks(draw: st.DrawFn) -> Replay:
    """A fork of a generated run at any step, with one to three changes after it."""
    conversation: list[Any] = draw(conversations)
    run = order_desk(conversation)
    fork = draw(st.integers(1, len(run.steps)))
    numbers_chosen = draw(st.lists(st.integers(fork, len(run.steps)), min_size=0, max_size=3, unique=True))
    entries: list[JSONValue] = [_entry(draw, no, run.steps[no - 1].type) for no in numbers_chosen]
    return Replay(run=run, fork=fork, entries=entries, policy=Policy())


def _entry(draw: st.DrawFn, no: int, type: StepType) -> JSONValue:
    match: JSONValue = {"step": no}
    if type is StepType.TOOL:
        result: JSONValue = draw(results)
        return {"match": match, "tool": {"output": result}}
    if type is StepType.MODEL and draw(st.booleans()):
        kind = draw(st.sampled_from(["model", "prompt"]))
        change: JSONValue = (
            {"temperature": draw(st.sampled_from([0.0, 1.0]))} if kind == "model" else {"system": draw(texts)}
        )
        return {"match": match, kind: change}
    return {"match": match, "output": draw(texts)}


@settings(max_examples=150, deadline=None)
@given(forks())
def test_execution_labels_steps_as_planned(fork: Replay) -> None:
    assert labels(fork.execute()) == planned_labels(fork.plan())


@settings(max_examples=150, deadline=None)
@given(forks(), st.lists(st.one_of(texts, asks), min_size=1, max_size=6))
def test_every_step_counts_once_without_gaps(fork: Replay, answers: list[str | ToolCall]) -> None:
    waiting = list(answers)

    def model(call: Call) -> JSONObject:
        answer = waiting.pop(0) if waiting else "enough"
        if isinstance(answer, str):
            return {"content": answer}
        request: JSONObject = {"id": f"live{len(waiting)}", "name": answer.tool, "arguments": answer.arguments}
        return {"content": None, "tool_calls": [request]}

    numbers: list[int] = []
    seen_numbers: list[int] = []
    for event in fork.execute(model):
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
    assert numbers == list(range(fork.fork, fork.fork + len(numbers)))
    repeated_numbers = [no for no in seen_numbers if seen_numbers.count(no) > 1]
    assert set(seen_numbers) == {node.no for node in fork.graph.nodes}
    assert all(
        fork.graph.by_no[no].type is StepType.TOOL
        for no in repeated_numbers
        # An idempotent tool answers again
    )


@settings(max_examples=100, deadline=None)
@given(forks())
def test_unreachable_steps_are_exact(fork: Replay) -> None:
    graph: Graph = fork.graph
    changed = graph.reachable(fork.profile.by_step)
    containers = {node.no for node in graph.nodes if node.type in {StepType.AGENT, StepType.TURN}}
    labels_by_step = labels(fork.execute())
    has_skipped = any(label == "unreached" for label in labels_by_step.values())
    for node in graph.nodes:
        if node.no not in changed | containers and not has_skipped:
            assert labels_by_step[node.no] in {"exact source_output_reused", "simulated assumed_unaffected"}


@pytest.mark.parametrize(("name", "now"), [("desk", "desk"), ("m1", "m2")])
def test_step_named_by_model_is_renamed(name: str, now: str) -> None:
    run = order_desk()
    steps = (replace(step, name=name) if step.type is StepType.MODEL else step for step in run.steps)
    sampling: JSONValue = {"match": {"type": "model"}, "model": {"model": "m2"}}
    events = replay(sampling, run=replace(run, steps=tuple(steps))).execute()
    assert (resolved_step(events, 3).call.name, resolved_step(events, 3).call.model) == (now, "m2")


@pytest.mark.parametrize("fork", range(1, 11))
def test_fork_without_changes_is_exact(fork: int) -> None:
    events = replay(fork=fork).execute()
    assert events == [StepsReused(first=fork, last=10, offset=0)]
    assert len(CONVERSATION) == 2
