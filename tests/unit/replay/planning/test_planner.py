"""Plans match executions, on generated forks of every shape, with every kind of change and policy."""

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.core.calls import Call
from replay.core.events import Divergence, Event, StepResolved
from replay.overrides.policy import Policy
from tests.support.agent_runs import Reply, ToolCall, Turn, agent_run
from tests.support.memory_replays import Replay, assert_every_step_counts_once, labels, planned_labels
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import ModelAnswer

words = st.sampled_from(["tower", "bridge", "river", "old", "built", "metres", "guide", "ticket", "northern", "gate"])
texts = st.lists(words, min_size=3, max_size=10).map(" ".join)
arguments = st.fixed_dictionaries({"about": texts})
results = st.one_of(texts, st.fixed_dictionaries({"text": texts, "found": st.integers(0, 999)}), st.none())
plain = st.builds(ToolCall, st.sampled_from(["look_up", "measure"]), arguments, results)


def _talk(requests: st.SearchStrategy[ToolCall], most: int) -> st.SearchStrategy[Sequence[Turn]]:
    batches = st.lists(st.lists(requests, min_size=1, max_size=3), max_size=most)
    return st.tuples(batches, st.builds(Reply, texts)).map(lambda pair: (*pair[0], pair[1]))


agents = st.builds(
    ToolCall,
    st.just("research"),
    st.fixed_dictionaries({"task": texts}),
    st.none(),
    _talk(plain, 2),
    st.sampled_from([StepType.TOOL, StepType.AGENT]),
)
searches = st.builds(
    ToolCall,
    st.just("search"),
    st.fixed_dictionaries({"query": texts}),
    st.lists(texts, max_size=2),
    answering_type=st.just(StepType.RETRIEVAL),
)
runs = st.builds(
    agent_run,
    _talk(st.one_of(plain, agents, searches), 3),
    shape=st.sampled_from(["flat", "nodes"]),
    is_interleaved=st.booleans(),
    task=texts,
    documents=st.lists(texts, max_size=3),
    has_prompts=st.booleans(),
    has_searches=st.booleans(),
)
policies = st.builds(
    Policy,
    allow=st.sampled_from([[], ["model"], ["model", "retrieval"], ["model", "tool", "retrieval"]]),
    order=st.sampled_from(["reuse", "reuse", "reexecute"]),
    fallback=st.sampled_from(["simulate", "simulate", "fail"]),
    semantic_threshold=st.sampled_from([0.5, 0.85]),
    max_turns=st.integers(1, 4),
)


@st.composite
def forks(draw: st.DrawFn) -> Replay:
    """A fork of a generated run at any step, with up to three changes after it."""
    run: RecordedRun = draw(runs)
    fork = draw(st.integers(1, len(run.steps)))
    numbers = draw(st.lists(st.integers(fork, len(run.steps)), max_size=3, unique=True))
    entries = [draw(_change(no, run.steps[no - 1])) for no in numbers]
    return Replay(run=run, fork=fork, entries=entries, policy=draw(policies))


def _change(no: int, step: RecordedStep) -> st.SearchStrategy[JSONValue]:
    """Any override that applies to a step."""
    kinds: list[st.SearchStrategy[Any]] = [st.builds(lambda text: {"output": text}, texts)]
    match step.type:
        case StepType.MODEL:
            kinds += [_of_model(), st.builds(lambda text: {"prompt": {"system": text}}, texts), _asking()]
            kinds.append(st.builds(lambda text: {"messages": [{"op": "replace", "index": 1, "content": text}]}, texts))
        case StepType.TOOL:
            kinds = [st.builds(lambda value: {"tool": {"output": value}}, results)]
        case StepType.RETRIEVAL:
            kinds.append(st.builds(lambda count: {"retrieval": {"top_k": count}}, st.integers(0, 4)))
            kinds.append(st.builds(lambda text: {"retrieval": {"query": text}}, texts))
            kinds.append(st.builds(lambda text: {"retrieval": {"documents": [{"id": "x", "content": text}]}}, texts))
        case StepType.PROMPT:
            kinds.append(st.builds(lambda text: {"prompt": {"variables": {"system": text}}}, texts))
        case _:
            pass
    return st.one_of(kinds).map(lambda change: {"match": {"step": no}, **change})


def _of_model() -> st.SearchStrategy[Any]:
    return st.builds(lambda value: {"model": {"temperature": value}}, st.sampled_from([0.0, 1.0]))


def _asking() -> st.SearchStrategy[Any]:
    """An output override that requests tool calls, some of them recorded."""

    def requests_output(requests: list[ToolCall]) -> JSONObject:
        calls: list[JSONValue] = [
            {"id": f"if{at}", "name": request.tool, "arguments": request.arguments}
            for at, request in enumerate(requests)
        ]
        return {"output": {"content": None, "tool_calls": calls}}

    return st.builds(requests_output, st.lists(st.one_of(plain, agents, searches), min_size=1, max_size=3))


def same_calls(fork: Replay) -> Any:
    """A model that requests the recorded calls and changes every text."""
    count = iter(range(10_000))

    def answer(call: Call) -> JSONObject:
        recorded_output = fork.payloads[call.node.output_ref] if call.node is not None else None
        message = ModelAnswer(recorded_output).message
        return {**message, "content": f"in the words of answer {next(count)}"}

    return answer


def _steps_with_unknown_input(events: Sequence[Event]) -> set[int]:
    """Steps whose input contains an unknown part."""
    incomplete = (event for event in events if isinstance(event, StepResolved) and event.call.unknown_producers)
    return {event.call.node.no for event in incomplete if event.call.node is not None}


many = settings(max_examples=85, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(forks())
def test_labels_without_live_answers_match_plan(fork: Replay) -> None:
    assert labels(fork.execute()) == planned_labels(fork.plan())


@many
@given(forks())
def test_labels_with_same_calls_match_plan(fork: Replay) -> None:
    events = list(fork.execute(same_calls(fork)))
    # If an overridden answer used a call that a later one requests, the replay diverges and reports it.
    divergence_index = next((at for at, event in enumerate(events) if isinstance(event, Divergence)), None)
    expected = planned_labels(fork.plan(live=True))
    # Only the answers show whether they still contain a passed-on value, and which of two equal answers it came from.
    passed_on = {no for no, links in fork.graph.links.items() if any(link.kind is EdgeKind.VALUE for link in links)}
    open_ends = fork.graph.reachable(passed_on | _steps_with_unknown_input(events))
    open_ends |= {ancestor.no for no in open_ends for ancestor in fork.graph.ancestors(fork.graph.by_no[no])}
    if divergence_index is None:
        assert {no: label for no, label in labels(events).items() if no not in open_ends} == {
            no: label for no, label in expected.items() if no not in open_ends
        }
    else:
        # What holds others has its label only at the end
        left_out = open_ends | fork.graph.children.keys()
        before = {no: label for no, label in labels(events[:divergence_index]).items() if no not in left_out}
        assert before.items() <= expected.items()


@many
@given(forks(), st.lists(st.one_of(texts, st.lists(st.one_of(plain, agents), min_size=1, max_size=3)), max_size=8))
def test_every_source_step_counts_once(fork: Replay, answers: list[str | list[ToolCall]]) -> None:
    waiting = list(answers)

    def model(call: Call) -> JSONObject:
        answer = waiting.pop(0) if waiting else "enough"
        if isinstance(answer, str):
            return {"content": answer}
        calls: list[JSONValue] = [
            {"id": f"live{len(waiting)}.{at}", "name": request.tool, "arguments": request.arguments}
            for at, request in enumerate(answer)
        ]
        return {"content": None, "tool_calls": calls}

    events = list(fork.execute(model))
    assert all("signature" in event.answer.detail for event in events if isinstance(event, StepResolved))
    assert_every_step_counts_once(fork, events)
