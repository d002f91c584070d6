"""Records of FastGPT's chats: requests, and answers whose parts are thoughts, texts, and calls with their results."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_string, as_text, first_member, omit, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings

SPEAKERS: Final = {"Human": "user", "AI": "assistant", "System": "system"}
_FEEDBACK: Final = {"userGoodFeedback": JudgementKind.PASS, "userBadFeedback": JudgementKind.FAIL}
_FIELDS: Final = ("obj", "value", "time", "dataId", "chatId", "errorMsg", *_FEEDBACK)
_CALL_FIELDS: Final = ("id", "functionName", "toolName", "params", "response")


def is_record(body: JSONObject) -> bool:
    return as_text(body.get("obj")) in SPEAKERS and "value" in body


def build_run_of(chat: str, records: Sequence[tuple[JSONObject, str]], format: str) -> RecordedRun:
    """Build the run of a chat."""
    entries: list[TranscriptMessage] = []
    judgements: list[RecordedJudgement] = []
    for body, location in records:
        entries += [TranscriptMessage(value=value, location=location) for value in _messages(body)]
        judgements += _judgements(body, f"msg-{len(entries)}")
    bodies: list[JSONValue] = [body for body, _ in records]
    return build_run(
        RunFacts(
            external_id=chat or f"{format}-{content_id(bodies, records[0][1])}",
            app=format,
            format=format,
            failed=bool(records[-1][0].get("errorMsg")),
            judgements=judgements,
        ),
        transcripts.build_steps(entries, TranscriptSettings()),
        location=records[0][1],
    )


def join_texts(value: JSONValue) -> str:
    """Return the texts of a value: one, or those among its parts."""
    texts = [as_text(as_object(part.get("text")).get("content")) for part in as_objects(value)]
    return as_string(value) or "\n".join(filter(None, texts))


def describe_error(error: JSONValue) -> str:
    """Return the text of an error; empty without one."""
    return text_or_json(first_member(as_object(error), "message", "msg") or error) if error else ""


def _messages(body: JSONObject) -> Iterator[JSONObject]:
    """Yield the messages of a record: each call in an answer ends one, because its results follow."""
    role = SPEAKERS[as_text(body["obj"])]
    fields: JSONObject = {"ts": body.get("time"), "id": body.get("dataId"), **omit(body, *_FIELDS)}
    blocks: list[JSONValue] = (
        [] if isinstance(body["value"], list) else [{"type": "text", "text": as_string(body["value"])}]
    )
    for part in as_objects(as_list(body["value"])):
        calls = as_objects([*as_list(part.get("tools")), *filter(None, [part.get("tool")])])
        if not calls:
            blocks.append(_block(part))
            continue
        yield {"role": role, "content": blocks, "tool_calls": [_call(call) for call in calls], **fields}
        yield from (_result(call) for call in calls if call.get("response") is not None)
        blocks, fields = [], {"ts": body.get("time")}
    error: JSONObject = {"error": body["errorMsg"]} if body.get("errorMsg") else {}
    if blocks or error:
        yield {"role": role, "content": blocks or None, **fields, **error}


def _block(part: JSONObject) -> JSONValue:
    """Return a part of a message; others than texts and thoughts stay as they are."""
    if text := as_object(part.get("text")):
        return {"type": "text", "text": text.get("content")}
    if thought := as_object(part.get("reasoning")):
        return {"type": "thinking", "thinking": thought.get("content")}
    return {"type": "file", **as_object(part["file"])} if part.get("file") else {"type": "part", **part}


def _call(call: JSONObject) -> JSONObject:
    name = first_member(call, "functionName", "toolName")
    title = call.get("toolName")
    titles: JSONObject = {"title": title} if title and title != name else {}
    return {"id": call.get("id"), "name": name, "arguments": call.get("params"), **titles, **omit(call, *_CALL_FIELDS)}


def _result(call: JSONObject) -> JSONObject:
    return {"role": "tool", "tool_call_id": call.get("id"), "content": call.get("response")}


def _judgements(body: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    for name, kind in _FEEDBACK.items():
        if body.get(name):
            yield RecordedJudgement(name="feedback", kind=kind, text=as_text(body[name]), step=step)
