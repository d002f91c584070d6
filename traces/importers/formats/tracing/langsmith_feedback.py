"""LangSmith feedback as judgements: of the whole run if on the root run, else of a step."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.importers.common.judgements import judgement
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

ByRun = Mapping[str, list[JSONObject]]
# A field of our own: what changes in earlier feedback with the same id; null deletes it.
CHANGE: Final = "feedback_change"
# Fields that are columns of a judgement, or name its subject.
_COLUMN_FIELDS: Final = frozenset(
    {"id", "key", "score", "value", "comment", "created_at", "modified_at", "feedback_source"}
    | {"run_id", "trace_id", "session_id", "start_time"}
)
_AUTHORS: Final = ("user_name", "user_id", "type")


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedbackStates:
    """The feedback on runs, and its states before it was changed or deleted."""

    current: list[JSONObject]
    earlier: list[JSONObject]


def is_feedback(record: JSONObject) -> bool:
    """Return whether a record is feedback on a run, not a run."""
    is_statement = "key" in record and "run_type" not in record
    return (is_statement or CHANGE in record) and bool(record.get("run_id") or record.get("trace_id"))


def is_export(record: JSONObject) -> bool:
    """Return whether a record is feedback as the API lists it."""
    return {"run_id", "key", "score", "value"} <= record.keys() and "run_type" not in record


def apply_changes(records: Sequence[JSONObject]) -> FeedbackStates:
    """Apply later records to earlier ones with the same id: a statement replaces it, a change sets its fields."""
    latest: dict[str, JSONObject] = {}
    earlier: list[JSONObject] = []
    for index, record in enumerate(records):
        key = as_text(record.get("id")) or f"#{index}"
        previous = latest.pop(key, None)
        if previous is not None:
            earlier.append(previous)
        if CHANGE not in record:
            latest[key] = record
        elif previous is not None and record[CHANGE] is not None:
            latest[key] = {**previous, **as_object(record[CHANGE])}
    return FeedbackStates(current=list(latest.values()), earlier=earlier)


def to_judgements(records: Sequence[JSONObject], root: str) -> list[RecordedJudgement]:
    """Convert feedback to judgements: of the whole run if on the root run, else of a step."""
    return [_judgement(record, None if (run := _run_of(record)) == root else run) for record in records]


def group_by_run(feedback: Sequence[JSONObject], runs: AbstractSet[str], sources: Sequence[Source]) -> ByRun:
    """Group feedback by run; feedback on a run in none of the files becomes a problem."""
    groups: dict[str, list[JSONObject]] = defaultdict(list)
    for record in feedback:
        groups[_run_of(record)].append(record)
    for run_id in groups.keys() - runs:
        detail = f"feedback on run {run_id}, which is not in these files: import them together"
        for source in sources:
            if run_id.encode() in source.data:
                source.problems.append(BadFile(detail, "/"))
    return groups


def read_judgements(runs: Sequence[JSONObject], root: str, feedback: ByRun) -> list[RecordedJudgement]:
    """Return the feedback on the runs of a trace; averages only for keys without individual feedback."""
    judgements: list[RecordedJudgement] = []
    for run in runs:
        key = as_text(run.get("id"))
        step = None if key == root else key
        records = feedback.get(key, [])
        judgements += [_judgement(record, step) for record in records]
        judgements += _averages(
            as_object(run.get("feedback_stats")), {as_text(record.get("key")) for record in records}, step
        )
    return judgements


def _judgement(record: JSONObject, step: str | None) -> RecordedJudgement:
    value = first_member(record, "score") if record.get("score") is not None else record.get("value")
    author = first_member(as_object(record.get("feedback_source")), *_AUTHORS)
    return judgement(
        as_text(record.get("key")) or "feedback",
        value,
        text=as_text(record.get("comment")),
        author=as_text(author),
        at=_time(record),
        step=step,
        detail=_detail(record, author),
    )


def _detail(record: JSONObject, author: JSONValue) -> JSONObject:
    """Return what feedback states beside its judgement."""
    source: JSONObject = {
        name: value
        for name, value in as_object(record.get("feedback_source")).items()
        if value not in (None, "", {}) and not (name in _AUTHORS and value == author)
    }
    return {
        **{name: value for name, value in record.items() if name not in _COLUMN_FIELDS},
        "value": record.get("value") if record.get("score") is not None else None,
        "feedback_source": source,
    }


def _run_of(record: JSONObject) -> str:
    return as_text(first_member(record, "run_id", "trace_id"))


def _averages(stats: JSONObject, known_keys: AbstractSet[str], step: str | None) -> Iterator[RecordedJudgement]:
    for name, figures in stats.items():
        average = as_object(figures).get("avg")
        comments = [as_text(comment) for comment in as_list(as_object(figures).get("comments"))]
        if name not in known_keys and average is not None:
            text = "; ".join([f"average of {as_text(as_object(figures).get('n'))}", *filter(None, comments)])
            yield judgement(name, average, text=text, step=step)
        elif name not in known_keys and (counts := as_object(as_object(figures).get("values"))):
            categories = ", ".join(f"{value}: {as_text(count)}" for value, count in counts.items())
            yield judgement(name, categories, text="; ".join(filter(None, comments)), step=step)


def _time(record: JSONObject) -> datetime | None:
    try:
        return parse_time(first_member(record, "created_at", "modified_at"), "/created_at")
    # An unreadable time does not invalidate the feedback.
    except BadFile:
        return None
