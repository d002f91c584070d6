"""Gemini CLI: recorded chats (one document, or lines with changes), checkpoints, and prompt logs.

In a chat of lines, a message with a known id updates the earlier one, `$set` updates the session, and `$rewindTo`
deletes a message and all later ones. Results are part of their calls: later versions store all parts of the message
that answered several calls with each of them. A call of a subagent has the id of the subagent's session.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, has_object, has_string, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, continuation
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import require_list
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.session_logs.threads import Thread, nest

FORMAT: Final = "gemini-cli"
_SETTING: Final = TranscriptSettings(provider="google", agent=FORMAT)
_TYPES: Final = frozenset({"user", "gemini", "info", "error", "warning"})
_METADATA: Final = ("projectHash", "summary", "directories", "kind", "activeExtensionName")
_DENIAL_STATES: Final = frozenset({"cancelled", "rejected"})
# What the program shows of a call.
_CALL_FACTS: Final = ("agentId", "displayName", "description", "resultDisplay")
_MEDIA: Final = frozenset({"inlineData", "fileData"})


def sniff(sample: Sample) -> float:
    """Return the confidence that Gemini CLI wrote the file."""
    objects = sample.objects
    documents = [value for value in sample.values if isinstance(value, dict)]
    is_log = any(_is_session(value) or _is_record(value) for value in documents)
    if is_log or any(_is_prompt(value) or _is_whole_session(value) for value in objects):
        return 1.0
    contents = [as_object(item) for value in objects for item in as_list(value.get("history"))] or objects
    messages = [content for content in contents if has_list(content, "parts")]
    # Other programs write lists of contents too. The chat importer reports a lower confidence for them.
    return 0.7 if any(message.get("role") == "model" for message in messages) else 0.0


def keys(source: Source) -> set[str]:
    """Return the ids of the sessions of a file, and of those of the subagents that its calls started."""
    ids: set[str] = set()
    try:
        for body, _ in source.entries():
            ids.add(as_text(body.get("sessionId")))
            for holder in (body, as_object(body.get("$set"))):
                for message in (holder, *as_objects(holder.get("messages"))):
                    ids |= {as_text(call.get("agentId")) for call in as_objects(message.get("toolCalls"))}
    except BadFile:
        return set()
    return ids - {""}


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of each file; sessions of subagents are inside those of their calls."""
    threads: dict[str, Thread] = {}
    for source in sources:
        try:
            runs = [*_parse(source)]
        except BadFile as problem:
            source.problems.append(problem)
            continue
        for run in runs:
            if run.external_id in threads:
                yield run
            else:
                threads[run.external_id] = Thread(run=run, calls=_agents(run))
    for id, thread in threads.items():
        for agent in thread.calls.keys() & threads.keys() - {id}:
            threads[agent].parent = id
    yield from nest(threads)


def _agents(run: RecordedRun) -> dict[str, str]:
    """Return the calls that started subagents, by the ids of their sessions."""
    return {id: step.call_id for step in run.steps if (id := as_text(step.attributes.get("agentId")))}


def _parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the session of the file, or the sessions of a list, of lines or of a prompt log."""
    values = [(record.value, record.location) for record in source.records()]
    sessions = [item for item in source.entries() if _is_whole_session(item[0])]
    if len(sessions) > 1 or (isinstance(values[0][0], list) and sessions):
        for body, location in sessions:
            yield _session(body, f"{location}/messages")
        return
    if source.is_lines:
        yield _session(_session_from_lines([(as_object(value), location) for value, location in values]), "")
        return
    value, location = values[0]
    entries = [as_object(entry) for entry in as_list(value)]
    if any(_is_prompt(entry) for entry in entries):
        yield from _prompts(entries, location)
    elif isinstance(value, list) or "history" in as_object(value):
        contents = (
            entries if isinstance(value, list) else require_list(as_object(value)["history"], f"{location}/history")
        )
        yield _checkpoint([as_object(content) for content in contents], as_object(value), location)
    else:
        body = as_object(value)
        messages = [as_object(message) for message in require_list(body.get("messages"), f"{location}/messages")]
        yield _session({**body, "messages": [*messages]}, f"{location}/messages")


def _is_session(body: JSONObject) -> bool:
    first_message = as_object(next(iter(as_list(body.get("messages"))), None))
    return "sessionId" in body and (
        "projectHash" in body or {"startTime", "messages"} <= body.keys() or _is_record(first_message)
    )


def _is_whole_session(body: JSONObject) -> bool:
    return _is_session(body) and bool(as_list(body.get("messages")))


def _is_record(body: JSONObject) -> bool:
    has_record_type = as_text(body.get("type")) in _TYPES and {"id", "timestamp", "content"} <= body.keys()
    return (has_record_type and "uuid" not in body) or has_object(body, "$set") or "$rewindTo" in body


def _is_prompt(body: JSONObject) -> bool:
    return {"sessionId", "messageId", "type", "message"} <= body.keys() and has_string(body, "message")


def _session_from_lines(lines: list[tuple[JSONObject, str]]) -> JSONObject:
    """Apply the lines in order and return the resulting session."""
    session: JSONObject = {}
    messages: dict[str, JSONObject] = {}
    for line, location in lines:
        if "$rewindTo" in line:
            ids = list(messages)
            rewind_id = as_text(line["$rewindTo"])
            for message_id in ids[ids.index(rewind_id) :] if rewind_id in messages else ids:
                del messages[message_id]
        elif has_object(line, "$set"):
            changes = dict(as_object(line["$set"]))
            if has_list(changes, "messages"):
                new_messages = [as_object(message) for message in as_list(changes.pop("messages"))]
                messages = {
                    as_text(message.get("id")) or f"{location}/{index}": message
                    for index, message in enumerate(new_messages)
                }
            session |= changes
        elif "type" in line:
            key = as_text(line.get("id")) or location
            messages[key] = {**messages.get(key, {}), **line}
        else:
            session |= line
    return {**session, "messages": [*messages.values()]}


def _session(body: JSONObject, location: str) -> RecordedRun:
    messages = [as_object(message) for message in as_list(body.get("messages"))]
    recorded_messages = [
        recorded_message
        for index, message in enumerate(messages)
        for recorded_message in _recorded_messages(message, f"{location}/{index}")
    ]
    notices = [message for message in messages if as_text(message.get("type")) in {"info", "error", "warning"}]
    session_id = as_text(body.get("sessionId")) or content_id([*messages], location)
    metadata: JSONObject = {key: body[key] for key in _METADATA if key in body}
    return build_run(
        RunFacts(
            external_id=session_id,
            app=FORMAT,
            format=FORMAT,
            failed=_last_type(messages) == "error",
            metadata={**metadata, "notices": [*notices]},
        ),
        transcripts.build_steps(recorded_messages, _SETTING),
        location=f"session {session_id}",
    )


def _last_type(messages: list[JSONObject]) -> str:
    """Return the type of the last message that is more than a hint of the program."""
    types = (as_text(message.get("type")) for message in reversed(messages))
    return next((type for type in types if type not in ("info", "warning")), "")


def _recorded_messages(message: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    """Yield the messages of a record; notices of the program are not part of the conversation."""
    if message.get("type") == "user":
        content: JSONObject = {"role": "user", "parts": _parts(message.get("content"))}
        if message.get("displayContent"):
            content["displayContent"] = message["displayContent"]
        yield from _content(content, location, message.get("timestamp"))
    elif message.get("type") == "gemini":
        calls = [as_object(call) for call in as_list(message.get("toolCalls"))]
        yield TranscriptMessage(location=location, value=_answer(message, calls))
        for index, call in enumerate(calls):
            if call.get("result") is not None or as_text(call.get("status")) in {"error", *_DENIAL_STATES}:
                yield TranscriptMessage(location=f"{location}/toolCalls/{index}", value=_result(call))


def _answer(message: JSONObject, calls: list[JSONObject]) -> JSONObject:
    thoughts: list[JSONValue] = [
        {
            "type": "thinking",
            "thinking": ": ".join(as_text(as_object(thought).get(name)) for name in ("subject", "description")),
        }
        for thought in as_list(message.get("thoughts"))
    ]
    tool_calls: list[JSONValue] = [
        {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("args")} for call in calls
    ]
    return {
        "role": "assistant",
        "content": [*thoughts, *(_part(part) for part in _parts(message.get("content")))],
        "tool_calls": tool_calls,
        "ts": message.get("timestamp"),
        "usage": _usage(as_object(message.get("tokens"))),
        **continuation({"parts": _parts(message.get("content"))}),
        **({"model": message["model"]} if message.get("model") else {}),
    }


def _usage(counts: JSONObject) -> JSONObject:
    """Normalize the usage; Gemini counts thoughts separately from the rest of the output."""
    output, thoughts = counts.get("output"), counts.get("thoughts")
    if isinstance(output, int) and isinstance(thoughts, int):
        output += thoughts
    totals = {"input_tokens": counts.get("input"), "output_tokens": output, "cached_tokens": counts.get("cached")}
    details = {"thoughts": thoughts, "tool": counts.get("tool")}
    return {name: count for name, count in {**totals, **details}.items() if count is not None}


def _result(call: JSONObject) -> JSONObject:
    status, display = as_text(call.get("status")), call.get("resultDisplay")
    parts = _parts(call.get("result"))
    answer, media = _response(parts, as_text(call.get("id")))
    response = as_object(answer.get("response"))
    content = response.get("output")
    if content is None:
        content = result_text(response) if response else call.get("result")
    text = content if content is None else result_text(content)
    problem = as_text(response.get("error")) or (display if isinstance(display, str) else status)
    facts: JSONObject = {name: call[name] for name in _CALL_FACTS if call.get(name) not in (None, "", text)}
    other: JSONObject = omit(response, "output", "error") if "output" in response else {}
    return {
        "role": "tool",
        "tool_call_id": call.get("id"),
        "content": [{"type": "text", "text": text}, *media] if media else text,
        "ts": call.get("timestamp"),
        **omit(answer, "id", "name", "response", "parts"),
        **({"response": other} if other else {}),
        **facts,
        **({"error": problem} if status == "error" or response.get("error") else {}),
        **({"denied": True} if status in _DENIAL_STATES else {}),
    }


def _response(parts: list[JSONValue], call_id: str) -> tuple[JSONObject, list[JSONValue]]:
    """Return the response to a call, or the only one, with its media: inside it, or until the next response."""
    objects = [as_object(part) for part in parts]
    starts = [index for index, part in enumerate(objects) if has_object(part, "functionResponse")]
    ids = [as_text(as_object(objects[index]["functionResponse"]).get("id")) for index in starts]
    if not starts:
        return {}, []
    number = ids.index(call_id) if call_id in ids else 0
    end = starts[number + 1] if number + 1 < len(starts) else len(objects)
    response = as_object(objects[starts[number]]["functionResponse"])
    siblings = [*as_list(response.get("parts")), *parts[starts[number] + 1 : end]]
    return response, [part for part in siblings if not _MEDIA.isdisjoint(as_object(part))]


def _prompts(prompts: list[JSONObject], location: str) -> Iterator[RecordedRun]:
    """Yield one run per session of a prompt log, which has only the requests of users."""
    sessions: dict[str, list[TranscriptMessage]] = {}
    for index, prompt in enumerate(prompts):
        value: JSONObject = {"role": "user", "content": prompt.get("message"), "ts": prompt.get("timestamp")}
        sessions.setdefault(as_text(prompt.get("sessionId")), []).append(
            TranscriptMessage(value=value, location=f"{location}/{index}")
        )
    for session_id, messages in sessions.items():
        yield build_run(
            RunFacts(external_id=f"{session_id}/prompts", app=FORMAT, format=FORMAT, metadata={"only_prompts": True}),
            transcripts.build_steps(messages, _SETTING),
            location=f"session {session_id}",
        )


def _checkpoint(contents: list[JSONObject], body: JSONObject, location: str) -> RecordedRun:
    messages = [
        message for index, content in enumerate(contents) for message in _content(content, f"{location}/{index}", None)
    ]
    metadata: JSONObject = {key: body[key] for key in ("authType",) if key in body}
    return build_run(
        RunFacts(
            external_id=f"gemini-{content_id([*contents], location)}", app=FORMAT, format=FORMAT, metadata=metadata
        ),
        transcripts.build_steps(messages, _SETTING),
        location=location,
    )


def _content(content: JSONObject, location: str, time: JSONValue) -> Iterator[TranscriptMessage]:
    """Yield the messages in one content of Gemini's API; each result becomes a separate message."""
    parts = _parts(content.get("parts"))
    responses = [
        as_object(as_object(part)["functionResponse"]) for part in parts if "functionResponse" in as_object(part)
    ]
    for response in responses:
        call: JSONObject = {"id": response.get("id"), "result": parts, "timestamp": time}
        yield TranscriptMessage(location=location, value=_result(call))
    result_members = {"functionResponse", *(_MEDIA if responses else ())}
    rest = [_part(part) for part in parts if result_members.isdisjoint(as_object(part))]
    if rest:
        fields = omit(content, "parts")
        yield TranscriptMessage(location=location, value={**fields, "content": rest, "ts": time})


def _parts(content: JSONValue) -> list[JSONValue]:
    """Return the parts of Gemini content: a text, a part, or a list of both."""
    parts = content if isinstance(content, list) else [] if content in (None, "") else [content]
    return [{"text": part} if isinstance(part, str) else part for part in parts]


def _part(part: JSONValue) -> JSONValue:
    fields = as_object(part)
    if "text" in fields:
        thought = fields.get("thought") is True
        return {"type": "thinking", "thinking": fields["text"]} if thought else {"type": "text", "text": fields["text"]}
    return part
