import json
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source

CALL = {"id": "c-1", "type": "function", "function": {"name": "find", "arguments": '{"title": "Dune"}'}}
MESSAGE = {"role": "assistant", "content": None, "tool_calls": [CALL]}
REQUEST = {"model": "gpt-4o", "messages": [fixtures.REQUEST], "temperature": 0.5}
RESPONSE = {"id": "r-1", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}]}


def document(id: str, name: str, type: str, payloads: tuple[Any, Any], form: str, **attributes: Any) -> Any:
    inputs, output = (json.dumps(value, indent=2) for value in payloads)
    in_attributes = {"inputs": inputs, "output": output} if form != "events" else {}
    events = {"promptflow.function.inputs": inputs, "promptflow.function.output": output}
    return {
        "name": name,
        "context": {"trace_id": "0xab", "span_id": id},
        "parent_id": "0x01" if id != "0x01" else None,
        "start_time": f"2026-10-01T10:00:0{id[-1]}Z",
        "end_time": "2026-10-01T10:00:09Z",
        "attributes": {"framework": "promptflow", "span_type": type, **in_attributes, **attributes},
        "events": [{"name": name, "attributes": {"payload": payload}} for name, payload in events.items()]
        if form != "attributes"
        else [],
    }


@pytest.mark.parametrize("form", ["attributes", "events", "both"])
def test_spans_have_their_inputs_and_outputs(form: str) -> None:
    counts = {"llm.usage.prompt_tokens": 30, "llm.generated_message": json.dumps(MESSAGE)}
    spans = [
        document("0x01", "chat", "Flow", ({"question": "Dune?"}, "Yes."), form),
        document("0x02", "openai_chat", "LLM", (REQUEST, RESPONSE), form, **counts),
        document("0x03", "find", "Function", ({"title": "Dune"}, "3 copies"), form),
    ]
    data = fixtures.json_lines(spans)
    source = Source(name="spans", data=data)
    (run,) = registry.detect(fixtures.sample("spans", data)).runs([source])
    flow, model, tool, answer = run.steps
    request: Any = model.input
    output: Any = model.output
    assert (request["messages"], request["parameters"]) == ([fixtures.REQUEST], {"temperature": 0.5})
    assert output["message"]["tool_calls"] == [{"id": "c-1", "name": "find", "arguments": {"title": "Dune"}}]
    assert (model.model, model.tokens_in, flow.input) == ("gpt-4o", 30, {"question": "Dune?"})
    assert (tool.type, tool.input, tool.output) == (StepType.TOOL, {"title": "Dune"}, "3 copies")
    assert (answer.type, answer.output) == (StepType.OUTPUT, {"text": "Yes."})
    assert not {"events", "llm.generated_message"} & model.attributes.keys()
