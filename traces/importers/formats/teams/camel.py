"""CAMEL: memories of agents as records, and results of OWL, in which a user's agent instructs an assistant.

{"role_at_backend": "user", "message": {"role_name": …, "content": …}, "agent_id": …, "timestamp": …}
{"task_id": …, "question": …, "score": true, "history": [{"user": …, "assistant": …, "tool_calls": […]}]}
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source
from traces.importers.formats.teams.speakers import Result, Team, Utterance, build_steps

FORMAT: Final = "camel"
_ROUND: Final = frozenset({"user", "assistant", "tool_calls"})
_ROLES: Final = {"function": "tool", "developer": "system"}
# Members of a message that are read, or name its class.
_MESSAGE_FIELDS: Final = (
    *("__class__", "role_name", "role_type", "content", "func_name", "args", "result", "tool_call_id"),
    *("image_detail", "video_detail"),
)
_USER: Final = "user agent"
_ASSISTANT: Final = "assistant"


def is_recording(value: JSONValue) -> bool:
    """Return whether `value` is a record of a memory, a result of OWL, or a list of these."""
    body = as_object(first_item(value))
    return _is_record(body) or _is_result(body)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per task, and one per agent with a memory."""
    memories: dict[str, list[tuple[JSONObject, str]]] = {}
    for body, location in source.entries():
        if _is_result(body):
            yield _task_run(body, location)
        elif _is_record(body):
            memories.setdefault(as_text(body.get("agent_id")), []).append((body, location))
    for agent, records in memories.items():
        yield _memory_run(agent, records)


def _is_record(body: JSONObject) -> bool:
    return {"role_at_backend", "message"} <= body.keys() and has_object(body, "message")


def _is_result(body: JSONObject) -> bool:
    rounds = as_objects(body.get("history")) if has_list(body, "history") else []
    return "question" in body and bool(rounds) and rounds[0].keys() >= _ROUND


def _memory_run(agent: str, records: list[tuple[JSONObject, str]]) -> RecordedRun:
    entries = [TranscriptMessage(value=_message(record), location=location) for record, location in records]
    content = content_id([record for record, _ in records], "")
    return build_run(
        RunFacts(external_id=f"{agent or FORMAT}-{content}", app=FORMAT, format=FORMAT, metadata={"agent_id": agent}),
        transcripts.build_steps(entries, TranscriptSettings()),
        location=records[0][1],
    )


def _message(record: JSONObject) -> JSONObject:
    """Return a message; that of a call has the result in a record of its own."""
    message = as_object(record["message"])
    role = _enum(record["role_at_backend"])
    value: JSONObject = {"role": _ROLES.get(role, role), "content": message.get("content")}
    value["timestamp"] = record.get("timestamp")
    if value["role"] == "tool":
        result = message.get("result")
        value |= {"tool_call_id": message.get("tool_call_id"), "content": value["content"] or result}
    elif message.get("func_name"):
        call = {"id": message.get("tool_call_id"), "name": message["func_name"], "arguments": message.get("args")}
        value |= {"tool_calls": [call], "content": value["content"] or None}
    details = omit(message, *_MESSAGE_FIELDS) | as_object(record.get("extra_info"))
    speaker = as_text(message.get("role_name"))
    speaker_field: JSONObject = (
        {"speaker": speaker} if speaker.lower() not in ("", role) and value["role"] != "tool" else {}
    )
    return {**{name: item for name, item in details.items() if item not in (None, {}, [])}, **speaker_field, **value}


def _enum(value: JSONValue) -> str:
    """Return the value of an enumeration, which a file may contain as `{"__enum__": "OpenAIBackendRole.USER"}`."""
    return (as_text(as_object(value).get("__enum__")) or as_text(value)).rpartition(".")[2].lower()


def _task_run(body: JSONObject, location: str) -> RecordedRun:
    task = as_text(body.get("task_id"))
    utterances = [
        utterance
        for index, item in enumerate(as_objects(body.get("history")))
        for utterance in _round(item, index, f"{location}/history/{index}")
    ]
    steps = build_steps(utterances, Team(name="team", task=as_text(body.get("question"))))
    score = body.get("score")
    return build_run(
        RunFacts(
            external_id=f"{task or FORMAT}-{content_id(body, location)}",
            app="owl",
            format=FORMAT,
            name=as_text(body.get("question")),
            tags=[f"task:{task}"] if task else [],
            metadata=omit(body, "history"),
            judgements=[judgement("is_correct" if isinstance(score, bool) else "score", score)]
            if score is not None
            else [],
        ),
        transcripts.replace_output(steps, as_text(body.get("model_answer"))),
        location=location,
    )


def _round(item: JSONObject, index: int, location: str) -> Iterator[Utterance]:
    """Yield what the user's agent wrote, the calls of the assistant with their results, and its answer."""
    yield Utterance(speaker=_USER, content=item.get("user"), location=location)
    calls: list[JSONValue] = []
    results: list[Result] = []
    for number, record in enumerate(as_objects(item.get("tool_calls"))):
        call_id = as_text(record.get("tool_call_id")) or f"call-{index}-{number}"
        name = first_member(record, "tool_name", "func_name")
        calls.append({"id": call_id, "name": name, "arguments": record.get("args")})
        results.append(Result(call_id=call_id, content=record.get("result")))
    if calls:
        yield Utterance(speaker=_ASSISTANT, content=None, location=location, calls=tuple(calls))
        audience = frozenset({_ASSISTANT})
        yield Utterance(speaker="tools", content=None, location=location, results=tuple(results), audience=audience)
    yield Utterance(speaker=_ASSISTANT, content=item.get("assistant"), location=location)
