"""What a file holds, by its content: how sure each importer is, and what files are that no importer takes."""

import re
from collections.abc import Callable
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import is_conversation_item, is_message
from traces.importers.files import sqlite_file
from traces.importers.files.archives import MAGIC
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text
from traces.importers.files.json_reader import items, kind, obj, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record
from traces.importers.formats.coding_agents import codex
from traces.importers.formats.frameworks import krabs
from traces.importers.formats.tracing import forkpoint_events, kurral, langfuse_export
from traces.importers.formats.tracing.langsmith import is_multipart
from traces.importers.otlp.span_documents import in_log, is_span_document
from traces.importers.otlp.wire import from_protobuf, is_envelope

SURE: Final = 1.0
LIKELY: Final = 0.6
OTHER_ZIP: Final = "a zip file, but not a bundle of Forkpoint: unpack it and import its files"
_HEADERS: Final = frozenset({"content-type", "user-agent", "host", "accept", "authorization", "content-length"})
_YAML: Final = (
    (re.compile(r"^tools:\s*$.*^done:", re.M | re.S), "this is Kurral's side-effect review of tools, not a recording"),
    (
        re.compile(r"^(?:proxy|servers):\s*$.*^(?:capture|replay|servers|mode):", re.M | re.S),
        "this is the configuration of Kurral's MCP proxy, not a recording",
    ),
)
_SQL: Final = re.compile(r"\s*(?:--[^\n]*\n\s*)*(?:CREATE|INSERT|PRAGMA|BEGIN)\s", re.I)


def by_value(test: Callable[[JSONValue], bool], confidence: float = SURE) -> Callable[[Sample], float]:
    """A sniffer with this confidence in a file when `test` holds for one of its values."""

    def sniff(sample: Sample) -> float:
        return confidence if any(test(value) for value in sample.values) else 0.0

    return sniff


def is_kurral(sample: Sample) -> float:
    first = _first(sample)
    if "kurral_id" in first:
        return SURE
    return LIKELY if isinstance(first.get("mcp_tool_calls"), list) else 0.0


def is_otlp(sample: Sample) -> float:
    if any(_is_otlp_value(value) or is_span_document(value) for value in sample.values):
        return SURE
    if any(isinstance(each, Record) for each in in_log(sample.head)):
        return SURE
    return LIKELY if sample.head[:1] == b"\n" and sample.is_complete and from_protobuf(sample.head) else 0.0


def is_prela(sample: Sample) -> float:
    for value in sample.values:
        listed = value if isinstance(value, list) else items(obj(value).get("spans")) or [value]
        span = obj(next(iter(listed), None))
        if {"span_id", "trace_id"} <= span.keys() and not span.keys().isdisjoint({"span_type", "started_at"}):
            return SURE
    return 0.0


def is_langfuse(sample: Sample) -> float:
    for value in sample.values:
        body = obj(value) if "batch" in obj(value) else obj(obj(value).get("json"))
        event = obj(next(iter(items(body.get("batch"))), None))
        scores = value if isinstance(value, list) else obj(value).get("json")
        score = obj(next(iter(items(scores)), None))
        if {"type", "body"} <= event.keys() or {"traceId", "name", "value"} <= score.keys():
            return SURE
        if langfuse_export.is_export(value):
            return SURE
    return SURE if langfuse_export.is_table(sample.head) else 0.0


def is_langsmith(sample: Sample) -> float:
    if is_multipart(sample.head):
        return SURE
    for value in sample.values:
        body = obj(obj(value).get("json")) or obj(value)
        listed = (
            items(value) or items(body.get("post")) or items(body.get("patch")) or items(body.get("runs")) or [body]
        )
        if {"run_type", "id"} <= obj(listed[0]).keys():
            return SURE
    return 0.0


def is_krabs(sample: Sample) -> float:
    if sample.head.startswith(sqlite_file.MAGIC):
        return SURE
    shaped = any(
        obj(value).get("event_type") in krabs.EVENT_TYPES and "timestamp_ms" in obj(value) for value in sample.values
    )
    return SURE if shaped else 0.0


def is_claude_code(sample: Sample) -> float:
    """By any line of a session: others may be damaged, and other programs' logs have no lines like these."""
    lines = [obj(value) for value in sample.values]
    told = any(
        text(line.get("type")) in {"user", "assistant"} and "sessionId" in line and "message" in line for line in lines
    )
    linked = any({"uuid", "parentUuid", "sessionId", "type"} <= line.keys() for line in lines)
    return SURE if told or linked else 0.0


def is_codex(sample: Sample) -> float:
    shaped = any(
        text(obj(value).get("type")) in codex.TYPES and isinstance(obj(value).get("payload"), dict)
        for value in sample.values
    )
    return SURE if shaped else 0.0


def is_atif(sample: Sample) -> float:
    first = _first(sample)
    if text(first.get("schema_version")).startswith("ATIF"):
        return SURE
    return LIKELY if {"steps", "agent", "session_id"} <= first.keys() else 0.0


def is_events(sample: Sample) -> float:
    return SURE if any(forkpoint_events.recognises(value) for value in sample.values) else 0.0


def is_chat(sample: Sample) -> float:
    for value in sample.values:
        body = obj(value)
        request = obj(body.get("request")) or body
        listed = next(
            (request[name] for name in ("messages", "traj", "trajectory") if isinstance(request.get(name), list)), None
        )
        if is_message(value) or (listed is not None and _is_conversation(listed)):
            return LIKELY
        if (
            isinstance(value, list)
            and value
            and (is_message(value[0]) or isinstance(obj(value[0]).get("messages"), list))
        ):
            return LIKELY
    return 0.0


def _is_conversation(listed: JSONValue) -> bool:
    """Whether a list named like messages holds one, or nothing: trajectories of other programs list other things."""
    return not listed or any(is_conversation_item(each) for each in items(listed))


def explain_rejection(sample: Sample) -> BadFile:
    """Why a file that no importer takes is refused: what it is, as far as that can be told."""
    if not sample.head.strip():
        return BadFile("the file is empty", "byte 0")
    if sample.values:
        return BadFile(_described(sample.values[0]), "line 1" if sample.is_lines else "/")
    return _not_json(sample)


def _not_json(sample: Sample) -> BadFile:
    if sample.head.startswith(MAGIC):
        return BadFile(OTHER_ZIP, "byte 0")
    if b"\0" in sample.head[:1000] and sample.head[:2] not in {b"\xff\xfe", b"\xfe\xff"} and sample.head[1:2] != b"\0":
        return BadFile("binary data in no known format", "byte 0")
    try:
        content = decode_text(sample.head[:100_000])
    except BadFile as problem:
        return problem
    for pattern, reason in _YAML:
        if pattern.search(content):
            return BadFile(reason, "line 1")
    if _SQL.match(content):
        return BadFile("these are SQL statements: import the database file itself", "line 1")
    if content.lstrip()[:1] in {"{", "["}:
        try:
            return BadFile(_described(sample.source.value), "/")
        except BadFile as problem:
            return problem
    return BadFile(f"not a recording in any known format: it begins with {content.strip()[:40]!r}", "line 1")


def _described(value: JSONValue) -> str:
    given = obj(value)
    known: tuple[tuple[Callable[[JSONObject], bool], str], ...] = (
        (_is_schema, "this is a JSON Schema, not a recording"),
        (_is_headers, "these are the headers of an HTTP request: import the file of its body"),
        (_is_answer, "these are answers of an HTTP service, not a recording"),
    )
    for test, reason in known:
        if given and test(given):
            return reason
    if reason := kurral.refusal(value):
        return reason
    if isinstance(value, dict):
        return f"no known format has an object with the keys {', '.join(sorted(given)[:8]) or '(none)'}"
    inner = f" of {kind(value[0]).split(' ')[-1]}s" if isinstance(value, list) and value else ""
    return f"no known format is {kind(value)}{inner} like this"


def _is_schema(given: JSONObject) -> bool:
    typed = text(given.get("type")) in {"object", "array"} and "items" in given
    return typed or "$schema" in given or "$defs" in given


def _is_headers(given: JSONObject) -> bool:
    """Headers alone, or a captured request of which the body is elsewhere."""
    groups = [given, *(obj(value) for value in given.values())]
    named = any(len(_HEADERS & {key.lower() for key in group}) > 1 for group in groups)
    return named and "json" not in given and "body" not in given


def _is_answer(given: JSONObject) -> bool:
    groups = [given, *(obj(value) for value in given.values())]
    return any(isinstance(group.get("status", group.get("response_status")), int) for group in groups)


def _is_otlp_value(value: JSONValue) -> bool:
    first = value[0] if isinstance(value, list) and value else value
    return is_envelope(first) or is_envelope(obj(first).get("body"))


def _first(sample: Sample) -> JSONObject:
    """The first object: of the document, of its list, or of its lines."""
    value = next(iter(sample.values), None)
    return obj(value[0]) if isinstance(value, list) and value else obj(value)
