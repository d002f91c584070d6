"""Logs of Kimi CLI and Kimi Code."""

from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONObject
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers.files.source import Source
from traces.importers.formats.kimi import kimi_code

TIME = 1_767_225_600_000
PROMPT = {"type": "turn.prompt", "input": [{"type": "text", "text": "Is Dune in stock?"}], "time": TIME}


def loop(**event: Any) -> JSONObject:
    return {"type": "context.append_loop_event", "event": event, "time": TIME + 1}


def text(value: str) -> JSONObject:
    return loop(type="content.part", part={"type": "text", "text": value})


def test_cli_joins_pieces_and_counts_cached_tokens() -> None:
    answer = fixtures.steps(fixtures.run("kimi_cli.jsonl"), StepType.MODEL)[0]
    assert isinstance(answer.output, dict)
    message = answer.output["message"]
    assert isinstance(message, dict)
    assert message["content"] == [
        {"type": "thinking", "thinking": "The catalogue knows."},
        {"type": "text", "text": "I look it up."},
    ]
    assert (answer.tokens_in, answer.tokens_cached, answer.tokens_out) == (1100, 200, 30)


def test_cli_nests_subagents_and_marks_rejected_calls() -> None:
    run = fixtures.run("kimi_cli.jsonl")
    shell, task = fixtures.steps(run, StepType.TOOL)
    assert (shell.status, shell.input) == (StepStatus.DENIED, {"command": "grep Dune"})
    assert [step.name for step in run.steps if step.parent == task.key] == ["kimi-cli"]


def test_code_has_requests_with_system_tools_and_summary() -> None:
    first, second = fixtures.steps(fixtures.run("kimi_code.jsonl"), StepType.MODEL)
    assert isinstance(first.input, dict)
    assert first.input["parameters"] == {"max_tokens": 32000, "thinking_effort": "high"}
    assert first.input["tools"]
    reminder = "<system-reminder>Keep a list of tasks.</system-reminder>"
    assert fixtures.request_contents(first) == ["You keep a bookshop.", "Is Dune in stock?", reminder]
    assert fixtures.request_contents(second)[1:] == ["Summary of the talk so far: the user asks for Dune."]
    assert (first.provider, first.model, first.tokens_in) == ("kimi", "kimi-k3", 1100)


@pytest.mark.parametrize("reason", ["failed", "completed"])
def test_code_without_messages_of_the_context(reason: str) -> None:
    """Some versions write the request of a turn only."""
    (run,) = fixtures.read("kimi-code", [PROMPT, text("Ye"), text("s."), {"type": "turn.ended", "reason": reason}])
    assert fixtures.answer_contents(run) == ["Yes."]
    assert run.name == "Is Dune in stock?"
    assert run.status is (RunStatus.FAILED if reason == "failed" else RunStatus.COMPLETED)


def test_session_that_grew_is_the_same_run() -> None:
    for name in ("kimi_cli.jsonl", "kimi_code.jsonl"):
        lines = [record.value for record in fixtures.source(name).records()]
        (part,) = fixtures.read(fixtures.FORMATS[name], lines[:-3])
        assert part.external_id == fixtures.run(name).external_id


def test_subagents_of_a_session_are_nested_below_their_calls() -> None:
    call = loop(type="tool.call", toolCallId="c1", name="Agent", args={"prompt": "Count the copies."})
    result = loop(type="tool.result", toolCallId="c1", result={"output": "Three."})
    prompt = {**PROMPT, "input": [{"type": "text", "text": "Count the copies."}]}
    lines = {
        "s1/agents/agent-0/wire.jsonl": [prompt, loop(type="step.begin"), text("Three.")],
        "s1/agents/main/wire.jsonl": [
            PROMPT,
            loop(type="step.begin"),
            call,
            result,
            loop(type="step.begin"),
            text("3"),
        ],
        "s2/agents/agent-0/wire.jsonl": [prompt, loop(type="step.begin"), text("Four.")],
        "wire.jsonl": [PROMPT, loop(type="step.begin"), text("Yes.")],
    }
    sources = [Source(name=name, data=fixtures.json_lines(records)) for name, records in lines.items()]
    nested, other, single = kimi_code.parse(sources)
    (tool,) = fixtures.steps(nested, StepType.TOOL)
    (agent,) = [step for step in nested.steps if step.parent == tool.key]
    assert (agent.type, agent.output) == (StepType.AGENT, {"text": "Three."})
    assert [fixtures.answer_contents(run) for run in (other, single)] == [["Four."], ["Yes."]]
    assert [kimi_code.keys(source) for source in sources] == [
        {"s1/agents"},
        {"s1/agents"},
        {"s2/agents"},
        {"wire.jsonl"},
    ]


def test_state_of_a_session_has_its_title_and_the_parents() -> None:
    outer = loop(type="tool.call", toolCallId="c1", name="Agent", args={"prompt": "Count."})
    inner = loop(type="tool.call", toolCallId="c2", name="Agent", args={"prompt": "Count the shelf."})
    prompts: list[Any] = [
        {**PROMPT, "input": [{"type": "text", "text": text}]} for text in ("Count.", "Count the shelf.")
    ]
    agents = {
        "main": {"type": "main"},
        "a1": {"type": "sub", "parentAgentId": "main"},
        "a2": {"type": "sub", "parentAgentId": "a1"},
    }
    files: dict[str, list[Any]] = {
        "s1/state.json": [{"id": "s1", "title": "Copies", "cwd": "/shop", "agents": agents}],
        "s1/agents/a2/wire.jsonl": [prompts[1], loop(type="step.begin"), text("3")],
        "s1/agents/a1/wire.jsonl": [prompts[0], loop(type="step.begin"), inner],
        "s1/agents/main/wire.jsonl": [PROMPT, loop(type="step.begin"), outer],
    }
    sources = [Source(name=name, data=fixtures.json_lines(records)) for name, records in files.items()]
    (run,) = kimi_code.parse(sources)
    steps = {step.call_id: step.key for step in run.steps if step.call_id}
    parents = [step.parent for step in run.steps if step.type is StepType.AGENT]
    assert (run.name, run.metadata["cwd"], {kimi_code.keys(source).pop() for source in sources}) == (
        "Copies",
        "/shop",
        {"s1/agents"},
    )
    assert parents == [None, steps["c1"], steps["c2"]]
    assert not list(kimi_code.parse(sources[:1]))
    assert "only the state" in str(sources[0].problems[0])
