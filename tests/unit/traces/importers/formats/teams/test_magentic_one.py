"""Logs of Magentic-One."""

from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType


def event(second: int, type: str, **members: Any) -> dict[str, Any]:
    return {"timestamp": f"2024-11-01T10:00:{second:02d}.5", "type": type, **members}


def message(second: int, source: str, text: str) -> dict[str, Any]:
    return event(second, "OrchestrationEvent", source=source, message=text)


def tokens(second: int, count: int) -> dict[str, Any]:
    return event(second, "LLMCallEvent", prompt_tokens=count, completion_tokens=1)


def test_messages_of_a_log_have_tokens_and_actions() -> None:
    action = {"url": "about:blank", "action": "web_search", "arguments": {"query": "Dune"}}
    screenshot = event(8, "WebSurferEvent", source="WebSurfer", message="Screenshot", action=None, arguments=None)
    lines = [
        message(0, "UserProxy", "How many pages has Dune?"),
        tokens(1, 300),
        tokens(2, 350),
        message(3, "Orchestrator (thought)", "Initial plan: look it up"),
        tokens(4, 500),
        message(4, "Orchestrator (thought)", "Updated Ledger: {}"),
        message(5, "Orchestrator (-> WebSurfer)", "Search for Dune."),
        tokens(6, 900),
        event(6, "WebSurferEvent", source="WebSurfer", message="web_search", **action),
        screenshot,
        message(9, "WebSurfer", "I typed 'Dune': 412 pages"),
        message(10, "Orchestrator (termination condition)", "Request satisfied."),
        tokens(11, 100),
        message(12, "Orchestrator (final answer)", "412"),
        tokens(13, 7),
    ]
    ((run,), problems) = fixtures.detect_and_read("magentic-one", fixtures.json_lines(lines))
    answers = fixtures.steps(run, StepType.MODEL)
    assert [(step.name, step.tokens_in, step.tokens_out) for step in answers] == [
        ("Orchestrator", 650, 2),
        ("Orchestrator", 500, 1),
        ("Orchestrator", None, None),
        ("WebSurfer", 900, 1),
        ("Orchestrator", 107, 2),
    ]
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.output) == ("web_search", {"query": "Dune"}, "I typed 'Dune': 412 pages")
    # The ledger is seen by the orchestrator only.
    shared_messages = ["How many pages has Dune?", "Initial plan: look it up", "Search for Dune."]
    assert fixtures.request_contents(answers[3]) == shared_messages
    assert "Updated Ledger: {}" in fixtures.request_contents(answers[4])
    assert [(item.name, item.text) for item in run.judgements] == [("termination_reason", "Request satisfied.")]
    assert (run.name, run.metadata["other_events"], problems) == ("How many pages has Dune?", [screenshot], [])


def test_log_of_tokens_alone_is_refused() -> None:
    runs, problems = fixtures.detect_and_read("magentic-one", fixtures.json_lines([tokens(1, 300)]))
    assert (runs, len(problems)) == ([], 1)
