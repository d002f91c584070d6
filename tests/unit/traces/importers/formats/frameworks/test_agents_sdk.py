"""Traces of the OpenAI Agents SDK."""

from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus


def span(id: str, parent: str | None, data: dict[str, Any], error: str = "") -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": id,
        "trace_id": "trace_1",
        "parent_id": parent,
        "started_at": "2026-03-01T10:00:00+00:00",
        "ended_at": "2026-03-01T10:00:01+00:00",
        "span_data": data,
        "error": {"message": error, "data": None} if error else None,
    }


def test_task_fails_with_its_agent() -> None:
    task = {"type": "custom", "name": "task", "data": {"sdk_span_type": "task", "name": "bookshop"}}
    agent = {"type": "agent", "name": "clerk"}
    (run,) = fixtures.read("openai-agents", [span("t", None, task), span("a", "t", agent, "Max turns exceeded")])
    assert (run.status, run.steps[0].error) == (RunStatus.FAILED, "Max turns exceeded")
    turn = {"type": "custom", "name": "turn", "data": {"sdk_span_type": "turn", "turn": 1}}
    spans = [span("t", None, task), span("a", "t", agent), span("u", "a", turn, "Guardrail tripwire triggered")]
    (run,) = fixtures.read("openai-agents", spans)
    assert (run.status, {step.error for step in run.steps}) == (RunStatus.FAILED, {"Guardrail tripwire triggered"})


def test_failed_nested_agent_is_handled() -> None:
    clerk, helper = {"type": "agent", "name": "clerk"}, {"type": "agent", "name": "helper"}
    tool = {"type": "function", "name": "ask_helper", "input": "{}", "output": "no helper"}
    (run,) = fixtures.read(
        "openai-agents", [span("a", None, clerk), span("f", "a", tool), span("h", "f", helper, "model failed")]
    )
    assert (run.status, run.steps[0].status) == (RunStatus.COMPLETED, StepStatus.OK)


def test_generation_keeps_counts_without_columns() -> None:
    usage = {"input_tokens": 9, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 3}}
    generation = {"type": "generation", "input": [fixtures.REQUEST], "output": [fixtures.ANSWER], "usage": usage}
    (run,) = fixtures.read("openai-agents", [span("s1", None, generation)])
    assert run.steps[-1].attributes["usage"] == usage
