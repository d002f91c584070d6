"""Inputs, outputs and attributes in events of CrewAI."""

import ast
from collections.abc import Container, Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, is_number, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import model_input, normalize_answer, normalize_parameters
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.python_literals import parse_literal

_PARAMETERS: Final = (
    *("temperature", "top_p", "max_tokens", "stream", "seed", "stop_sequences", "frequency_penalty"),
    *("presence_penalty", "n"),
)
# Ids and numbers that only link events, and what names an event.
_LINKS: Final = frozenset(
    {"event_id", "parent_event_id", "previous_event_id", "started_event_id", "triggered_by_event_id"}
    | {"emission_sequence", "execution_id", "type", "timestamp", "event_data", "data"}
)
# Values of which a step has fields.
_FIELDS: Final = _LINKS | {
    *("messages", "tools", "response", "output", "error", "tool_args", "usage", "finish_reason", "inputs"),
    *("query", "results", "retrieved_knowledge", "started_at", "finished_at", *_PARAMETERS),
}
# Objects of a program, of which events have all that their `repr` shows, and objects of the client.
_OBJECTS: Final = frozenset({"agent", "task", "crew", "source", "from_task", "from_agent", "agent_info"})
_CLIENT_OBJECTS: Final = frozenset({"callbacks", "available_functions"})
_QUOTES: Final = ("'", '"')
_LONGEST: Final = 200_000
# Levels of values that are texts of Python inside each other.
_MOST_LEVELS: Final = 8


def name(scope: str, data: JSONObject) -> str:
    """Return the name of a step."""
    agent = as_object(first_member(data, "agent", "agent_info"))
    names = {
        "crew_kickoff": first_member(data, "crew_name"),
        "task": first_member(data, "task_name", "task_id"),
        "agent_execution": first_member(data, "agent_role") or agent.get("role"),
        "lite_agent_execution": first_member(data, "agent_role") or agent.get("role"),
        "flow": first_member(data, "flow_name"),
        "method_execution": first_member(data, "method_name"),
        "tool_usage": first_member(data, "tool_name"),
        "llm_call": data.get("model"),
    }
    return as_text(names.get(scope)).strip() or scope


def input_of(kind: StepType, data: JSONObject) -> JSONValue:
    """Return the input of a step; None if the event has none."""
    match kind:
        case StepType.MODEL:
            messages = normalize_messages(_plain(data.get("messages")))
            parameters = normalize_parameters({key: data[key] for key in _PARAMETERS if key in data})
            tools = normalize_tools(_plain(data.get("tools")) or [])
            return model_input(messages, tools, parameters) if messages else None
        case StepType.TOOL:
            return parse_embedded(data.get("tool_args"))
        case StepType.RETRIEVAL:
            return {"query": data["query"]} if data.get("query") else None
        case StepType.VALIDATOR:
            return data.get("guardrail")
    task = as_object(data.get("task"))
    request = first_member({**task, **data}, "task_prompt", "inputs", "task_description", "description", "context")
    return {"task": request} if isinstance(request, str) else request


def output_of(kind: StepType, data: JSONObject) -> JSONValue:
    """Return the output of a step; None if the event has none."""
    if kind is StepType.MODEL:
        return normalize_answer(_answer(data.get("response")), as_text(data.get("finish_reason"))).output
    output = first_member(data, "output", "result", "results", "retrieved_knowledge")
    if kind is StepType.RETRIEVAL:
        documents = as_list(output) or ([output] if output else [])
        return {
            "documents": [document if isinstance(document, dict) else {"content": document} for document in documents]
        }
    if kind is StepType.VALIDATOR and isinstance(data.get("success"), bool):
        reasons: list[JSONValue] = [data["error"]] if data.get("error") else []
        return {"decision": "pass" if data["success"] else "fail", "reasons": reasons, "result": output}
    if kind is StepType.TOOL or output is None:
        return output
    content = as_text(as_object(output).get("raw")) or output
    return {"text": content} if isinstance(content, str) else content


def error_of(data: JSONObject, phase: str) -> str:
    """Return why a step failed."""
    return text_or_json(data["error"]) if data.get("error") else phase


def tool_failure(data: JSONObject) -> str:
    """Return why a tool that returned a result failed; empty if it did not."""
    failure = as_object(data.get("failure"))
    return as_text(first_member(failure, "message", "reason")) or "failed" if failure else ""


def scores(event: str, data: JSONObject) -> Iterator[tuple[str, JSONValue, str]]:
    """Yield the name, value and reason of each score in an event."""
    if event == "agent_evaluation_completed":
        score = as_object(data.get("score"))
        if is_number(score.get("score")):
            yield as_text(data.get("metric_category")) or "score", score["score"], as_text(score.get("feedback"))
    elif event == "crew_test_result" and is_number(data.get("quality")):
        yield "quality", data["quality"], ""


def attributes(data: JSONObject, fields: Container[str] = _FIELDS) -> JSONObject:
    """Return the values without a field in the step, and what a task is to give; of objects, their plain values."""
    expectation = as_object(data.get("task")).get("expected_output")
    return {
        **({"expected_output": expectation} if expectation else {}),
        **{
            key: value
            for key, item in data.items()
            if key not in fields and key not in _CLIENT_OBJECTS
            if (value := _plain_members(item) if key in _OBJECTS else item) not in (None, "", [], {})
        },
    }


def note(data: JSONObject) -> JSONObject:
    """Return an event that begins and ends no step."""
    return {"name": data.get("type"), "time": data.get("timestamp"), "attributes": attributes(data, _LINKS)}


def _plain_members(value: JSONValue) -> JSONValue:
    if not isinstance(value, dict):
        return value
    return {
        key: item
        for key, item in value.items()
        if isinstance(item, str | int | float) and item not in ("", False) and key != "expected_output"
    }


def _answer(response: JSONValue) -> JSONValue:
    """Return an answer. The calls of one without a text are a list."""
    answer = _plain(response)
    calls = as_objects(answer) if isinstance(answer, list) else []
    if calls and len(calls) == len(as_list(answer)) and all("function" in call for call in calls):
        return {"role": "assistant", "content": None, "tool_calls": [*calls]}
    return answer


def _plain(value: JSONValue, level: int = 0) -> JSONValue:
    """Return a value of which CrewAI's `to_json` writes the inner parts as Python's `repr` of them.

    **Example:** `{"name": "'find'", "strict": "True"}` is `{"name": "find", "strict": true}`.
    """
    if level > _MOST_LEVELS:
        return value
    if isinstance(value, list):
        return [_plain(item, level + 1) for item in value]
    if not isinstance(value, dict):
        return value
    if any(_is_quoted(value.get(key)) for key in ("name", "type", "role", "title")):
        return {key: _plain(_parse(item), level + 1) for key, item in value.items()}
    return {key: _plain(item, level + 1) for key, item in value.items()}


def _is_quoted(value: JSONValue) -> bool:
    return isinstance(value, str) and len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0]


def _parse(value: JSONValue) -> JSONValue:
    """Return the value of a text of Python."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return value
    if not _is_quoted(value):
        constants: JSONObject = {"None": None, "True": True, "False": False}
        return constants[value] if value in constants else parse_literal(value)
    try:
        text = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return text if isinstance(text, str) else value
