"""Droid: output of `droid exec --output-format stream-json`. Its first line is like that of Claude Code."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_provider, normalize_usage, usage_details
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptSettings
from traces.importers.files.source import Source
from traces.importers.formats.session_logs.pieces import Pieces

FORMAT: Final = "droid-output"
_SESSION: Final = ("session_id", "sessionId")
_NOT_FACTS: Final = ("type", "subtype", "id", "timestamp", "model", "reasoning_effort", "usage", *_SESSION)


def is_event(value: JSONValue) -> bool:
    """Return True if `value` is a message, a call, a result or the end of a session, or a list of these."""
    if isinstance(value, list):
        # The first item is that of other formats, too.
        return any(is_event(item) for item in value[1:3] if isinstance(item, dict))
    body = as_object(value)
    match as_text(body.get("type")):
        case "message" | "reasoning":
            return {"id", "text"} <= body.keys() and not body.keys().isdisjoint(_SESSION)
        case "tool_call" | "tool_result":
            return {"id", "toolId"} <= body.keys()
        case kind:
            return kind == "completion" and "finalText" in body


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the session in a file."""
    pieces, events = Pieces(), [*source.entries()]
    start: JSONObject = {}
    end: JSONObject = {}
    errors: list[JSONValue] = []
    thought_ids: set[str] = set()
    for event, location in events:
        match as_text(event.get("type")):
            case "system":
                start = start or event
            case "completion":
                end = event
            case "error":
                errors.append(event)
            case "reasoning" if (id := as_text(event.get("id"))) in thought_ids:
                # Each thought comes twice.
                continue
            case kind:
                thought_ids |= {id} if kind == "reasoning" else set()
                _add_piece(pieces, event, location)
    model, effort = as_text(start.get("model")), start.get("reasoning_effort")
    settings = TranscriptSettings(
        model=model,
        provider=normalize_provider(None, model),
        parameters={"reasoning_effort": effort} if effort else {},
        agent="droid",
    )
    steps = transcripts.build_steps(pieces.messages, settings)
    # Tokens are known for the whole session only.
    counts = as_object(end.get("usage"))
    usage = normalize_usage(counts, "usage")
    root = replace(steps[0], tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, tokens_cached=usage.tokens_cached)
    session_ids = (as_text(first_member(event, *_SESSION)) for event, _ in events)
    yield build_run(
        RunFacts(
            external_id=next(filter(None, session_ids), "")
            or f"{FORMAT}-{content_id([event for event, _ in events], '')}",
            app="droid",
            format=FORMAT,
            failed=bool(errors) and not end,
            has_ended=bool(end or errors),
            metadata={**omit(start, *_NOT_FACTS), **omit(end, *_NOT_FACTS), "errors": errors},
        ),
        [replace(root, attributes={**root.attributes, **usage_details(counts)}), *steps[1:]],
        location="line 1",
    )


def _add_piece(pieces: Pieces, event: JSONObject, location: str) -> None:
    time, text = event.get("timestamp"), event.get("text")
    match as_text(event.get("type")), event.get("role"):
        case "message", "assistant":
            block: JSONObject = {"type": "text", "text": text}
            pieces.add_block(block, time, location, answer_id=as_text(event.get("id")))
        case "message", role:
            pieces.add_message({"role": role or "user", "content": text, "ts": time}, location)
        case "reasoning", _:
            pieces.add_block({"type": "thinking", "thinking": text}, time, location)
        case "tool_call", _:
            name = first_member(event, "toolName", "toolId")
            call: JSONObject = {"id": event.get("id"), "name": name, "arguments": event.get("parameters") or {}}
            pieces.add_call(call, time, location, answer_id=as_text(event.get("messageId")))
        case "tool_result", _:
            pieces.add_result(_result(event, time), location)


def _result(event: JSONObject, time: JSONValue) -> JSONObject:
    output = first_member(event, "value", "error")
    failure: JSONObject = {"is_error": True} if event.get("isError") is True else {}
    return {"tool_call_id": event.get("id"), "content": output, "ts": time, **failure}
