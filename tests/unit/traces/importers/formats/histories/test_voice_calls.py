"""Calls of voice agents."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType

RETELL = {
    "call_id": "call-7",
    "agent_name": "Clerk",
    "start_timestamp": 1_767_225_600_000,
    "end_timestamp": 1_767_225_630_000,
    "disconnection_reason": "user_hangup",
    "transcript": "Agent: Hello\nUser: Is Dune in stock?",
    "transcript_with_tool_calls": [
        {"role": "user", "content": "Is Dune in stock?", "words": [{"word": "Is", "start": 2.5, "end": 2.75}]},
        {"role": "tool_call_invocation", "tool_call_id": "t1", "name": "find_book", "arguments": '{"title": "Dune"}'},
        {"role": "tool_call_result", "tool_call_id": "t1", "content": "no index", "successful": False},
        {"role": "agent", "content": "I cannot tell.", "words": [{"word": "I", "start": 7.0, "end": 7.25}]},
    ],
    "call_analysis": {"call_successful": False, "call_summary": "Asked for Dune."},
}


def test_calls_results_and_errors_of_each_platform() -> None:
    runs = [fixtures.run("vapi.json"), fixtures.run("elevenlabs.json")]
    retell, _ = fixtures.detect_and_read("voice-call", orjson.dumps({"event": "call_analyzed", "call": RETELL}))
    tools = [fixtures.steps(run, StepType.TOOL)[0] for run in [*runs, *retell]]
    assert [(tool.name, tool.input, tool.output, tool.status) for tool in tools] == [
        ("find_book", {"title": "Dune"}, "3 copies", StepStatus.OK),
        ("find_book", {"title": "Dune"}, "no index", StepStatus.ERROR),
        ("find_book", {"title": "Dune"}, "no index", StepStatus.ERROR),
    ]


def test_turns_have_times_in_the_call() -> None:
    ((run,), problems) = fixtures.detect_and_read("voice-call", orjson.dumps(RETELL))
    turn = fixtures.steps(run, StepType.TURN)[0]
    assert (run.external_id, run.app, problems) == ("call-7", "Clerk", [])
    assert turn.started_at
    assert turn.started_at.timestamp() == 1_767_225_602.5
    assert [(judgement.name, judgement.kind) for judgement in run.judgements] == [
        ("success", "fail"),
        ("termination_reason", "note"),
    ]


def test_report_has_the_call_beside_its_messages() -> None:
    call: Any = fixtures.source("vapi.json").value
    messages = call.pop("messages")
    report = {"message": {"type": "end-of-call-report", "call": call, "artifact": {"messages": messages}}}
    ((run,), _) = fixtures.detect_and_read("voice-call", orjson.dumps(report))
    assert run.external_id == "call-31"
    assert run.steps == fixtures.run("vapi.json").steps


def test_tokens_of_a_turn_with_one_model() -> None:
    answer = fixtures.steps(fixtures.run("elevenlabs.json"), StepType.MODEL)[-1]
    assert (answer.model, answer.tokens_in, answer.tokens_out) == ("gemini-2.5-flash", 900, 12)
