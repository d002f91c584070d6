"""Exports of Claude, prompts of Google AI Studio, sessions of Continue and chats of LlamaIndex."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelRequest

QUESTION = "Is Dune in stock?"
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"n": 1}'}}


def read(value: Any) -> RecordedRun:
    data = orjson.dumps(value)
    assert registry.detect(fixtures.sample("upload", data)).name == "client-chat"
    (run,) = registry.get_importer("client-chat").runs([Source(name="chats.json", data=data)])
    return run


def tool(run: RecordedRun) -> RecordedStep:
    (step,) = fixtures.steps(run, StepType.TOOL)
    return step


def test_parts_of_a_claude_answer_have_times() -> None:
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": f"c{number}", "name": "find", "input": {"n": number}} for number in (1, 2)
    ]
    results = [{"type": "tool_result", "tool_use_id": f"c{number}", "content": f"shelf {number}"} for number in (1, 2)]
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "Let me look."},
        *calls,
        *results,
        {"type": "text", "text": "Two."},
    ]
    timed = [{**block, "stop_timestamp": f"2026-03-01T10:00:0{at}Z"} for at, block in enumerate(blocks, 1)]
    messages = [
        {"uuid": "m1", "sender": "human", "text": QUESTION, "created_at": "2026-03-01T10:00:00Z"},
        {"uuid": "m2", "sender": "assistant", "content": timed, "created_at": "2026-03-01T10:00:00Z"},
    ]
    run = read([{"uuid": "u-1", "name": "Books", "chat_messages": messages}])
    first, second = fixtures.steps(run, StepType.MODEL)
    assert [step.output for step in fixtures.steps(run, StepType.TOOL)] == ["shelf 1", "shelf 2"]
    ends = [step.ended_at and step.ended_at.second for step in (first, *fixtures.steps(run, StepType.TOOL), second)]
    assert ends == [3, 4, 5, 6]


def test_claude_answer_is_split_at_results() -> None:
    blocks = [
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": None, "name": "find", "input": {"n": 1}},
        {"type": "tool_result", "tool_use_id": None, "content": [{"type": "text", "text": "none"}], "is_error": True},
        {"type": "text", "text": "No."},
    ]
    attachment = {"file_name": "shelf.txt", "extracted_content": "empty"}
    messages = [
        {"uuid": "m1", "sender": "human", "text": QUESTION, "attachments": [attachment]},
        {"uuid": "m2", "sender": "assistant", "text": "", "content": blocks, "created_at": "2026-03-01T10:00:00Z"},
    ]
    run = read([{"uuid": "u-1", "name": "Books", "chat_messages": messages}])
    assert (run.external_id, run.name, tool(run).error) == ("u-1", "Books", "none")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert fixtures.answer_contents(run) == ["Let me look.", "No."]
    document = {"type": "document", "title": "shelf.txt", "source": {"type": "text", "data": "empty"}}
    assert fixtures.request_contents(first) == [[{"type": "text", "text": QUESTION}, document]]
    assert fixtures.request_contents(second)[1:] == ["Let me look.", "none"]


def test_other_branches_of_claude_are_runs() -> None:
    facts = [("m1", None, "human"), ("m2", "m1", "assistant"), ("m3", "m1", "assistant"), ("m4", "m3", "human")]
    messages = [
        {"uuid": id, "parent_message_uuid": parent or "root", "sender": sender, "text": id}
        | {"files": [] if parent else [{"file_name": "shelf.png"}]}
        for id, parent, sender in facts
    ]
    file = Source(name="x", data=orjson.dumps([{"uuid": "u-1", "name": "Books", "chat_messages": messages}]))
    main, other = registry.get_importer("client-chat").runs([file])
    assert (main.external_id, other.external_id) == ("u-1", "u-1/m2")
    assert (main.metadata["other_branches"], other.metadata["left_branch_of"]) == (1, "u-1")
    assert (fixtures.answer_contents(main), fixtures.answer_contents(other)) == (["m3"], ["m2"])
    request = [{"type": "text", "text": "m1"}, {"type": "file", "file_name": "shelf.png"}]
    assert fixtures.request_contents(fixtures.steps(main, StepType.MODEL)[0]) == [request]


def test_continue_session_has_calls() -> None:
    state = {"toolCallId": "c1", "status": "errored"}
    logs = [{"modelTitle": "X", "completionOptions": {"model": "gpt-x"}}]
    history = [
        {"message": {"role": "user", "content": QUESTION}, "contextItems": []},
        {"message": {"role": "thinking", "content": "Hm."}},
        {
            "message": {"role": "assistant", "content": "", "toolCalls": [CALL]},
            "toolCallStates": [state],
            "promptLogs": logs,
        },
        {"message": {"role": "tool", "content": "no shelf", "toolCallId": "c1"}},
        {"message": {"role": "assistant", "content": "No."}},
    ]
    run = read({"sessionId": "s-1", "title": "Books", "history": history, "chatModelTitle": "X"})
    step = tool(run)
    assert (step.call_id, step.input, step.output, step.error) == ("c1", {"n": 1}, "no shelf", "errored")
    assert [model.model for model in fixtures.steps(run, StepType.MODEL)] == ["gpt-x", "X"]
    assert fixtures.answer_contents(run)[0] == [{"type": "thinking", "thinking": "Hm."}]
    assert run.steps[-1].output == {"text": "No."}


def test_llamaindex_messages_have_calls() -> None:
    old = [
        {"role": "user", "content": QUESTION, "additional_kwargs": {}},
        {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": [CALL]}},
        {"role": "tool", "content": "3", "additional_kwargs": {"tool_call_id": "c1"}},
    ]
    block = {"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "find", "tool_kwargs": {"n": 1}}
    new = [
        {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": QUESTION}]},
        {"role": "assistant", "additional_kwargs": {}, "blocks": [block]},
        {**old[2], "content": None, "blocks": [{"block_type": "text", "text": "3"}]},
    ]
    for value in (
        old,
        new,
        {"store": {"ann": new}, "class_name": "SimpleChatStore"},
        {"chat_store": {"store": {"b": old}}},
    ):
        run = read(value)
        step = tool(run)
        assert (run.name, step.call_id, step.input, step.output) == (QUESTION, "c1", {"n": 1}, "3")


def test_prompt_of_ai_studio_has_thoughts_and_settings() -> None:
    chunks = [
        {"text": QUESTION, "role": "user", "tokenCount": 5, "createTime": "2026-03-01T10:00:00Z"},
        {"driveImage": {"id": "d1"}, "role": "user", "tokenCount": 9},
        {"text": "The shelf.", "role": "model", "isThought": True, "tokenCount": 7},
        {"parts": [{"text": "Ye"}, {"text": "s."}], "role": "model", "tokenCount": 2, "finishReason": "STOP"},
        {"role": "user", "text": "Sure?"},
        {"role": "model", "errorMessage": "busy"},
    ]
    settings = {"model": "models/gemini-2.5-pro", "temperature": 1.0, "topP": 0.95, "enableCodeExecution": False}
    body = {"runSettings": settings, "systemInstruction": {"text": "You keep books."}}
    ((run,), problems) = fixtures.detect_and_read(
        "ai-studio", orjson.dumps({**body, "chunkedPrompt": {"chunks": chunks, "pendingInputs": []}})
    )
    first, second = fixtures.steps(run, StepType.MODEL)
    request = ModelRequest(first.input)
    assert (first.model, first.provider, first.tokens_out) == ("gemini-2.5-pro", "google", 9)
    assert request.parameters == {"temperature": 1.0, "top_p": 0.95}
    assert fixtures.request_contents(first)[:2] == ["You keep books.", QUESTION]
    assert "d1" in str(fixtures.request_contents(first)[2])
    assert fixtures.answer_contents(run)[0] == [
        {"type": "thinking", "thinking": "The shelf."},
        {"type": "text", "text": "Yes."},
    ]
    assert (second.error, run.metadata["run_settings"], problems) == ("busy", {"enableCodeExecution": False}, [])


def test_reasoning_of_continue_is_part_of_the_answer() -> None:
    thought, answer = {"text": "Five, I think.", "active": False}, {"role": "assistant", "content": "Five."}
    request: dict[str, Any] = {"message": {"role": "user", "content": "Count them."}}
    items: list[dict[str, Any]] = [request, {"message": answer, "reasoning": thought}]
    thinking: dict[str, Any] = {"message": {"role": "thinking", "content": "Five, I think."}}
    for history in (items, [items[0], thinking, items[1]]):
        chat = {"sessionId": "c", "title": "t", "history": [{"contextItems": [], **item} for item in history]}
        ((run,), _) = fixtures.detect_and_read("client-chat", fixtures.json_lines([chat]))
        blocks = [{"type": "thinking", "thinking": "Five, I think."}, {"type": "text", "text": "Five."}]
        assert fixtures.answer_contents(run) == [blocks]
