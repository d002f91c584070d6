"""Re-render prompt templates in the recorded notation. Pure."""

import re
from typing import Final

from traces.core.json_types import JSONObject, JSONValue

# How templates mark a variable: the first that explains the recorded text is used.
_MARKS: Final = (
    re.compile(r"\{\{\s*(\w+)\s*\}\}"),
    re.compile(r"\{(\w+)\}"),
    re.compile(r"\$\{(\w+)\}"),
)


def render(recorded: JSONValue, output: JSONValue, current: JSONValue) -> JSONValue:
    """Output of a prompt step with a changed template or variables; None if it cannot be derived.

    `recorded` and `current` are the step's inputs, `output` what the recording made of the first.
    """
    if not isinstance(recorded, dict) or not isinstance(current, dict):
        return None
    template = current.get("template")
    if not isinstance(template, str):
        return None
    mark = _mark(recorded, output)
    if mark is None:
        return None
    return _like(output, _filled(template, current.get("variables"), mark))


def _mark(recorded: JSONObject, output: JSONValue) -> re.Pattern[str] | None:
    """Notation that renders the recorded template as the recorded text."""
    template, text = recorded.get("template"), _text(output)
    if not isinstance(template, str) or text is None:
        return None
    for mark in _MARKS:
        if _filled(template, recorded.get("variables"), mark) == text:
            return mark
    return None


def _filled(template: str, variables: JSONValue, mark: re.Pattern[str]) -> str:
    """Unknown variables remain unchanged."""
    known = variables if isinstance(variables, dict) else {}
    return mark.sub(lambda found: str(known.get(found.group(1), found.group())), template)


def _text(output: JSONValue) -> str | None:
    if isinstance(output, dict):
        output = output.get("text")
    return output if isinstance(output, str) else None


def _like(output: JSONValue, text: str) -> JSONValue:
    return {**output, "text": text} if isinstance(output, dict) else text
