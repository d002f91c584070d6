"""Provenance edges: each found once, in time linear in the recording."""

from collections import Counter
from collections.abc import Iterable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.recordings import SYSTEM, assistant, assistant_call, conversation, order_run, tool_message, user
from tests.unit.traces.payloads.test_parts import VALUES
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact
from traces.provenance.edges import find_provenance
from traces.provenance.step_outputs import StepFacts


def _facts(run: RecordedRun) -> list[StepFacts]:
    splitter = Splitter()
    return [
        StepFacts(
            no=number,
            type=step.type,
            input=step.input,
            output=step.output,
            call_id=step.call_id,
            input_ref=splitter.split(step.input) if step.input is not None else "",
            output_ref=splitter.split(step.output) if step.output is not None else "",
        )
        for number, step in enumerate(run.steps, 1)
    ]


def _edges(*steps: StepFacts) -> list[EdgeFact]:
    return [*find_provenance(steps, Splitter()).edges]


def _model(no: int, messages: list[JSONValue], message: JSONObject) -> StepFacts:
    return StepFacts(no=no, type=StepType.MODEL, input={"messages": messages}, output={"message": message})


def _ends(edges: Iterable[EdgeFact]) -> set[tuple[int, int, str, str, str]]:
    return {(edge.producer, edge.consumer, str(edge.kind), edge.consumer_path, edge.producer_path) for edge in edges}


def test_order_desk_run_has_expected_edges() -> None:
    assert _ends(find_provenance(_facts(order_run()), Splitter()).edges) == {
        (2, 3, "tool_call_id", "", "/message/tool_calls/0/arguments"),
        (2, 4, "history", "/messages/2", "/message"),
        (3, 4, "tool_call_id", "/messages/3/content", ""),
        (4, 5, "text", "/text", "/message/content"),
    }


def test_edges_are_linear_in_conversation_length() -> None:
    counts = [len(find_provenance(_facts(conversation(turns)), Splitter()).edges) for turns in (10, 20, 40)]
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])


def test_each_request_continues_the_previous() -> None:
    facts = _facts(conversation(30))
    models = [step.no for step in facts if step.type is StepType.MODEL]
    producers = {
        edge.consumer: edge.producer
        for edge in find_provenance(facts, Splitter()).edges
        if edge.kind is EdgeKind.HISTORY
    }
    assert producers == dict(zip(models[1:], models, strict=False))


def test_alternating_agents_have_separate_histories() -> None:
    first_agent: list[JSONValue] = [SYSTEM, user("first")]
    second_agent: list[JSONValue] = [{"role": "system", "content": "Another agent"}, user("second")]
    steps = [_model(1, first_agent, assistant("a")), _model(2, second_agent, assistant("b"))]
    steps += [
        _model(3, [*first_agent, assistant("a"), user("go on")], assistant("c")),
        _model(4, [*second_agent, assistant("b"), user("on")], assistant("d")),
    ]
    history = {(edge.producer, edge.consumer) for edge in _edges(*steps) if edge.kind is EdgeKind.HISTORY}
    assert history == {(1, 3), (2, 4)}


def test_answer_with_dropped_fields_matches() -> None:
    first = _model(1, [user("hello")], {**assistant("Good morning"), "refusal": None})
    second = _model(2, [user("hello"), assistant("Good morning"), user("bye")], assistant("Good bye"))
    assert _ends(_edges(first, second)) == {(1, 2, "history", "/messages/1", "/message")}


def test_window_repeats_answer_without_its_fields() -> None:
    call = assistant_call("call-1", "A-1")
    first = _model(1, [SYSTEM, user("Hello."), user("Where is A-1?")], {**call, "refusal": None})
    windowed = _model(2, [SYSTEM, user("Where is A-1?"), call], assistant("Lost."))
    assert (1, 2, "digest", "/messages/2", "/message") in _ends(_edges(first, windowed))


def test_cut_result_came_from_its_tool_only() -> None:
    letter = 'Refunds are\npossible within "thirty" days after the goods'
    calls = [assistant_call(id, "A-1") for id in ("call-1", "call-2")]
    tools = [
        StepFacts(no=no, type=StepType.TOOL, input={}, output=f"{letter} {end}", call_id=f"call-{no // 2}")
        for no, end in ((2, "arrived."), (4, "were sent."))
    ]
    first = _model(1, [user("a")], calls[0])
    second = _model(3, [user("a"), calls[0], tool_message("call-1", f"{letter} [cut]")], calls[1])
    windowed = _model(5, [SYSTEM, calls[0], tool_message("call-1", f"{letter} [cut]")], assistant("done"))
    edges = _edges(first, tools[0], second, tools[1], windowed)
    assert [edge.producer for edge in edges if edge.consumer_path == "/messages/2/content" and edge.consumer == 5] == [
        2
    ]


def test_history_without_answer_has_its_end() -> None:
    first = _model(1, [user("hello"), user("there")], assistant("Good morning"))
    second = _model(2, [user("hello"), user("there"), user("again")], assistant("Hm"))
    assert _ends(_edges(first, second)) == {(1, 2, "history", "/messages/1", "")}


def test_repeated_call_id_means_latest_call() -> None:
    calls = [_model(1, [user("a")], assistant_call("call-0", "A-1"))]
    calls += [StepFacts(no=2, type=StepType.TOOL, input={"order_id": "A-1"}, output="first", call_id="call-0")]
    calls += [_model(3, [user("b")], assistant_call("call-0", "A-2"))]
    calls += [StepFacts(no=4, type=StepType.TOOL, input={"order_id": "A-2"}, output="second", call_id="call-0")]
    calls += [
        _model(5, [user("b"), assistant_call("call-0", "A-2"), tool_message("call-0", "second")], assistant("done"))
    ]
    ends = {(edge.producer, edge.consumer) for edge in _edges(*calls)}
    assert {(1, 2), (3, 4), (4, 5), (3, 5)} <= ends
    assert not {(1, 4), (2, 5)} & ends


def test_document_in_prompt_is_traced() -> None:
    text = "Refunds are possible within thirty days after the goods have arrived at the customer."
    documents: JSONObject = {"documents": [{"id": "policy-7", "content": text}]}
    steps = [StepFacts(no=1, type=StepType.RETRIEVAL, input={"query": "refund"}, output=documents)]
    steps.append(_model(2, [user(f"Answer from this:\n{text}\nCan I return it?")], assistant("Yes")))
    (edge,) = _edges(*steps)
    assert (edge.producer, edge.consumer, edge.kind) == (1, 2, EdgeKind.TEXT)
    assert edge.producer_path == "/documents/0/content"
    assert "thirty days" in edge.evidence


def test_distinctive_values_link_steps() -> None:
    order: JSONObject = {"order_id": "A-1042", "ok": "true", "n": 1}
    steps = [StepFacts(no=1, type=StepType.TOOL, input={}, output=order)]
    steps.append(StepFacts(no=2, type=StepType.TOOL, input={"id": "A-1042", "flag": "true", "n": 1}, output=None))
    assert _ends(_edges(*steps)) == {(1, 2, "text", "/id", "/order_id")}


@pytest.mark.parametrize(("said", "linked"), [("Yes.", True), (" Yes. ", True), ("No.", False), ("", False)])
def test_short_whole_answer_links_output(said: JSONValue, linked: bool) -> None:
    """Without this link, a replay would keep the run's old output although the model's answer changed."""
    model = _model(1, [user("Is it late?")], assistant("Yes."))
    edges = _edges(model, StepFacts(no=2, type=StepType.OUTPUT, input=None, output={"text": said}))
    assert _ends(edges) == ({(1, 2, "text", "/text", "/message/content")} if linked else set())


def test_short_answer_matches_its_block() -> None:
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": "Two days over."}, {"type": "text", "text": "Yes."}]
    model = _model(1, [user("Is it late?")], {"role": "assistant", "content": blocks})
    edges = _edges(model, StepFacts(no=2, type=StepType.OUTPUT, input=None, output={"text": "Yes."}))
    assert _ends(edges) == {(1, 2, "text", "/text", "/message/content/1/text")}


def test_call_id_prevents_text_search() -> None:
    steps = [StepFacts(no=1, type=StepType.TOOL, input={}, output={"order_id": "A-1042"})]
    steps.append(_model(2, [user("look")], assistant_call("call-9", "A-1042")))
    steps.append(StepFacts(no=3, type=StepType.TOOL, input={"order_id": "A-1042"}, output="x", call_id="call-9"))
    assert {(edge.producer, edge.kind) for edge in _edges(*steps) if edge.consumer == 3} == {(2, EdgeKind.TOOL_CALL_ID)}


def test_recorded_links_become_edges() -> None:
    steps = [StepFacts(no=1, type=StepType.PLANNER, input=None, output="a plan")]
    steps.append(StepFacts(no=2, type=StepType.VALIDATOR, input={"x": 1}, output=None, links=(1,)))
    assert [(edge.producer, edge.consumer, edge.kind) for edge in _edges(*steps)] == [(1, 2, EdgeKind.LINK)]


def test_long_path_becomes_enclosing_path() -> None:
    key = "k" * 250
    steps = [StepFacts(no=1, type=StepType.TOOL, input={}, output={"found": {key: "A-1042"}})]
    steps.append(StepFacts(no=2, type=StepType.TOOL, input={"a": {"b\x00c": "A-1042"}}, output=None))
    assert _ends(_edges(*steps)) == {(1, 2, "text", "/a", "/found")}


def test_containers_neither_produce_nor_consume() -> None:
    text = "a text that is long enough to be found again anywhere else"
    steps = [StepFacts(no=1, type=StepType.TURN, input={"task": text}, output={"text": text})]
    steps.append(_model(2, [user(text)], assistant("yes")))
    assert _edges(*steps) == []


_TYPES = st.sampled_from(list(StepType))


@given(st.lists(st.tuples(_TYPES, VALUES, VALUES, st.sampled_from(["", "c1", "c2"])), max_size=8))
def test_edges_point_forward_and_are_unique(
    steps: list[tuple[StepType, JSONValue, JSONValue, str]],
) -> None:
    facts = [
        StepFacts(no=no, type=type, input=input, output=output, call_id=call)
        for no, (type, input, output, call) in enumerate(steps, 1)
    ]
    edges = find_provenance(facts, Splitter()).edges
    assert all(1 <= edge.producer < edge.consumer <= len(facts) for edge in edges)
    identities = Counter((edge.producer, edge.consumer, edge.kind, edge.consumer_path) for edge in edges)
    assert not identities or max(identities.values()) == 1


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_edges_rebuild_the_input(turns: int) -> None:
    """The values at both ends of an edge are equal."""
    facts = {step.no: step for step in _facts(conversation(turns))}
    for edge in find_provenance(list(facts.values()), Splitter()).edges:
        if edge.kind is not EdgeKind.HISTORY:
            continue
        request, producer = facts[edge.consumer].input, facts[edge.producer]
        assert isinstance(request, dict)
        assert isinstance(producer.input, dict)
        assert isinstance(producer.output, dict)
        last = int(edge.consumer_path.rpartition("/")[2])
        messages = request["messages"]
        assert isinstance(messages, list)
        assert messages[:last] == producer.input["messages"]
        assert messages[last] == producer.output["message"]


def test_lookup_result_in_text_is_traced() -> None:
    price: JSONObject = {"product": "lamp", "price": 44, "stock": 3}
    messages: list[JSONValue] = [user('Write an offer. Price list: {"product":"lamp","price":44,"stock":3}')]
    lookup = StepFacts(no=1, type=StepType.TOOL, input={"product": "lamp"}, output=price)
    edges = _edges(lookup, _model(2, messages, assistant("Get the lamp.")))
    assert _ends(edges) == {(1, 2, "text", "/messages/0/content", "")}


@pytest.mark.parametrize("as_text", [False, True])
def test_field_of_a_result_is_traced_as_json_or_as_text(as_text: bool) -> None:
    """An earlier input contained the id, too, but the later one has it from the result."""
    result: JSONObject = {"id": "B-77", "state": "lost"}
    output: JSONValue = orjson.dumps(result).decode() if as_text else result
    (edge,) = _edges(
        StepFacts(no=1, type=StepType.TOOL, input={"order": "B-77"}, output="It exists."),
        StepFacts(no=2, type=StepType.TOOL, input={"day": "2026-03-14"}, output=output),
        StepFacts(no=3, type=StepType.TOOL, input={"order": "B-77"}, output="It is sold."),
    )
    assert _ends([edge]) == {(2, 3, "text", "/order", "#/id" if as_text else "/id")}


def test_field_of_a_result_may_be_taken_from_a_later_text() -> None:
    """Code looks for an id in the text, which an earlier result had as a field."""
    edges = _edges(
        StepFacts(no=1, type=StepType.TOOL, input={"day": "2026-03-14"}, output={"id": "B-7701"}),
        StepFacts(no=2, type=StepType.TOOL, input={"day": "2026-03-15"}, output="The order B-7701 was lost."),
        StepFacts(no=3, type=StepType.TOOL, input={"order": "B-7701"}, output="It is sold."),
    )
    assert _ends(edges) == {(1, 3, "text", "/order", "/id"), (2, 3, "value", "/order", "")}


def test_repeated_text_has_several_producers() -> None:
    verdict = assistant("I have read the draft and nothing is wrong with it.")
    reviews = [_model(no, [user(f"Review part {no} of it.")], verdict) for no in (1, 2, 3)]
    messages: list[JSONValue] = [user(f"{verdict['content']}\n{verdict['content']}")]
    assert {edge.producer for edge in _edges(*reviews, _model(4, messages, assistant("Fine.")))} == {2, 3}
