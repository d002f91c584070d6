"""Re-render prompt templates in the recorded notation. Pure."""

import re
from typing import Final

from traces.core.json_access import as_object, member
from traces.core.json_types import JSONObject, JSONValue

# Notations of template variables; the first that explains the recorded text applies.
_NOTATIONS: Final = (
    re.compile(r"\{\{\s*(\w+)\s*\}\}"),
    re.compile(r"\{(\w+)\}"),
    re.compile(r"\$\{(\w+)\}"),
)


def render(recorded_input: JSONValue, output: JSONValue, current: JSONValue) -> JSONValue:
    """Output of a prompt step with a changed template or variables; None if it cannot be derived.

    `recorded_input` and `current` are the step's inputs, `output` is the recorded output.
    """
    template = member(current, "template")
    if not isinstance(template, str):
        return None
    mark = _notation(as_object(recorded_input), output)
    if mark is None:
        return None
    return _like(output, _fill(template, member(current, "variables"), mark))


def _notation(recorded_input: JSONObject, output: JSONValue) -> re.Pattern[str] | None:
    """Notation that renders the recorded template as the recorded text."""
    template, text = recorded_input.get("template"), _text(output)
    if not isinstance(template, str) or text is None:
        return None
    for mark in _NOTATIONS:
        if _fill(template, recorded_input.get("variables"), mark) == text:
            return mark
    return None


def _fill(template: str, variables: JSONValue, mark: re.Pattern[str]) -> str:
    """Fill in variables; unknown ones remain unchanged."""
    values = as_object(variables)
    return mark.sub(lambda match: str(values.get(match.group(1), match.group())), template)


def _text(output: JSONValue) -> str | None:
    if isinstance(output, dict):
        output = output.get("text")
    return output if isinstance(output, str) else None


def _like(output: JSONValue, text: str) -> JSONValue:
    return {**output, "text": text} if isinstance(output, dict) else text
