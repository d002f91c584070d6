"""Search of a run for every value that a tracer sent."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tests.clients.otlp.wiretap import SentSpan
from tests.clients.tracers.recording_server import RecordedTrace

# What the steps state in their own words: types of blocks and objects, roles, and reasons to finish.
_WORDS: Final = frozenset(
    {"", "text", "function", "tool", "tool_call", "tool_use", "tool_result", "tool_call_response", "function_call"}
    | {"function_call_output", "message", "object", "user", "developer", "output_text", "input_text", "direct"}
    | {"chat.completion", "chat.completion.chunk", "response", "completed", "end_turn", "none", "auto", "system"}
    | {"tool-call", "tool-response", "assistant", "message_start"}
)
# Ids of the items in a response, which no request refers to.
_ITEM: Final = re.compile(r"(fc_call_\d\d|msg_1)")
# Positions, times, and what a framework notes beside the items of a response.
_UNUSED: Final = frozenset({"index", "gen_ai.message.index", "created", "created_at", "provider_data"})


def check_nothing_lost(spans: list[SentSpan], trace: RecordedTrace) -> None:
    """Check that each text and each number in the attributes and events of a span is in its step or its run."""
    steps = _steps_of_spans(spans, trace)
    run = set(_leaves(trace.run))
    for span in spans:
        recorded_values = run | set(_leaves(steps[span.span_id]))
        for name, value in [*span.attributes.items(), *span.events]:
            missing = {leaf for leaf in _leaves(value) if leaf not in recorded_values and not _is_word(leaf)}
            assert not missing, (span.name, name, missing)
        assert not span.failed or span.message in steps[span.span_id]["error"], span.message


def _steps_of_spans(spans: list[SentSpan], trace: RecordedTrace) -> dict[str, Any]:
    """Return the step of each span, in whose order steps begin; a span without messages may be a part of a step."""
    parts = {
        step["attributes"]["client_span"]["span_id"]: step
        for step in trace.steps
        if "client_span" in step["attributes"]
    }
    whole = [span for span in spans if span.span_id not in parts]
    return {**parts, **{span.span_id: step for span, step in zip(whole, trace.steps, strict=True)}}


def _is_word(leaf: Any) -> bool:
    if not isinstance(leaf, str):
        return False
    return leaf in _WORDS or leaf.startswith("gen_ai.") or _ITEM.fullmatch(leaf) is not None


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the texts and numbers in a value, also in JSON inside a text."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from () if name in _UNUSED else _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        parsed = _parsed(value)
        if isinstance(parsed, dict | list):
            yield from _leaves(parsed)
        else:
            yield (parsed if isinstance(parsed, str) else value).lower()
    elif value is not None:
        yield value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
