"""Substitute changed values inside texts that code composed. Pure.

Example: a model answered ``billing`` and now answers ``tech support``; code wrote ``You work for BILLING.``, which
becomes ``You work for TECH SUPPORT.``: the new value gets the formatting of the old one. If the new text is unknown,
the result is None.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from replay.inputs.changes import Change
from replay.inputs.texts import texts_in
from replay.inputs.value_pointers import resolve_pointer
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ANSWER, ModelAnswer
from traces.provenance.short_values import (
    Span,
    Value,
    ValueIndex,
    ValueKind,
    answer_values,
    output_values,
    tokens_of,
    words_of,
)
from traces.provenance.text_index import SHINGLE

_CASES: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: text,
    str.upper,
    str.lower,
    str.title,
    str.capitalize,
)
_SEPARATORS: Final = ("", " ", "-", "_")
_SEPARATOR: Final = re.compile(r"[\s_-]+")


def substitute(text: str, change: Change) -> str | None:
    """Replace a changed output's values in a text; None if a replacement is unknown."""
    if not change.is_known:
        return None
    index = ValueIndex()
    index.add(change.node.no, _values(change.node.type, change.original))
    spans = index.find(text)
    pieces: list[str] = []
    at = 0
    for span in spans:
        new = _replacement(text[span.start : span.end], span, change)
        if new is None:
            return None
        pieces += [text[at : span.start], new]
        at = span.end
    result = "".join([*pieces, text[at:]])
    quoted_runs = _quoted_runs(text, result, change.original)
    if quoted_runs is None or not (spans or quoted_runs):
        return None
    return result if quoted_runs <= _runs_in(change.current) else None


def _quoted_runs(text: str, result: str, original: JSONValue) -> set[tuple[str, ...]] | None:
    """What becomes of the phrases that a text shares with an output; None if that is unknown."""
    runs, old_runs = list(_runs(text)), _runs_in(original)
    quotations = [index for index, run in enumerate(runs) if run in old_runs]
    new_runs = list(_runs(result))
    if quotations and len(new_runs) != len(runs):
        return None
    return {new_runs[index] for index in quotations}


def _runs_in(output: JSONValue) -> set[tuple[str, ...]]:
    return {run for text in texts_in(output) for run in _runs(text)}


def _values(type: StepType, output: JSONValue) -> Iterator[Value]:
    return answer_values(ModelAnswer(output).message, ANSWER) if type is StepType.MODEL else output_values(output)


def _replacement(old_text: str, span: Span, change: Change) -> str | None:
    """New value of a span; all of its sources are places of one output."""
    source = span.sources[0]
    try:
        value = resolve_pointer(change.current, source.path)
    except LookupError:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    new = value.strip() if isinstance(value, str) else str(value)
    if source.kind is ValueKind.TOKEN:
        before = str(resolve_pointer(change.original, source.path))
        return _format_like(old_text, source.text, _same_token(source.text, before, new))
    if not span.key:
        # The old value was cut at this length.
        return new[: len(old_text)]
    return _format_like(old_text, source.text, new)


def _format_like(old_text: str, old: str, new: str | None) -> str | None:
    """Apply the old value's formatting (case, separators) to the new one."""
    if new is None or old == new:
        return None if new is None else old_text
    for case in _CASES:
        for separator in _SEPARATORS:
            if _with_separator(case(old), separator) == old_text:
                return _with_separator(case(new), separator)
    return None


def _with_separator(text: str, separator: str) -> str:
    return _SEPARATOR.sub(separator, text) if separator else text


def _same_token(token: str, before: str, after: str) -> str | None:
    """Token of the new text that replaces an old one: the only token of the same shape."""
    now = tokens_of(after)
    if token in now:
        return token
    old = [candidate for candidate in tokens_of(before) if candidate not in now and _shape(candidate) == _shape(token)]
    new = [candidate for candidate in now if candidate not in tokens_of(before) and _shape(candidate) == _shape(token)]
    return new[0] if len(old) == len(new) == 1 else None


def _shape(token: str) -> str:
    """Letters and digits by kind, whatever their number: ``TCK-20931`` is ``A-9``."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "A", token))


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = words_of(text)
    return zip(*(words[start:] for start in range(SHINGLE)), strict=False)
