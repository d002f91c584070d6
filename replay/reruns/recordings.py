"""Recorded model calls of a run: their requests, and their responses as they came."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

import orjson
from django.db.models import Q, QuerySet

from forkpoint.vocabulary import LANE, MCP_FAILURE, MCP_MESSAGES, OUTPUT_FORM
from replay.core.graph import CHECKS
from replay.reruns.core.built_responses import StepAnswer
from replay.reruns.core.checks import Check
from replay.reruns.core.playback import is_event_stream, is_stream_type, move_marks, rename_body
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest, may_be_equal
from replay.reruns.core.renaming import Renaming
from replay.store import mcp_servers
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_objects, as_text, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import message_text
from traces.importers.common.model_calls import STORED_CONTENT
from traces.importers.formats.tracing.client_calls import TOOL_APIS
from traces.importers.formats.tracing.reported_tools import MODEL_TEXT, SDK_REPORT
from traces.models import Step
from traces.payloads.messages import Message
from traces.redaction.markers import kinds
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.storage import artifacts, bulk

# The attribute of a model step with the headers that its answer depends on.
REQUEST_HEADERS: Final = "request_headers"
# Why the body of a request could not be read, so that the input of its step is empty.
UNREADABLE_REQUEST: Final = "unreadable_request"
_REQUEST_COLUMNS: Final = (
    "sequence_no",
    "tool_name",
    "provider",
    "model",
    "input_ref",
    "attributes_ref",
    "output_ref",
    "status",
    "started_at",
    "duration_ms",
)
_TOOL_COLUMNS: Final = (
    "sequence_no",
    "type",
    "name",
    "tool_name",
    "input_ref",
    "attributes_ref",
    "call_id",
    "output_ref",
    "error",
    "started_at",
    "duration_ms",
)
_TOOL_TYPES: Final = (StepType.TOOL, StepType.RETRIEVAL)
_OUTCOMES: Final = (StepStatus.OK, StepStatus.ERROR, StepStatus.TIMEOUT)
_LONGEST_ERROR: Final = 200
# By which the clocks of an agent and its server may differ.
_CLOCK_SKEW_S: Final = 0.05
# Bytes of the responses of one recording that stay in memory. An agent's answers are short, beside its requests.
_RESPONSES_SIZE: Final = 2**23


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedResponse:
    """A response as it came from the provider; `api` is empty in recordings that lack it.

    `marks` state where each piece of a stream begins in the body, and when it came, in milliseconds after the request.
    `is_cut`: the connection ended before the answer did. `request` is the digest of the bytes that it answers.
    """

    status: int
    api: str = ""
    request: str = ""
    headers: Sequence[tuple[str, str]]
    body: bytes
    marks: Sequence[tuple[int, int]] = ()
    is_cut: bool = False

    def rename(self, renaming: Renaming) -> "RecordedResponse":
        """Return the response with the new values."""
        body = rename_body(self.body, renaming)
        return self if body is self.body else replace(self, body=body, marks=move_marks(self.marks, self.body, body))

    @property
    def is_stream(self) -> bool:
        has_type = any(name == "content-type" and is_stream_type(value) for name, value in self.headers)
        return has_type or is_event_stream(self.body)


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """The model calls of a run, and whether it was recorded with their headers: by the gateway."""

    run_id: UUID
    calls: RecordedCalls
    has_headers: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedOutcome:
    """What a tool or a search returned, or the error that it raised. `is_text`: only what the model got is known.

    `form` is what the JSON of the output lost, `messages` what an MCP server said meanwhile, `failure` how
    its transport refused the call. `delay_s` is how long it took if the agent went on without it.
    """

    output: JSONValue = None
    form: JSONValue = None
    error: str = ""
    is_text: bool = False
    messages: Sequence[JSONObject] = ()
    failure: JSONObject = field(default_factory=dict)
    delay_s: float = 0.0


# An agent of a proof is answered from several recordings.
@lru_cache(maxsize=16)
def load(run_id: UUID) -> Recording:
    """Return the model calls of a sealed run in order. Those whose content is lost are left out."""
    rows = [*_calls(run_id).values_list(*_REQUEST_COLUMNS)]
    inputs = artifacts.available(row[4] for row in rows)
    requests: list[RecordedRequest] = []
    has_headers = False
    for chunk in bulk.chunks(rows):
        attributes = artifacts.available(row[5] for row in chunk)
        for no, api, provider, model, input_ref, attributes_ref, output_ref, status, *times in chunk:
            fields = as_object(attributes.get(attributes_ref))
            has_headers = has_headers or RAW_RESPONSE in fields or REQUEST_HEADERS in fields
            if input_ref in inputs:
                start_s, end_s = _span(*times)
                raw_response = as_object(fields.get(RAW_RESPONSE))
                sent_digest = as_text(raw_response.get("request"))
                headers, input = as_object(fields.get(REQUEST_HEADERS)), as_object(inputs[input_ref])
                request = RecordedRequest(
                    no=no,
                    request=input,
                    strict=strict_fields(provider, model, api, headers, input),
                    start_s=start_s,
                    end_s=end_s,
                    # Requests that could not be read are stored alike.
                    ref=sent_digest if UNREADABLE_REQUEST in fields else input_ref,
                    sent_digest=sent_digest,
                    content_digest=as_text(raw_response.get("content")),
                    answer=output_ref if status == StepStatus.OK else _failure(raw_response),
                    has_failed=status != StepStatus.OK,
                    lane=as_text(raw_response.get(LANE)),
                )
                requests.append(request)
    return Recording(run_id=run_id, calls=RecordedCalls(requests), has_headers=has_headers)


def _failure(raw_response: JSONObject) -> str:
    """Return what tells the failure of a call from others."""
    return digest([raw_response.get(name) for name in ("status", "text", "base64")])


def load_response(run_id: UUID, no: int) -> RecordedResponse | None:
    """Return the response of a step as it came; None if it is not recorded so."""
    return read_response(load_attributes(run_id, no))


def source_response(run_id: UUID, no: int, *, rerun_id: UUID) -> RecordedResponse | None:
    """Return a response of the run that a rerun is of: as `load_response`, which reads many of them at once here."""
    responses = _load_responses(run_id, rerun_id)
    return responses[no] if no in responses else load_response(run_id, no)


# By rerun: what one has verified proves nothing about the store when the next one starts.
@lru_cache(maxsize=16)
def _load_responses(run_id: UUID, rerun_id: UUID) -> Mapping[int, RecordedResponse | None]:
    """Return the responses of a run by the numbers of its steps; those that do not fit into memory are absent."""
    responses: dict[int, RecordedResponse | None] = {}
    free_size = _RESPONSES_SIZE
    for chunk in bulk.chunks(_calls(run_id).values_list("sequence_no", "attributes_ref")):
        attributes = artifacts.available(ref for _, ref in chunk)
        for no, ref in chunk:
            response = read_response(as_object(attributes.get(ref)))
            free_size -= 0 if response is None else len(response.body)
            if free_size < 0:
                return responses
            responses[no] = response
    return responses


def _calls(run_id: UUID) -> QuerySet[Step]:
    """Return the steps of calls that went through the gateway, in order."""
    is_call = Q(type=StepType.MODEL) | Q(type=StepType.TOOL, tool_name__in=TOOL_APIS)
    return Step.objects.filter(is_call, run_id=run_id).order_by("sequence_no")


def strict_fields(provider: str, model: str, api: str, headers: JSONObject, request: JSONObject) -> JSONObject:
    """Return the fields of a request that must be equal: a model's answer may come through another API.

    Content that the provider stores is among them: a new id may stand for other content.
    """
    parameters = as_object(request.get("parameters"))
    content_ids = {name: parameters[name] for name in STORED_CONTENT & parameters.keys()}
    tool = {"api": api, "path": request.get("path")} if api in TOOL_APIS else {}
    return {"provider": provider, "model": model, **tool, **content_ids, **headers}


def step_name(run_id: UUID, no: int) -> str:
    """Return a step as the reason of a refusal names it, with its error if it has one."""
    status, error = Step.objects.values_list("status", "error").get(run=run_id, sequence_no=no)
    if status == StepStatus.PARTIAL:
        return f"step {no}, which had not arrived when the recording ended,"
    return f"step {no} (“{error[:_LONGEST_ERROR]}”)" if error else f"step {no}"


def span_of(step: Step) -> tuple[float, float]:
    """Return when a step began and ended, in seconds; zeros if that is not known."""
    return _span(step.started_at, step.duration_ms)


def _span(started_at: datetime | None, duration_ms: float | None) -> tuple[float, float]:
    """Return when a step began and ended, in seconds."""
    if started_at is None or duration_ms is None:
        return 0.0, 0.0
    start_s = started_at.timestamp()
    return start_s, start_s + duration_ms / 1000


@lru_cache(maxsize=16)
def load_tool_calls(run_id: UUID) -> Sequence[RecordedRequest]:
    """Return the tool calls and searches of a sealed run whose outcome is known, in order.

    The arguments of a search that are no part of its query are among its attributes.
    """
    steps = Step.objects.filter(run_id=run_id, type__in=_TOOL_TYPES, status__in=_OUTCOMES).order_by("sequence_no")
    ids_of_models = _ids_of_models(run_id)
    calls: list[RecordedRequest] = []
    for chunk in bulk.chunks([*steps.only(*_TOOL_COLUMNS)]):
        values = artifacts.available(ref for step in chunk for ref in (step.input_ref, step.attributes_ref))
        for step in chunk:
            arguments, attributes = values.get(step.input_ref), as_object(values.get(step.attributes_ref))
            if step.type == StepType.RETRIEVAL:
                arguments = {**attributes, **as_object(arguments)}
            strict: JSONObject = {"type": step.type, "name": step.tool_name or step.name}
            start_s, end_s = span_of(step)
            call = RecordedRequest(
                no=step.sequence_no,
                request={"arguments": arguments},
                strict=strict,
                server=mcp_servers.server_of(attributes),
                answer=step.output_ref or step.error,
                lane=as_text(attributes.get(LANE)),
                call_id=step.call_id if step.call_id in ids_of_models else "",
                start_s=start_s,
                end_s=end_s,
            )
            calls.append(call)
    return calls


def _ids_of_models(run_id: UUID) -> frozenset[str]:
    """Return the ids of calls in the answers of models. Other ids are the client's, which may count its calls."""
    steps = Step.objects.filter(run_id=run_id, type=StepType.MODEL).exclude(output_ref="")
    ids: set[str] = set()
    for chunk in bulk.chunks(steps.values_list("output_ref", flat=True)):
        for output in artifacts.available(chunk).values():
            ids.update(Message(as_object(output).get("message")).call_ids)
    return frozenset(ids)


def load_checks(run_id: UUID) -> list[Check]:
    """Return the checks of a run in order."""
    steps = Step.objects.filter(run_id=run_id, type__in=CHECKS).order_by("sequence_no")
    return [Check(*row) for row in steps.values_list("sequence_no", "type", "name", "status")]


def load_outcome(run_id: UUID, no: int) -> RecordedOutcome | None:
    """Return how a tool call ended; None if its output is lost or redacted."""
    step = Step.objects.get(run_id=run_id, sequence_no=no)
    outputs = artifacts.available([step.output_ref])
    output = outputs.get(step.output_ref)
    is_lost = step.output_ref not in outputs and (step.output_ref != "" or step.status == StepStatus.OK)
    if is_lost or [*kinds([output, step.error])]:
        return None
    error = "" if step.status == StepStatus.OK else step.error or "Exception"
    attributes = load_attributes(run_id, no)
    form = attributes.get(OUTPUT_FORM)
    if step.type == StepType.RETRIEVAL:
        return RecordedOutcome(output=as_object(output).get("documents"), form=form, error=error)
    is_text = load(run_id).has_headers and SDK_REPORT not in attributes
    text = as_text(attributes.get(MODEL_TEXT)) or _model_text(run_id, step)
    output = _in_order(output, text) if form is None else output
    return RecordedOutcome(
        output=output,
        form=form,
        error=error,
        is_text=is_text,
        messages=as_objects(attributes.get(MCP_MESSAGES)),
        failure=as_object(attributes.get(MCP_FAILURE)),
        delay_s=_delay_s(run_id, step),
    )


def _delay_s(run_id: UUID, step: Step) -> float:
    """Return how long a call took if the model got something else as its result before it had ended; else 0."""
    start_s, end_s = span_of(step)
    if not step.call_id or end_s - start_s < _CLOCK_SKEW_S:
        return 0.0
    meanwhile = (
        request.request for request in load(run_id).calls.requests if start_s < request.start_s < end_s - _CLOCK_SKEW_S
    )
    messages = (message for request in meanwhile for message in as_objects(request.get("messages")))
    is_given_up = any(message.get("tool_call_id") == step.call_id for message in messages)
    return end_s - start_s if is_given_up else 0.0


def _model_text(run_id: UUID, step: Step) -> str:
    """Return the text that the model got for the result of a call, by the call's id; empty if it is not known."""
    if not step.call_id:
        return ""
    requests = (request for request in load(run_id).calls.requests if request.no > step.sequence_no)
    messages = (message for request in requests for message in as_objects(request.request.get("messages")))
    results = (message_text(message) for message in messages if message.get("tool_call_id") == step.call_id)
    return next(results, "")


def _in_order(output: JSONValue, text: str) -> JSONValue:
    """Return an output with its members in the order in which the agent wrote them for the model.

    Stored values have none, and an agent that writes them in another order sends another request.
    """
    with suppress(orjson.JSONDecodeError):
        value = orjson.loads(text)
        return value if value == output else output
    return output


def load_attributes(run_id: UUID, no: int) -> JSONObject:
    """Return the attributes of a step; none if they are lost."""
    ref = Step.objects.values_list("attributes_ref", flat=True).get(run_id=run_id, sequence_no=no)
    return as_object(artifacts.available([ref]).get(ref))


def may_be_of(run_id: UUID, no: int, headers: JSONObject, content_digest: str) -> bool:
    """Return whether a step may have these headers and this content: if the gateway did not see it, it has neither."""
    attributes = load_attributes(run_id, no)
    if not {RAW_RESPONSE, REQUEST_HEADERS} & {*attributes}:
        return True
    has_headers = as_object(attributes.get(REQUEST_HEADERS)) == headers
    recorded_digest = as_text(as_object(attributes.get(RAW_RESPONSE)).get("content"))
    return has_headers and may_be_equal(recorded_digest, content_digest)


def read_response(attributes: JSONObject) -> RecordedResponse | None:
    """Return the response among the attributes of a step; None if it is not there as it came."""
    raw = as_object(attributes.get(RAW_RESPONSE))
    status = raw.get("status")
    if not is_integer(status):
        return None
    pairs = [as_list(header) for header in as_list(raw.get("headers"))]
    marks = [as_list(mark) for mark in as_list(raw.get("marks"))]
    return RecordedResponse(
        status=status,
        api=as_text(raw.get("api")),
        request=as_text(raw.get("request")),
        headers=[(as_text(name), as_text(value)) for name, value in pairs],
        body=base64.b64decode(as_text(raw["base64"])) if "base64" in raw else as_text(raw.get("text")).encode(),
        marks=[(offset, at_ms) for offset, at_ms in marks if is_integer(offset) and is_integer(at_ms)],
        is_cut=raw.get("is_cut") is True,
    )


def load_answer(run_id: UUID, no: int) -> StepAnswer | None:
    """Return the answer of a step; None if it failed, or if its output is lost or redacted."""
    step = Step.objects.get(run_id=run_id, sequence_no=no)
    output = artifacts.available([step.output_ref]).get(step.output_ref)
    if step.status != StepStatus.OK or not isinstance(output, dict) or [*kinds(output)]:
        return None
    return StepAnswer(
        output=output,
        model=step.model,
        id=step.id.hex,
        tokens_in=step.tokens_in or 0,
        tokens_out=step.tokens_out or 0,
        tokens_cached=step.tokens_cached or 0,
    )
