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

# A rendered prompt may have this many characters, and the texts that it is made of twice.
_LONGEST: Final = 100_000
_REPEATS: Final = 2


def render(recorded_input: JSONValue, output: JSONValue, current: JSONValue) -> JSONValue:
    """Output of a prompt step with a changed template or variables; None if it cannot be derived.

    It cannot if it is far longer than its parts.
    `recorded_input` and `current` are the step's inputs, `output` is the recorded output.
    """
    template = member(current, "template")
    if not isinstance(template, str):
        return None
    mark = _notation(as_object(recorded_input), output)
    if mark is None:
        return None
    text = _fill(template, member(current, "variables"), mark, _longest(recorded_input, output, current))
    return None if text is None else _like(output, text)


def _longest(*values: JSONValue) -> int:
    """The most characters of a prompt: a variable may occur often, but not multiply a small template to gigabytes."""
    return _LONGEST + _REPEATS * sum(map(_size, values))


def _size(value: JSONValue) -> int:
    """The characters of the texts that a prompt is made of or was."""
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return len(value) if isinstance(value, str) else 0


def _notation(recorded_input: JSONObject, output: JSONValue) -> re.Pattern[str] | None:
    """Notation that renders the recorded template as the recorded text."""
    template, text = recorded_input.get("template"), _text(output)
    if not isinstance(template, str) or text is None:
        return None
    for mark in _NOTATIONS:
        if _fill(template, recorded_input.get("variables"), mark, len(text)) == text:
            return mark
    return None


def _fill(template: str, variables: JSONValue, mark: re.Pattern[str], longest: int) -> str | None:
    """Fill in variables; unknown ones remain unchanged. None if the result were longer than `longest`."""
    texts = {name: str(value) for name, value in as_object(variables).items()}
    pieces: list[str] = []
    size = end = 0
    for match in mark.finditer(template):
        pieces += [template[end : match.start()], texts.get(match.group(1), match.group())]
        size += len(pieces[-1]) + len(pieces[-2])
        if size > longest:
            return None
        end = match.end()
    text = "".join([*pieces, template[end:]])
    return text if len(text) <= longest else None


def _text(output: JSONValue) -> str | None:
    if isinstance(output, dict):
        output = output.get("text")
    return output if isinstance(output, str) else None


def _like(output: JSONValue, text: str) -> JSONValue:
    return {**output, "text": text} if isinstance(output, dict) else text
