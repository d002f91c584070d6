"""Traces of agents of Amazon Bedrock."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus, StepType

FILE: Any = fixtures.source("bedrock_agent.json").value
EVENTS = FILE["completion"]


def test_parts_form_steps() -> None:
    run = fixtures.run("bedrock_agent.json")
    assert [(step.type.value, step.name, step.parent) for step in run.steps] == [
        ("agent", "AG1", None),
        ("model", "orchestration", "agent"),
        ("tool", "find_book", "agent"),
        ("retrieval", "KB1", "agent"),
        ("agent", "clerk", "agent"),
        ("model", "orchestration", "part-7"),
        ("tool", "code_interpreter", "agent"),
        ("safety", "guardrail", "agent"),
        ("output", "output", "agent"),
    ]
    assert (run.external_id, run.status, run.name) == ("bedrock-1", RunStatus.COMPLETED, "Is Dune in stock?")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert (first.model, first.tokens_in, first.tokens_out) == ("anthropic.claude-x", 42, 9)
    assert first.attributes["rationale"] == "Look on the shelf."
    assert first.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "parameters": {"temperature": 0.2, "max_tokens": 99, "stop": ["</x>"]},
    }
    assert fixtures.answer_contents(run) == ["Let me look.", "Three."]
    assert fixtures.request_contents(second) == ["Human: Count them."]


def test_invocations_have_arguments_and_results() -> None:
    run = fixtures.run("bedrock_agent.json")
    find, code = fixtures.steps(run, StepType.TOOL)
    assert (find.input, find.output, find.status) == ({"title": "Dune"}, "3 copies", StepStatus.OK)
    assert (str(find.started_at)[17:19], str(find.ended_at)[17:19]) == ("03", "04")
    assert (code.status, code.error) == (StepStatus.ERROR, "division by zero")
    (clerk,) = fixtures.steps(run, StepType.AGENT)[1:]
    assert (clerk.input, clerk.output) == ({"task": "Count them."}, {"text": "Three."})


def test_lines_of_parts_are_same_run() -> None:
    parts = [event.get("trace", event) for event in EVENTS]
    ((run,), problems) = fixtures.detect_and_read("bedrock-agents", fixtures.json_lines(parts))
    expected = fixtures.run("bedrock_agent.json")
    assert problems == []
    assert run.steps[1:] == expected.steps[1:]


def test_failure_fails_the_run() -> None:
    failure = {"failureTrace": {"traceId": "t1", "failureReason": "the model's output could not be parsed"}}
    events = [EVENTS[0], {"trace": {**EVENTS[0]["trace"], "trace": failure}}]
    ((run,), _) = fixtures.detect_and_read("bedrock-agents", orjson.dumps(events))
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "the model's output could not be parsed")
    assert run.steps[1].status is StepStatus.PARTIAL


def test_result_without_its_invocation_is_a_step() -> None:
    events = [event for event in EVENTS if "invocationInput" not in str(event)]
    ((run,), problems) = fixtures.detect_and_read("bedrock-agents", orjson.dumps(events))
    assert problems == []
    assert "3 copies" in [step.output for step in fixtures.steps(run, StepType.TOOL)]
