"""Responses, chat completions and batches of OpenAI's APIs.

A batch has two files, requests and answers, joined by `custom_id` if both are imported together. A chain of responses
linked by `previous_response_id` is one run. A single answer is a run of one model call, without an input if the file
lacks the request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import PROVIDER_RAN, normalize_provider, normalize_usage, usage_details
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span, parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, continuation
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, require_object
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import (
    normalize_items,
    normalize_openai_answer,
    normalize_openai_request,
    read_error,
)

FORMAT: Final = "openai"
_ANSWERS: Final = frozenset({"response", "chat.completion"})
_HOLDERS: Final = ("data", "responses", "completions")
_ATTRIBUTES: Final = (
    *("status", "service_tier", "system_fingerprint", "metadata", "user", "conversation", "background"),
    *("safety_identifier", "prompt_cache_key"),
)
# Of stored completions.
_COMPLETION_FIELDS: Final = (
    "request_id",
    "input_user",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "response_format",
)
# Settings of the request that a response repeats.
_ECHOED_SETTINGS: Final = (
    *("instructions", "tools", "temperature", "top_p", "max_output_tokens", "tool_choice", "text", "reasoning"),
    *("parallel_tool_calls", "top_logprobs", "max_tool_calls"),
)


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One model call: its request, if recorded, and its answer or error."""

    location: str
    request: JSONObject = field(default_factory=dict)
    body: JSONObject = field(default_factory=dict)
    custom_id: str = ""
    id: str = ""
    error: str = ""
    # What an error states besides its message, such as a code.
    error_details: JSONObject = field(default_factory=dict)

    @property
    def is_answered(self) -> bool:
        return bool(self.body or self.error)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per answer of a batch and per chain of responses."""
    calls = list(parse_records(sources, _read))
    requests = {call.custom_id: call for call in calls if not call.is_answered}
    answers = [_join_request(call, requests) for call in calls if call.is_answered]
    if requests and not answers:
        detail = f"a batch of {len(requests)} requests without answers: import it together with the batch's output file"
        raise BadFile(detail, calls[0].location)
    yield from (_run([call]) for call in answers if call.custom_id)
    yield from (_run(chain) for chain in _chains([call for call in answers if not call.custom_id]))


def is_recording(value: JSONValue) -> bool:
    """Return True if `value` is an answer, a line of a batch, or a list of these."""
    body = as_object(first_item(value))
    if "custom_id" in body:
        return "response" in body or ("body" in body and "url" in body)
    if as_text(body.get("object")) in _ANSWERS or as_text(as_object(body.get("response")).get("object")) == "response":
        return True
    return any(has_list(body, name) and is_recording(body[name]) for name in _HOLDERS)


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[_Call]:
    body = require_object(value, location)
    list_field = next(
        (name for name in _HOLDERS if "object" not in body or body["object"] == "list" if has_list(body, name)),
        None,
    )
    if list_field is not None:
        yield from _read(body[list_field], f"{location}/{list_field}")
        return
    call = _batch_line(body, location) if "custom_id" in body else _single(body, location)
    _steps([call])
    yield call


def _batch_line(line: JSONObject, location: str) -> _Call:
    custom_id = as_text(line.get("custom_id"))
    if "response" not in line:
        return _Call(
            location=location, request=require_object(line.get("body"), f"{location}/body"), custom_id=custom_id
        )
    response = as_object(line.get("response"))
    body = as_object(response.get("body"))
    status = response.get("status_code")
    is_error = isinstance(status, int) and status >= 400
    error = read_error(line) or read_error(body) or (f"status {status}" if is_error else "")
    if not body and not error:
        raise BadFile("a line of a batch has neither an answer nor an error", f"{location}/response")
    key = (
        as_text(first_member(line, "id"))
        or as_text(first_member(body, "id"))
        or f"{custom_id}-{content_id(line, location)}"
    )
    # The body of a refusal is no answer.
    return _Call(
        location=location,
        body={} if is_error else body,
        custom_id=custom_id,
        id=key,
        error=error,
        error_details=_error_details(line) or _error_details(body),
    )


def _single(record: JSONObject, location: str) -> _Call:
    request, body = as_object(record.get("request")), as_object(record.get("response")) or record
    if as_text(body.get("object")) not in _ANSWERS:
        raise BadFile("not a response or chat completion", f"{location}/object")
    if not request and body.get("input") is not None:
        request = {name: body[name] for name in ("input", *_ECHOED_SETTINGS) if body.get(name) is not None}
    key = as_text(body.get("id")) or f"answer-{content_id(record, location)}"
    return _Call(
        location=location,
        request=request,
        body=body,
        id=key,
        error=read_error(body),
        error_details=_error_details(body),
    )


def _error_details(body: JSONObject) -> JSONObject:
    error = as_object(body.get("error"))
    return {name: value for name, value in error.items() if value is not None and name != "message"}


def _join_request(call: _Call, requests: dict[str, _Call]) -> _Call:
    request_call = requests.get(call.custom_id) if call.custom_id else None
    return replace(call, request=request_call.request) if request_call else call


def _chains(calls: list[_Call]) -> Iterator[list[_Call]]:
    """Yield chains of consecutive responses; each branch starts with the shared responses."""
    by_id = {call.id: call for call in calls}
    predecessors = {key: by_id.get(as_text(call.body.get("previous_response_id"))) for key, call in by_id.items()}
    predecessor_ids = {call.id for call in predecessors.values() if call}
    visited_ids: set[str] = set()
    for call in by_id.values():
        if call.id not in predecessor_ids:
            chain = [call]
            while (predecessor := predecessors[chain[-1].id]) and len(chain) <= len(by_id):
                chain.append(predecessor)
            if len(chain) > len(by_id):
                raise BadFile(f"response {chain[-1].id} follows itself", chain[-1].location)
            visited_ids.update(link.id for link in chain)
            yield chain[::-1]
    if rest := [call for key, call in by_id.items() if key not in visited_ids]:
        raise BadFile(f"response {rest[0].id} follows itself", rest[0].location)


def _run(calls: list[_Call]) -> RecordedRun:
    last = calls[-1]
    request = calls[0].request
    metadata: JSONObject = {
        "custom_id": last.custom_id,
        "previous_response_id": calls[0].body.get("previous_response_id"),
        "responses": [call.id for call in calls] if len(calls) > 1 else None,
        # The answer of chat completions does not repeat that of its request.
        "metadata": last.body.get("metadata") or request.get("metadata"),
        "session_id": as_object(last.body.get("conversation")).get("id"),
        "user": first_member(request, "user", "safety_identifier"),
    }
    return build_run(
        RunFacts(
            external_id=last.id,
            app=FORMAT,
            format=FORMAT,
            name=last.custom_id or as_text(last.body.get("model")),
            failed=bool(last.error),
            # The model handled what failed of the tools that the provider ran.
            has_succeeded=last.body.get("status") == "completed",
            metadata=metadata,
        ),
        _steps(calls),
        location=last.location,
    )


def _steps(calls: list[_Call]) -> list[RecordedStep]:
    """Build one conversation if all requests are recorded, or separate model calls."""
    if len(calls) > 1 and all(_input(call) is not None for call in calls):
        return _conversation(calls)
    return [step for call in calls for step in _call_steps(call)]


def _input(call: _Call) -> JSONValue:
    return first_member(call.request, "input", "messages")


def _conversation(calls: list[_Call]) -> list[RecordedStep]:
    request = {**calls[0].body, **calls[0].request}
    model = _model(calls[-1])
    request_body = normalize_openai_request(
        {key: value for key, value in calls[0].request.items() if key not in ("input", "messages")}
    )
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        tools=normalize_tools(first_member(request, "tools") or []),
        parameters=as_object(request_body.get("parameters")),
        system=request.get("instructions"),
    )
    messages = [message for call in calls for message in _recorded_messages(call)]
    return transcripts.build_steps(messages, setting)


def _recorded_messages(call: _Call) -> Iterator[TranscriptMessage]:
    for message in normalize_items(_input(call)):
        yield TranscriptMessage(value=message, location=f"{call.location}/request")
    answer = normalize_openai_answer(call.body)
    if answer.output:
        named_model = call.body.get("model")
        facts: JSONObject = {
            "model": _model(call),
            "response_model": named_model if named_model != _model(call) else None,
            "usage": call.body.get("usage"),
            "ts": _creation_time(call.body),
            **continuation(call.body),
        }
        message = as_object(answer.output["message"])
        yield TranscriptMessage(
            value={**message, **{key: item for key, item in facts.items() if item}}, location=call.location
        )


def _model(call: _Call) -> str:
    """Return the model that the request named; the answer names a version of it."""
    return as_text(first_member(call.request, "model")) or as_text(call.body.get("model"))


def _call_steps(call: _Call) -> Iterator[RecordedStep]:
    """Yield the model step of a call and the steps of the tools that the provider ran in it."""
    if _has_embeddings(call.body):
        yield _embedding(call)
        return
    answer = normalize_openai_answer(call.body)
    request = normalize_openai_request({**call.request, "instructions": _instructions(call)}) if call.request else None
    has_messages = request is not None and bool(as_list(request["messages"]))
    model = _model(call)
    attributes = {name: call.body[name] for name in _ATTRIBUTES if call.body.get(name)}
    if call.error_details:
        attributes["error"] = call.error_details
    attributes |= usage_details(as_object(call.body.get("usage"))) | _additions(call.body) | continuation(call.body)
    if (response_id := as_text(call.body.get("id"))) not in ("", call.id):
        attributes["response_id"] = response_id
    if not has_messages:
        attributes |= {
            name: call.body[name] for name in (*_ECHOED_SETTINGS, *_COMPLETION_FIELDS) if call.body.get(name)
        }
    yield build_step(
        SpanFacts(
            key=call.id,
            name=model or "model",
            type=StepType.MODEL,
            times=parse_span(_creation_time(call.body), call.body.get("completed_at"), call.location),
            failed=bool(call.error),
            error=call.error,
            request=request if has_messages else None,
            answer=answer,
            model=model,
            provider=normalize_provider(None, model) or "openai",
            usage=answer.usage,
            attributes=attributes,
        )
    )
    items = as_objects(call.body.get("output"))
    results = {
        as_text(item.get("call_id")): item.get("result") for item in items if item.get("type") == "program_output"
    }
    for index, item in enumerate(items):
        call_id = as_text(item.get("call_id"))
        result: JSONObject = {"result": results[call_id]} if call_id in results else {}
        if (step := _tool({**item, **result}, f"{call.id}/{index}")) is not None:
            yield step


def _has_embeddings(body: JSONObject) -> bool:
    return as_object(first_item(body.get("data"))).get("object") == "embedding"


def _embedding(call: _Call) -> RecordedStep:
    """Return the step of embeddings, which are the first part of a search."""
    return build_step(
        SpanFacts(
            key=call.id,
            name=_model(call) or "embedding",
            type=StepType.RETRIEVAL,
            times=parse_span(_creation_time(call.body), call.body.get("completed_at"), call.location),
            input={"query": call.request["input"]} if "input" in call.request else None,
            output={"embeddings": call.body["data"]},
            usage=normalize_usage(as_object(call.body.get("usage")), f"{call.location}/usage"),
            attributes={**omit(call.request, "input", "model"), "model": _model(call)},
        )
    )


def _additions(body: JSONObject) -> JSONObject:
    """Return what an answer has beside its message: further choices, and what its texts cite."""
    contents = [as_list(item.get("content")) for item in as_objects(body.get("output"))]
    citations = [
        citation
        for blocks in contents
        for block in as_objects(blocks)
        for citation in as_list(block.get("annotations"))
    ]
    additions: JSONObject = {"other_choices": as_list(body.get("choices"))[1:], "annotations": citations}
    return {name: item for name, item in additions.items() if item}


def _instructions(call: _Call) -> JSONValue:
    return first_member(call.request, "instructions") or call.body.get("instructions")


def _tool(item: JSONObject, key: str) -> RecordedStep | None:
    """Return the step of a tool that the provider ran; None for other items."""
    kind = as_text(item.get("type"))
    match kind:
        case "mcp_call":
            name, arguments, output = as_text(item.get("name")), item.get("arguments"), item.get("output")
        case "file_search_call":
            name, arguments, output = "file_search", {"queries": item.get("queries")}, item.get("results")
        case "web_search_call":
            name, arguments, output = "web_search", item.get("action"), item.get("results")
        case "program":
            name, arguments, output = kind, {"code": item.get("code")}, item.get("result")
        case "code_interpreter_call":
            name, arguments, output = "code_interpreter", {"code": item.get("code")}, item.get("outputs")
        case "image_generation_call":
            name, arguments, output = "image_generation", {"prompt": item.get("revised_prompt")}, item.get("result")
        case _:
            return None
    error = read_error(item) if item.get("error") or item.get("status") == "failed" else ""
    return build_step(
        SpanFacts(
            key=as_text(item.get("id")) or key,
            name=name or kind,
            type=StepType.TOOL,
            times=parse_span(None, None, key),
            failed=bool(error),
            error=error,
            input=arguments,
            output=output,
            call_id=as_text(item.get("id")),
            attributes={PROVIDER_RAN: True, **({"server": item["server_label"]} if item.get("server_label") else {})},
        )
    )


def _creation_time(body: JSONObject) -> JSONValue:
    """Return the recorded time of the answer, if it is a valid time."""
    timestamp = first_member(body, "created_at", "created")
    return timestamp if parse_time(timestamp, "/created_at") else None
