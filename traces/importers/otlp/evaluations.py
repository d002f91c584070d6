"""Judgements of spans: annotations in exports of Phoenix, and evaluation events of OpenTelemetry."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedJudgement
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import parse_number
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import parse_embedded
from traces.importers.otlp.wire import SpanEvent

# Of Phoenix and Arize AX.
_COLUMN: Final = re.compile(r"(?:annotations?|eval)\.(.+)\.(label|score|explanation|updated_by|updated_at)")
_EVENT: Final = "gen_ai.evaluation.result"
_PREFIX: Final = "gen_ai.evaluation."


def read_annotations(span: JSONObject, step: str) -> Iterator[RecordedJudgement]:
    """Yield the annotations of a span: a list of them, or columns of a table."""
    for annotation in as_objects(parse_embedded(span.get("annotations"))):
        fields = {**annotation, **as_object(annotation.get("result"))}
        yield _judgement(fields, step, as_text(annotation.get("annotator_kind")))
    columns: dict[str, JSONObject] = {}
    for key, value in span.items():
        if (match := _COLUMN.fullmatch(key)) and value is not None:
            # In a table as CSV, a number is a text.
            value = parse_number(value) if match[2] == "score" else value
            columns.setdefault(match[1], {"name": match[1]})[match[2]] = value
    for fields in columns.values():
        yield _judgement({**fields, "time": fields.get("updated_at")}, step, as_text(fields.get("updated_by")))


def read_evaluations(events: Iterable[SpanEvent], step: str) -> Iterator[RecordedJudgement]:
    """Yield the results of evaluations among the events of a span."""
    for event in events:
        if event.name == _EVENT or event.body.get("event.name") == _EVENT:
            fields = {key.removeprefix(_PREFIX): value for key, value in event.body.items() if key.startswith(_PREFIX)}
            scores = {
                "score": parse_number(fields.get("score.value")),
                "label": fields.get("score.label"),
                "time": event.time,
            }
            yield _judgement({**fields, **scores}, step, "")


def _judgement(fields: JSONObject, step: str, author: str) -> RecordedJudgement:
    """Return a score with its label as a text, or the label alone."""
    label, explanation = as_text(fields.get("label")), as_text(fields.get("explanation"))
    score = parse_embedded(fields.get("score"))
    texts = [label, explanation] if score is not None else [explanation]
    return judgement(
        as_text(fields.get("name")) or "annotation",
        label if score is None else score,
        text=": ".join(text for text in texts if text),
        author=author,
        at=parse_time(first_member(fields, "created_at", "time"), "annotation"),
        step=step,
        detail={"metadata": as_object(fields.get("metadata")), "identifier": fields.get("identifier")},
    )
