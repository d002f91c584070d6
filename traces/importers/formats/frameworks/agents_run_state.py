"""States of runs that the OpenAI Agents SDK serialises to resume them (`RunState`), for Python and JavaScript.

A state has the input of a run, the answers of its models, and what its tools returned. JavaScript has the same members
in another spelling (`modelResponses`, `callId`).
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_string, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import (
    TranscriptMessage,
    TranscriptSettings,
    continuation,
    drop_unreadable,
)
from traces.importers.files.source import Source
from traces.importers.formats.chats.openai_items import normalize_items

FORMAT: Final = "agents-run-state"
_RESPONSES: Final = ("modelResponses", "model_responses")
_ITEMS: Final = ("generatedItems", "generated_items")
_INPUT: Final = ("originalInput", "original_input")
_STEP: Final = ("currentStep", "current_step")
# They repeat the last response and its items.
_COPIES: Final = (
    *("lastModelResponse", "last_model_response", "lastProcessedResponse", "last_processed_response"),
    *("sessionItems", "session_items"),
)
_RESULT_TYPES: Final = {"function_call_result": "function_call_output", "computer_call_result": "computer_call_output"}
_OUTPUTS: Final = frozenset({"tool_call_output_item", "handoff_output_item"})
_COUNTS: Final = {
    "input_tokens": ("inputTokens", "input_tokens"),
    "output_tokens": ("outputTokens", "output_tokens"),
}
_INTERRUPTION: Final = "next_step_interruption"


def is_state(value: JSONValue) -> bool:
    """Return True if `value` is the state of a run."""
    body = as_object(value)
    return has_string(body, "$schemaVersion") and isinstance(first_member(body, *_RESPONSES), list)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per state."""
    for body, location in source.entries():
        yield _run(body, location, source)


def _run(body: JSONObject, location: str, source: Source) -> RecordedRun:
    responses = as_objects(first_member(body, *_RESPONSES))
    trace = as_object(body.get("trace"))
    agent = as_text(as_object(first_member(body, "currentAgent", "current_agent")).get("name"))
    ids = [as_text(first_member(response, "responseId", "response_id")) for response in responses]
    step = as_object(first_member(body, *_STEP))
    return build_run(
        RunFacts(
            external_id=next(filter(None, ids), "") or f"{FORMAT}-{content_id(body, location)}",
            app=app_name(trace.get("workflow_name"), agent) or "agents-sdk",
            format=FORMAT,
            has_ended=step.get("type") != _INTERRUPTION,
            metadata=omit(body, *_RESPONSES, *_ITEMS, *_INPUT, *_COPIES),
        ),
        transcripts.build_steps(
            drop_unreadable(_entries(body, responses, location), source.problems),
            TranscriptSettings(agent=agent or "agent"),
        ),
        location=location,
    )


def _entries(body: JSONObject, responses: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    request = first_member(body, *_INPUT)
    items = [_item(item) for item in as_objects(request)] if isinstance(request, list) else request
    for message in normalize_items([*items] if isinstance(items, list) else items):
        yield TranscriptMessage(value=message, location=f"{location}/input")
    generated_items = as_objects(first_member(body, *_ITEMS))
    raw_items = [(item, _item(as_object(first_member(item, "rawItem", "raw_item")))) for item in generated_items]
    results = {as_text(raw.get("call_id")): raw for item, raw in raw_items if as_text(item.get("type")) in _OUTPUTS}
    agents = {
        as_text(first_member(raw, "call_id", "id")): as_object(item.get("agent")).get("name")
        for item, raw in raw_items
        if as_text(item.get("type")) not in _OUTPUTS
    }
    for number, response in enumerate(responses):
        yield from _response(response, results, agents, f"{location}/responses/{number}")


def _response(
    response: JSONObject, results: dict[str, JSONObject], agents: JSONObject, location: str
) -> Iterator[TranscriptMessage]:
    """Yield an answer, and the results of its calls as far as the run has them."""
    output = [_item(item) for item in as_objects(response.get("output"))]
    ids = [as_text(first_member(item, "call_id", "id")) for item in output]
    facts: JSONObject = {
        "usage": _usage(as_object(response.get("usage"))),
        "response_id": first_member(response, "responseId", "response_id"),
        "request_id": first_member(response, "requestId", "request_id"),
        "speaker": next((agents[id] for id in ids if agents.get(id)), None),
        **continuation({"output": [*output]}),
    }
    known_facts = {name: item for name, item in facts.items() if item not in (None, "", {}, [])}
    for message in normalize_items([*output]):
        yield TranscriptMessage(value={**message, **known_facts}, location=location)
        for call in as_objects(message.get("tool_calls")):
            if (result := results.get(as_text(call.get("id")))) is not None:
                value = next(iter(normalize_items([result])), {})
                yield TranscriptMessage(value=value, location=location)


def _item(item: JSONObject) -> JSONObject:
    """Return an item in the spelling of the API."""
    kind = as_text(item.get("type"))
    fields = {name: part for name, part in item.items() if name != "callId"}
    if "callId" in item:
        fields["call_id"] = item["callId"]
    if kind in _RESULT_TYPES:
        fields["type"] = _RESULT_TYPES[kind]
    output = as_object(item.get("output"))
    if output.get("type") == "text":
        fields["output"] = output.get("text")
    return fields


def _usage(usage: JSONObject) -> JSONObject:
    counts: JSONObject = {name: first_member(usage, *names) for name, names in _COUNTS.items()}
    details = first_member(usage, "inputTokensDetails", "input_tokens_details")
    detail = as_object(next(iter(as_list(details)), None)) if isinstance(details, list) else as_object(details)
    counts["cached_tokens"] = first_member(detail, "cached_tokens", "cachedTokens")
    return {name: count for name, count in counts.items() if count}
