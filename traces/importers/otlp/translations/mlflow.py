"""Spans of MLflow, which it also sends to collectors: their attributes are JSON texts."""

from typing import Final

from traces.core.json_access import as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.formats.evaluations.mlflow import include_cache

_TYPE: Final = "mlflow.spanType"
_REQUEST: Final = "mlflow.traceRequestId"
MARKS: Final = frozenset({_TYPE})
_PREFIX: Final = "mlflow."
# Names that other tracers have for these.
_NAMES: Final = {
    "mlflow.spanInputs": "input.value",
    "mlflow.spanOutputs": "output.value",
    "mlflow.llm.model": "llm.model_name",
    "mlflow.llm.provider": "llm.provider",
    "mlflow.chat.tools": "gen_ai.tool.definitions",
}
_USAGE: Final = "mlflow.chat.tokenUsage"
_COST: Final = "mlflow.llm.cost"
_MESSAGE_FORMAT: Final = "mlflow.message.format"
_COUNTS: Final = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_creation_input_tokens": "gen_ai.usage.cache_creation.input_tokens",
}
_KINDS: Final = {"CHAT_MODEL": "LLM"}
# Of these, the name of the span decides.
_NO_KINDS: Final = frozenset({"UNKNOWN", ""})


def is_span(attributes: JSONObject) -> bool:
    return _TYPE in attributes


def translate(attributes: JSONObject) -> JSONObject:
    """Return the attributes under the names of other tracers; their values are no JSON texts any more."""
    values = {name: _decode(value) if name.startswith(_PREFIX) else value for name, value in attributes.items()}
    kind = as_text(values.pop(_TYPE))
    kinds: JSONObject = {} if kind in _NO_KINDS else {"openinference.span.kind": _KINDS.get(kind, kind)}
    usage = include_cache(
        as_object(values.pop(_USAGE, None)), first_member(values, _MESSAGE_FORMAT, "mlflow.llm.provider")
    )
    cost = as_object(values.pop(_COST, None))
    values.pop(_REQUEST, None)
    costs: JSONObject = {"llm.cost.total": cost["total_cost"]} if cost.get("total_cost") else {}
    counts = {_COUNTS[name]: count for name, count in usage.items() if name in _COUNTS}
    return {**kinds, **{_NAMES.get(name, name): value for name, value in values.items()}, **counts, **costs}


def _decode(value: JSONValue) -> JSONValue:
    if not isinstance(value, str):
        return value
    try:
        return json_value(value.encode())
    except BadFile:
        return value
