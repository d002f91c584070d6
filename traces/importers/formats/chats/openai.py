"""Responses, chat completions and batches of OpenAI's interfaces.

A batch has two files: requests and answers, joined by `custom_id` when both are imported together. A response
names the one before it: together they are one run. A lone answer is a run of one model call, without an input
where the file does not have the request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_tools
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span, parse_time
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, require_object, text
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.chats.openai_items import answer_of_body, body_of_request, failure_of, messages_of_items

FORMAT: Final = "openai"
_ANSWERS: Final = frozenset({"response", "chat.completion"})
_HOLDERS: Final = ("data", "responses", "completions")
_ATTRIBUTES: Final = ("status", "service_tier", "system_fingerprint", "metadata", "user", "conversation", "background")
_ECHOED: Final = ("input", "instructions", "tools", "temperature", "top_p", "max_output_tokens", "tool_choice", "text")


@dataclass(frozen=True, kw_only=True)
class _Call:
    """One call of a model: its request where that is recorded, and what came back."""

    where: str
    request: JSONObject = field(default_factory=dict)
    body: JSONObject = field(default_factory=dict)
    custom_id: str = ""
    id: str = ""
    error: str = ""

    @property
    def is_answered(self) -> bool:
        return bool(self.body or self.error)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """A run for each answer of a batch, and for each chain of responses."""
    calls = list(parse_records(sources, _read))
    requests = {call.custom_id: call for call in calls if not call.is_answered}
    answered = [_joined(call, requests) for call in calls if call.is_answered]
    if requests and not answered:
        detail = f"a batch of {len(requests)} requests without answers: import the batch's output file with it"
        raise BadFile(detail, calls[0].where)
    yield from (_run([call]) for call in answered if call.custom_id)
    yield from (_run(chain) for chain in _chains([call for call in answered if not call.custom_id]))


def is_recording(value: JSONValue) -> bool:
    """Whether `value` is an answer, a line of a batch, or holds some."""
    if isinstance(value, list):
        return bool(value) and is_recording(value[0])
    given = obj(value)
    if "custom_id" in given:
        return "response" in given or ("body" in given and "url" in given)
    if text(given.get("object")) in _ANSWERS or text(obj(given.get("response")).get("object")) == "response":
        return True
    return any(isinstance(given.get(name), list) and is_recording(given[name]) for name in _HOLDERS)


def _read(value: JSONValue, where: str) -> Iterator[_Call]:
    if isinstance(value, list):
        for at, each in enumerate(value):
            yield from _read(each, f"{where}/{at}")
        return
    given = require_object(value, where)
    held = next(
        (
            name
            for name in _HOLDERS
            if "object" not in given or given["object"] == "list"
            if isinstance(given.get(name), list)
        ),
        None,
    )
    if held is not None:
        yield from _read(given[held], f"{where}/{held}")
        return
    call = _batch_line(given, where) if "custom_id" in given else _single(given, where)
    _steps([call])
    yield call


def _batch_line(given: JSONObject, where: str) -> _Call:
    custom_id = text(given.get("custom_id"))
    if "response" not in given:
        return _Call(where=where, request=require_object(given.get("body"), f"{where}/body"), custom_id=custom_id)
    response = obj(given.get("response"))
    body = obj(response.get("body"))
    status = response.get("status_code")
    refused = isinstance(status, int) and status >= 400
    error = failure_of(given) or failure_of(body) or (f"status {status}" if refused else "")
    if not body and not error:
        raise BadFile("a line of a batch has neither an answer nor an error", f"{where}/response")
    key = text(first(given, "id")) or text(first(body, "id")) or f"{custom_id}-{content_id(given, where)}"
    return _Call(where=where, body=body, custom_id=custom_id, id=key, error=error)


def _single(given: JSONObject, where: str) -> _Call:
    request, body = obj(given.get("request")), obj(given.get("response")) or given
    if text(body.get("object")) not in _ANSWERS:
        raise BadFile("this is no response or chat completion", f"{where}/object")
    if not request and body.get("input") is not None:
        request = {name: body[name] for name in _ECHOED if body.get(name) is not None}
    key = text(body.get("id")) or f"answer-{content_id(given, where)}"
    return _Call(where=where, request=request, body=body, id=key, error=failure_of(body))


def _joined(call: _Call, requests: dict[str, _Call]) -> _Call:
    known = requests.get(call.custom_id) if call.custom_id else None
    return replace(call, request=known.request) if known else call


def _chains(calls: list[_Call]) -> Iterator[list[_Call]]:
    """Responses in the order in which they follow each other; a branch begins with what it shares."""
    by_id = {call.id: call for call in calls}
    before = {key: by_id.get(text(call.body.get("previous_response_id"))) for key, call in by_id.items()}
    followed = {call.id for call in before.values() if call}
    visited: set[str] = set()
    for call in by_id.values():
        if call.id not in followed:
            chain = [call]
            while (earlier := before[chain[-1].id]) and len(chain) <= len(by_id):
                chain.append(earlier)
            if len(chain) > len(by_id):
                raise BadFile(f"response {chain[-1].id} follows itself", chain[-1].where)
            visited.update(each.id for each in chain)
            yield chain[::-1]
    if rest := [call for key, call in by_id.items() if key not in visited]:
        raise BadFile(f"response {rest[0].id} follows itself", rest[0].where)


def _run(calls: list[_Call]) -> RecordedRun:
    last = calls[-1]
    request = calls[0].request
    metadata: JSONObject = {
        "custom_id": last.custom_id,
        "previous_response_id": calls[0].body.get("previous_response_id"),
        "responses": [call.id for call in calls] if len(calls) > 1 else None,
        "metadata": last.body.get("metadata"),
        "session_id": obj(last.body.get("conversation")).get("id"),
        "user": first(request, "user", "safety_identifier"),
    }
    return build_run(
        RunFacts(
            external_id=last.id,
            app=FORMAT,
            format=FORMAT,
            name=last.custom_id or text(last.body.get("model")),
            failed=bool(last.error),
            metadata=metadata,
        ),
        _steps(calls),
        location=last.where,
    )


def _steps(calls: list[_Call]) -> list[RecordedStep]:
    """A conversation where all requests are recorded; else the calls alone."""
    if len(calls) > 1 and all(_input(call) is not None for call in calls):
        return _conversation(calls)
    return [step for call in calls for step in _alone(call)]


def _input(call: _Call) -> JSONValue:
    return first(call.request, "input", "messages")


def _conversation(calls: list[_Call]) -> list[RecordedStep]:
    request = {**calls[0].body, **calls[0].request}
    model = text(calls[-1].body.get("model"))
    given = body_of_request({key: value for key, value in calls[0].request.items() if key not in ("input", "messages")})
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        tools=normalize_tools(first(request, "tools") or []),
        parameters=obj(given.get("parameters")),
        system=request.get("instructions"),
    )
    said = [message for call in calls for message in _said(call)]
    return transcripts.build_steps(said, setting)


def _said(call: _Call) -> Iterator[TranscriptMessage]:
    for message in messages_of_items(_input(call)):
        yield TranscriptMessage(value=message, location=f"{call.where}/request")
    answer = answer_of_body(call.body)
    if answer.output:
        facts = {"model": call.body.get("model"), "usage": call.body.get("usage"), "ts": _created(call.body)}
        message = obj(answer.output["message"])
        yield TranscriptMessage(
            value={**message, **{key: item for key, item in facts.items() if item}}, location=call.where
        )


def _alone(call: _Call) -> Iterator[RecordedStep]:
    """The call as a model step, with the steps of the tools that the provider ran in it."""
    answer = answer_of_body(call.body)
    request = body_of_request({**call.request, "instructions": _instructions(call)}) if call.request else None
    known = request is not None and bool(items(request["messages"]))
    model = text(first(call.body, "model")) or text(first(call.request, "model"))
    attributes = {name: call.body[name] for name in _ATTRIBUTES if call.body.get(name)}
    if not known:
        asked = ("instructions", "tools", "temperature", "top_p", "max_output_tokens", "tool_choice")
        attributes |= {name: call.body[name] for name in asked if call.body.get(name)}
    yield build_step(
        SpanFacts(
            key=call.id,
            name=model or "model",
            type=StepType.MODEL,
            times=parse_span(_created(call.body), call.body.get("completed_at"), call.where),
            failed=bool(call.error),
            error=call.error,
            request=request if known else None,
            answer=answer,
            model=model,
            provider=normalize_provider(None, model) or "openai",
            usage=answer.usage,
            attributes=attributes,
        )
    )
    for at, item in enumerate(items(call.body.get("output"))):
        if (step := _tool(obj(item), f"{call.id}/{at}")) is not None:
            yield step


def _instructions(call: _Call) -> JSONValue:
    return first(call.request, "instructions") or call.body.get("instructions")


def _tool(item: JSONObject, key: str) -> RecordedStep | None:
    """The step of a tool that the provider ran."""
    kind = text(item.get("type"))
    match kind:
        case "mcp_call":
            name, given, made = text(item.get("name")), item.get("arguments"), item.get("output")
        case "file_search_call":
            name, given, made = "file_search", {"queries": item.get("queries")}, item.get("results")
        case "web_search_call":
            name, given, made = "web_search", item.get("action"), item.get("results")
        case "code_interpreter_call":
            name, given, made = "code_interpreter", {"code": item.get("code")}, item.get("outputs")
        case _:
            return None
    error = failure_of(item) if item.get("error") or item.get("status") == "failed" else ""
    return build_step(
        SpanFacts(
            key=text(item.get("id")) or key,
            name=name or kind,
            type=StepType.TOOL,
            times=parse_span(None, None, key),
            failed=bool(error),
            error=error,
            input=given,
            output=made,
            call_id=text(item.get("id")),
        )
    )


def _created(body: JSONObject) -> JSONValue:
    """When the answer was made, where that is recorded and is a time."""
    created = first(body, "created_at", "created")
    return created if parse_time(created, "/created_at") else None
