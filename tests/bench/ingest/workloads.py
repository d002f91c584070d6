"""Agent runs as OTLP requests in OpenInference's layout, as an exporter sends them: 100 spans each, roots last.

`small` runs have 6 spans. `long` runs have 420: 200 turns, whose model requests repeat the whole history, both in
`input.value` and flattened in `llm.input_messages.*`.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import orjson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue

BATCH: Final = 100
_LENGTH: Final = 3  # sentences per text
_START: Final = 1_790_000_000_000_000_000
_STEP: Final = 40_000_000  # nanoseconds
_TOPICS: Final = ("order", "refund", "invoice", "delivery", "account", "voucher", "return", "warranty")
_SENTENCES: Final = (
    "The customer asks about {topic} {id} and wants an answer today.",
    "Our records show that {topic} {id} was changed by the warehouse on the {day}th.",
    "Please check the status of {topic} {id} before anything is promised.",
    "A colleague confirmed that {topic} {id} is complete and that nothing else is open.",
    "The amount for {topic} {id} is {amount} euros, including taxes and shipping.",
    "If {topic} {id} is not found, ask for the date of purchase and the postal code.",
    "Nothing about {topic} {id} may be shared with third parties.",
)
_SYSTEM: Final = "You are a support agent for a web shop. Answer briefly, use the tools, and never guess."
_TOOLS: Final[list[JSONValue]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{verb} a record of the shop by its number.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "string"}, "reason": {"type": "string"}},
                "required": ["number"],
            },
        },
    }
    for name, verb in (("look_up", "Read"), ("change_record", "Change"))
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """`runs` runs of `turns` model calls, each followed by a tool call except the last."""

    runs: int
    turns: int


def workload(name: str, runs: int | None) -> Workload:
    """Return the workload of this name, with fewer or more runs if `runs` is set."""
    if name == "small":
        return Workload(runs=runs or 2_000, turns=3)
    return Workload(runs=runs or 20, turns=200)


def requests(load: Workload) -> Iterator[bytes]:
    """Yield the bodies of export requests."""
    spans: list[Span] = []
    for number in range(load.runs):
        for span in _Run(number, load).spans():
            spans.append(span)
            if len(spans) == BATCH:
                yield _request(spans)
                spans = []
    if spans:
        yield _request(spans)


@dataclass
class _Run:
    number: int
    load: Workload
    messages: list[JSONObject] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)  # noqa: S311 - reproducible text
        self.trace_id = self.random.randbytes(16)
        self.root_id = self.random.randbytes(8)
        self.clock = _START + self.number * 10**10

    def spans(self) -> Iterator[Span]:
        task = self._text()
        start = self.clock
        self.messages = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": task}]
        answer: JSONObject = {}
        for turn in range(self.load.turns):
            answer = self._answer(turn)
            yield self._model_span(answer)
            self.messages.append(answer)
            if answer.get("tool_calls"):
                call = as_object(as_list(answer["tool_calls"])[0])
                result = {"number": self._id(), "state": "open", "note": self._text()}
                yield self._span(
                    "look_up",
                    "TOOL",
                    {
                        "tool.name": "look_up",
                        "input.value": as_text(as_object(call["function"])["arguments"]),
                        "input.mime_type": "application/json",
                        "output.value": orjson.dumps(result).decode(),
                        "output.mime_type": "application/json",
                    },
                )
                content = orjson.dumps(result).decode()
                self.messages.append({"role": "tool", "tool_call_id": as_text(call["id"]), "content": content})
            if self.load.turns > 10 and turn % 10 == 9:
                yield self._retrieval_span()
        yield self._span(
            "support agent",
            "AGENT",
            {
                "input.value": task,
                "output.value": as_text(answer["content"]),
                "agent.name": "support",
            },
            start=start,
        )

    def _answer(self, turn: int) -> JSONObject:
        if turn == self.load.turns - 1:
            return {"role": "assistant", "content": self._text()}
        arguments = orjson.dumps({"number": self._id(), "reason": self._text()}).decode()
        call: JSONObject = {
            "id": f"call_{self.random.randbytes(12).hex()}",
            "type": "function",
            "function": {"name": "look_up", "arguments": arguments},
        }
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _model_span(self, answer: JSONObject) -> Span:
        settings: JSONObject = {"temperature": 0.2, "max_tokens": 800}
        request: JSONObject = {"model": "gpt-5-mini", "messages": [*self.messages], "tools": _TOOLS, **settings}
        size = sum(len(as_text(message.get("content"))) for message in self.messages) // 4
        usage: JSONObject = {"prompt_tokens": size, "completion_tokens": 40, "total_tokens": size + 40}
        reason = "tool_calls" if answer.get("tool_calls") else "stop"
        choices: list[JSONValue] = [{"index": 0, "message": answer, "finish_reason": reason}]
        response: JSONObject = {
            "id": f"chatcmpl-{self.random.randbytes(12).hex()}",
            "object": "chat.completion",
            "model": "gpt-5-mini-2026-05-01",
            "choices": choices,
            "usage": usage,
        }
        attributes: JSONObject = {
            "llm.provider": "openai",
            "llm.system": "openai",
            "llm.model_name": "gpt-5-mini-2026-05-01",
            "llm.invocation_parameters": orjson.dumps({"model": "gpt-5-mini", **settings}).decode(),
            "input.value": orjson.dumps(request).decode(),
            "input.mime_type": "application/json",
            "output.value": orjson.dumps(response).decode(),
            "output.mime_type": "application/json",
            "llm.token_count.prompt": size,
            "llm.token_count.completion": 40,
            "llm.token_count.total": size + 40,
            "llm.finish_reason": reason,
        }
        for index, message in enumerate(self.messages):
            attributes |= _flat_message(f"llm.input_messages.{index}.message", message)
        for index, tool in enumerate(_TOOLS):
            attributes[f"llm.tools.{index}.tool.json_schema"] = orjson.dumps(tool).decode()
        attributes |= _flat_message("llm.output_messages.0.message", answer)
        return self._span("ChatCompletion", "LLM", attributes)

    def _retrieval_span(self) -> Span:
        attributes: JSONObject = {"input.value": self._text(), "input.mime_type": "text/plain"}
        for index in range(3):
            prefix = f"retrieval.documents.{index}.document"
            attributes |= {f"{prefix}.id": self._id(), f"{prefix}.content": self._text(), f"{prefix}.score": 0.5}
        return self._span("search", "RETRIEVER", attributes)

    def _span(self, name: str, kind: str, attributes: JSONObject, start: int = 0) -> Span:
        span = Span(
            trace_id=self.trace_id,
            span_id=self.root_id if start else self.random.randbytes(8),
            parent_span_id=b"" if start else self.root_id,
            name=name,
            start_time_unix_nano=start or self.clock,
            end_time_unix_nano=self.clock + _STEP,
        )
        self.clock += _STEP + 1_000_000
        span.status.code = Status.STATUS_CODE_OK
        common: JSONObject = {"openinference.span.kind": kind, "session.id": f"session-{self.number}"}
        for key, value in (common | {"user.id": "user-7"} | attributes).items():
            pair = span.attributes.add(key=key)
            if isinstance(value, int):
                pair.value.int_value = value
            elif isinstance(value, float):
                pair.value.double_value = value
            else:
                pair.value.string_value = as_text(value)
        return span

    def _text(self) -> str:
        return " ".join(
            self.random.choice(_SENTENCES).format(
                topic=self.random.choice(_TOPICS),
                id=self._id(),
                day=self.random.randint(4, 20),
                amount=self.random.randint(5, 900),
            )
            for _ in range(_LENGTH)
        )

    def _id(self) -> str:
        return f"{self.random.choice('ABCDEFGH')}-{self.random.randint(10_000, 99_999)}"


def _request(spans: list[Span]) -> bytes:
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    for key, value in {
        "service.name": "support",
        "service.version": "1.4.2",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.45.2",
        "openinference.project.name": "support",
    }.items():
        group.resource.attributes.add(key=key).value.string_value = value
    scope_spans = group.scope_spans.add()
    scope_spans.scope.name, scope_spans.scope.version = "openinference.instrumentation.openai", "0.1.40"
    scope_spans.spans.extend(spans)
    return request.SerializeToString()


def _flat_message(prefix: str, message: JSONObject) -> JSONObject:
    flat: JSONObject = {f"{prefix}.role": message["role"]}
    if message.get("content") is not None:
        flat[f"{prefix}.content"] = message["content"]
    if "tool_call_id" in message:
        flat[f"{prefix}.tool_call_id"] = message["tool_call_id"]
    for index, call in enumerate(as_list(message.get("tool_calls"))):
        call, function = as_object(call), as_object(as_object(call)["function"])
        flat[f"{prefix}.tool_calls.{index}.tool_call.id"] = call["id"]
        flat[f"{prefix}.tool_calls.{index}.tool_call.function.name"] = function["name"]
        flat[f"{prefix}.tool_calls.{index}.tool_call.function.arguments"] = function["arguments"]
    return flat
