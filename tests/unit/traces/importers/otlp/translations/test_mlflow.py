import json
from decimal import Decimal
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

REQUEST = {"model": "gpt-x", "messages": [fixtures.REQUEST], "temperature": 0.5}


def step_of(kind: str, **values: Any) -> RecordedStep:
    """Return the step of a span that MLflow sent to a collector."""
    attributes = {"mlflow.spanType": kind, **{f"mlflow.{name}": value for name, value in values.items()}}
    span = {
        "name": "chat",
        "context": {"trace_id": "ab", "span_id": "01"},
        "start_time": "2026-10-01T10:00:00Z",
        "attributes": {name: json.dumps(value) for name, value in attributes.items()},
    }
    ((run,), _) = fixtures.detect_and_read("otlp", fixtures.json_lines([span]))
    return run.steps[0]


def test_model_call_has_its_request_answer_usage_and_cost() -> None:
    usage = {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 60}
    names = {"llm.model": "gpt-x", "llm.cost": {"total_cost": 0.5}, "message.format": "anthropic"}
    step = step_of("CHAT_MODEL", spanInputs=REQUEST, spanOutputs="B-7", **{"chat.tokenUsage": usage, **names})
    assert as_object(step.input) == {"messages": [fixtures.REQUEST], "parameters": {"temperature": 0.5}}
    assert step.output == {"message": {"role": "assistant", "content": "B-7"}}
    assert (step.model, step.tokens_in, step.tokens_cached, step.cost_usd) == ("gpt-x", 69, 60, Decimal("0.5"))


@pytest.mark.parametrize(
    ("kind", "type"),
    [("TOOL", StepType.TOOL), ("RETRIEVER", StepType.RETRIEVAL), ("UNKNOWN", StepType.AGENT)],
)
def test_kinds_of_spans_are_types_of_steps(kind: str, type: StepType) -> None:
    assert step_of(kind, spanInputs={"query": "Dune"}).type is type
