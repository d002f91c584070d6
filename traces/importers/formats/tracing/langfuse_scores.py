"""Langfuse scores as judgements of a run, or of the step of an observation."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from traces.core.json_access import as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.importers.common.judgements import judgement
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile

# A field of our own: the score was deleted.
IS_DELETED: Final = "isDeleted"
# Fields that are columns of a judgement, name its subject, or repeat what exports of traces state elsewhere.
_COLUMN_FIELDS: Final = frozenset(
    {"id", "name", "value", "stringValue", "comment", "timestamp", "observationId", "traceId", "trace", IS_DELETED}
    | {"createdAt", "updatedAt", "projectId", "authorUserId", "environment", "dataType", "source"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """The scores of a trace as judgements, and those that were replaced or deleted."""

    judgements: tuple[RecordedJudgement, ...]
    retractions: tuple[RecordedJudgement, ...]


def read_scores(scores: Iterable[JSONValue]) -> Scores:
    """Convert scores to judgements. Of scores with the same id, the last one is used."""
    latest: dict[str, JSONObject] = {}
    earlier_scores: list[JSONObject] = []
    for index, score in enumerate(map(as_object, scores)):
        key = as_text(score.get("id")) or f"#{index}"
        if key in latest:
            earlier_scores.append(latest.pop(key))
        if not score.get(IS_DELETED):
            latest[key] = score
    judgements = tuple(_judgement(score) for score in latest.values())
    earlier = (_judgement(score) for score in earlier_scores)
    return Scores(judgements=judgements, retractions=tuple(item for item in earlier if item not in judgements))


def _judgement(score: JSONObject) -> RecordedJudgement:
    return judgement(
        as_text(score.get("name")) or "score",
        _value(score),
        text=as_text(score.get("comment")),
        author=as_text(first_member(score, "authorUserId", "source")),
        at=_time(score),
        step=as_text(score.get("observationId")) or None,
        detail=_detail(score),
    )


def check(score: JSONObject) -> None:
    """Raise `BadFile` for a score without a name or a value, which Langfuse requires."""
    if not as_text(score.get("name")):
        raise BadFile("a score needs a name", "/body/name")
    if first_member(score, "value", "stringValue") in (None, ""):
        raise BadFile("a score needs a value", "/body/value")


def _detail(score: JSONObject) -> JSONObject:
    """Return what a score states beside its judgement, without the defaults of Langfuse."""
    kind, environment = as_text(score.get("dataType")), as_text(score.get("environment"))
    # Of a category, the number that its configuration gives it.
    number = score.get("value") if score.get("stringValue") and kind == "CATEGORICAL" else None
    return {
        **{name: value for name, value in score.items() if name not in _COLUMN_FIELDS},
        "dataType": kind if kind != "NUMERIC" else None,
        "value": number,
        "source": score.get("source") if score.get("authorUserId") else None,
        "environment": environment if environment != "default" else None,
    }


def _value(score: JSONObject) -> JSONValue:
    """Return the typed value: Langfuse stores booleans as numbers, and its tables store numbers as text."""
    value, kind = score.get("value"), as_text(score.get("dataType"))
    if kind == "BOOLEAN":
        return value in (1, True, "1", "true", "True")
    if kind == "CATEGORICAL":
        return first_member(score, "stringValue") or value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return first_member(score, "stringValue") if value is None else value


def _time(score: JSONObject) -> datetime | None:
    try:
        return parse_time(first_member(score, "timestamp", "createdAt"), "/timestamp")
    # An unreadable time does not invalidate the score.
    except BadFile:
        return None
