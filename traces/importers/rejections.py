"""The reason why no importer accepts a file, and how to get one that can be imported."""

import re
from collections.abc import Callable
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.detection import CLOUDFLARE
from traces.importers.files.errors import BadFile
from traces.importers.files.file_opener import decode_text, is_blank
from traces.importers.files.json_reader import kind
from traces.importers.files.sample import Sample
from traces.importers.formats.evaluations import harbor_trials
from traces.importers.formats.replay_tools import kurral
from traces.importers.otlp.stores.phoenix import is_trace_summary

NO_BUNDLE: Final = "this is no bundle of Forkpoint"
_FROM_PARQUET: Final = "pandas.read_parquet(…).to_json(…, orient='records', lines=True)"
_WRITE_AHEAD_LOG: Final = (
    "the write-ahead log of an SQLite database: end its program, or run `PRAGMA wal_checkpoint(TRUNCATE)`, and import "
    "the database"
)
_FOREIGN: Final = (
    (b"\xfd7zXZ\0", "the file is compressed by xz: unpack it, or use gzip or zstd"),
    (b"BZh", "the file is compressed by bzip2: unpack it, or use gzip or zstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it, or use zip or tar"),
    (b"Rar!", "a RAR archive: unpack it, or use zip or tar"),
    (b"PAR1", f"a Parquet file: write its rows as JSON Lines, as {_FROM_PARQUET} does"),
    (b"%PDF", "a PDF document, not a recording"),
    (b"\x37\x7f\x06\x82", _WRITE_AHEAD_LOG),
    (b"\x37\x7f\x06\x83", _WRITE_AHEAD_LOG),
    (b"PK", "an empty or damaged zip file"),
)
_HEADERS: Final = frozenset({"content-type", "user-agent", "host", "accept", "authorization", "content-length"})
# Only the first header counts: the time to try each of them grows with the square of their number.
_YAML: Final = (
    (
        re.compile(r"(?>.*?^tools:[^\S\n]*$).*^done:", re.M | re.S),
        "this is Kurral's side-effect review of tools, not a recording",
    ),
    (
        re.compile(r"(?>.*?^(?:proxy|servers):[^\S\n]*$).*^(?:capture|replay|servers|mode):", re.M | re.S),
        "this is the configuration of Kurral's MCP proxy, not a recording",
    ),
    (
        re.compile(r"evalId:.*\n(?:results|config):", re.M),
        "this is promptfoo's output as YAML: write it as JSON (`--output results.json`)",
    ),
)
# What a program showed in its window: of the calls, the beginnings of their results.
_SCREENS: Final = (
    (
        re.compile(r"(?:[^\n]{0,200}\n){0,4}[^\n]{0,200}Claude Code v\d"),
        "this is what Claude Code showed (`/export`): import the file of its session (`~/.claude/projects/*/*.jsonl`)",
    ),
)
# Spans as exporters to a console print them, by the library.
_CONSOLES: Final = (
    (re.compile(r"\bLoggingSpanExporter - '"), "OpenTelemetry for Java"),
    (re.compile(r"#<struct OpenTelemetry::SDK::Trace::SpanData"), "OpenTelemetry for Ruby"),
    (re.compile(r"^[ \t]+Trace ID[ \t]+: [0-9a-f]{32}", re.M), "the collector's debug exporter"),
)
_EVENTS: Final = re.compile(r"\s*(?:event|data|id|retry): ?")
_OTHER_EVENTS: Final = (
    "these are server-sent events, but none of a model's answer: streams of OpenAI, Anthropic, Gemini, the Vercel "
    "AI SDK and LangGraph's platform are read"
)
_NO_BODIES: Final = (
    "these are logs of Cloudflare's AI Gateway without bodies: get those of each log (`/logs/{id}/request` and "
    "`/response`), and import objects with both as `request` and `response`"
)
_NO_ATTRIBUTES: Final = (
    "these are documents of Elastic APM, whose labels have neither the names nor the whole texts of attributes: export "
    "spans of a data stream of OpenTelemetry (`traces-*.otel-*`), or send them by OTLP"
)
_NO_CONTENTS: Final = (
    "these are traces of Phoenix, whose spans have no attributes: export the spans of the project "
    "(`/v1/projects/{name}/spans`)"
)
_SQL: Final = re.compile(r"\s*(?:--[^\n]*\n\s*)*(?:CREATE|INSERT|PRAGMA|BEGIN)\s", re.I)


def explain_rejection(sample: Sample) -> BadFile:
    """Describe a file that no importer accepts, for the error message."""
    if is_blank(sample.head):
        return BadFile("the file is empty", "byte 0")
    if sample.values:
        return BadFile(_describe(sample.values[0]), "line 1" if sample.is_lines or sample.source.is_table else "/")
    return _not_json(sample)


def _not_json(sample: Sample) -> BadFile:
    if kind := next((kind for magic, kind in _FOREIGN if sample.head.startswith(magic)), None):
        return BadFile(kind, "byte 0")
    if b"\0" in sample.head[:1000] and sample.head[:2] not in {b"\xff\xfe", b"\xfe\xff"} and sample.head[1:2] != b"\0":
        return BadFile("the file is binary data in an unknown format", "byte 0")
    try:
        content = decode_text(sample.head[:100_000])
    except BadFile as problem:
        return problem
    if reason := _describe_text(content):
        return BadFile(reason, "line 1")
    if content.lstrip()[:1] in {"{", "["}:
        try:
            return BadFile(_describe(sample.source.value), "/")
        except BadFile as problem:
            return problem
    return BadFile(f"not a recording in a known format: it begins with “{' '.join(content.split())[:40]}”", "line 1")


def _describe_text(content: str) -> str:
    """Return what a text is that is known to be no recording; empty for any other."""
    if reason := next((reason for pattern, reason in (*_YAML, *_SCREENS) if pattern.match(content)), ""):
        return reason
    if printer := next((name for pattern, name in _CONSOLES if pattern.search(content)), ""):
        advice = "send spans by OTLP, or write them by an exporter of JSON"
        return f"these are spans as {printer} prints them, which is no JSON: {advice}"
    if _EVENTS.match(content):
        return _OTHER_EVENTS
    return "these are SQL statements: import the database file itself" if _SQL.match(content) else ""


def _describe(value: JSONValue) -> str:
    body = as_object(value)
    checks: tuple[tuple[Callable[[JSONObject], bool], str], ...] = (
        (_is_schema, "this is a JSON Schema, not a recording"),
        (is_trace_summary, _NO_CONTENTS),
        (_is_headers, "these are the headers of an HTTP request: import the file with its body"),
        (_is_apm, _NO_ATTRIBUTES),
        (_is_weave_table, "this is a table of Weave with a column per value: export the calls as JSON Lines"),
        (_is_tempo_search, "these are results of a search in Tempo: export the traces by their ids (`/api/traces/…`)"),
        (_is_gateway_log, _NO_BODIES),
        (_is_response, "these are HTTP responses, not a recording"),
        (_is_trial_result, harbor_trials.NO_TRAJECTORIES),
        (_is_encrypted, "this file of the Holistic Agent Leaderboard is encrypted: decrypt it with hal-decrypt"),
        (_is_leaderboard, "these are results without calls of models: `raw_logging_results` has none"),
        (_is_cast, "this is what a terminal showed (asciinema), without messages: import the log of the agent"),
        (_is_prompt_history, "this is a history of prompts without answers: import the files of the sessions"),
        (_is_summary, "this is the last answer of Gemini CLI only: import its output as stream-json, or its chat"),
        (_is_prediction, "these are predictions of SWE-bench, patches without steps: import the trajectories"),
        (_is_report, "this is a report of SWE-bench, verdicts without steps: import the trajectories"),
        (_is_submission, "these are answers to GAIA without steps: import the traces of the agent"),
        (_is_context, "this is the context of a LlamaIndex workflow, without messages: import its memory (`to_dict`)"),
    )
    for test, reason in checks:
        if body and test(body):
            return reason
    if _is_example(as_object(first_item(value))):
        return "these are examples of a data set, not a recording: export the runs of an experiment"
    if reason := kurral.explain_rejection(value):
        return reason
    if isinstance(value, dict):
        return f"no known format has an object with the keys {', '.join(sorted(body)[:8]) or '(none)'}"
    if first := as_object(first_item(value)):
        return f"no known format has a list of objects with the keys {', '.join(sorted(first)[:8])}"
    inner = f" of {kind(value[0]).split(' ')[-1]}s" if isinstance(value, list) and value else ""
    return f"{kind(value)}{inner} of this form is not a known format"


def _is_context(body: JSONObject) -> bool:
    """Return whether an object is the stored state of a LlamaIndex workflow, of any version."""
    return "is_running" in body and not body.keys().isdisjoint({"broker_log", "work_item_seq"})


def _is_example(body: JSONObject) -> bool:
    """Return whether an object is an example of a LangSmith data set, or a page of Phoenix's examples."""
    return {"dataset_id", "inputs", "outputs"} <= body.keys() or has_list(body.get("data"), "examples")


def _is_schema(body: JSONObject) -> bool:
    is_type = as_text(body.get("type")) in {"object", "array"} and "items" in body
    return is_type or "$schema" in body or "$defs" in body


def _is_headers(body: JSONObject) -> bool:
    """Return whether an object contains headers of a request but no body."""
    groups = [body, *(as_object(value) for value in body.values())]
    has_headers = any(len(_HEADERS & {key.lower() for key in group}) > 1 for group in groups)
    return has_headers and "json" not in body and "body" not in body


def _is_weave_table(body: JSONObject) -> bool:
    return {"op_name", "trace_id"} <= body.keys() and any(name.startswith("inputs.") for name in body)


def _is_tempo_search(body: JSONObject) -> bool:
    return {"traceID", "rootTraceName"} <= as_object(first_item(as_list(body.get("traces")))).keys()


def _is_gateway_log(body: JSONObject) -> bool:
    """Return whether an object is a log of Cloudflare's AI Gateway, or a page of these."""
    log = as_object(first_item(body["result"])) if body.keys() >= CLOUDFLARE else body
    return {"provider", "tokens_in", "request_content_type"} <= log.keys()


def _is_apm(body: JSONObject) -> bool:
    """Return whether an object is a span or transaction of Elastic APM, or a page of hits."""
    hits = as_list(as_object(body.get("hits")).get("hits"))
    first = as_object(first_item([*hits])) if hits else body
    document = as_object(first.get("_source")) or first
    return as_text(as_object(document.get("processor")).get("name")) == "transaction" and has_object(document, "trace")


def _is_response(body: JSONObject) -> bool:
    groups = [body, *(as_object(value) for value in body.values())]
    return any(isinstance(group.get("status", group.get("response_status")), int) for group in groups)


def _is_trial_result(body: JSONObject) -> bool:
    """Return whether an object is what Harbor or Terminal-Bench write about a trial, or about many."""
    trials = [body, *(as_object(item) for item in as_list(body.get("results"))[:1])]
    return any("trial_name" in trial and not trial.keys().isdisjoint({"task_name", "task_id"}) for trial in trials)


def _is_encrypted(body: JSONObject) -> bool:
    return body.keys() == {"encrypted_data", "salt"}


def _is_leaderboard(body: JSONObject) -> bool:
    return {"raw_logging_results", "results"} <= body.keys()


def _is_cast(body: JSONObject) -> bool:
    return {"version", "width", "height"} <= body.keys()


def _is_prompt_history(body: JSONObject) -> bool:
    """Return whether an object is a line of the history that Codex or Claude Code keep for their input."""
    return body.keys() == {"session_id", "ts", "text"} or {"display", "pastedContents"} <= body.keys()


def _is_summary(body: JSONObject) -> bool:
    return body.keys() >= {"response", "stats"} and "models" in as_object(body["stats"])


def _is_prediction(body: JSONObject) -> bool:
    return {"instance_id", "model_patch"} <= body.keys()


def _is_report(body: JSONObject) -> bool:
    """Return whether an object is the report of an evaluation, or of its instances by their ids."""
    first = as_object(next(iter(body.values()), None))
    return {"resolved_ids", "submitted_instances"} <= body.keys() or {"patch_exists", "resolved"} <= first.keys()


def _is_submission(body: JSONObject) -> bool:
    return {"task_id", "model_answer"} <= body.keys()
