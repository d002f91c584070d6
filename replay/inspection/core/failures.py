"""Failed steps, and successful steps whose results report an error. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import orjson

from replay.inspection.core.places import CALLS, CONTAINERS, FAILED, Place, PlaceKind, StepContent, quote
from traces.core.canonical import escape_pointer
from traces.core.json_access import as_text, is_integer
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepStatus

_MAX_CAUSES: Final = 4  # producers listed for an error
_MAX_DEPTH: Final = 3  # levels of a result
_TEXT: Final = re.compile(
    r"\s*(?:\[?(?:fatal |internal |tool |api |runtime |http )?(?:error|exception|failure)\b\]?|traceback \(most recent"
    r"|failed to\b|exit ?code:? *-?[1-9]|[a-z_.]*(?:error|exception): |http (?:status )?[45]\d\d\b"
    r"|[45]\d\d (?:client|server) error)",
    re.IGNORECASE,
)
_FIELDS: Final = frozenset(
    {"error", "errors", "error_message", "errormessage", "exception", "traceback", "stderr_error"}
)
_FLAGS: Final = frozenset({"iserror", "is_error", "has_error", "failed"})
_SUCCESSES: Final = frozenset({"success", "ok", "succeeded"})
_STATES: Final = frozenset({"status", "state", "result", "outcome"})
_BAD: Final = frozenset(
    {"error", "failed", "failure", "exception", "errored", "refused", "denied", "forbidden", "unauthorized"}
)
# Beside a state or a flag, they say why.
_REASONS: Final = ("reason", "message", "detail", "description")
_CODES: Final = frozenset({"status_code", "statuscode", "http_status", "exit_code", "returncode", "return_code"})


def failed_steps(steps: Sequence[StepContent]) -> Iterator[Place]:
    """Steps with an error, with the steps that their input came from; containers fail with what they contain."""
    for step in steps:
        if step.status in FAILED and step.type not in CONTAINERS:
            yield Place(
                kind=PlaceKind.FAILED_STEP,
                step=step.no,
                title=f"{step.name} {_ending(step.status)}",
                text=quote(step.error or _text(step.output)),
                related=step.producers[-_MAX_CAUSES:],
            )


def hidden_errors(steps: Sequence[StepContent]) -> Iterator[Place]:
    """Results of successful tool calls and searches that report an error."""
    for step in steps:
        if step.type in CALLS and step.status not in FAILED and (error := reported_error(step.output)):
            path, text = error
            yield Place(
                kind=PlaceKind.HIDDEN_ERROR,
                step=step.no,
                title=f"{step.name} returned an error or a refusal",
                text=quote(text),
                path=path,
                related=step.producers[-_MAX_CAUSES:],
            )


def reported_error(value: JSONValue, path: str = "", depth: int = 0) -> tuple[str, str] | None:
    """Path and text of an error that a result reports; None if it reports none."""
    if isinstance(value, str):
        document = _parse_json(value)
        if document is not None:
            error = reported_error(document, path, depth)
            return (path, error[1]) if error else None
        return (path, value) if _TEXT.match(value) else None
    if depth >= _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return _object_error(value, path, depth)
    if isinstance(value, list) and len(value) == 1:
        return reported_error(value[0], f"{path}/0", depth + 1)
    return None


def _object_error(value: Mapping[str, JSONValue], path: str, depth: int) -> tuple[str, str] | None:
    for name, item in value.items():
        if _is_error(name.lower(), item):
            return f"{path}/{escape_pointer(name)}", f"{name}: {_text(item)}{_reason(value, name)}"
    for name in ("text", "content", "result", "output", "message"):
        if name in value and (error := reported_error(value[name], f"{path}/{name}", depth + 1)):
            return error
    return None


def _reason(value: Mapping[str, JSONValue], error_name: str) -> str:
    reasons = (as_text(value.get(name)) for name in _REASONS if name != error_name)
    return next((f" ({reason})" for reason in reasons if reason), "")


def _is_error(name: str, item: JSONValue) -> bool:
    if name in _FIELDS:
        return bool(item) and item not in ("none", "None", "null")
    if name in _FLAGS:
        return item is True
    if name in _SUCCESSES:
        return item is False
    if name in _STATES:
        return isinstance(item, str) and item.lower() in _BAD
    if name in _CODES:
        is_http = "status" in name
        return is_integer(item) and (item >= 400 if is_http else item != 0)
    return False


def _parse_json(text: str) -> JSONValue:
    """Parse an object or a list that is written as text."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value: JSONValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value


def _ending(status: StepStatus) -> str:
    return {StepStatus.TIMEOUT: "timed out", StepStatus.DENIED: "was denied"}.get(status, "failed")


def _text(value: JSONValue) -> str:
    return value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
