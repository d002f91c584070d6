"""Model calls without a conversation: batches and answers of Anthropic and Gemini, and logs of Vertex AI and Bedrock.

A batch has two files, requests and answers. They are joined if both are imported together. Each call is a run.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    has_string,
    omit,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import (
    REQUEST_ATTRIBUTES,
    RESPONSE_ATTRIBUTES,
    normalize_answer,
    normalize_provider,
    normalize_request,
    normalize_usage,
)
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.common.transcript_messages import continuation, server_calls
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, parse_embedded, require_object
from traces.importers.files.log_events import event_messages
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.streamed_answers import TEXT_NAMES, join_stream

FORMAT: Final = "call-log"
_INVOCATION: Final = "ModelInvocationLog"
_VERTEX_LOG: Final = frozenset({"full_request", "full_response", "logging_time"})
_COUNTS: Final = {
    "inputTokenCount": "input_tokens",
    "outputTokenCount": "output_tokens",
    "cacheReadInputTokenCount": "cache_read_input_tokens",
    "cacheWriteInputTokenCount": "cache_creation_input_tokens",
}


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One line: a request, or the answer to one, which the line may contain, too. `key` joins them in a batch."""

    location: str
    key: str = ""
    id: str = ""
    request: JSONObject = field(default_factory=dict)
    response: JSONObject = field(default_factory=dict)
    error: str = ""
    model: str = ""
    provider: str = ""
    at: JSONValue = None
    duration_ms: JSONValue = None
    usage: JSONObject = field(default_factory=dict)
    attributes: JSONObject = field(default_factory=dict)
    is_request: bool = False


def is_log(value: JSONValue) -> bool:
    """Return True if `value` is a line of such a log, a list of lines, or the body that starts a batch of Anthropic."""
    requests = as_object(value).get("requests")
    if _reader(as_object(first_item(value if requests is None else requests))) is not None:
        return True
    return any(message.get("schemaType") == _INVOCATION for message in event_messages(first_item(value)))


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per call."""
    calls = list(parse_records(sources, _read))
    requests = {call.key: call for call in calls if call.is_request}
    answers = [call for call in calls if not call.is_request]
    if requests and not answers:
        detail = f"a batch of {len(requests)} requests without answers: import it together with the batch's results"
        raise BadFile(detail, calls[0].location)
    for call in answers:
        request = requests.get(call.key)
        yield _run(replace(call, request=request.request) if request and not call.request else call)


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[_Call]:
    body = require_object(value, location)
    if has_list(body, "requests"):
        yield from _read(body["requests"], f"{location}/requests")
        return
    read = _reader(body)
    if read is None and (messages := event_messages(body)):
        yield from _read([*messages], location)
        return
    if read is None:
        raise BadFile("not a line of this log", location)
    call = read(body, location)
    # So that a line of which no run can be made is reported as that line.
    _run(call)
    yield call


def _reader(body: JSONObject) -> Callable[[JSONObject, str], _Call] | None:
    """Return the function that reads a line of this form."""
    if body.get("schemaType") == _INVOCATION:
        return _read_invocation
    if "recordId" in body and has_object(body, "modelInput"):
        return _read_bedrock_batch
    if body.keys() >= _VERTEX_LOG:
        return _read_vertex_log
    if "custom_id" in body and (has_object(body, "params") or has_string(body.get("result"), "type")):
        return _read_anthropic
    if _is_anthropic_message(body):
        return _read_message
    if any(has_object(candidate, "content") for candidate in as_list(body.get("candidates"))):
        return _read_candidates
    answer, request = as_object(body.get("response")), as_object(body.get("request"))
    is_answer = "candidates" in answer or "promptFeedback" in answer or ("key" in body and has_object(body, "error"))
    return _read_gemini if is_answer or ("contents" in request and ("key" in body or "status" in body)) else None


def _is_anthropic_message(body: JSONObject) -> bool:
    """Return whether an object is an answer of Anthropic. Items of OpenAI have the same members, and other blocks."""
    is_answer = body.get("type") == "message" and body.get("role") == "assistant" and has_list(body, "content")
    return is_answer and all(block.get("type") != "output_text" for block in as_objects(body.get("content")))


def _read_anthropic(body: JSONObject, location: str) -> _Call:
    result = as_object(body.get("result"))
    message, kind = as_object(result.get("message")), as_text(result.get("type"))
    error = as_object(result.get("error"))
    error = as_object(error.get("error")) or error
    return _Call(
        location=location,
        key=as_text(body.get("custom_id")),
        id=as_text(message.get("id")),
        request=as_object(body.get("params")),
        response=message,
        error="" if kind in {"succeeded", ""} else as_text(first_member(error, "message", "type")) or kind,
        model=as_text(message.get("model")),
        provider="anthropic",
        usage=as_object(message.get("usage")),
        is_request="params" in body and not result,
    )


def _read_message(body: JSONObject, location: str) -> _Call:
    return replace(_read_anthropic({"result": {"message": body}}, location), key="")


def _read_candidates(body: JSONObject, location: str) -> _Call:
    return _read_gemini({"response": body}, location)


def _read_gemini(body: JSONObject, location: str) -> _Call:
    response, request = as_object(body.get("response")), as_object(body.get("request"))
    usage = as_object(response.get("usageMetadata"))
    error = as_text(as_object(body.get("error")).get("message")) or as_text(body.get("status"))
    candidate = as_object(next(iter(as_list(response.get("candidates"))), None))
    sources: JSONObject = {name: candidate.get(name) for name in ("groundingMetadata", "citationMetadata")}
    block = as_text(as_object(response.get("promptFeedback")).get("blockReason"))
    return _Call(
        location=location,
        key=as_text(first_member(body, "key", "custom_id")),
        id=as_text(response.get("responseId")),
        request={**as_object(request.get("generationConfig")), **omit(request, "generationConfig")},
        response=response,
        error=error or (f"blocked: {block}" if block else ""),
        model=as_text(response.get("modelVersion")),
        provider="google",
        at=first_member(body, "processed_time") or response.get("createTime"),
        usage=usage,
        attributes={"promptFeedback": response.get("promptFeedback"), "usage": usage, **sources},
        is_request=bool(request) and not response and not error,
    )


def _read_vertex_log(body: JSONObject, location: str) -> _Call:
    """Read a row of the table in which Vertex AI logs requests and responses."""
    payloads = {name: parse_embedded(body[f"full_{name}"]) for name in ("request", "response")}
    call = _read_gemini({**payloads, "processed_time": body["logging_time"]}, location)
    facts: JSONObject = {name: body.get(name) for name in ("endpoint", "api_method", "request_id")}
    id, model = call.id or as_text(body.get("request_id")), call.model or as_text(body.get("model"))
    details: JSONObject = {**facts, "log": parse_embedded(body.get("metadata"))}
    return replace(call, id=id, model=model, attributes={**call.attributes, **details}, is_request=False)


def _read_bedrock_batch(body: JSONObject, location: str) -> _Call:
    error = as_object(body.get("error"))
    output = as_object(body.get("modelOutput"))
    return _Call(
        location=location,
        key=as_text(body.get("recordId")),
        id=as_text(output.get("id")),
        request=_bedrock_request(as_object(body.get("modelInput"))),
        response=_bedrock_answer(output),
        error=as_text(first_member(error, "errorMessage", "errorCode")),
        model=as_text(output.get("model")),
        usage=as_object(output.get("usage")),
        is_request=not output and not error,
    )


def _read_invocation(body: JSONObject, location: str) -> _Call:
    request, answer_fields = as_object(body.get("input")), as_object(body.get("output"))
    counts = {**request, **answer_fields}
    output = parse_embedded(answer_fields.get("outputBodyJson"))
    answer = as_object(output)
    # The id of an inference profile or of a model is the last part of its ARN.
    model = as_text(body.get("modelId")).rpartition("/")[2]
    other_fields = omit(body, "input", "output", "modelId", "schemaType", "schemaVersion", "timestamp", "requestId")
    paths: JSONObject = {name: counts[name] for name in ("inputBodyS3Path", "outputBodyS3Path") if name in counts}
    return _Call(
        location=location,
        id=as_text(body.get("requestId")),
        request=_bedrock_request(as_object(parse_embedded(request.get("inputBodyJson")))),
        response=join_stream(output) if isinstance(output, list) and output else _bedrock_answer(answer),
        error=as_text(first_member(body, "errorMessage", "errorCode")),
        model=model,
        provider="bedrock",
        at=body.get("timestamp"),
        duration_ms=as_object(answer.get("metrics")).get("latencyMs"),
        usage={
            **as_object(answer.get("usage")),
            **{name: counts[count] for count, name in _COUNTS.items() if count in counts},
        },
        attributes={**other_fields, **paths},
    )


def _bedrock_request(body: JSONObject) -> JSONObject:
    """Return the body of a request to any model of Bedrock, with its settings and tools under their usual names."""
    settings = as_object(first_member(body, "inferenceConfig", "textGenerationConfig"))
    prompt = first_member(body, "prompt", "inputText") or (body.get("message") if has_string(body, "message") else None)
    fields = omit(body, "inferenceConfig", "textGenerationConfig", "toolConfig", "inputText", "message")
    configuration = as_object(body.get("toolConfig"))
    names = {"tools": "tools", "tool_choice": "toolChoice"}
    tools: JSONObject = {name: configuration[field] for name, field in names.items() if configuration.get(field)}
    return {**settings, **fields, **({"prompt": prompt} if prompt else {}), **tools}


def _bedrock_answer(body: JSONObject) -> JSONObject:
    """Return the answer of any model of Bedrock in a form that all clients have."""
    message = as_object(body.get("output")).get("message")
    reason = first_member(body, "stopReason", "stop_reason", "finish_reason")
    if isinstance(message, dict):
        return {"message": {"role": "assistant", **message}, "stop_reason": reason}
    results = as_object(next(iter(as_list(body.get("results"))), None))
    text = first_member({**results, **body}, *TEXT_NAMES)
    reason = reason or results.get("completionReason")
    return {"message": {"role": "assistant", "content": text}, "stop_reason": reason} if text else body


def _run(call: _Call) -> RecordedRun:
    start = parse_time(call.at, call.location)
    answer = normalize_answer(call.response)
    model = as_text(call.request.get("model")) or call.model
    facts = {name: call.request[name] for name in REQUEST_ATTRIBUTES if call.request.get(name)}
    facts |= {name: call.response[name] for name in RESPONSE_ATTRIBUTES if call.response.get(name)}
    facts |= continuation(call.response)
    attributes: JSONObject = {
        name: item for name, item in {**facts, **call.attributes}.items() if item not in (None, "", [], {})
    }
    step = build_step(
        SpanFacts(
            key="call",
            name=model or "model",
            type=StepType.MODEL,
            times=Span(start=start, end=add_milliseconds(start, call.duration_ms)),
            failed=bool(call.error),
            error=call.error,
            request=normalize_request(omit(call.request, *REQUEST_ATTRIBUTES)) if call.request else None,
            answer=answer,
            model=model,
            provider=call.provider or normalize_provider(None, model),
            usage=normalize_usage(call.usage, f"{call.location}/usage"),
            attributes=attributes,
        )
    )
    key = call.key or call.id or "call"
    return build_run(
        RunFacts(
            external_id=call.id or f"{key}-{content_id([call.request, call.response, call.error], call.location)}",
            app=call.provider or FORMAT,
            format=FORMAT,
            name=key,
            failed=bool(call.error),
            # The model handled what failed of the tools that the provider ran.
            has_succeeded=not call.error,
            metadata={"custom_id": call.key},
        ),
        [step, *_server_steps(step, answer.output)],
        location=call.location,
    )


def _server_steps(model: RecordedStep, output: JSONObject | None) -> Iterator[RecordedStep]:
    """Yield the steps of the tools that the provider ran in an answer."""
    for number, action in enumerate(server_calls(as_object(as_object(output).get("message")).get("content")), 1):
        yield RecordedStep(
            key=f"{model.key}.{number}",
            type=StepType.TOOL,
            name=action.name or "tool",
            tool_name=action.name,
            links=(model.key,),
            input=action.arguments,
            output=action.output,
            error=action.error,
            status=action.status,
            attributes=action.attributes,
        )
