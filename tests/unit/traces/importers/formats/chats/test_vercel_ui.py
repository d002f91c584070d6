"""UI messages of the Vercel AI SDK as databases store them."""

import json
from typing import Any

import pytest

from tests.support.importing_fixtures import answer_contents, detect_and_read, read, steps
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

TASK = [{"type": "text", "text": "Which invoices are open?"}]
FOUND = {"toolCallId": "c1", "state": "output-available", "input": {"status": "open"}, "output": "B-7"}
MARK = {"openai": {"itemId": "fc_1"}}
ANSWER: list[Any] = [
    {"type": "step-start"},
    {"type": "tool-find", **FOUND, "callProviderMetadata": MARK},
    {"type": "step-start"},
    {"type": "text", "text": "B-7 is open."},
]


def rows(chat: str) -> list[dict[str, Any]]:
    return [
        {"chat": chat, "role": "user", "parts": TASK, "time": 1_790_000_000},
        {"chat": chat, "role": "assistant", "parts": ANSWER, "time": 1_790_000_005},
    ]


def parts_in_text(row: dict[str, Any]) -> dict[str, Any]:
    return {"chat_id": row["chat"], "role": row["role"], "parts": json.dumps(row["parts"]), "createdAt": row["time"]}


def list_in_content(row: dict[str, Any]) -> dict[str, Any]:
    return {"thread_id": row["chat"], "role": row["role"], "content": row["parts"], "createdAt": row["time"]}


def text_in_content(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "sessionId": row["chat"],
        "role": row["role"],
        "content": json.dumps(row["parts"]),
        "createdAt": row["time"],
    }


def parts_in_content(row: dict[str, Any]) -> dict[str, Any]:
    content = {"format": 2, "parts": row["parts"]}
    return {"threadId": row["chat"], "role": row["role"], "content": content, "createdAt": row["time"]}


def whole_message(row: dict[str, Any]) -> dict[str, Any]:
    message = {"role": row["role"], "parts": row["parts"]}
    return {"conversation_id": row["chat"], "message": message, "created_at": row["time"]}


def contents(run: RecordedRun) -> list[Any]:
    return [(step.type, step.input, step.output, step.started_at) for step in run.steps]


@pytest.mark.parametrize("store", [parts_in_text, list_in_content, text_in_content, parts_in_content, whole_message])
def test_stored_messages_are_chats_by_their_ids(store: Any) -> None:
    stored_rows = [store(row) for row in (*rows("t1"), *rows("t2"))]
    (expected,) = read("vercel-ui", [{"id": "t1", "messages": [{**row, "createdAt": row["time"]} for row in rows("")]}])
    runs, _ = detect_and_read("vercel-ui", json.dumps(stored_rows).encode(), "messages.json")
    assert [run.external_id for run in runs] == ["t1", "t2"]
    assert contents(runs[0]) == contents(runs[1]) == contents(expected)


def test_messages_of_several_chats_have_the_titles_of_their_chats() -> None:
    stored_rows = [parts_in_text(row) for row in (*rows("t1"), *rows("t2"))]
    runs = read("vercel-ui", [{"chats": [{"id": "t2", "title": "Invoices"}], "messages": stored_rows}])
    assert [run.name for run in runs] == ["Which invoices are open?", "Invoices"]


def test_usage_of_several_calls_is_that_of_the_agent() -> None:
    user, assistant = rows("t1")
    assistant |= {"model": "gpt-5", "metadata": {"usage": {"inputTokens": 90, "outputTokens": 12}}}
    (run,) = read("vercel-ui", [{"messages": [user, assistant]}])
    agent, models = run.steps[0], [step for step in run.steps if step.type is StepType.MODEL]
    assert (agent.tokens_in, agent.tokens_out, agent.tokens_cached) == (90, 12, None)
    assert [(step.model, step.tokens_in) for step in models] == [("gpt-5", None)] * 2
    assert models[0].attributes["continuation"] == [{"part": 0, **MARK}]


def test_first_versions_have_files_and_thoughts_beside_texts() -> None:
    file = {"name": "a.png", "contentType": "image/png", "url": "https://example.org/a.png"}
    usage = {"usage": {"promptTokens": 5, "completionTokens": 3}}
    user = {"role": "user", "content": "Read it.", "experimental_attachments": [file]}
    answer = {"role": "assistant", "content": "B-7", "reasoning": "A scan.", "annotations": [usage]}
    (run,) = read("vercel-ui", [{"messages": [user, answer]}])
    model: Any = next(step for step in run.steps if step.type is StepType.MODEL)
    text, attachment = model.input["messages"][0]["content"]
    assert (text, attachment["url"]) == ({"type": "text", "text": "Read it."}, file["url"])
    assert model.output["message"]["content"][0]["thinking"] == "A scan."
    assert (model.tokens_in, model.tokens_out) == (5, 3)


def test_messages_that_steer_an_answer_are_of_the_user() -> None:
    steering = {"type": "steering-message", "id": "s1", "parts": [{"type": "text", "text": "And the paid ones?"}]}
    approval = {"id": "p1", "approved": True, "reason": "a rule"}
    tool = {**ANSWER[1], "approval": approval}
    text = {"type": "text", "text": "B-7 is open.", "citations": [{"url": "https://shop.test/b-7"}]}
    answer = {"id": "a1", "role": "assistant", "parts": [ANSWER[0], tool, ANSWER[0], steering, text]}
    (run,), _ = detect_and_read("vercel-ui", json.dumps([{"role": "user", "parts": TASK}, answer]).encode())
    assert [step.type for step in run.steps if step.parent == run.steps[0].key][:2] == [StepType.TURN] * 2
    assert [step.name for step in steps(run, StepType.TURN)] == [TASK[0]["text"], "And the paid ones?"]
    assert steps(run, StepType.TOOL)[0].attributes == {"approval": approval}
    assert answer_contents(run)[1] == [text]


def test_answers_without_steps_have_their_model_and_usage() -> None:
    facts = {"model": "gpt-5", "usage": {"inputTokens": 5, "outputTokens": 2}}
    answer = {"id": "a1", "role": "assistant", "parts": [{"type": "text", "text": "B-7."}], "metadata": facts}
    (run,), _ = detect_and_read("vercel-ui", json.dumps([{"id": "u1", "role": "user", "parts": TASK}, answer]).encode())
    (model,) = steps(run, StepType.MODEL)
    assert (model.model, model.tokens_in, model.tokens_out) == ("gpt-5", 5, 2)
