"""What Cline showed of a task: requests, texts, calls and their results, as events that say or ask something."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.transcript_messages import TranscriptMessage
from traces.importers.files.json_reader import parse_embedded

REQUEST: Final = "api_req_started"
_USER: Final = frozenset({"task", "user_feedback", "user_feedback_diff"})
_TEXTS: Final = frozenset({"text", "completion_result", "plan_mode_respond", "followup"})
_CALLS: Final = frozenset({"tool", "command", "use_mcp_server", "browser_action_launch", "browser_action"})
_RESULTS: Final = frozenset({"command_output", "mcp_server_response", "browser_action_result"})


def is_screen(value: JSONValue) -> bool:
    """Return True if `value` is a list of such events."""
    events = as_objects(value) if isinstance(value, list) else []
    return bool(events) and all(map(is_event, events[:3]))


def is_event(event: JSONObject) -> bool:
    """Return True for one of such events; the output of the command line has one in each line."""
    return "ts" in event and event_kind(event) != ""


def event_kind(event: JSONObject) -> str:
    """Return what an event says or asks."""
    kind = as_text(event.get("type"))
    return as_text(event.get(kind)) if kind in ("say", "ask") else ""


def request_usage(event: JSONObject) -> JSONObject:
    """Return the tokens, the cost and the failure of a request."""
    info, model = as_object(parse_embedded(event.get("text"))), as_object(event.get("modelInfo"))
    inputs = [count for name in ("tokensIn", "cacheReads", "cacheWrites") if isinstance(count := info.get(name), int)]
    usage: JSONObject = {
        "input_tokens": sum(inputs),
        "output_tokens": info.get("tokensOut"),
        "cached_tokens": info.get("cacheReads"),
        "cache_writes": info.get("cacheWrites"),
    }
    facts: JSONObject = {
        "usage": {name: count for name, count in usage.items() if count},
        "cost": info.get("cost"),
        "error": info.get("streamingFailedMessage") or info.get("cancelReason"),
        "retries": info.get("retryStatus"),
        "shown_request": info.get("request"),
        **model_facts(model),
        # Of Kilo Code: who served the model that its gateway chose.
        **({"inference_provider": info["inferenceProvider"]} if info.get("inferenceProvider") else {}),
    }
    return {name: item for name, item in facts.items() if item not in (None, "", {})}


def model_facts(model: JSONObject) -> JSONObject:
    """Return the model of a request, as newer versions write it into messages and events."""
    return {"model": model.get("modelId"), "mode": model.get("mode"), "model_provider": model.get("providerId")}


def read_entries(events: list[JSONObject]) -> Iterator[TranscriptMessage]:
    """Yield the messages that the events amount to. A call has no id, and many show no result."""
    whole_events = [event for event in events if event.get("partial") is not True]
    pieces: list[JSONObject] = []
    is_open = False
    for index, event in enumerate(whole_events):
        kind, location = event_kind(event), f"/{index}"
        is_prompt = kind in _USER or (index == 0 and kind == "text")
        if (is_prompt or kind == REQUEST) and is_open:
            yield from _answer(pieces, location)
        if is_prompt:
            is_open = False
            images: list[JSONValue] = [{"type": "image", "url": image} for image in _images(event)]
            text: list[JSONValue] = [{"type": "text", "text": event.get("text")}]
            yield TranscriptMessage(
                value={"role": "user", "content": [*text, *images], "ts": event.get("ts")}, location=location
            )
        elif kind == REQUEST:
            is_open, pieces = True, [event]
        elif is_open:
            pieces.append(event)
    if is_open:
        yield from _answer(pieces, f"/{len(whole_events)}")


def _images(event: JSONObject) -> list[JSONValue]:
    images = event.get("images")
    return images if isinstance(images, list) else []


def _answer(events: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    """Yield an answer and the results of its calls."""
    request, *rest = events
    content: list[JSONValue] = []
    calls: list[JSONObject] = []
    outputs: dict[str, list[JSONObject]] = {}
    other_events: list[JSONValue] = []
    facts = request_usage(request)
    for event in rest:
        kind, text = event_kind(event), as_text(event.get("text"))
        if kind == "reasoning":
            content.append({"type": "thinking", "thinking": event.get("reasoning") or text})
        elif kind in _TEXTS and text:
            content.append({"type": "text", "text": text})
        elif kind in _CALLS:
            calls.append({"id": f"{as_text(event.get('ts'))}-{len(calls)}", **_call(kind, text)})
        elif kind in _RESULTS and calls:
            outputs.setdefault(as_text(calls[-1]["id"]), []).append(event)
        elif kind == "api_req_finished":
            # Early versions stated the tokens there.
            facts |= request_usage(event)
        elif kind == "api_req_failed":
            facts["error"] = text or "failed"
        else:
            other_events.append({name: item for name, item in event.items() if name not in ("partial",)})
    time: JSONObject = {
        "ts": next((event.get("ts") for event in rest if event_kind(event) in _CALLS | _TEXTS), request.get("ts"))
    }
    notes: JSONObject = {"events": other_events} if other_events else {}
    answer: JSONObject = {"role": "assistant", "content": content or None, "tool_calls": [*calls]}
    yield TranscriptMessage(value={**answer, **time, **facts, **notes}, location=location)
    for call in calls:
        if results := outputs.get(as_text(call["id"])):
            output = "\n".join(text for event in results if (text := as_text(event.get("text"))))
            result: JSONObject = {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": output,
                "ts": results[-1]["ts"],
            }
            yield TranscriptMessage(value=result, location=location)


def _call(kind: str, text: str) -> JSONObject:
    """Return the name and the arguments of a call, which are JSON, or the text of a command."""
    body = as_object(parse_embedded(text))
    if kind == "tool" and body.get("tool"):
        return {"name": body["tool"], "arguments": {name: item for name, item in body.items() if name != "tool"}}
    if kind == "use_mcp_server" and body:
        names = ".".join(part for name in ("serverName", "toolName", "uri") if (part := as_text(body.get(name))))
        return {"name": names or kind, "arguments": parse_embedded(body.get("arguments")) or {}}
    return {"name": kind, "arguments": body or {"text": text}}
