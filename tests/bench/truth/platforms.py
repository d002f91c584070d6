"""The recording of a program as Langfuse and LangSmith export it, and read again by their importers."""

import json
from collections.abc import Mapping
from typing import Final

from traces.core.json_access import as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import Message, ModelAnswer, ModelRequest

_LANGFUSE_TYPES: Final[Mapping[StepType, str]] = {
    StepType.MODEL: "GENERATION",
    StepType.TOOL: "TOOL",
    StepType.RETRIEVAL: "RETRIEVER",
    StepType.AGENT: "AGENT",
    StepType.VALIDATOR: "EVALUATOR",
    StepType.SAFETY: "GUARDRAIL",
}
_LANGSMITH_TYPES: Final[Mapping[StepType, str]] = {
    StepType.MODEL: "llm",
    StepType.TOOL: "tool",
    StepType.RETRIEVAL: "retriever",
    StepType.PROMPT: "prompt",
}


def through_langfuse(run: RecordedRun) -> tuple[RecordedRun, dict[str, int]]:
    """Import a trace with its observations; returns it with the numbers of the steps by their keys."""
    ids = _ids(run)
    observations: list[JSONValue] = [_observation(step, ids) for step in run.steps]
    trace: JSONObject = {"id": "trace", "name": "truth", "timestamp": _time(run.steps[0]), "observations": observations}
    return _read("langfuse", [trace], ids)


def through_langsmith(run: RecordedRun) -> tuple[RecordedRun, dict[str, int]]:
    """Import runs as lines; returns the recording with the numbers of the steps by their keys."""
    ids = _ids(run)
    return _read("langsmith", [_langsmith_run(step, ids, ids[run.steps[0].key]) for step in run.steps], ids)


def _ids(run: RecordedRun) -> dict[str, str]:
    return {step.key: f"01a1ffd4-0000-7000-8000-{number:012}" for number, step in enumerate(run.steps, 1)}


def _read(format: str, lines: list[JSONObject], ids: Mapping[str, str]) -> tuple[RecordedRun, dict[str, int]]:
    source = Source(name="export.jsonl", data="\n".join(map(json.dumps, lines)).encode())
    (run,) = registry.get_importer(format).runs([source])
    keys = {id: key for key, id in ids.items()}
    return run, {keys[step.key]: number for number, step in enumerate(run.steps, 1) if step.key in keys}


def _time(step: RecordedStep, *, is_end: bool = False) -> str:
    time = step.ended_at if is_end else step.started_at
    assert time is not None
    return time.isoformat()


def _error(step: RecordedStep) -> str | None:
    return None if step.status is StepStatus.OK else json.dumps(step.output)


def _observation(step: RecordedStep, ids: Mapping[str, str]) -> JSONObject:
    observation: JSONObject = {
        "id": ids[step.key],
        "traceId": "trace",
        "type": _LANGFUSE_TYPES.get(step.type, "SPAN"),
        "name": step.name,
        "startTime": _time(step),
        "endTime": _time(step, is_end=True),
        "parentObservationId": None if step.parent is None else ids[step.parent],
        "level": "DEFAULT" if step.status is StepStatus.OK else "ERROR",
        "statusMessage": _error(step),
        "input": step.input,
        "output": step.output,
    }
    if step.type is StepType.MODEL:
        request = ModelRequest(step.input)
        return {
            **observation,
            "input": {"messages": _messages(request), "tools": _tools(request)},
            "output": wire_message(Message(ModelAnswer(step.output).message)),
            "model": step.model,
            "modelParameters": as_object(request.parameters),
        }
    if step.type is StepType.RETRIEVAL:
        documents = as_object(step.output).get("documents")
        return {**observation, "input": as_object(step.input)["query"], "output": documents}
    return observation


def _langsmith_run(step: RecordedStep, ids: Mapping[str, str], root: str) -> JSONObject:
    inputs: JSONObject = step.input if isinstance(step.input, dict) else {"input": step.input}
    outputs: JSONObject = (
        step.output if isinstance(step.output, dict) and step.type is not StepType.TOOL else {"output": step.output}
    )
    run: JSONObject = {
        "id": ids[step.key],
        "trace_id": root,
        "parent_run_id": None if step.parent is None else ids[step.parent],
        "name": step.name,
        "run_type": _LANGSMITH_TYPES.get(step.type, "chain"),
        "session_name": "truth",
        "start_time": _time(step),
        "end_time": _time(step, is_end=True),
        "error": _error(step),
        "inputs": inputs,
        "outputs": outputs,
    }
    if step.type is StepType.MODEL:
        request, answer = ModelRequest(step.input), wire_message(Message(ModelAnswer(step.output).message))
        settings: JSONObject = {"model": step.model, **as_object(request.parameters)}
        choices: list[JSONValue] = [{"message": answer, "finish_reason": "stop"}]
        metadata: JSONObject = {"ls_provider": step.provider, "ls_model_name": step.model}
        return {
            **run,
            "inputs": {"messages": _messages(request), "tools": _tools(request), **settings},
            "outputs": {"choices": choices},
            "extra": {"metadata": metadata},
        }
    if step.type is StepType.RETRIEVAL:
        documents: list[JSONValue] = [
            {"page_content": document["content"], "metadata": {"id": document["id"]}}
            for document in as_objects(as_object(step.output).get("documents"))
        ]
        return {**run, "inputs": {"query": as_object(step.input)["query"]}, "outputs": {"documents": documents}}
    return run


def _messages(request: ModelRequest) -> list[JSONValue]:
    return [wire_message(Message(message)) for message in request.messages]


def _tools(request: ModelRequest) -> list[JSONValue]:
    return [{"type": "function", "function": tool} for tool in request.tools]


def wire_message(message: Message) -> JSONObject:
    """A message as OpenAI's API writes it."""
    plain: JSONObject = {"role": message.role, "content": message.content}
    if message.role == "tool":
        return {**plain, "tool_call_id": message.tool_call_id}
    calls: list[JSONValue] = [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in message.calls
    ]
    return {**plain, "tool_calls": calls} if calls else plain
