"""Threads of Microsoft's Agent Framework: the forms of Python and .NET, and answers of runs."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

QUESTION = {"role": "user", "contents": [{"$type": "text", "text": "Is Dune in stock?"}]}
CALL = {"$type": "functionCall", "callId": "c1", "name": "stock", "arguments": {"title": "Dune"}}
RESULT = {"role": "tool", "contents": [{"$type": "functionResult", "callId": "c1", "result": "3"}]}
ANSWER = {"role": "assistant", "contents": [{"$type": "text", "text": "Three."}], "createdAt": "2026-05-10T10:00:02Z"}
MESSAGES = [QUESTION, {"role": "assistant", "authorName": "Clerk", "contents": [CALL]}, RESULT, ANSWER]


def read(value: Any) -> tuple[list[RecordedRun], list[str]]:
    return fixtures.detect_and_read("agent-framework", orjson.dumps(value), "thread.json")


def test_session_has_calls_results_usage_and_state() -> None:
    run = fixtures.run("agent_framework.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    stock, price = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.metadata["state"]) == ("s-7", {"clerk_notes": {"visits": 2}})
    assert (first.tokens_in, first.tokens_out, first.tokens_cached) == (30, 9, 8)
    assert (stock.call_id, stock.output) == ("c1", '{"copies":3}')
    assert (price.status, price.error) == (StepStatus.ERROR, "ValueError: no price")
    assert "shop.example" in str(second.output)
    assert run.steps[0].name == "clerk"


@pytest.mark.parametrize(
    "value",
    [
        {"stateBag": {"InMemoryChatHistoryProvider": {"messages": MESSAGES}}},
        {"storeState": {"messages": MESSAGES}},
        {"messages": MESSAGES, "responseId": "r1"},
        MESSAGES,
    ],
)
def test_messages_of_net_are_read_from_every_holder(value: Any) -> None:
    (run,), problems = read(value)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.input, tool.output, problems) == ("c1", {"title": "Dune"}, "3", [])
    assert fixtures.answer_contents(run) == [None, "Three."]


def test_roles_of_earlier_versions_are_objects() -> None:
    contents = [{"type": "text", "text": "Hello"}]
    messages = [
        {"type": "chat_message", "role": {"type": "role", "value": role}, "contents": contents}
        for role in ("user", "assistant")
    ]
    (run,), _ = read({"service_thread_id": None, "chat_message_store_state": {"messages": messages}})
    assert fixtures.answer_contents(run) == ["Hello"]


def test_usage_of_an_answer_belongs_to_its_only_call() -> None:
    usage = {"inputTokenCount": 20, "outputTokenCount": 4}
    (single,), _ = read({"messages": [QUESTION, ANSWER], "responseId": "r1", "usage": usage, "modelId": "gpt-5"})
    (several,), _ = read({"messages": MESSAGES, "responseId": "r1", "usage": usage, "finishReason": "stop"})
    (model,) = fixtures.steps(single, StepType.MODEL)
    assert (model.model, model.tokens_in, model.tokens_out) == ("gpt-5", 20, 4)
    last = fixtures.steps(several, StepType.MODEL)[-1]
    assert (last.tokens_in, last.attributes["usage_of_response"]) == (None, {"input_tokens": 20, "output_tokens": 4})


@pytest.mark.parametrize(
    "value",
    [
        {"service_thread_id": "t1", "chat_message_store_state": None},
        {"type": "session", "session_id": "s1", "service_session_id": "x", "state": {}},
    ],
)
def test_threads_of_a_service_are_refused(value: Any) -> None:
    runs, problems = read(value)
    assert not runs
    assert "stored by the service" in problems[0]


def test_odd_members_are_read_or_refused() -> None:
    odd: list[Any] = [None, 5, "x", [], {}, [[]], {"messages": 5}]
    for member in odd:
        message = {
            "role": "assistant",
            "contents": [{"type": "text", "text": member, "details": member}],
            "author_name": member,
        }
        runs, _ = read({"session_id": member, "state": {"in_memory": {"messages": [message, member]}, "x": member}})
        assert len(runs) <= 1
