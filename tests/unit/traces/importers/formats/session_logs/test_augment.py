"""Sessions of Augment's command line."""

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ModelRequest


def test_exchanges_are_calls_of_the_model() -> None:
    run = fixtures.run("augment.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    (turn,) = fixtures.steps(run, StepType.TURN)
    assert (run.external_id, run.name, str(run.started_at)) == ("a-7", "Stock of Dune", "2026-05-01 10:00:00+00:00")
    assert (first.model, first.provider, first.tokens_in, first.tokens_cached) == (
        "claude-sonnet-4-5",
        "anthropic",
        230,
        200,
    )
    assert (tool.name, tool.call_id, tool.input, tool.status) == ("view", "t1", {"path": "stock.md"}, StepStatus.ERROR)
    assert "ide_state_node" in str(turn.attributes["request_nodes"])
    assert fixtures.answer_contents(run)[1] == "I cannot tell."
    assert second.attributes["changedFiles"] == [{"path": "notes.md"}]


def test_summary_of_a_session_begins_another_history() -> None:
    exchanges = [("Hello", "Hi", False), ("Summary: a greeting.", "", True), ("Bye", "Bye.", False)]
    history = [
        {"exchange": {"request_message": request, "response_text": answer}, "isHistorySummary": is_summary}
        for request, answer, is_summary in exchanges
    ]
    (run,) = fixtures.detect_and_read("augment", fixtures.json_lines([{"sessionId": "s1", "chatHistory": history}]))[0]
    last = fixtures.steps(run, StepType.MODEL)[-1]
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    assert len([*ModelRequest(last.input).messages]) == 2
