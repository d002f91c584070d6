"""The places of a report that comments are about: whether a place exists, and what it shows."""

from collections.abc import Sequence
from typing import Final

from diffing.schemas.report import Attribution, Cause
from diffing.schemas.sections import SectionItem, Sections, TextDiff, TextSpan, ValueChange
from diffing.sequences.text_diff import shorten
from traces.comments.schemas import DiffPlace
from traces.core.canonical import canonical_bytes
from traces.core.json_types import JSONValue

_MAX_SIDE: Final = 140


def quote(sections: Sections, place: DiffPlace) -> str | None:
    """Return what a place shows, such as `4200 → 42`; None if the report has no such place."""
    section = getattr(sections, place.section) if place.section in Sections.model_fields else None
    items = [item for item in (section.items if section else ()) if item.kind == place.kind and _is_at(item, place)]
    return _quote_in(items[place.occurrence], place) if place.occurrence < len(items) else None


def cause_title(attribution: Attribution, place: DiffPlace) -> str | None:
    """Return the title of the cause that a place names; None if the report has no such cause."""
    primary = [attribution.primary] if attribution.primary else []
    for cause in (*primary, *attribution.supporting, *attribution.alternatives):
        if (cause.category, cause.title) == (place.kind, place.part) and _is_at(cause, place):
            return shorten(cause.title, _MAX_SIDE)
    return None


def _is_at(difference: SectionItem | Cause, place: DiffPlace) -> bool:
    steps = [step and step.sequence_no for step in (difference.base, difference.candidate)]
    return steps == [place.base, place.candidate]


def _quote_in(item: SectionItem, place: DiffPlace) -> str | None:
    if place.part.startswith("message "):
        entry = {f"message {index}": message for index, message in enumerate(item.messages)}.get(place.part)
        return None if entry is None else _line_of(entry.text, place.line, title=entry.role)
    if place.part:
        value = next((value for value in item.values if value.path == place.part), None)
        return None if value is None else _value_words(value)
    return _line_of(item.text, place.line, title=item.title)


def _line_of(text: TextDiff | None, line: int | None, *, title: str) -> str | None:
    """Return a line of a text difference; without a line, the title of the whole."""
    if line is None:
        return shorten(title, _MAX_SIDE)
    rows = text_rows(text.spans) if text else []
    return _row_words(rows[line]) if line < len(rows) else None


def text_rows(spans: Sequence[TextSpan]) -> list[list[TextSpan]]:
    """Split a text difference at the line breaks that both sides share; the browser shows the same rows."""
    rows: list[list[TextSpan]] = [[]]
    for span in spans:
        if span.op != "equal":
            rows[-1].append(span)
            continue
        first_line, *lines = span.text.split("\n")
        rows[-1].append(TextSpan(op="equal", text=first_line))
        rows.extend([TextSpan(op="equal", text=line)] for line in lines)
    return rows


def _row_words(row: Sequence[TextSpan]) -> str:
    base, candidate = ("".join(span.text for span in row if span.op != absent) for absent in ("insert", "delete"))
    return _change_words(base, candidate)


def _value_words(value: ValueChange) -> str:
    base = "" if value.op == "added" else _json_words(value.base)
    candidate = "" if value.op == "removed" else _json_words(value.candidate)
    return _change_words(base, candidate)


def _json_words(value: JSONValue) -> str:
    return value if isinstance(value, str) else canonical_bytes(value).decode()


def _change_words(base: str, candidate: str) -> str:
    """Return both sides of a change, or the only one."""
    sides = dict.fromkeys(shorten(side, _MAX_SIDE) for side in (base, candidate) if side)
    return " → ".join(sides)
