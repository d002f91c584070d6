"""FastGPT: executions of workflows, and records of chats."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object, as_objects
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus, StepType
from traces.payloads.messages import ModelAnswer, ModelRequest

QUOTE = {
    "id": "q1",
    "q": "Dune?",
    "a": "3 copies",
    "score": [{"type": "embedding", "value": 0.5}],
    "sourceName": "a.csv",
}
NODES: list[Any] = [
    {"moduleName": "Search", "moduleType": "datasetSearchNode", "query": "Any Dune?", "quoteList": [QUOTE]},
    {
        "moduleName": "Chat",
        "moduleType": "chatNode",
        "model": "gpt-4o",
        "inputTokens": 40,
        "outputTokens": 5,
        "maxToken": 200,
        "finishReason": "stop",
        "historyPreview": [{"obj": "Human", "value": "Any Dune?"}, {"obj": "AI", "value": "Three."}],
    },
    {
        "moduleName": "Agent",
        "moduleType": "tools",
        "model": "gpt-4o",
        "toolCallInputTokens": 70,
        "toolDetail": [
            {"moduleName": "run", "moduleType": "code", "customInputs": {"x": 1}, "error": {"message": "no"}}
        ],
    },
]


def read(value: Any) -> RecordedRun:
    ((run,), problems) = fixtures.detect_and_read("fastgpt", orjson.dumps(value))
    assert problems == []
    return run


def test_nodes_are_steps() -> None:
    choices = [{"message": {"role": "assistant", "content": "Three."}}]
    run = read({"responseData": NODES, "id": "r1", "choices": choices, "newVariables": {"shelf": "7"}})
    (search,), (model,), (tool,) = (
        fixtures.steps(run, kind) for kind in (StepType.RETRIEVAL, StepType.MODEL, StepType.TOOL)
    )
    document = {"id": "q1", "content": "Dune?\n3 copies", "score": 0.5}
    assert as_objects(as_object(search.output)["documents"])[0].items() >= document.items()
    assert (model.tokens_in, model.tokens_out, ModelAnswer(model.output).text) == (40, 5, "Three.")
    assert ModelRequest(model.input).parameters == {"max_tokens": 200}
    assert (tool.input, tool.error, tool.parent) == ({"customInputs": {"x": 1}}, "no", "run.3")
    assert (run.external_id, run.metadata, run.steps[0].output) == (
        "r1",
        {"newVariables": {"shelf": "7"}},
        {"text": "Three."},
    )
    assert len(read({"code": 200, "data": NODES}).steps) == len(run.steps)


def test_records_are_a_conversation() -> None:
    call = {"id": "c1", "functionName": "find", "toolName": "Find", "params": '{"title": "Dune"}', "response": "3"}
    parts = [{"reasoning": {"content": "Hm."}}, {"type": "tool", "tools": [call]}, {"text": {"content": "Three."}}]
    records = [
        {
            "chatId": "chat",
            "obj": "Human",
            "value": [{"text": {"content": "Any Dune?"}}],
            "time": "2026-03-01T10:00:00Z",
        },
        {
            "chatId": "chat",
            "obj": "AI",
            "value": parts,
            "dataId": "d2",
            "durationSeconds": 2,
            "userBadFeedback": "wrong",
        },
        {"chatId": "chat", "obj": "Human", "value": "And Emma?"},
        {"chatId": "chat", "obj": "AI", "value": [], "errorMsg": "no credit"},
    ]
    run = read({"code": 200, "data": {"list": records, "total": 4}})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output, tool.attributes) == (
        "find",
        {"title": "Dune"},
        "3",
        {"title": "Find"},
    )
    first, second, failed = fixtures.steps(run, StepType.MODEL)
    assert (first.attributes["durationSeconds"], ModelAnswer(second.output).text) == (2, "Three.")
    assert (failed.error, run.status, run.external_id) == ("no credit", RunStatus.FAILED, "chat")
    assert [(item.kind, item.text, item.step) for item in run.judgements] == [(JudgementKind.FAIL, "wrong", second.key)]
