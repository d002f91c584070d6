"""Conversations of Open WebUI and LibreChat."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest

QUESTION = "Is Dune in stock?"


def webui_message(id: str, parent: str | None, role: str, content: str, **facts: Any) -> dict[str, Any]:
    return {"id": id, "parentId": parent, "childrenIds": [], "role": role, "content": content, **facts}


def test_branches_of_open_webui_are_runs() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    messages = {
        "m1": webui_message("m1", None, "user", QUESTION, timestamp=1_772_359_200),
        "m2": webui_message("m2", "m1", "assistant", "No.", model="llama3", error={"content": "busy"}),
        "m3": webui_message("m3", "m1", "assistant", "Yes.", model="gpt-5", usage=usage, sources=[{"name": "shelf"}]),
    }
    chat = {"models": ["llama3", "gpt-5"], "params": {"temperature": 0.5, "system": "You keep books."}}
    history = {"messages": messages, "currentId": "m3"}
    body = {"id": "c1", "title": "Stock", "chat": {**chat, "history": history}, "archived": True}
    (main, other), problems = fixtures.detect_and_read("web-chat", orjson.dumps([body]))
    assert (main.external_id, main.app, main.name, problems) == ("c1", "open-webui", "Stock", [])
    assert (other.external_id, other.metadata["left_branch_of"], main.metadata["archived"]) == ("c1/m2", "c1", True)
    (model,) = fixtures.steps(main, StepType.MODEL)
    assert (model.model, model.tokens_in, model.attributes["sources"]) == ("gpt-5", 9, [{"name": "shelf"}])
    assert ModelRequest(model.input).parameters == {"temperature": 0.5}
    assert fixtures.request_contents(model) == ["You keep books.", QUESTION]
    assert fixtures.steps(other, StepType.MODEL)[0].error == "busy"


@pytest.mark.parametrize("is_tree", [False, True])
def test_librechat_has_calls(is_tree: bool) -> None:
    call = {"id": "t1", "name": "find", "args": '{"n": 1}', "output": "3", "progress": 1}
    parts = [{"type": "think", "think": "The shelf."}, {"type": "tool_call", "tool_call": call}]
    question = {"messageId": "m1", "parentMessageId": "0", "isCreatedByUser": True, "text": QUESTION}
    answer: dict[str, Any] = {"messageId": "m2", "parentMessageId": "m1", "isCreatedByUser": False, "text": ""}
    answer |= {"model": "claude-4", "content": [*parts, {"type": "text", "text": "Yes."}]}
    question["createdAt"], answer["createdAt"] = "2026-03-01T10:00:00Z", "2026-03-01T10:00:05Z"
    # The user stopped the first answer before it began.
    stopped = {**answer, "messageId": "m3", "content": [], "createdAt": "2026-03-01T10:00:01Z"}
    messages = [{**question, "children": [stopped, answer]}] if is_tree else [question, stopped, answer]
    body = {"conversationId": "c1", "title": "Stock", "endpoint": "agents", "options": {"model": "claude-4"}}
    ((run,), problems) = fixtures.detect_and_read("web-chat", orjson.dumps({**body, "messages": messages}))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.input, tool.output) == ("t1", {"n": 1}, "3")
    assert fixtures.answer_contents(run) == [[{"type": "thinking", "thinking": "The shelf."}], "Yes."]
    assert (run.external_id, run.app, run.metadata["endpoint"], problems) == ("c1", "librechat", "agents", [])


def test_ratings_of_answers_are_judgements_of_their_steps() -> None:
    messages = {
        "m1": webui_message("m1", None, "user", QUESTION),
        "m2": webui_message("m2", "m1", "assistant", "No.", annotation={"rating": -1, "reason": "wrong"}),
    }
    webui = {"id": "c1", "chat": {"history": {"messages": messages, "currentId": "m2"}}}
    node: dict[str, Any] = {"conversationId": "c2", "isCreatedByUser": False}
    call = {"type": "tool_call", "tool_call": {"id": "t1", "name": "find", "args": "{}", "output": "3"}}
    answer = {
        **node,
        "messageId": "a1",
        "createdAt": "2026-05-01T10:00:00Z",
        "parentMessageId": "u1",
        "content": [call, {"type": "text", "text": "Three."}],
        "feedback": {"rating": "thumbsUp", "tag": {"key": "accurate_reliable"}},
    }
    question = {**node, "messageId": "u1", "parentMessageId": None, "isCreatedByUser": True, "text": QUESTION}
    libre = {"conversationId": "c2", "messages": [question, answer]}
    for body, step, value, text in ((webui, 0, -1.0, "wrong"), (libre, 1, 1.0, "accurate_reliable")):
        (run,), _ = fixtures.detect_and_read("web-chat", orjson.dumps(body))
        (rating,) = run.judgements
        key = fixtures.steps(run, StepType.MODEL)[step].key
        assert (rating.name, rating.value, rating.text, rating.step) == ("rating", value, text, key)
