"""What pydantic-ai's own spans lack of a request: the reason why the SDK records it at the client instead (ADR 13).

If a new version fails here because its spans have more, that decision is due for another look.
"""

import json
import re
from typing import Any

import pytest

from tests.clients.otlp.test_pydantic_ai import pydantic_ai
from tests.clients.otlp.traced_runs import Desk
from traces.core.json_access import as_list, as_object

LACKS = {
    "openai": {"stream", "stream_options", "tool_choice"},
    "anthropic": {"stream", "max_tokens", "tool_choice"},
}


def _is_in(name: str, texts: list[str]) -> bool:
    """Return whether any attribute has this name, or a member with it, or ends with it."""
    return any(re.search(rf'[".]{name}\\*"', text) for text in texts)


def _arguments(body: dict[str, Any]) -> list[str]:
    """Return the texts of the arguments that a request repeats, as they were sent."""
    messages = map(as_object, as_list(body["messages"]))
    calls = [as_object(call) for message in messages for call in as_list(message.get("tool_calls"))]
    return [str(as_object(call["function"])["arguments"]) for call in calls]


@pytest.mark.parametrize(("environment", "format"), [("pydantic-ai-otlp-2", "6"), ("pydantic-ai-otlp-2.66", "5")])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_spans_lack_parts_of_the_request(desk: Desk, environment: str, format: str, api: str) -> None:
    desk.record(pydantic_ai(environment, format, api), "pydantic_agent", "stream", api)
    texts = [json.dumps(span.attributes) for span in desk.tap.spans() if span.name.startswith("chat")]
    bodies = [as_object(body) for _, body in desk.model.requests]
    names = {name for body in bodies for name in body}
    assert {name for name in LACKS[api] if not _is_in(name, texts)} == LACKS[api]
    assert LACKS[api] <= names
    if api == "openai":
        # They have the arguments parsed and written anew, in another text than the one that was sent.
        sent = [text for body in bodies for text in _arguments(body)]
        spans = [span.attributes.get("gen_ai.input.messages", "") for span in desk.tap.spans()]
        assert sent
        assert not any(json.dumps(text) in json.dumps(spans[-1]) for text in sent)


def test_spans_lack_the_request_of_a_refused_call(desk: Desk) -> None:
    desk.record(pydantic_ai("pydantic-ai-otlp-2", "6"), "pydantic_agent", "sync", "error")
    [call] = [span for span in desk.tap.spans() if span.name.startswith("chat")]
    assert call.failed
    assert "gen_ai.input.messages" not in call.attributes
