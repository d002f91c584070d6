"""Gemini CLI: recorded chats (one document, or lines that amend each other), checkpoints, and logs of prompts.

In a chat of lines a message with a known id replaces the one before it, `$set` amends the session, and `$rewindTo`
takes a message and all after it back. Results stand inside the calls that they answer.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import as_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import items, obj, require_list, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "gemini-cli"
_SETTING: Final = TranscriptSettings(provider="google", agent=FORMAT)
_TYPES: Final = frozenset({"user", "gemini", "info", "error", "warning"})
_KEPT: Final = ("projectHash", "summary", "directories", "kind", "activeExtensionName")
_REFUSED: Final = frozenset({"cancelled", "rejected"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file was written by Gemini CLI."""
    objects = sample.objects
    if any(_is_session(each) or _is_record(each) or _is_prompt(each) for each in objects):
        return 1.0
    contents = [obj(item) for each in objects for item in items(each.get("history"))] or objects
    said = [each for each in contents if isinstance(each.get("parts"), list)]
    # other programs write lists of contents too: the chat importer is less sure of them
    return 0.7 if any(each.get("role") == "model" for each in said) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """The session of the file; a log of prompts holds several."""
    values = [(record.value, record.location) for record in source.records()]
    if source.is_lines:
        yield _session(_replayed([(obj(value), where) for value, where in values]), "")
        return
    value, where = values[0]
    listed = [obj(each) for each in items(value)]
    if any(_is_prompt(each) for each in listed):
        yield from _prompts(listed, where)
    elif isinstance(value, list) or "history" in obj(value):
        contents = listed if isinstance(value, list) else require_list(obj(value)["history"], f"{where}/history")
        yield _checkpoint([obj(each) for each in contents], obj(value), where)
    else:
        body = obj(value)
        messages = [obj(each) for each in require_list(body.get("messages"), f"{where}/messages")]
        yield _session({**body, "messages": [*messages]}, f"{where}/messages")


def _is_session(body: JSONObject) -> bool:
    first_message = obj(next(iter(items(body.get("messages"))), None))
    return "sessionId" in body and (
        "projectHash" in body or {"startTime", "messages"} <= body.keys() or _is_record(first_message)
    )


def _is_record(body: JSONObject) -> bool:
    typed = text(body.get("type")) in _TYPES and {"id", "timestamp", "content"} <= body.keys()
    return (typed and "uuid" not in body) or isinstance(body.get("$set"), dict) or "$rewindTo" in body


def _is_prompt(body: JSONObject) -> bool:
    return {"sessionId", "messageId", "type", "message"} <= body.keys() and isinstance(body.get("message"), str)


def _replayed(lines: list[tuple[JSONObject, str]]) -> JSONObject:
    """The session as its lines leave it."""
    session: JSONObject = {}
    messages: dict[str, JSONObject] = {}
    for line, where in lines:
        if "$rewindTo" in line:
            ids = list(messages)
            back_to = text(line["$rewindTo"])
            for taken_back in ids[ids.index(back_to) :] if back_to in messages else ids:
                del messages[taken_back]
        elif isinstance(line.get("$set"), dict):
            amended = dict(obj(line["$set"]))
            if isinstance(amended.get("messages"), list):
                listed = [obj(each) for each in items(amended.pop("messages"))]
                messages = {text(each.get("id")) or f"{where}/{at}": each for at, each in enumerate(listed)}
            session |= amended
        elif "type" in line:
            key = text(line.get("id")) or where
            messages[key] = {**messages.get(key, {}), **line}
        else:
            session |= line
    return {**session, "messages": [*messages.values()]}


def _session(body: JSONObject, where: str) -> RecordedRun:
    messages = [obj(each) for each in items(body.get("messages"))]
    said = [each for at, message in enumerate(messages) for each in _said(message, f"{where}/{at}")]
    notices = [message for message in messages if text(message.get("type")) in {"info", "error", "warning"}]
    session_id = text(body.get("sessionId")) or content_id([*messages], where)
    metadata: JSONObject = {key: body[key] for key in _KEPT if key in body}
    return build_run(
        RunFacts(
            external_id=session_id,
            app=FORMAT,
            format=FORMAT,
            failed=bool(messages) and messages[-1].get("type") == "error",
            metadata={**metadata, "notices": [*notices]},
        ),
        transcripts.build_steps(said, _SETTING),
        location=f"session {session_id}",
    )


def _said(message: JSONObject, where: str) -> Iterator[TranscriptMessage]:
    """A record as messages; what the program itself said is a notice, no part of the conversation."""
    if message.get("type") == "user":
        yield from _content({"role": "user", "parts": _parts(message.get("content"))}, where, message.get("timestamp"))
    elif message.get("type") == "gemini":
        calls = [obj(each) for each in items(message.get("toolCalls"))]
        yield TranscriptMessage(location=where, value=_answer(message, calls))
        for at, call in enumerate(calls):
            if call.get("result") is not None or text(call.get("status")) in {"error", *_REFUSED}:
                yield TranscriptMessage(location=f"{where}/toolCalls/{at}", value=_result(call))


def _answer(message: JSONObject, calls: list[JSONObject]) -> JSONObject:
    thoughts: list[JSONValue] = [
        {"type": "thinking", "thinking": ": ".join(text(obj(each).get(name)) for name in ("subject", "description"))}
        for each in items(message.get("thoughts"))
    ]
    called: list[JSONValue] = [
        {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")} for call in calls
    ]
    return {
        "role": "assistant",
        "content": [*thoughts, *(_part(each) for each in _parts(message.get("content")))],
        "tool_calls": called,
        "ts": message.get("timestamp"),
        "usage": _usage(obj(message.get("tokens"))),
        **({"model": message["model"]} if message.get("model") else {}),
    }


def _usage(counts: JSONObject) -> JSONObject:
    """Gemini counts thoughts apart from the rest of the output."""
    output, thoughts = counts.get("output"), counts.get("thoughts")
    if isinstance(output, int) and isinstance(thoughts, int):
        output += thoughts
    named = {"input_tokens": counts.get("input"), "output_tokens": output, "cached_tokens": counts.get("cached")}
    kept = {"thoughts": thoughts, "tool": counts.get("tool")}
    return {name: count for name, count in {**named, **kept}.items() if count is not None}


def _result(call: JSONObject) -> JSONObject:
    status, display = text(call.get("status")), call.get("resultDisplay")
    answers = [obj(obj(each).get("functionResponse")) for each in _parts(call.get("result"))]
    response = obj(next((each.get("response") for each in answers if each), None))
    content = response.get("output")
    if content is None:
        content = as_text(response) if response else call.get("result")
    problem = text(response.get("error")) or (display if isinstance(display, str) else status)
    return {
        "role": "tool",
        "tool_call_id": call.get("id"),
        "content": content if content is None or isinstance(content, str) else as_text(content),
        "ts": call.get("timestamp"),
        **({"error": problem} if status == "error" or response.get("error") else {}),
        **({"denied": True} if status in _REFUSED else {}),
    }


def _prompts(listed: list[JSONObject], where: str) -> Iterator[RecordedRun]:
    """Logs of prompts: what users asked, by session."""
    sessions: dict[str, list[TranscriptMessage]] = {}
    for at, prompt in enumerate(listed):
        value: JSONObject = {"role": "user", "content": prompt.get("message"), "ts": prompt.get("timestamp")}
        sessions.setdefault(text(prompt.get("sessionId")), []).append(
            TranscriptMessage(value=value, location=f"{where}/{at}")
        )
    for session_id, said in sessions.items():
        yield build_run(
            RunFacts(external_id=f"{session_id}/prompts", app=FORMAT, format=FORMAT, metadata={"only_prompts": True}),
            transcripts.build_steps(said, _SETTING),
            location=f"session {session_id}",
        )


def _checkpoint(contents: list[JSONObject], body: JSONObject, where: str) -> RecordedRun:
    said = [each for at, content in enumerate(contents) for each in _content(content, f"{where}/{at}", None)]
    metadata: JSONObject = {key: body[key] for key in ("authType",) if key in body}
    return build_run(
        RunFacts(external_id=f"gemini-{content_id([*contents], where)}", app=FORMAT, format=FORMAT, metadata=metadata),
        transcripts.build_steps(said, _SETTING),
        location=where,
    )


def _content(content: JSONObject, where: str, time: JSONValue) -> Iterator[TranscriptMessage]:
    """A content of Gemini's API; results in it are messages of their own."""
    parts = _parts(content.get("parts"))
    rest = [_part(part) for part in parts if "functionResponse" not in obj(part)]
    for part in parts:
        if "functionResponse" in obj(part):
            answer = obj(obj(part)["functionResponse"])
            call: JSONObject = {"id": answer.get("id"), "result": [part], "timestamp": time}
            yield TranscriptMessage(location=where, value=_result(call))
    if rest:
        yield TranscriptMessage(location=where, value={"role": content.get("role"), "content": rest, "ts": time})


def _parts(content: JSONValue) -> list[JSONValue]:
    """Gemini's content: a text, a part, or a list of both."""
    listed = content if isinstance(content, list) else [] if content in (None, "") else [content]
    return [{"text": each} if isinstance(each, str) else each for each in listed]


def _part(part: JSONValue) -> JSONValue:
    given = obj(part)
    if "text" in given:
        thought = given.get("thought") is True
        return {"type": "thinking", "thinking": given["text"]} if thought else {"type": "text", "text": given["text"]}
    return part
