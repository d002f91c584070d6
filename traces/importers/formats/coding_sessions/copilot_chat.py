"""Chats of GitHub Copilot in VS Code: an exported chat (`chat.json`), or a stored session as a document or a journal.

The rounds of a request have its model calls. Without rounds, these are read from what was shown: a text after a call is
another answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import (
    as_list,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    is_number,
    list_or_single,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common import transcripts
from traces.importers.common.judgements import termination
from traces.importers.common.messages import result_text
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source
from traces.importers.formats.coding_sessions import vscode_journal

FORMAT: Final = "copilot-chat"
_TOOL: Final = "toolInvocationSerialized"
# Shown parts without content.
_MARKS: Final = frozenset({"undoStop", "prepareToolInvocation", "mcpServersStarting", "progressTaskSerialized"})
_SESSION_FIELDS: Final = frozenset({"sessionId", "requests", "customTitle", "inputState"})
# How a call was confirmed: it was denied, or skipped.
_REFUSALS: Final = (0, 5)
_MOST_LEVELS: Final = 100


@dataclass(kw_only=True)
class _Answer:
    """A model call: its texts and calls, and what was shown beside them."""

    content: list[JSONValue] = field(default_factory=list)
    calls: list[JSONValue] = field(default_factory=list)
    results: list[JSONObject] = field(default_factory=list)
    other_parts: list[JSONValue] = field(default_factory=list)
    facts: JSONObject = field(default_factory=dict)


def is_chat(value: JSONValue) -> bool:
    """Return True if `value` is a chat, or the first line of its journal."""
    body = as_object(as_object(value)["v"]) if vscode_journal.is_start(value) else as_object(value)
    requests = as_objects(body.get("requests"))
    if not requests:
        return has_list(body, "requests") and "initialLocation" in body
    return any(has_object(item, "message") and has_list(item, "response") for item in requests[:3])


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of a chat."""
    records = [*source.records()]
    if any(vscode_journal.is_start(record.value) for record in records):
        yield _run(vscode_journal.replay(records, source.problems), "", source)
        return
    for body, location in source.entries():
        yield _run(body, location, source)


def _run(chat: JSONObject, location: str, source: Source) -> RecordedRun:
    requests = as_objects(chat.get("requests"))
    entries: list[TranscriptMessage] = []
    judgements: list[RecordedJudgement] = []
    for index, request in enumerate(requests):
        judgements += _vote(request, f"msg-{len(entries) + 1}")
        entries += _entries(request, f"{location}/requests/{index}")
    last = requests[-1] if requests else {}
    is_canceled = last.get("isCanceled") is True
    first_id = as_text(requests[0].get("requestId")) if requests else ""
    return build_run(
        RunFacts(
            external_id=as_text(chat.get("sessionId")) or f"{FORMAT}-{first_id}",
            app=as_text(chat.get("responderUsername")) or FORMAT,
            format=FORMAT,
            title=as_text(chat.get("customTitle")),
            failed=bool(_error(last)),
            has_ended=not is_canceled,
            metadata={name: item for name, item in chat.items() if name not in _SESSION_FIELDS},
            judgements=[*judgements, *([termination("canceled")] if is_canceled else [])],
        ),
        transcripts.build_steps(drop_unreadable(entries, source.problems), TranscriptSettings(agent="copilot")),
        location=location,
    )


def _vote(request: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    vote = request.get("vote")
    if is_number(vote):
        kind = JudgementKind.PASS if vote else JudgementKind.FAIL
        yield RecordedJudgement(name="vote", kind=kind, text=as_text(request.get("voteDownReason")), step=step)


def _error(request: JSONObject) -> str:
    return as_text(as_object(as_object(request.get("result")).get("errorDetails")).get("message"))


def _entries(request: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    result, start = as_object(request.get("result")), request.get("timestamp")
    metadata, timings = as_object(result.get("metadata")), as_object(result.get("timings"))
    yield TranscriptMessage(value=_request(request, metadata), location=location)
    rounds = as_objects(metadata.get("toolCallRounds"))
    shown_answers = list(_shown_answers(as_objects(request.get("response"))))
    answers = _rounds(rounds, as_object(metadata.get("toolCallResults")), shown_answers) if rounds else shown_answers
    if _error(request):
        answers.append(_Answer(facts={"error": _error(request), "error_details": result["errorDetails"]}))
    duration = timings.get("totalElapsed")
    end = start + duration if is_number(start) and is_number(duration) else None
    usage = _usage(request, result, metadata)
    for index, answer in enumerate(answers):
        is_last = index + 1 == len(answers)
        facts: JSONObject = {**answer.facts, "ts": answer.facts.get("ts") or (end if is_last else None)}
        if usage and is_last:
            # Of several calls, only the sum is known.
            facts |= {"usage": usage} if len(answers) == 1 else {"usage_of_all_calls": usage}
        facts["details"] = result.get("details") if is_last else None
        yield TranscriptMessage(value=_message(answer, facts, request), location=location)
        for item in answer.results:
            yield TranscriptMessage(value=item, location=location)


def _request(request: JSONObject, metadata: JSONObject) -> JSONObject:
    message = as_object(request.get("message"))
    agent, variables = as_object(request.get("agent")), as_object(request.get("variableData")).get("variables")
    notes: JSONObject = {
        "request_id": request.get("requestId"),
        "command": as_object(request.get("slashCommand")).get("name"),
        "agent": first_member(agent, "name", "id"),
        "variables": variables,
        "rendered_message": metadata.get("renderedUserMessage"),
    }
    return {"role": "user", "content": as_text(message.get("text")), "ts": request.get("timestamp"), **notes}


def _message(answer: _Answer, facts: JSONObject, request: JSONObject) -> JSONObject:
    model = as_text(facts.get("modelId") or request.get("modelId")).rpartition("/")[2]
    parts: JSONObject = {"other_parts": answer.other_parts} if answer.other_parts else {}
    known_facts = {name: item for name, item in facts.items() if item is not None and name != "modelId"}
    return {
        "role": "assistant",
        "content": answer.content or None,
        "tool_calls": answer.calls,
        "model": model,
        **parts,
        **known_facts,
    }


def _usage(request: JSONObject, result: JSONObject, metadata: JSONObject) -> JSONObject:
    counts = {**request, **metadata, **as_object(result.get("usage"))}
    usage: JSONObject = {
        "input_tokens": counts.get("promptTokens"),
        "output_tokens": first_member(counts, "completionTokens", "outputTokens"),
    }
    return {name: count for name, count in usage.items() if count}


def _rounds(rounds: list[JSONObject], results: JSONObject, shown_answers: list[_Answer]) -> list[_Answer]:
    """Return the answers of rounds with their calls, of which the nth is the nth that was shown."""
    answers: list[_Answer] = []
    shown_results = iter([item for answer in shown_answers for item in answer.results])
    has_text = False
    for item in rounds:
        answer = _Answer(facts={"modelId": item.get("modelId"), "ts": item.get("timestamp")})
        thought = item.get("thinking")
        for text in list_or_single(as_object(thought).get("text") if isinstance(thought, dict) else thought):
            answer.content += [{"type": "thinking", "thinking": text}] if text else []
        if item.get("response"):
            answer.content.append({"type": "text", "text": as_text(item["response"])})
            has_text = True
        for call in as_objects(item.get("toolCalls")):
            id, arguments = as_text(call.get("id")), parse_embedded(call.get("arguments"))
            answer.calls.append({"id": id, "name": call.get("name"), "arguments": arguments})
            answer.results += _round_result(id, as_object(results.get(id)), next(shown_results, None))
        answers.append(answer)
    last = shown_answers[-1] if shown_answers else _Answer()
    parts = [part for answer in shown_answers for part in answer.other_parts]
    if not has_text and last.content and not last.calls:
        answers.append(_Answer(content=last.content))
    answers[-1].other_parts = parts
    return answers


def _round_result(id: str, result: JSONObject, shown_result: JSONObject | None) -> Iterator[JSONObject]:
    texts = [_node_text(as_object(part).get("value")) for part in as_list(result.get("content"))]
    if texts or shown_result:
        content = "\n".join(texts) if texts else as_object(shown_result).get("content")
        yield {**(shown_result or {"role": "tool"}), "tool_call_id": id, "content": content}


def _node_text(value: JSONValue, level: int = 0) -> str:
    """Return the text of a result: a text, or a tree of elements of the prompt."""
    if isinstance(value, str):
        return value
    node = as_object(as_object(value).get("node")) or as_object(value)
    if level > _MOST_LEVELS or not node:
        return ""
    if "children" not in node and "text" not in node:
        return result_text(node)
    line_break = "\n" if node.get("lineBreakBefore") is True else ""
    return (
        line_break
        + as_text(node.get("text"))
        + "".join(_node_text(child, level + 1) for child in as_list(node.get("children")))
    )


def _shown_answers(parts: list[JSONObject]) -> Iterator[_Answer]:
    """Yield the answers that shown parts belong to."""
    answer = _Answer()
    for part in parts:
        kind = as_text(part.get("kind"))
        if kind == _TOOL:
            id = as_text(part.get("toolCallId")) or f"call-{len(answer.calls)}"
            answer.calls.append({"id": id, "name": part.get("toolId"), "arguments": _shown_arguments(part)})
            answer.results += _shown_result(id, part)
            continue
        block = _block(part, kind)
        if block is None:
            answer.other_parts += [] if kind in _MARKS else [part]
            continue
        if answer.calls:
            yield answer
            answer = _Answer()
        _append(answer.content, block)
    if answer.content or answer.calls or answer.other_parts:
        yield answer


def _block(part: JSONObject, kind: str) -> JSONObject | None:
    """Return the text or thought that a part shows; None for a part of another kind."""
    value = first_member(part, "value", "content")
    text = as_text(as_object(value).get("value")) if isinstance(value, dict) else value
    if kind == "thinking":
        thoughts = [as_text(item) for item in list_or_single(text)]
        return {"type": "thinking", "thinking": "".join(thoughts)} if any(thoughts) else None
    if kind == "inlineReference":
        reference = as_object(part.get("inlineReference"))
        path = as_text(first_member({**as_object(reference.get("location")), **reference}, "path", "fsPath"))
        return {"type": "text", "text": as_text(first_member(part, "name")) or path.rpartition("/")[2]}
    return {"type": "text", "text": text} if kind in ("", "markdownContent") and isinstance(text, str) else None


def _append(content: list[JSONValue], block: JSONObject) -> None:
    """Append a block; a text continues the text before it."""
    last = as_object(content[-1]) if content else {}
    if block["type"] == "text" == last.get("type"):
        content[-1] = {"type": "text", "text": f"{as_text(last['text'])}{as_text(block['text'])}"}
    else:
        content.append(block)


def _shown_arguments(part: JSONObject) -> JSONValue:
    """Return the arguments of a call as far as they were shown."""
    data, details = as_object(part.get("toolSpecificData")), as_object(part.get("resultDetails"))
    command = as_object(data.get("commandLine"))
    arguments = first_member(
        {
            "input": data.get("rawInput"),
            "details": parse_embedded(details.get("input")),
            "command": {"command": first_member(command, "userEdited", "toolEdited", "original")} if command else None,
            "old_command": {"command": data["command"]} if data.get("command") else None,
        },
        "input",
        "details",
        "command",
        "old_command",
    )
    return arguments if arguments is not None else {"message": _label(part.get("invocationMessage"))}


def _label(value: JSONValue) -> JSONValue:
    return as_object(value).get("value") if isinstance(value, dict) else value


def _shown_result(id: str, part: JSONObject) -> Iterator[JSONObject]:
    """Yield the result of a call as far as it was shown. One that was not confirmed was not made."""
    data, details = as_object(part.get("toolSpecificData")), part.get("resultDetails")
    terminal = as_object(data.get("terminalCommandOutput"))
    outputs = [as_object(item) for item in as_list(as_object(details).get("output"))]
    texts = [as_text(first_member(item, "value", "text")) for item in outputs] or [as_text(terminal.get("text"))]
    exit_code = as_object(data.get("terminalCommandState")).get("exitCode")
    confirmation = part.get("isConfirmed")
    is_refused = isinstance(confirmation, dict) and confirmation.get("type") in _REFUSALS
    facts: JSONObject = {
        "message": _label(part.get("pastTenseMessage")),
        "exit_code": exit_code,
        "details": details if isinstance(details, list) else None,
        "is_error": as_object(details).get("isError") is True or exit_code not in (None, 0) or None,
        "denied": is_refused or confirmation is False or None,
    }
    known_facts = {name: item for name, item in facts.items() if item not in (None, "", [])}
    content = "\n".join(filter(None, texts)) or (facts["message"] if known_facts.get("is_error") else None)
    if part.get("isComplete") is not False or content:
        yield {"role": "tool", "tool_call_id": id, "content": content, **known_facts}
