"""Answers of model calls in a span's attributes and events, in the dialects of the tracers, most specific first."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import structs

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import message_text, plain_message
from traces.importers.common.model_calls import (
    RESPONSE_ATTRIBUTES,
    Answer,
    normalize_answer,
    normalize_finish_reason,
    normalize_usage,
    usage_details,
)
from traces.importers.common.transcript_messages import continuation
from traces.importers.files.json_reader import parse_shared
from traces.importers.formats.chats.openai_items import is_response_output, normalize_response
from traces.importers.otlp.dialects.attributes import Attributes
from traces.importers.otlp.dialects.message_copies import flat_message, states
from traces.importers.otlp.dialects.message_events import MessageEvents
from traces.importers.otlp.dialects.sources import Source, attribute, json_attribute

_ADK_RESPONSE: Final = "gcp.vertex.agent.llm_response"
_ENVELOPE: Final = frozenset({"choices", "candidates", "content"})
_EMPTY: Final[tuple[JSONValue, ...]] = (None, "", [], {})
# Of Gemini, in the spelling of its client for Python.
_CANDIDATE_FIELDS: Final = frozenset(
    {"content", "finish_reason", "grounding_metadata", "citation_metadata", "avg_logprobs", "logprobs_result"}
)
# Of a response: what the step states, and what its request does.
_CALL_FIELDS: Final = frozenset({"output", "usage", "model", "object", "tools", "instructions"})
_ARGUMENTS: Final = ("arguments", "args", "input")
_CHOICE_FIELDS: Final = frozenset({"index", "message", "finish_reason", "logprobs"})
# Of a message, a choice, or the response that is itself the message.
_KNOWN_FIELDS: Final = frozenset(
    {"role", "content", "contents", "parts", "tool_calls", "function_call", "name", "finish_reason", "stop_reason"}
    | {"message", "index", "model", "type", "usage", *RESPONSE_ATTRIBUTES}
)


class CallAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a model call, and what the response contains besides."""

    answer: Answer
    attributes: JSONObject


def extract_answer(attributes: Attributes, events: MessageEvents) -> CallAnswer:
    """Return a model step's output. Other records of the same answer are left out if they state nothing more."""
    reason = _finish_reason(attributes)
    has_one_choice = len(_finish_reasons(attributes)) == 1
    selection: CallAnswer | None = None
    for source in _sources(attributes, events):
        if source.value is None or source.value in ("", [], {}):
            continue
        candidate = _read(source.value, reason, has_one_choice=has_one_choice)
        if not _has_content(candidate.answer.output, source.value):
            continue
        if selection is None or states(_message(selection.answer), _message(candidate.answer)):
            source.use()
            if selection is None:
                selection = candidate
                attributes.drop_answer_copies(_message(candidate.answer))
    return selection or CallAnswer(answer=Answer(output=None), attributes={})


def _sources(attributes: Attributes, events: MessageEvents) -> Iterator[Source]:
    if attributes.has_prefix("langfuse."):
        yield attribute(attributes, "langfuse.observation.output")
    body = json_attribute(attributes, "output.value")
    response = _single_response(body.value)
    is_envelope = _is_response(response) or not as_object(response).keys().isdisjoint(_ENVELOPE)
    if is_envelope:
        yield body
    if attributes.has_prefix("llm.output_messages."):
        yield _indexed_messages(attributes, "llm.output_messages")
    if not is_envelope:
        yield attribute(attributes, "output.value")
    if attributes.has_prefix("gen_ai."):
        yield json_attribute(attributes, "gen_ai.output.messages")
        yield _indexed_messages(attributes, "gen_ai.completion")
        yield json_attribute(attributes, "gen_ai.completion")
    yield events.answer()
    if _ADK_RESPONSE in attributes:
        yield Source(value=_adk_response(attributes), use=lambda: attributes.take(_ADK_RESPONSE))
    if attributes.has_prefix("ai."):
        yield _vercel_answer(attributes)
    if attributes.has_prefix("traceloop."):
        yield attribute(attributes, "traceloop.entity.output")


def _adk_response(attributes: Attributes) -> JSONValue:
    """Return a response of the Agent Development Kit, which has one candidate, in Gemini's form."""
    response = as_object(attributes.look_json(_ADK_RESPONSE))
    if not has_object(response, "content"):
        return None
    candidate: JSONObject = {name: value for name, value in response.items() if name in _CANDIDATE_FIELDS}
    return {**{name: value for name, value in response.items() if name not in candidate}, "candidates": [candidate]}


def _indexed_messages(attributes: Attributes, prefix: str) -> Source:
    items = [as_object(item) for item in as_list(attributes.look_indexed(prefix))]
    messages: list[JSONValue] = [
        flat_message(message) if (message := as_object(item.get("message"))) else item for item in items
    ]
    return Source(value=messages, use=lambda: attributes.drop(f"{prefix}."))


def _read(value: JSONValue, reason: str, *, has_one_choice: bool) -> CallAnswer:
    value = _single_response(parse_shared(value))
    if (completion := _plain_completion(value, reason)) is not None:
        return completion
    if _is_response(value):
        response: JSONObject = {"output": value} if isinstance(value, list) else as_object(value)
        return CallAnswer(answer=normalize_response(response), attributes=_response_attributes(response))
    envelope = _choices(value, has_one_choice=has_one_choice)
    answer = normalize_answer(value if envelope is None else envelope)
    if answer.output is not None and reason and "finish_reason" not in answer.output:
        answer = structs.replace(answer, output={**answer.output, "finish_reason": reason})
    return CallAnswer(
        answer=answer, attributes=_response_attributes(as_object(value) if envelope is None else envelope)
    )


def _plain_completion(body: JSONValue, reason: str) -> CallAnswer | None:
    """Quick reading of a response of OpenAI's chat API with one choice; None only means to look closer."""
    if not isinstance(body, dict) or "output" in body:
        return None
    choices, usage = body.get("choices"), body.get("usage")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(choice, dict) or not choice.keys() <= _CHOICE_FIELDS or not isinstance(usage, dict) or not usage:
        return None
    message = plain_message(choice.get("message"))
    if message is None or choice.get("logprobs") is not None:
        return None
    reason = normalize_finish_reason(as_text(choice.get("finish_reason"))) or reason
    return CallAnswer(
        answer=Answer(
            output={"message": message, "finish_reason": reason} if reason else {"message": message},
            model=as_text(body.get("model")),
            usage=normalize_usage(usage, "/usage"),
        ),
        attributes=_fields_of_response(body, RESPONSE_ATTRIBUTES) | usage_details(usage),
    )


def _fields_of_response(body: JSONObject, names: Iterable[str]) -> JSONObject:
    fields: JSONObject = {name: body[name] for name in names if name in body and body[name] not in _EMPTY}
    return {"response": fields} if fields else {}


def _single_response(value: JSONValue) -> JSONValue:
    """Unwrap a list of one response, which the instrumentation of OpenAI's Agents SDK writes for a stream."""
    return value[0] if isinstance(value, list) and len(value) == 1 and has_list(value[0], "output") else value


def _is_response(value: JSONValue) -> bool:
    return is_response_output(value if isinstance(value, list) else as_object(value).get("output"))


def _choices(value: JSONValue, *, has_one_choice: bool) -> JSONObject | None:
    """Return a list of messages as choices; None for any other value."""
    messages = as_objects(value)
    if not messages or not isinstance(value, list) or len(messages) != len(value):
        return None
    if any("role" not in message for message in messages):
        return None
    if len(messages) > 1 and has_one_choice and all(has_list(message, "parts") for message in messages):
        messages = [{**messages[0], "parts": [part for message in messages for part in as_list(message["parts"])]}]
    elif len(messages) > 1 and not all(message.get("finish_reason") for message in messages):
        messages = [_join(messages)]
    choices: list[JSONValue] = [
        {"message": message, "finish_reason": message.get("finish_reason")} for message in messages
    ]
    return {"choices": choices}


def _join(messages: list[JSONObject]) -> JSONObject:
    """Join the messages of one answer, if the tracer wrote each tool call into a message of its own."""
    calls = [call for message in messages for call in as_list(message.get("tool_calls"))]
    if not calls:
        return messages[-1]
    texts = [text for message in messages if (text := message_text(message))]
    return {**messages[0], "content": "\n\n".join(texts) or None, "tool_calls": calls}


def _response_attributes(body: JSONObject) -> JSONObject:
    """Return what a response contains besides the answer's message, reason and token counts."""
    choices = as_objects(body.get("choices"))
    choice = choices[0] if choices else {}
    message = as_object(choice.get("message")) if choices else body if "role" in body else {}
    # A response repeats the settings of its request, with the defaults of the server.
    names = body.keys() - _CALL_FIELDS if "output" in body else RESPONSE_ATTRIBUTES
    other_choices: list[JSONValue] = [*choices[1:]]
    fields: JSONObject = {
        **_fields_of_response(body, names),
        "answer": {
            name: value
            for name, value in {**choice, **message}.items()
            if value not in _EMPTY and name not in _KNOWN_FIELDS
        },
        "choices": other_choices,
    }
    return (
        {name: value for name, value in fields.items() if value}
        | usage_details(as_object(body.get("usage")))
        | continuation(body)
    )


def _finish_reason(attributes: Attributes) -> str:
    reasons = _finish_reasons(attributes)
    reason = reasons[0] if reasons else attributes.look("llm.finish_reason", "ai.response.finishReason")
    return normalize_finish_reason(as_text(reason))


def _finish_reasons(attributes: Attributes) -> list[JSONValue]:
    """Return the reasons of all choices, which Spring AI writes as a text."""
    return as_list(attributes.look_json("gen_ai.response.finish_reasons"))


def _vercel_answer(attributes: Attributes) -> Source:
    names = (
        ("ai.response.text", "ai.result.text"),
        ("ai.response.object", "ai.result.object"),
        ("ai.response.toolCalls", "ai.result.toolCalls"),
        ("ai.response.reasoning",),
    )
    content, object_value, calls, thoughts = (attributes.look(*group) for group in names)
    text = content if content is not None else object_value
    value: JSONObject = {"role": "assistant", "content": text, "tool_calls": as_list(parse_shared(calls))}
    if isinstance(thoughts, str):
        value["reasoning_content"] = thoughts

    def use() -> None:
        for group in names:
            attributes.take(*group)

    return Source(value=None if text is None and not value["tool_calls"] else value, use=use)


def _message(answer: Answer) -> JSONObject:
    return as_object(as_object(answer.output).get("message"))


def _has_content(output: JSONObject | None, value: JSONValue) -> bool:
    """Return whether an answer has content or call arguments, which tracers may be set not to record."""
    message = as_object(as_object(output).get("message"))
    calls = [as_object(call) for call in as_list(message.get("tool_calls"))]
    if message.get("content") is not None or any(call.get("arguments") for call in calls):
        return True
    return bool(calls) and _has_arguments(parse_shared(value))


def _has_arguments(value: JSONValue) -> bool:
    """Return whether any call in a recorded answer has arguments, also empty ones."""
    if isinstance(value, list):
        return any(map(_has_arguments, value))
    fields = as_object(value)
    return any(fields.get(name) is not None for name in _ARGUMENTS) or any(map(_has_arguments, fields.values()))
