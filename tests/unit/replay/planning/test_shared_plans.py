"""Plans of one source that share a run of the engine equal separate plans, for any run and overrides."""

import gc
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replay.core.applied_profile import apply_profile
from replay.core.calls import CachedAnswer
from replay.core.hooks import NO_HOOKS
from replay.engine.replayer import Replayer
from replay.loops.replay_parts import replay_parts
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.overrides.request_edits import apply_model_settings
from replay.planning import plan_environment, planner
from replay.planning.plan_environment import Sources
from replay.planning.unrecorded_requests import StoredRequests
from tests.bench.recordings import desk
from tests.support.agent_runs import PARALLEL, SUB_AGENT, TEAM, agent_run
from tests.support.generated_forks import conversations, texts
from tests.support.memory_replays import Replay, replay
from tests.support.recordings import SYSTEM, assistant, conversation, model_step, user
from tests.support.replay_runs import order_desk
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Reason, StepStatus, StepType
from traces.payloads.messages import ModelAnswer, ModelRequest
from traces.payloads.splitter import Splitter
from traces.signatures.call_signatures import signature

MODELS: JSONValue = {"type": "model"}
TOOLS: JSONValue = {"type": "tool"}
OVERRIDE = Reason.OPERATOR_OVERRIDE


class Archive:
    """Other runs with answers to all requests whose signatures end with given digits."""

    def __init__(self, fork: Replay, digits: str, *, provider: str | None = "desk") -> None:
        self.fork = fork
        self.digits = digits
        self.provider = provider
        self.own = {node.signature for node in fork.graph.nodes}

    def cached(self, signature: str, exclude: Collection[UUID]) -> CachedAnswer | None:
        if signature[-1] not in self.digits:
            return None
        refs = (node.output_ref for node in self.fork.graph.nodes if node.type is StepType.MODEL and node.output_ref)
        ref = next(refs)
        return CachedAnswer(
            output_ref=ref, output=self.fork.payloads[ref], status=StepStatus.OK, location={"run": "other"}
        )

    def is_any_recorded(self, signatures: Iterable[str]) -> bool:
        return any(key in self.own or key[-1] in self.digits for key in signatures)

    def roots(self, refs: Collection[str]) -> Mapping[str, JSONValue]:
        inputs = {ref: self.fork.payloads[ref] for ref in refs}
        return {ref: Splitter().cut(value) for ref, value in inputs.items() if isinstance(value, dict)}

    @property
    def sources(self) -> Sources:
        payload = self.fork.payloads.__getitem__
        return Sources(
            payload=payload,
            cached=self.cached,
            provider=lambda provider, model, override: None if model == "unserved" else self.provider,
            price=lambda provider, model, tokens_in, tokens_out: {"dear": 1.0, "m1": None}.get(model, 0.5),
            requests=StoredRequests(payload=payload, roots=self.roots, is_any_recorded=self.is_any_recorded),
        )


def plan_as_json(
    fork: Replay, entries: list[JSONValue], policy: Policy, sources: Sources, *, brief: bool
) -> JSONObject:
    profile = apply_profile(OverrideProfile.model_validate({"overrides": entries}), fork.graph)
    plan = planner.plan(fork.graph, profile, policy, sources, brief=brief, list_reused=False).model_dump()
    for step in plan["steps"]:
        step |= {"note": "", "because": [], "differs": [], "typed": []}
    return plan


def flat(run: RecordedRun) -> RecordedRun:
    """The same models and tools without containers."""
    steps = (replace(step, parent=None) for step in run.steps if step.type in (StepType.MODEL, StepType.TOOL))
    return replace(run, steps=tuple(steps))


desks = st.builds(order_desk, conversations)
agents = st.builds(agent_run, st.sampled_from([SUB_AGENT, PARALLEL, TEAM]), shape=st.sampled_from(["flat", "nodes"]))
apart = st.builds(desk, st.integers(2, 4), st.just("apart"))
runs = st.one_of(desks, agents, desks.map(flat), apart, st.builds(conversation, st.integers(2, 5)))
matched_models = st.one_of(st.just(MODELS), st.integers(1, 9).map(lambda no: {"step": no}))
matched_tools = st.one_of(st.just(TOOLS), st.integers(1, 9).map(lambda no: {"step": no}))
edits = st.sampled_from(
    [
        {"op": "delete", "index": 0},
        {"op": "replace", "index": 1, "content": "Who?"},
        {"op": "insert", "index": 1, "content": "Wait."},
    ]
)
edited_values = st.one_of(
    st.builds(lambda value: {"model": {"temperature": value}}, st.sampled_from([0.0, 0.5, 1.0])),
    st.builds(lambda value: {"model": {"model": value}}, st.sampled_from(["m1", "dear", "unserved"])),
    st.builds(lambda value: {"prompt": {"system": value}}, texts),
    st.builds(lambda value: {"messages": [value]}, edits),
    st.builds(lambda value: {"output": value}, texts),
)
model_entries = st.builds(lambda match, sets: {"match": match, **sets}, matched_models, edited_values)
outputs = st.one_of(texts, st.sampled_from([{"id": "A-1", "status": "found"}, "The tower is 300 metres high.", None]))
tool_entries = st.fixed_dictionaries({"match": matched_tools, "tool": st.fixed_dictionaries({"output": outputs})})
orders = st.sampled_from(["reuse", "reexecute"])
policies = st.builds(
    Policy,
    order=orders,
    allow=st.sampled_from([["model"], ["model", "tool"], []]),
    fallback=st.sampled_from(["simulate", "fail"]),
)
cells = st.lists(st.lists(st.one_of(model_entries, tool_entries), max_size=2), min_size=2, max_size=6)


@settings(max_examples=150, deadline=None)
@given(runs, cells, policies, st.sampled_from(["", "01", "02468ace"]), st.sampled_from(["desk", None]))
def test_shared_plans_equal_lone_plans(
    run: RecordedRun, cells: list[list[JSONValue]], policy: Policy, digits: str, provider: str | None
) -> None:
    archive = Archive(replay(run=run), digits, provider=provider)
    shared_sources = archive.sources
    for entries in cells:
        alone = plan_as_json(archive.fork, entries, policy, archive.sources, brief=False)
        assert plan_as_json(archive.fork, entries, policy, shared_sources, brief=True) == alone


@pytest.mark.parametrize("digits", ["01", "01234567"])
def test_shared_plans_find_recorded_answers(digits: str) -> None:
    archive = Archive(replay(run=desk(4, "apart")), digits)
    shared_sources, cached = archive.sources, 0
    for temperature in range(1, 10):
        entries: list[JSONValue] = [{"match": MODELS, "model": {"temperature": temperature / 10}}]
        alone: Any = plan_as_json(archive.fork, entries, Policy(), archive.sources, brief=False)
        assert plan_as_json(archive.fork, entries, Policy(), shared_sources, brief=True) == alone
        cached += alone["actions"]["cache"]
    assert cached


def system_last() -> RecordedRun:
    """A run whose system prompt follows the question."""
    steps = (model_step("ask", [user("Where is it?"), SYSTEM], assistant("It is shipped.")),)
    return RecordedRun(external_id="system-last", name="System last", app="desk", format="test", steps=steps)


@example(system_last(), 0.5, "Be brief.", None)
@given(runs, st.sampled_from([0.0, 0.5, 2]), st.none() | texts, st.none() | st.just([{"name": "other"}]))
def test_edited_requests_are_signed_as_sent(run: RecordedRun, temperature: float, system: Any, tools: Any) -> None:
    model = {"temperature": temperature, "parameters": {"logit_bias": {"a": 1.0}}, "model": "dear"}
    entry: dict[str, Any] = {"match": MODELS, "model": model if tools is None else {**model, "tools": tools}}
    fork = replay({**entry, "prompt": {"system": system}} if system is not None else entry, run=run)
    sent_signatures: list[str] = []
    stored_signatures: list[str] = []

    def is_any_recorded(signatures: Iterable[str]) -> bool:
        stored_signatures.extend(signatures)
        return False

    requests = StoredRequests(
        payload=fork.payloads.__getitem__, roots=Archive(fork, "").roots, is_any_recorded=is_any_recorded
    )
    models = [node for node in fork.graph.nodes if node.type is StepType.MODEL]
    assert requests.are_new([(node, fork.profile.edits_of(node)) for node in models])
    for node in models:
        context = fork.context(plan_environment.PlanEnvironment(Archive(fork, "").sources))
        calls = replay_parts(context, NO_HOOKS).calls
        edits, request = fork.profile.edits_of(node), context.recorded_request(node)
        messages = [message for slot in calls.messages(node, edits).slots for message in slot]
        input = apply_model_settings({**request, "messages": messages}, edits.model)
        sent_signatures.append(
            signature(type=node.type, name=node.name, input=input, provider=node.provider, model="dear")
        )
    assert stored_signatures == sent_signatures


def test_only_the_system_prompt_is_read_to_sign_its_edits() -> None:
    fork = replay({"match": MODELS, "prompt": {"system": "Be brief."}}, run=conversation(4))
    refs: set[str] = set()

    def payload(ref: str) -> JSONValue:
        refs.add(ref)
        return fork.payloads[ref]

    requests = StoredRequests(payload=payload, roots=Archive(fork, "").roots, is_any_recorded=lambda signatures: False)
    models = [node for node in fork.graph.nodes if node.type is StepType.MODEL]
    assert requests.are_new([(node, fork.profile.edits_of(node)) for node in models])
    assert [fork.payloads[ref] for ref in refs] == [SYSTEM]


@pytest.mark.parametrize("provider", ["desk", None])
@pytest.mark.parametrize("order", ["reuse", "reexecute"])
def test_plans_share_one_run(monkeypatch: pytest.MonkeyPatch, order: Any, provider: str | None) -> None:
    walks: list[Replayer] = []
    run = Replayer.run

    def count_runs(replayer: Replayer) -> Any:
        walks.append(replayer)
        return run(replayer)

    monkeypatch.setattr(Replayer, "run", count_runs)
    archive = Archive(replay(run=flat(order_desk())), "", provider=provider)
    shared_sources = archive.sources
    for number in range(3):
        entries: list[JSONValue] = [{"match": MODELS, "model": {"model": f"m{number}", "temperature": number / 10}}]
        plan_as_json(archive.fork, entries, Policy(order=order), shared_sources, brief=True)
    assert len(walks) == 1


@pytest.mark.parametrize("order", ["reuse", "reexecute"])
@pytest.mark.parametrize("text", ["gone", "gone, too", "lost"])
def test_answers_of_all_models_share_one_run(monkeypatch: pytest.MonkeyPatch, order: Any, text: str) -> None:
    walks: list[Replayer] = []
    run = Replayer.run

    def count_runs(replayer: Replayer) -> Any:
        walks.append(replayer)
        return run(replayer)

    archive = Archive(replay(run=conversation(5, "talk")), "")
    shared_sources, policy = archive.sources, Policy(order=order)
    cells: list[list[JSONValue]] = [[{"match": MODELS, "output": f"{text} {number}"}] for number in range(3)]
    alone = [plan_as_json(archive.fork, cell, policy, archive.sources, brief=False) for cell in cells]
    monkeypatch.setattr(Replayer, "run", count_runs)
    assert [plan_as_json(archive.fork, cell, policy, shared_sources, brief=True) for cell in cells] == alone
    assert len(walks) == 1


def test_recorded_answer_is_not_shared() -> None:
    """The other answers change requests that the recorded one does not."""
    run = flat(order_desk())
    answers = [as_object(step.output)["message"] for step in run.steps if step.type is StepType.MODEL]
    texts = [ModelAnswer({"message": answer}).text for answer in answers]
    assert_alone([{"match": MODELS, "output": text}] for text in ("gone", *texts, "lost"))


@pytest.mark.parametrize("brief", [True, False])
def test_requests_of_overridden_models_are_not_read(brief: bool) -> None:
    fork, refs = replay(run=small_talk(6)), set[str]()

    def payload(ref: str) -> JSONValue:
        refs.add(ref)
        return fork.payloads[ref]

    def messages(ref: str, start: int) -> Sequence[JSONValue]:
        """Of a stored request, its end can be read alone."""
        return ModelRequest(fork.payloads[ref]).messages[start:]

    sources = replace(Archive(fork, "").sources, payload=payload, messages=messages)
    plan_as_json(fork, [{"match": MODELS, "output": "gone"}], Policy(), sources, brief=brief)
    assert not refs & {node.input_ref for node in fork.graph.nodes[1:]}


@settings(max_examples=50, deadline=None)
@given(st.one_of(apart, st.builds(conversation, st.integers(2, 5))), matched_models, texts)
def test_overridden_answers_differ_in_the_fields_of_their_requests(
    run: RecordedRun, match: JSONValue, text: str
) -> None:
    """An edit of the model to what it was makes the plan compare whole requests."""
    fork = replay(run=run)
    entries: list[JSONObject] = [{"match": {"step": 1}, "output": "First."}, {"match": match, "output": text}]
    plans = [
        planner.plan(
            fork.graph,
            apply_profile(OverrideProfile.model_validate({"overrides": [*entries, *more]}), fork.graph),
            Policy(allow=[]),
            Archive(fork, "").sources,
        )
        for more in ([], [{"match": MODELS, "model": {"temperature": 0}}])
    ]
    overridden, edited = (
        {step.sequence_no: {*step.differs} - {"temperature"} for step in plan.steps if step.reason == OVERRIDE}
        for plan in plans
    )
    assert overridden == edited
    assert overridden


def test_last_request_of_a_long_conversation_contains_all_overridden_answers() -> None:
    fork, policy = replay(run=small_talk(300)), Policy(allow=[])
    entries: list[JSONValue] = [{"match": {"type": "model", "before": 300}, "output": "gone"}]
    alone = plan_as_json(fork, entries, policy, Archive(fork, "").sources, brief=False)
    assert plan_as_json(fork, entries, policy, Archive(fork, "").sources, brief=True) == alone


def small_talk(turns: int) -> RecordedRun:
    """A conversation without tool calls."""
    history: list[JSONValue] = [SYSTEM]
    steps = []
    for turn in range(turns):
        history.append(user(f"Question {turn}?"))
        answer = assistant(f"Answer {turn}.")
        steps.append(model_step(f"ask-{turn}", list(history), answer))
        history.append(answer)
    return RecordedRun(external_id="small-talk", name="Small talk", app="desk", format="test", steps=tuple(steps))


def test_requests_with_overridden_output_are_looked_up() -> None:
    """The lookup of one plan's request does not apply to the other plans' requests."""
    loss: JSONValue = {"match": {"step": 2}, "tool": {"output": "Lost."}}
    assert_alone([loss, {"match": {"step": 3}, "model": {"temperature": number / 10}}] for number in range(10))


def test_other_outputs_look_up_each_request() -> None:
    """Requests without edits contain the overridden outputs."""
    warm: JSONValue = {"match": {"step": 4}, "model": {"temperature": 0.5}}
    assert_alone([{"match": {"step": 2}, "tool": {"output": f"Lost {number}."}}, warm] for number in range(10))


def test_diverging_plans_are_not_shared() -> None:
    """A cached answer requests other tools, and the later requests depend on the whole profile."""
    loss: JSONValue = {"match": {"step": 2}, "tool": {"output": "Lost."}}
    assert_alone([loss, {"match": {"step": 5}, "model": {"temperature": number / 10}}] for number in range(10))


def assert_alone(cells: Iterable[list[JSONValue]]) -> None:
    """Assert that shared plans equal separate ones when other runs contain half of all requests."""
    cell_lists, policy = [list(cell) for cell in cells], Policy()
    for digits in ("01234567", "89abcdef", "02468ace"):
        for run in (flat(order_desk()), desk(4, "apart")):
            archive = Archive(replay(run=run), digits)
            shared_sources = archive.sources
            alone = [plan_as_json(archive.fork, cell, policy, archive.sources, brief=False) for cell in cell_lists]
            assert [
                plan_as_json(archive.fork, cell, policy, shared_sources, brief=True) for cell in cell_lists
            ] == alone


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_plan_of_edited_models_reads_no_recorded_outputs(temperature: float) -> None:
    archive, refs = Archive(replay(run=desk(4, "apart")), ""), list[str]()

    def payload(ref: str) -> JSONValue:
        refs.append(ref)
        return archive.fork.payloads[ref]

    entries: list[JSONValue] = [{"match": MODELS, "model": {"temperature": temperature}}]
    plan_as_json(archive.fork, entries, Policy(), replace(archive.sources, payload=payload), brief=True)
    assert not {node.output_ref for node in archive.fork.graph.nodes}.intersection(refs)


def test_results_in_recorded_messages_are_read_once_for_all_cells() -> None:
    archive, refs = Archive(replay(run=desk(4, "apart")), ""), list[str]()

    def payload(ref: str) -> JSONValue:
        refs.append(ref)
        return archive.fork.payloads[ref]

    # No recording contains the new results, so no request is built.
    sources = replace(archive.sources, payload=payload, stored_messages=lambda digests: ())
    for number in range(3):
        entries: list[JSONValue] = [{"match": TOOLS, "tool": {"output": f"Lost {number}."}}]
        plan_as_json(archive.fork, entries, Policy(), sources, brief=True)
    tools = [node.output_ref for node in archive.fork.graph.nodes if node.type is StepType.TOOL]
    assert [refs.count(ref) for ref in tools] == [1, 1, 1, 1]


@pytest.mark.parametrize("brief", [False, True])
def test_plan_leaves_nothing_to_the_garbage_collector(brief: bool) -> None:
    """A collection would look through everything that a preview has made before it sends the response."""
    fork = replay(run=conversation(4))
    profile = apply_profile(
        OverrideProfile.model_validate({"overrides": [{"match": MODELS, "output": "No."}]}), fork.graph
    )
    read = Payloads(fork.payloads)
    reference = weakref.ref(read)
    sources = replace(Archive(fork, "").sources, payload=read)
    gc.collect()
    gc.disable()
    try:
        planner.plan(fork.graph, profile, Policy(), sources, brief=brief)
        del read, sources
        assert reference() is None
    finally:
        gc.enable()


class Payloads(dict[str, JSONValue]):
    """Recorded values by reference."""

    def __call__(self, ref: str) -> JSONValue:
        return self[ref]
