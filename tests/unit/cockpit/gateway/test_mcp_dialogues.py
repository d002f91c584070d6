"""Dialogues of MCP servers whose messages pass through several processes of the gateway."""

from typing import Any

from cockpit.gateway.mcp import steps
from cockpit.gateway.mcp.conversations import ClientKey, Conversations
from cockpit.http.gateway_sessions import Session
from forkpoint.vocabulary import MCP_CLIENT, MCP_MESSAGES, MCP_QUESTIONS
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events

SESSION = Session(run_id="r1", start=0.0)
KEY: ClientKey = ("r1", "desk", b"client")
CALL: Any = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "lookup", "arguments": {}}}
QUESTION: Any = {"jsonrpc": "2.0", "id": "q1", "method": "elicitation/create", "params": {"message": "Sure?"}}
ANSWER: Any = {"jsonrpc": "2.0", "id": "q1", "result": {"action": "accept"}}
LOG: Any = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "found"}}


def stray(message: JSONObject, at: float, key: ClientKey = KEY) -> bytes:
    """Return what a process records of a message whose call it does not know."""
    assert not (Conversations().note_answer if "result" in message else Conversations().hear)(key, message)
    return steps.Stray(client=steps.client_digest(key), message=message, at=at).lines(SESSION)


def call(*heard: JSONObject) -> bytes:
    """Return what a process records of a call from second 1 to 3, with the messages that it heard."""
    conversations = Conversations()
    request = conversations.begin(KEY, CALL)
    assert all(conversations.hear(KEY, message, request) for message in heard)
    exchange = steps.Exchange(
        server="desk",
        request=CALL,
        response={"id": 7, "result": {"content": []}},
        start=1.0,
        end=3.0,
        messages=request.messages,
        open_questions=request.open_questions,
        client=steps.client_digest(KEY),
    )
    return exchange.lines(SESSION)


def read_step(*lines: bytes) -> RecordedStep:
    [run] = forkpoint_events.parse([Source(name="events", data=b"".join(lines))])
    [step] = run.steps
    assert not {MCP_CLIENT, MCP_QUESTIONS} & step.attributes.keys()
    return step


def recorded_messages(*lines: bytes) -> list[tuple[Any, Any]]:
    items: Any = read_step(*lines).attributes.get(MCP_MESSAGES, [])
    return [(item["method"], item.get("response")) for item in items]


def test_answer_that_reached_another_process_is_that_of_its_question() -> None:
    accepted = ("elicitation/create", {"result": {"action": "accept"}})
    assert recorded_messages(call(QUESTION), stray(ANSWER, 2.0)) == [accepted]
    other = stray(ANSWER, 2.0, ("r1", "desk", b"another client"))
    assert recorded_messages(call(QUESTION), other) == [("elicitation/create", None)]


def test_what_another_process_heard_belongs_to_the_open_call() -> None:
    accepted = ("elicitation/create", {"result": {"action": "accept"}})
    heard = [stray(LOG, 1.5), stray(QUESTION, 2.0), stray(ANSWER, 2.5)]
    assert recorded_messages(call(), *heard) == [("notifications/message", None), accepted]


def test_what_belongs_to_no_call_is_no_step() -> None:
    progress: JSONObject = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1}}
    assert (
        recorded_messages(call(), stray(LOG, 0.5), stray(QUESTION, 3.5), stray(ANSWER, 4.0), stray(progress, 2.0)) == []
    )
