"""Runs of the Vercel AI SDK's developer tools (`.devtools/generations.json`), with texts of JSON in their steps.

{"runs": [{"id", "started_at", "parent_run_id", …}], "steps": [{"id", "run_id", "input", "output", "usage", …}]}
"""

from collections.abc import Iterator
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, is_number, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.importers.common.times import add_milliseconds, parse_time
from traces.importers.files.json_reader import parse_embedded

_STEP: Final = frozenset({"id", "run_id", "step_number", "model_id", "started_at", "input"})
_MAPPED_FIELDS: Final = (
    "id",
    "run_id",
    "model_id",
    "provider",
    "started_at",
    "duration_ms",
    "input",
    "output",
    "usage",
)
# Of streams, by the type of their parts.
_PARTS: Final = {"reasoningParts": "reasoning", "textParts": "text", "toolCalls": "tool-call"}


def is_trace(body: JSONObject) -> bool:
    return has_list(body, "runs") and as_object(first_item(body.get("steps"))).keys() >= _STEP


def documents(database: JSONObject) -> Iterator[JSONObject]:
    """Yield the runs as spans, and the model calls inside them."""
    runs = {as_text(run.get("id")): run for run in as_objects(database["runs"])}
    roots = _roots(runs)
    for key, run in runs.items():
        yield {
            "context": {"trace_id": roots[key], "span_id": key},
            "parent_id": first_member(run, "parent_step_id", "parent_run_id"),
            "name": first_member(run, "function_id") or "run",
            "start_time": run.get("started_at"),
            "attributes": {"openinference.span.kind": "AGENT"},
        }
    for step in as_objects(database["steps"]):
        run_id, error = as_text(step.get("run_id")), step.get("error")
        yield {
            "context": {"trace_id": roots.get(run_id, run_id), "span_id": step["id"]},
            "parent_id": run_id,
            "name": step["model_id"],
            "start_time": step["started_at"],
            "end_time": _end(step),
            "status_code": "ERROR" if error else "",
            "status_message": _error(error),
            "attributes": _attributes(step),
        }


def _roots(runs: dict[str, JSONObject]) -> dict[str, str]:
    """Return, for each run, the one around all others that it is inside of."""
    roots: dict[str, str] = {}
    for key in runs:
        path: list[str] = []
        outer = key
        while outer in runs and outer not in roots:
            # In a circle, the run where it closes is the outermost one.
            roots[outer] = outer
            path.append(outer)
            outer = as_text(runs[outer].get("parent_run_id"))
        if path:
            roots |= dict.fromkeys(path, roots[outer] if outer in roots else path[-1])
    return roots


def _end(step: JSONObject) -> JSONValue:
    end = add_milliseconds(parse_time(step["started_at"], "/started_at"), step.get("duration_ms"))
    return end.isoformat() if end else None


def _error(error: JSONValue) -> str:
    fields = as_object(parse_embedded(error))
    return as_text(first_member(fields, "message", "name") or error)


def _attributes(step: JSONObject) -> JSONObject:
    request, output = (as_object(parse_embedded(step.get(name))) for name in ("input", "output"))
    usage = as_object(parse_embedded(step.get("usage"))) or as_object(output.get("usage"))
    reason = output.get("finishReason")
    values: JSONObject = {
        "openinference.span.kind": "LLM",
        "llm.model_name": step["model_id"],
        "llm.provider": step.get("provider"),
        "input.value": _text({"messages": request.get("prompt"), **omit(request, "prompt", "toolChoice")}),
        "ai.prompt.toolChoice": _text(request.get("toolChoice")),
        "output.value": _text(_answer(output)),
        "ai.response.finishReason": first_member(as_object(reason), "unified", "raw") or reason,
        "gen_ai.usage.input_tokens": _count(usage.get("inputTokens"), "total"),
        "gen_ai.usage.output_tokens": _count(usage.get("outputTokens"), "total"),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cachedInputTokens")
        or _count(usage.get("inputTokens"), "cacheRead"),
        **omit(step, *_MAPPED_FIELDS, "error"),
    }
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _answer(output: JSONObject) -> JSONObject | None:
    """Return the message in an output: its content, or the parts of a stream."""
    parts = as_list(output.get("content")) or [
        {"type": kind, **part} for name, kind in _PARTS.items() for part in as_objects(output.get(name))
    ]
    return {"role": "assistant", "content": parts} if parts else None


def _count(value: JSONValue, name: str) -> JSONValue:
    """Return a count, which version 6 of the SDK has in an object."""
    return value if is_number(value) and name == "total" else as_object(value).get(name)


def _text(value: JSONValue) -> str | None:
    return orjson.dumps(value).decode() if value else None
