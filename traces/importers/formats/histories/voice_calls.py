"""Calls of voice agents: what the APIs and webhooks of Vapi, Retell and ElevenLabs return about a call."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_number, as_object, as_objects, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.source import Source

FORMAT: Final = "voice-call"
# What webhooks put around a call.
_HOLDERS: Final = ("message", "call", "data")
_RETELL: Final = ("transcript_with_tool_calls", "transcript_object")
_ROLES: Final = {"bot": "assistant", "agent": "assistant", "tool_call_result": "tool"}
_CALL_ROLES: Final = frozenset({"tool_calls", "tool_call_invocation"})
_VERDICTS: Final = {"true": True, "success": True, "pass": True, "false": False, "failure": False, "fail": False}
_IDS: Final = ("call_id", "conversation_id", "id")
_STARTS: Final = ("start_timestamp", "startedAt")
_ENDS: Final = ("end_timestamp", "endedAt")
_REASONS: Final = ("disconnection_reason", "endedReason", "termination_reason")
_COUNTS: Final = {
    "input": "input_tokens",
    "input_cache_read": "cache_read_input_tokens",
    "input_cache_write": "cache_creation_input_tokens",
    "output_total": "output_tokens",
}
_MAPPED_FIELDS: Final = frozenset(
    {"role", "message", "content", "time", "time_in_call_secs", "toolCalls", "tool_calls", "tool_results", "words"}
    | {"tool_call_id", "toolCallId", "name", "arguments", "result", "secondsFromStart"}
)


def is_call(value: JSONValue) -> bool:
    """Return True if `value` is a call, or what a webhook sends about one."""
    return bool(_turns(_call(as_object(value))))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per call."""
    for body, location in source.entries():
        yield _run(_call(body), location, source)


def _call(body: JSONObject) -> JSONObject:
    """Return the call in a document. Vapi's report has the call beside its messages."""
    holder = next((inner for name in _HOLDERS if _turns(inner := as_object(body.get(name)))), body)
    return {**as_object(holder.get("call")), **holder}


def _turns(call: JSONObject) -> list[JSONObject]:
    """Return the turns of a call, empty for anything else."""
    for name in _RETELL:
        if turns := as_objects(call.get(name)):
            return turns
    turns = as_objects(call.get("transcript")) if isinstance(call.get("transcript"), list) else []
    if any("time_in_call_secs" in turn for turn in turns):
        return turns
    messages = as_objects(first_member(call, "messages") or as_object(call.get("artifact")).get("messages"))
    return messages if any("secondsFromStart" in message and "role" in message for message in messages) else []


def _run(call: JSONObject, location: str, source: Source) -> RecordedRun:
    details = as_object(call.get("metadata"))
    start = first_member(call, *_STARTS) or details.get("start_time_unix_secs")
    started_at = parse_time(start, location)
    model = as_object(as_object(call.get("assistant")).get("model"))
    entries = [
        TranscriptMessage(value=value, location=location)
        for turn in _turns(call)
        for value in _messages(turn, started_at.timestamp() if started_at else None)
    ]
    return build_run(
        RunFacts(
            external_id=as_text(first_member(call, *_IDS)),
            app=as_text(first_member(call, "agent_name", "agent_id", "assistantId")) or FORMAT,
            format=FORMAT,
            metadata=omit(call, *_RETELL, "transcript", "messages", "artifact"),
            started_at=started_at,
            ended_at=parse_time(first_member(call, *_ENDS), location),
            judgements=_judgements(call, details),
        ),
        transcripts.build_steps(
            drop_unreadable(entries, source.problems), TranscriptSettings(model=as_text(model.get("model")))
        ),
        location=location,
    )


def _judgements(call: JSONObject, details: JSONObject) -> Iterator[RecordedJudgement]:
    analysis = as_object(first_member(call, "analysis", "call_analysis"))
    verdict = first_member(analysis, "call_successful", "successEvaluation")
    if (success := _VERDICTS.get(as_text(verdict).lower())) is not None:
        yield judgement("success", success)
    elif verdict is not None:
        yield judgement("success", verdict)
    if reason := as_text(first_member({**details, **call}, *_REASONS)):
        yield termination(reason)


def _messages(turn: JSONObject, start: float | None) -> Iterator[JSONObject]:
    """Yield the messages of a turn: what was said, calls, and results."""
    role = as_text(turn.get("role"))
    details: JSONObject = {
        name: item for name, item in turn.items() if name not in _MAPPED_FIELDS and item not in (None, "", [], {})
    }
    time: JSONObject = {"ts": stamp} if (stamp := _time(turn, start)) else {}
    content = first_member(turn, "content", "message")
    if role in _CALL_ROLES:
        calls: list[JSONValue] = [*as_objects(turn.get("toolCalls"))] or [
            {"id": turn.get("tool_call_id"), "name": turn.get("name"), "arguments": turn.get("arguments")}
        ]
        yield {"role": "assistant", "content": content, "tool_calls": calls, **time, **details}
        return
    if role == "tool_call_result":
        has_failed = turn.get("successful") is False
        result = first_member(turn, "result", "content", "message")
        call_id = first_member(turn, "toolCallId", "tool_call_id")
        failure: JSONObject = {"is_error": True} if has_failed else {}
        yield {"role": "tool", "tool_call_id": call_id, "content": result or "", **time, **failure, **details}
        return
    requests: list[JSONValue] = [
        {"id": call.get("request_id"), "name": call.get("tool_name"), "arguments": call.get("params_as_json")}
        for call in as_objects(turn.get("tool_calls"))
    ]
    results = as_objects(turn.get("tool_results"))
    if content or requests or not results:
        calls_of_turn: JSONObject = {"tool_calls": requests} if requests else {}
        value = {"role": _ROLES.get(role, role), "content": content, **calls_of_turn, **time, **details}
        yield {**value, **_usage(as_object(turn.get("llm_usage")))}
    for result in results:
        yield {
            "role": "tool",
            "tool_call_id": result.get("request_id"),
            "content": result.get("result_value") or "",
            **({"is_error": True} if result.get("is_error") is True else {}),
            **time,
        }


def _usage(usage: JSONObject) -> JSONObject:
    """Return the model of a turn with its counts, if it is only one."""
    models = as_object(usage.get("model_usage"))
    if len(models) != 1:
        return {}
    ((model, counts),) = models.items()
    tokens = {name: as_object(as_object(counts).get(key)).get("tokens") for key, name in _COUNTS.items()}
    return {"model": model, "usage": {name: count for name, count in tokens.items() if count is not None}}


def _time(turn: JSONObject, start: float | None) -> JSONValue:
    """Return when a turn began, which some state in seconds since the start of the call."""
    if turn.get("time"):
        return turn["time"]
    words = as_list(turn.get("words"))
    seconds = as_number(first_member(turn, "time_in_call_secs") or as_object(words[0] if words else None).get("start"))
    return start + seconds if start is not None and seconds is not None else None
