"""Chats of Gemini CLI whose messages the program replaced by those of its history, and their subagents."""

from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType

TIME = "2026-03-01T10:00:00.000Z"
IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
RESPONSES = [
    {"functionResponse": {"id": "c1", "name": "read_file", "response": {"output": "3 copies", "shelf": 2}}},
    {"functionResponse": {"id": "c2", "name": "read_image", "response": {"output": "an image"}}},
    IMAGE,
    {"functionResponse": {"id": "c3", "name": "clerk", "response": {"error": "closed"}}},
]


def record(kind: str, id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": TIME, "type": kind, "content": content, **fields}


def call(id: str, name: str, status: str = "success", **facts: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "args": {}, "status": status, "timestamp": TIME, "result": RESPONSES, **facts}


CALLS = [call("c1", "read_file"), call("c2", "read_image"), call("c3", "clerk", "error", agentId="sub")]
HISTORY = [
    record("user", "u1", [{"text": "Is Dune in stock?"}]),
    record("gemini", "g1", [{"text": "I look.", "thoughtSignature": "x"}], toolCalls=CALLS, model="gemini-3-pro"),
    record("user", "u2", RESPONSES),
    record("gemini", "g2", [{"text": "Yes."}]),
]
SESSION = [{"sessionId": "main", "projectHash": "p"}, {"$set": {"messages": HISTORY}}]
SUBAGENT = [
    {"sessionId": "sub", "projectHash": "p", "kind": "subagent"},
    record("user", "v1", "Ask the clerk."),
    record("gemini", "h1", "He is out."),
]


def test_calls_answered_together_have_their_own_results() -> None:
    (run,) = fixtures.read("gemini-cli", SESSION)
    tools = fixtures.steps(run, StepType.TOOL)
    assert [step.output for step in tools] == [
        "3 copies",
        [{"type": "text", "text": "an image"}, IMAGE],
        '{"error":"closed"}',
    ]
    assert [step.error for step in tools] == ["", "", "closed"]
    assert tools[0].attributes["response"] == {"shelf": 2}
    assert len(fixtures.steps(run, StepType.TURN)) == 1
    assert fixtures.steps(run, StepType.MODEL)[0].attributes == {"continuation": [{"part": 0, "thoughtSignature": "x"}]}


def test_subagents_are_inside_their_calls() -> None:
    (run,) = fixtures.read("gemini-cli", SUBAGENT, SESSION)
    agent = next(step for step in run.steps if step.attributes.get("agent_id") == "sub")
    names = {step.key: step.name for step in run.steps}
    assert (run.external_id, names[agent.parent or ""], agent.output) == ("main", "clerk", {"text": "He is out."})
