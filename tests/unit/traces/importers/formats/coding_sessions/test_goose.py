"""Sessions of Goose."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
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


def test_output_of_a_command_joins_the_parts_of_answers() -> None:
    def message(role: str, *blocks: Any, **metadata: Any) -> dict[str, Any]:
        marks = {"userVisible": True, "agentVisible": True, **metadata}
        return {"id": f"m-{role}", "role": role, "created": 1772359270, "content": [*blocks], "metadata": marks}

    call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}
    result = {"status": "success", "value": {"content": [{"type": "text", "text": "shelf.md"}], "isError": False}}
    counts = {"inputTokens": 120, "outputTokens": 9, "cacheReadTokens": 100, "cost": 0.002}
    parts = [
        message("assistant", {"type": "text", "text": "Let me "}),
        message(
            "assistant", {"type": "text", "text": "look."}, usage=counts, inference={"resolvedModel": "gpt-5-mini"}
        ),
        message("assistant", {"type": "toolRequest", "id": "c1", "toolCall": call}),
        message("user", {"type": "toolResponse", "id": "c1", "toolResult": result}),
    ]
    ((short,), _) = fixtures.detect_and_read("goose", orjson.dumps({"messages": parts[:2]}))
    assert fixtures.answer_contents(short) == ["Let me look."], "an answer alone is no greeting"
    lines = [*({"type": "message", "message": part} for part in parts), {"type": "complete", "total_tokens": 129}]
    for data in (fixtures.json_lines(lines), orjson.dumps({"messages": parts, "metadata": {"total_tokens": 129}})):
        ((run,), problems) = fixtures.detect_and_read("goose", data)
        (model,), (tool,) = (fixtures.steps(run, kind) for kind in (StepType.MODEL, StepType.TOOL))
        assert problems == []
        assert fixtures.answer_contents(run) == ["Let me look."]
        assert (model.model, model.tokens_in, model.tokens_out, model.tokens_cached) == ("gpt-5-mini", 120, 9, 100)
        assert (model.cost_usd, tool.output, tool.call_id) == (Decimal("0.002"), "shelf.md", "c1")
        assert 129 in (run.metadata.get("total_tokens"), as_object(run.metadata.get("metadata")).get("total_tokens"))
