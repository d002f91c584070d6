"""OTLP traces and logs from files: spans of many traces, in any order and any tracer's dialect."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Record, Source, parse_records
from traces.importers.otlp import span_documents
from traces.importers.otlp.assembly import Trace, build_trace
from traces.importers.otlp.batches import decode_request, find_request
from traces.importers.otlp.dialects.attributes import TraceReader
from traces.importers.otlp.dialects.steps import build_span_step
from traces.importers.otlp.evaluations import read_annotations
from traces.importers.otlp.stores import phoenix
from traces.importers.otlp.wire import WireLog, WireNote, WireSpan, find_request_body, read_request

# In files with spans of Phoenix, whose annotations may be in another file.
_PHOENIX: Final = (b'"next_cursor"', b'"span_kind"')


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace. Of a span that occurs twice, the fuller one is used."""
    traces: dict[str, Trace] = {}
    notes: dict[str, list[WireNote]] = {}
    note_sources: dict[str, Source] = {}
    for source in sources:
        for record in _records(source):
            if isinstance(record, WireNote):
                notes.setdefault(record.span_id, []).append(record)
                note_sources[record.span_id] = source
            else:
                traces.setdefault(record.trace_id, Trace(trace_id=record.trace_id)).add(record)
    for trace in traces.values():
        _add_notes(trace, notes)
        run = build_trace(trace)
        sources[-1].problems.extend(trace.problems)
        yield run
    for span_id, rest in notes.items():
        reason = f"annotations of span {span_id}, which is in none of these files: import it with them"
        note_sources[span_id].problems.append(BadFile(reason, rest[0].location))


def keys(source: Source) -> set[str]:
    """Return the ids of the traces that have spans or logs in a file, and those of spans that it may annotate."""
    # The ids of a request are read without its contents.
    if (batch := find_request(source.data)) is not None:
        return {span.trace_id for span in batch.spans}
    records = list(_records(source))
    is_annotated = any(mark in source.data for mark in _PHOENIX)
    return {record.trace_id for record in records if not isinstance(record, WireNote)} | {
        f"span {record.span_id}" for record in records if is_annotated or isinstance(record, WireNote)
    }


def _add_notes(trace: Trace, notes: dict[str, list[WireNote]]) -> None:
    """Give the spans of a trace the judgements that other files have of them."""
    for span_id in notes.keys() & trace.spans.keys():
        span = trace.spans[span_id]
        judgements = [note.judgement for note in notes.pop(span_id) if note.judgement not in span.judgements]
        trace.spans[span_id] = replace(span, judgements=(*span.judgements, *judgements))


def _records(source: Source) -> Iterator[WireSpan | WireLog | WireNote]:
    """Yield the spans and logs of a file; what cannot be read adds a problem to the file."""
    if (request := decode_request(source.data)) is not None:
        source.problems.extend(BadFile(problem.reason, problem.location) for problem in request.rejections)
        return iter(request.records)
    if documents := list(span_documents.find_documents(source.data)):
        source.problems.extend(document for document in documents if isinstance(document, BadFile))
        source.documents = [document for document in documents if isinstance(document, Record)]
    return parse_records([source], _read_record)


def _read_record(value: JSONValue, location: str) -> Iterator[WireSpan | WireLog | WireNote]:
    """Yield the spans and logs of one record. Raises `BadFile` for one that is neither, and for invalid ids."""
    if rows := phoenix.annotations(value):
        yield from (note for row in rows for note in _notes(row, location))
    elif items := value if isinstance(value, list) else span_documents.exported_records(value):
        for index, item in enumerate(items):
            yield from _read_record(item, f"{location}/{index}")
    elif span_documents.is_span_document(value):
        for record in span_documents.read_records(value, location):
            if isinstance(record, WireSpan):
                # Raises `BadFile` for a span that cannot become a step.
                build_span_step(record, [], frozenset(), TraceReader())
            yield record
    elif isinstance(value, dict) and span_documents.is_log_document(value):
        yield from span_documents.read_log(value, location)
    else:
        body = find_request_body(value)
        if body is None:
            raise BadFile("an OTLP request needs `resourceSpans` or `resourceLogs`", location or "/resourceSpans")
        yield from read_request(body, location)


def _notes(row: JSONObject, location: str) -> Iterator[WireNote]:
    span_id = as_text(row["span_id"]).removeprefix("0x").lower()
    for judgement in read_annotations({"annotations": [row]}, span_id):
        yield WireNote(span_id=span_id, judgement=judgement, location=location)
