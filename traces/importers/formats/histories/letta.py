"""Letta: agent files (`.af`), whose agents have their messages, and lists of messages of its API."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, omit, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "letta"
_CALLS: Final = frozenset({"tool_call_message", "approval_request_message"})
_ROLES: Final = {"user_message": "user", "system_message": "system", "assistant_message": "assistant"}
_FACTS: Final = frozenset({"usage_statistics", "stop_reason"})
_FAILURES: Final = frozenset({"error", "invalid_llm_response", "llm_api_error", "invalid_tool_call"})
_IDS: Final = ("id", "otid", "run_id", "step_id", "sender_id")


def is_file(value: JSONValue) -> bool:
    """Return True if `value` is an agent file, or a list of messages of the API."""
    if isinstance(value, list):
        return bool(value) and as_text(as_object(value[0]).get("message_type")).endswith("_message")
    agents = as_objects(as_object(value).get("agents"))
    return bool(agents) and all(has_list(agent, "messages") for agent in agents) and "llm_config" in agents[0]


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per agent with messages, or the run of a list of messages."""
    for record in source.records():
        if isinstance(record.value, list):
            yield _history(as_objects(record.value), record.location)
            continue
        body = as_object(record.value)
        tools = normalize_tools([tool.get("json_schema") or tool for tool in as_objects(body.get("tools"))])
        for index, agent in enumerate(as_objects(body.get("agents"))):
            if agent.get("messages"):
                yield _agent(agent, tools, f"{record.location}/agents/{index}")


def _agent(agent: JSONObject, tools: list[JSONValue], location: str) -> RecordedRun:
    config = as_object(agent.get("llm_config"))
    model, name = as_text(config.get("model")), as_text(agent.get("name"))
    messages = as_list(agent["messages"])
    has_instructions = any(as_object(message).get("role") == "system" for message in messages)
    setting = TranscriptSettings(
        model=model,
        provider=normalize_provider(first_member(config, "provider_name", "model_endpoint_type"), model),
        tools=tools,
        system=None if has_instructions else agent.get("system"),
        agent=name or "agent",
    )
    entries = [
        TranscriptMessage(value=_stored_message(as_object(message)), location=f"{location}/messages/{index}")
        for index, message in enumerate(messages)
    ]
    return build_run(
        RunFacts(
            external_id=f"{name or FORMAT}-{content_id(messages[:2], location)}",
            app=app_name(name) or FORMAT,
            format=FORMAT,
            tags=[as_text(tag) for tag in as_list(agent.get("tags"))],
            metadata={key: item for key, item in agent.items() if key not in ("messages", "system", "tags")},
        ),
        transcripts.build_steps(entries, setting),
        location=location,
    )


def _stored_message(message: JSONObject) -> JSONObject:
    """Return a message of an agent file without the members that have no value."""
    failed = any(as_object(item).get("status") == "error" for item in as_list(message.get("tool_returns")))
    fields = {name: item for name, item in message.items() if item not in (None, [], {})}
    return {**fields, **({"is_error": True} if failed else {})}


def _history(messages: list[JSONObject], location: str) -> RecordedRun:
    """Return the run of messages of the API, which lists the newest first unless it is asked otherwise."""
    # Of a response, the last items state the usage and why the agent stopped.
    dates = [date for message in messages if (date := as_text(message.get("date")))]
    if dates and dates[0] > dates[-1]:
        messages = messages[::-1]
    facts = {
        kind: omit(item, "message_type") for item in messages if (kind := as_text(item.get("message_type"))) in _FACTS
    }
    messages = [item for item in messages if as_text(item.get("message_type")) not in _FACTS]
    entries = [
        TranscriptMessage(value=value, location=f"{location}/{index}")
        for index, value in enumerate(_with_reasoning(messages))
    ]
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([*messages[:2]], location)}",
            app=FORMAT,
            format=FORMAT,
            failed=as_text(as_object(facts.get("stop_reason")).get("stop_reason")) in _FAILURES,
            metadata={**facts},
        ),
        transcripts.build_steps(entries, TranscriptSettings()),
        location=location,
    )


def _with_reasoning(messages: list[JSONObject]) -> Iterator[JSONObject]:
    """Yield messages; what a model thought is part of the answer that follows."""
    thoughts: list[JSONValue] = []
    for message in messages:
        kind = as_text(message.get("message_type"))
        if kind in ("reasoning_message", "hidden_reasoning_message"):
            thoughts.append({"type": "thinking", "thinking": first_member(message, "reasoning", "hidden_reasoning")})
            continue
        yield _api_message(message, kind, thoughts)
        thoughts = []
    if thoughts:
        yield {"role": "assistant", "content": thoughts}


def _api_message(message: JSONObject, kind: str, thoughts: list[JSONValue]) -> JSONObject:
    ids = {name: message[name] for name in _IDS if message.get(name)}
    time = {"ts": message.get("date"), **ids}
    if kind in _CALLS:
        call = as_object(message.get("tool_call"))
        calls: list[JSONValue] = [{**call, "id": call.get("tool_call_id")}]
        return {"role": "assistant", "content": thoughts or None, "tool_calls": calls, **time}
    if kind == "tool_return_message":
        failure: JSONObject = {"is_error": True} if message.get("status") == "error" else {}
        content = message.get("tool_return")
        output = {name: message[name] for name in ("stdout", "stderr") if message.get(name)}
        return {
            "role": "tool",
            "tool_call_id": message.get("tool_call_id"),
            "content": content,
            **failure,
            **output,
            **time,
        }
    if kind == "approval_response_message":
        return _denial(message) | time
    content = message.get("content")
    if thoughts:
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        content = [*thoughts, *blocks]
    return {"role": _ROLES.get(kind, "system"), "content": content, **time}


def _denial(message: JSONObject) -> JSONObject:
    """Return the answer of a person to a request as a message: of a denial as a result, so that the call has one."""
    reason = as_text(message.get("reason")) or "denied"
    call_id = message.get("tool_call_id")
    if message.get("approve") is False and call_id:
        return {"role": "tool", "tool_call_id": call_id, "content": reason, "denied": True}
    answer = omit(message, *_IDS, "message_type", "date")
    return {"role": "system", "content": text_or_json(answer)}
