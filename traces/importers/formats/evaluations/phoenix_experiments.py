"""Experiments of Phoenix: one answer per example and repetition, with annotations; its calls are in the trace.

{"example_id", "repetition_number", "input", "reference_output", "output", "trace_id", "annotations": [{…}]}

A table as CSV has a column per field of an annotation (`annotation_correct_score`). Pages of runs lack the input.
"""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_usage, parse_number
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span, parse_time
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records

FORMAT: Final = "phoenix-experiment"
_HOLDERS: Final = ("data",)
_DOWNLOAD: Final = frozenset({"example_id", "repetition_number", "start_time", "end_time"})
_PAGE: Final = frozenset({"dataset_example_id", "repetition_number", "experiment_id"})
_REFUSAL: Final = "a run of an experiment needs the id of its example and `repetition_number`"
_ANNOTATION: Final = re.compile(
    r"annotation_(.+)_(label|score|explanation|metadata|annotator_kind|trace_id|error|start_time|end_time)"
)
_COUNTS: Final = {"prompt_token_count": "prompt_tokens", "completion_token_count": "completion_tokens"}
_IDENTITY: Final = ("example_id", "repetition_number", "start_time", "end_time", "trace_id")
_NUMBERS: Final = ("repetition_number", "latency_ms")
_STEP_FIELDS: Final = ("input", "output", "error", "annotations", "start_time", "end_time", *_COUNTS)


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is a run of an experiment, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_run(body) or (has_list(body, "data") and _is_run(as_object(first_item(body["data"]))))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per example and repetition."""
    yield from parse_records([source], _read)


def _is_run(body: JSONObject) -> bool:
    return body.keys() >= _DOWNLOAD or body.keys() >= _PAGE


def _read(value: JSONValue, location: str) -> Iterator[RecordedRun]:
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_run, refusal=_REFUSAL):
        yield _run(row, place)


def _run(row: JSONObject, location: str) -> RecordedRun:
    error = as_text(row.get("error"))
    usage: JSONObject = {name: _count(row.get(column)) for column, name in _COUNTS.items()}
    step = build_step(
        SpanFacts(
            key="answer",
            name="experiment",
            type=StepType.AGENT,
            times=parse_span(row.get("start_time"), row.get("end_time"), location),
            failed=bool(error),
            error=error,
            input=parse_embedded(row.get("input")),
            output=parse_embedded(row.get("output")),
            usage=normalize_usage(usage, location),
        )
    )
    # The annotations of a stored experiment may grow.
    identity = content_id([as_text(row.get(name)) for name in _IDENTITY], location)
    columns = {name: item for name, item in row.items() if name not in _STEP_FIELDS and not _ANNOTATION.fullmatch(name)}
    return build_run(
        RunFacts(
            external_id=as_text(row.get("id")) or f"{FORMAT}-{identity}",
            app=FORMAT,
            format=FORMAT,
            failed=bool(error),
            metadata={
                name: parse_number(item) if name in _NUMBERS else parse_embedded(item) for name, item in columns.items()
            },
            judgements=[_judgement(annotation, location) for annotation in _annotations(row)],
        ),
        [step],
        location=location,
    )


def _count(value: JSONValue) -> JSONValue:
    """Return a number of tokens, which in a table as CSV may have a fraction."""
    number = parse_number(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _annotations(row: JSONObject) -> list[JSONObject]:
    """Return the annotations of a run, from their list or from the columns of a table."""
    groups: dict[str, JSONObject] = {}
    for column, value in row.items():
        if (match := _ANNOTATION.fullmatch(column)) and value not in (None, ""):
            groups.setdefault(match[1], {"name": match[1]})[match[2]] = value
    return [*as_objects(row.get("annotations")), *groups.values()]


def _judgement(annotation: JSONObject, location: str) -> RecordedJudgement:
    score, label = parse_number(annotation.get("score")), as_text(annotation.get("label"))
    words = [as_text(annotation.get(name)) for name in ("explanation", "error")]
    has_score = score is not None and score != ""
    return judgement(
        as_text(annotation.get("name")) or "annotation",
        score if has_score else label or None,
        text=": ".join(text for text in (label if has_score else "", *words) if text),
        author=as_text(annotation.get("annotator_kind")),
        at=parse_time(first_member(annotation, "end_time", "start_time"), location),
        detail={
            name: parse_embedded(item)
            for name, item in omit(annotation, "name", "score", "label", "explanation", "annotator_kind").items()
        },
    )
