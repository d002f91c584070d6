"""LangSmith's Python client, alone and under LangGraph."""

from tests.clients.tracers.recording_server import RecordedTrace
from tests.clients.tracers.traced_agents import Tracing, check_model_calls

_PARAMETERS = {"temperature": 0.2, "seed": 7, "max_tokens": 100}


def _record(tracing: Tracing, agent: str, *, judgements: int = 0) -> RecordedTrace:
    output = tracing.run(
        "langsmith-0.15",
        agent,
        LANGSMITH_ENDPOINT=f"{tracing.server_url}/langsmith",
        LANGSMITH_API_KEY="any",
        LANGSMITH_TRACING="true",
        LANGSMITH_PROJECT="demo",
    )
    return tracing.recorded(output.strip(), judgements=judgements)


def test_run_contains_what_the_client_sent(tracing: Tracing) -> None:
    trace = _record(tracing, "langsmith_agent")
    check_model_calls(trace, tracing.model, parameters=_PARAMETERS)
    [tool] = trace.of_type("tool")
    assert (tool["input"], tool["output"]) == ({"city": "Paris"}, "rainy, 57F")
    [failure] = [step for step in trace.of_type("model") if step["error"]]
    assert (failure["output"], failure["status"], "this fails" in failure["error"]) == (None, "error", True)
    [photo] = [step["attributes"]["attachments"] for step in trace.steps if "attachments" in step["attributes"]]
    assert photo == {"photo": {"media_type": "image/png", "data": "iVBORw=="}}
    assert (trace.run["app"], trace.run["tags"], trace.run["metadata"]["session_id"]) == ("demo", ["demo"], "s1")
    assert tracing.replay(trace) == "completed_exact"


def test_feedback_judges_the_run(tracing: Tracing) -> None:
    trace = _record(tracing, "langsmith_agent", judgements=2)
    scores = {item["name"]: (item["value"], item["text"], item["step"]) for item in trace.judgements}
    assert scores == {"helpful": (0.75, "well done", None), "polite": (0.5, "", None)}


def test_langgraph_needs_only_the_environment(tracing: Tracing) -> None:
    trace = _record(tracing, "langgraph_agent")
    check_model_calls(trace, tracing.model, parameters=_PARAMETERS)
    [tool] = trace.of_type("tool")
    assert tool["input"] == {"city": "Paris"}
    assert tool["output"] == "rainy, 57F"
    assert tracing.replay(trace) == "completed_exact"
