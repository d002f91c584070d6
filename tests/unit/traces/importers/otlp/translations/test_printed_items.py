import json
from typing import Any

import pytest

from tests.unit.traces.importers.otlp.calls.test_client_spans import run_of, span

CALL = (
    """ResponseFunctionToolCall(arguments='{"title": "Dune"}', call_id='c-1', name='find', type='function_call', """
    "id='fc_1', caller=None, status='completed')"
)
THOUGHT = "ResponseReasoningItem(id='rs_1', summary=[Summary(text='Look it up.', type='summary_text')], status=None)"


def message_of(text: str, role: str = "assistant") -> dict[str, Any]:
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]}]
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    run = run_of(span(1, "tracer", {**chat, "gen_ai.output.messages": json.dumps(messages)}, parent=0))
    output: Any = run.steps[0].output
    message: dict[str, Any] = output["message"]
    return message


def test_printed_call_is_a_call() -> None:
    message = message_of(CALL)
    assert message["tool_calls"] == [{"id": "c-1", "name": "find", "arguments": {"title": "Dune"}}]
    assert message["content"] is None


def test_printed_thought_is_reasoning() -> None:
    assert message_of(THOUGHT)["content"] == [{"type": "thinking", "thinking": "Look it up."}]


@pytest.mark.parametrize(
    "text",
    [
        CALL[:-20],
        "ResponseFunctionToolCall(print('x'))",
        "ResponseFunctionToolCall(name=open('x'))",
        "See ResponseFunctionToolCall(name='find')",
        "ResponseFunctionToolCall(name='find'), and more",
    ],
)
def test_other_texts_stay_texts(text: str) -> None:
    message = message_of(text)
    assert (message["content"], "tool_calls" in message) == (text, False)
