"""Streams of the Vercel AI SDK as a server sent them: one part of an answer per line. The request is not among them.

version 4        0:"text"   g:"thought"   9:{"toolCallId", …}   a:{"toolCallId", "result"}   e:{"usage", …}
versions 5 to 7  data: {"type": "text-delta", "id", "delta"}   data: {"type": "tool-output-available", …}
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_object, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import json_value
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.session_logs.pieces import Pieces

FORMAT: Final = "ui-stream"
_LINE: Final = re.compile(r"^(data|[0-9a-k]):[ ]?(.*)$", re.M)
_START: Final = re.compile(
    rb'(?:^|\n)(?:f:\{"messageId"|0:"|data: ?\{"type": ?"(?:start|start-step|text-start|reasoning-start)")'
)
_END: Final = "[DONE]"
# Codes of version 4, in the terms of later ones.
_KINDS: Final = {
    "0": "text-delta",
    "3": "error",
    "9": "tool-input-available",
    "a": "tool-output-available",
    "d": "finish",
    "e": "finish-step",
    "f": "start-step",
    "g": "reasoning-delta",
}
# Parts that whole ones repeat, or that only begin or end these.
_DISPLAYS: Final = re.compile(r"[bcij]|(?:text|reasoning)-(?:start|end)|tool-input-(?:start|delta)")


@dataclass(kw_only=True)
class _Stream:
    pieces: Pieces = field(default_factory=Pieces)
    id: str = ""
    other_parts: list[JSONValue] = field(default_factory=list)
    error: str = ""
    start: JSONObject = field(default_factory=dict)
    end: JSONObject = field(default_factory=dict)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file begins with such a stream."""
    return 1.0 if _START.match(sample.head.lstrip()) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the answers in a file."""
    stream, text = _Stream(), decode_text(source.data)
    for match in _LINE.finditer(text):
        code, body = match.groups()
        if body.strip() == _END:
            continue
        try:
            value = json_value(body.encode())
        except BadFile:
            source.problems.append(BadFile("a part of a stream that is no JSON", f"character {match.start()}"))
            continue
        part = as_object(value) if code == "data" else _part(code, value)
        _add(stream, part, f"character {match.start()}")
    id = stream.id or f"{FORMAT}-{content_id([message.value for message in stream.pieces.messages], '')}"
    yield build_run(
        RunFacts(
            external_id=id,
            app="vercel-ai-sdk",
            format=FORMAT,
            failed=bool(stream.error),
            has_ended=bool(stream.end),
            metadata={
                **omit(stream.start, "type", "messageId"),
                "error": stream.error,
                "finish": omit(stream.end, "type"),
                "parts": stream.other_parts,
            },
        ),
        transcripts.build_steps(stream.pieces.messages, TranscriptSettings()),
        location="line 1",
    )


def _part(code: str, value: JSONValue) -> JSONObject:
    """Return a part of version 4 in the terms of later ones."""
    kind = _KINDS.get(code, code)
    body = as_object(value) or {"delta": value}
    names = {"args": "input", "result": "output"}
    return {"type": kind, **{names.get(name, name): item for name, item in body.items()}}


def _add(stream: _Stream, part: JSONObject, location: str) -> None:
    pieces, kind = stream.pieces, as_text(part.get("type"))
    stream.id = stream.id or as_text(part.get("messageId"))
    match kind:
        case "text-delta" | "reasoning-delta":
            name = "text" if kind == "text-delta" else "thinking"
            pieces.add_block({"type": name, name: part.get("delta")}, None, location)
        case "tool-input-available" | "tool-input-error":
            _add_call(stream, part, location)
        case "tool-output-available" | "tool-output-error" | "tool-output-denied":
            _add_result(stream, part, location)
        case "steering-message":
            pieces.add_message({"role": "user", "content": part.get("parts"), "message_id": part.get("id")}, location)
        case "start-step" | "finish-step" | "reset-step":
            _mark_step(stream, part, kind)
        case "start":
            stream.start = part
        case "finish":
            stream.end = part
        case "error" | "abort":
            stream.error = as_text(first_member(part, "errorText", "delta", "reason")) or kind
        case _ if not _DISPLAYS.fullmatch(kind) and len(part) > 1:
            stream.other_parts.append(part)


def _mark_step(stream: _Stream, part: JSONObject, kind: str) -> None:
    if kind == "start-step":
        stream.pieces.end_answer()
    elif kind == "finish-step":
        stream.pieces.annotate({"usage": part.get("usage"), "finish_reason": part.get("finishReason")})
    else:
        stream.other_parts.append({"type": kind, "answer": stream.pieces.drop_answer()})


def _add_call(stream: _Stream, part: JSONObject, location: str) -> None:
    call: JSONObject = {"id": part.get("toolCallId"), "name": part.get("toolName"), "arguments": part.get("input")}
    stream.pieces.add_call(call, None, location)
    if "errorText" in part:
        _add_result(stream, part, location)


def _add_result(stream: _Stream, part: JSONObject, location: str) -> None:
    error = part.get("errorText")
    output = error if "errorText" in part else part.get("output")
    result: JSONObject = {"tool_call_id": part.get("toolCallId"), "content": output}
    result |= {"denied": True} if part.get("type") == "tool-output-denied" else {}
    stream.pieces.add_result(result | ({"error": error} if error else {}), location)
