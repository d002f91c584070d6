"""Sessions of Goose."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType


def test_session_has_calls_with_results_and_errors() -> None:
    run = fixtures.run("goose.jsonl")
    results = [(step.call_id, step.status, step.output) for step in fixtures.steps(run, StepType.TOOL)]
    assert results == [
        ("call_1", StepStatus.OK, "3 copies"),
        ("call_2", StepStatus.ERROR, "no such shelf"),
        ("call_3", StepStatus.ERROR, "broken scale"),
    ]
    assert (run.name, run.metadata["accumulated_input_tokens"]) == ("Stock of Dune", 850)


def test_exported_session_states_its_model() -> None:
    _, *messages = (record.value for record in fixtures.source("goose.jsonl").records())
    call: Any = {"type": "toolRequest", "id": "call_4", "toolCall": {"status": "error", "error": "no such tool"}}
    messages.append({"role": "assistant", "created": 1772359270, "content": [call]})
    model: Any = {"model_config": {"model_name": "claude-4", "temperature": 0.5}, "provider_name": "anthropic"}
    session: Any = {"id": "20260301_1", "working_dir": "/shop", **model, "conversation": messages}
    ((run,), problems) = fixtures.detect_and_read("goose", orjson.dumps(session))
    step = fixtures.steps(run, StepType.MODEL)[0]
    assert (run.external_id, step.model, step.provider, problems) == ("20260301_1", "claude-4", "anthropic", [])
    unreadable = fixtures.steps(run, StepType.TOOL)[-1]
    assert (unreadable.input, unreadable.status) == ({"error": "no such tool"}, StepStatus.PARTIAL)
