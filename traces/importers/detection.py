"""Format detection by content: each importer's confidence."""

from collections.abc import Callable
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list, has_object
from traces.core.json_types import JSONValue
from traces.core.json_walk import first_item
from traces.importers.common.messages import is_conversation_item, is_message
from traces.importers.files import archive_members, sqlite_file
from traces.importers.files.sample import Sample
from traces.importers.files.source import Record
from traces.importers.files.tables import is_frame
from traces.importers.formats.chats import chat
from traces.importers.formats.chats.openai_items import page_items
from traces.importers.formats.coding_agents import claude_agents, claude_messages, claude_stream
from traces.importers.formats.evaluations import harbor_trials
from traces.importers.formats.frameworks import krabs
from traces.importers.formats.tracing import event_lines, langfuse_export, langsmith_feedback
from traces.importers.formats.tracing.langsmith_multipart import is_multipart
from traces.importers.otlp.batches import find_request
from traces.importers.otlp.span_documents import (
    exported_records,
    find_documents,
    is_log_document,
    is_span_document,
)
from traces.importers.otlp.stores import phoenix
from traces.importers.otlp.wire import find_request_body

SURE: Final = 1.0
LIKELY: Final = 0.6
# What surrounds all answers of Cloudflare's API.
CLOUDFLARE: Final = frozenset({"result", "success", "errors"})


def sniff_by_value(test: Callable[[JSONValue], bool], confidence: float = SURE) -> Callable[[Sample], float]:
    """Return a sniffer that has this confidence if `test` is true for any value of the sample."""

    def sniff(sample: Sample) -> float:
        return confidence if any(test(value) for value in sample.values) else 0.0

    return sniff


def sniff_kurral(sample: Sample) -> float:
    if any("kurral_id" in as_object(value) for value in sample.values):
        return SURE
    return LIKELY if any(has_list(value, "mcp_tool_calls") for value in sample.values) else 0.0


def sniff_otlp(sample: Sample) -> float:
    if any(map(is_frame, sample.values)):
        return 0.0
    if any(map(_is_otlp_value, sample.values)):
        return SURE
    # An archive may contain the output of a console, uncompressed.
    is_archive = archive_members.is_archive(sample.head)
    if not is_archive and any(isinstance(document, Record) for document in find_documents(sample.head)):
        return SURE
    return LIKELY if sample.is_complete and find_request(sample.head) is not None else 0.0


def sniff_prela(sample: Sample) -> float:
    for value in sample.values:
        spans = value if isinstance(value, list) else as_list(as_object(value).get("spans")) or [value]
        span = as_object(next(iter(spans), None))
        is_typed = not span.keys().isdisjoint({"span_type", "started_at"}) and "start_time" not in span
        if {"span_id", "trace_id"} <= span.keys() and is_typed:
            return SURE
    return 0.0


def sniff_langfuse(sample: Sample) -> float:
    for value in sample.values:
        body = as_object(value) if "batch" in as_object(value) else as_object(as_object(value).get("json"))
        event = as_object(next(iter(as_list(body.get("batch"))), None))
        scores = value if isinstance(value, list) else as_object(value).get("json")
        score = as_object(next(iter(as_list(scores)), None))
        if {"type", "body"} <= event.keys() or {"traceId", "name", "value"} <= score.keys():
            return SURE
        if langfuse_export.is_export(value):
            return SURE
    return 0.0


def sniff_langsmith(sample: Sample) -> float:
    if is_multipart(sample.head):
        return SURE
    for value in sample.values:
        body = as_object(as_object(value).get("json")) or as_object(value)
        runs = (
            as_list(value)
            or as_list(body.get("post"))
            or as_list(body.get("patch"))
            or as_list(body.get("runs"))
            or [body]
        )
        first = as_object(runs[0])
        if {"run_type", "id"} <= first.keys() or langsmith_feedback.is_export(first):
            return SURE
    return 0.0


def sniff_krabs(sample: Sample) -> float:
    # Also databases of other programs, which are refused by the names of their tables.
    if sample.head.startswith(sqlite_file.MAGIC):
        return LIKELY
    is_event = any(
        as_object(value).get("event_type") in krabs.EVENT_TYPES and "timestamp_ms" in as_object(value)
        for value in sample.values
    )
    return SURE if is_event else 0.0


def sniff_claude_code(sample: Sample) -> float:
    """Look for any line of a session: others may be damaged, and other logs have no such lines."""
    if any(claude_stream.is_line(first_item(value)) for value in sample.values):
        return SURE
    if any(map(claude_messages.is_message, sample.objects)):
        return SURE
    lines = [as_object(value) for value in sample.values]
    is_message_line = any(
        as_text(line.get("type")) in {"user", "assistant"} and "sessionId" in line and has_object(line, "message")
        for line in lines
    )
    if sample.values and all(claude_agents.is_note(value) for value in sample.values):
        return SURE
    is_linked_line = any({"uuid", "parentUuid", "sessionId", "type"} <= line.keys() for line in lines)
    return SURE if is_message_line or is_linked_line else 0.0


def sniff_atif(sample: Sample) -> float:
    documents = [as_object(value) for value in sample.values]
    if any(
        as_text(body.get("schema_version")).startswith("ATIF") or harbor_trials.is_trial(body) for body in documents
    ):
        return SURE
    return LIKELY if any({"steps", "agent", "session_id"} <= body.keys() for body in documents) else 0.0


def sniff_events(sample: Sample) -> float:
    return SURE if any(event_lines.is_event(value) for value in sample.values) else 0.0


def sniff_chat(sample: Sample) -> float:
    for value in sample.values:
        body = as_object(value)
        if body.keys() >= CLOUDFLARE:
            continue
        request = chat.request_of(chat.logged_call(body))
        messages = next((request[name] for name in chat.LISTS if has_list(request, name)), None)
        if is_message(value) or (messages is not None and _is_conversation(messages)) or page_items(body):
            return LIKELY
        if isinstance(value, list) and value and (is_message(value[0]) or has_list(value[0], "messages")):
            return LIKELY
    return 0.0


def _is_conversation(messages: JSONValue) -> bool:
    """Return whether a list named like messages contains a message or is empty."""
    return not messages or any(is_conversation_item(message) for message in as_list(messages))


def _is_otlp_value(value: JSONValue) -> bool:
    head = value[0] if isinstance(value, list) and value else next(iter(exported_records(value)), value)
    if phoenix.annotations(value):
        return True
    is_document = is_span_document(value) or is_span_document(head) or is_log_document(head)
    return is_document or find_request_body(head) is not None
