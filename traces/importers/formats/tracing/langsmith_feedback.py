"""Feedback of LangSmith as judgements: of a trace where it is about the root run, else of a step."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime

from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedJudgement
from traces.importers.common.judgements import judgement
from traces.importers.common.times import parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, obj, text
from traces.importers.files.source import Source

ByRun = Mapping[str, list[JSONObject]]


def is_feedback(given: JSONObject) -> bool:
    """Whether a record is feedback on a run and no run."""
    return "key" in given and "run_type" not in given and bool(given.get("run_id") or given.get("trace_id"))


def group_by_run(feedback: Sequence[JSONObject], runs: AbstractSet[str], sources: Sequence[Source]) -> ByRun:
    """Feedback by the run that it is about; that of runs in no file is reported as skipped."""
    grouped: dict[str, list[JSONObject]] = defaultdict(list)
    for given in feedback:
        grouped[text(first(given, "run_id", "trace_id"))].append(given)
    for run_id in grouped.keys() - runs:
        detail = f"feedback on run {run_id}, which is not in these files: import them together"
        for source in sources:
            if run_id.encode() in source.data:
                source.problems.append(BadFile(detail, "/"))
    return grouped


def read_judgements(runs: Sequence[JSONObject], root: str, feedback: ByRun) -> list[RecordedJudgement]:
    """The feedback on the runs of a trace; averages only of what is not given singly."""
    judged: list[RecordedJudgement] = []
    for run in runs:
        key = text(run.get("id"))
        step = None if key == root else key
        single = feedback.get(key, [])
        judged += [_judgement(given, step) for given in single]
        judged += _averages(obj(run.get("feedback_stats")), {text(given.get("key")) for given in single}, step)
    return judged


def _judgement(given: JSONObject, step: str | None) -> RecordedJudgement:
    value = first(given, "score") if given.get("score") is not None else given.get("value")
    author = first(obj(given.get("feedback_source")), "user_name", "user_id", "type")
    return judgement(
        text(given.get("key")) or "feedback",
        value,
        text=text(given.get("comment")),
        author=text(author),
        at=_time(given),
        step=step,
    )


def _averages(stats: JSONObject, known: AbstractSet[str], step: str | None) -> Iterator[RecordedJudgement]:
    for name, figures in stats.items():
        average = obj(figures).get("avg")
        if name not in known and average is not None:
            yield judgement(name, average, text=f"average of {text(obj(figures).get('n'))}", step=step)


def _time(given: JSONObject) -> datetime | None:
    try:
        return parse_time(first(given, "created_at", "modified_at"), "/created_at")
    except BadFile:  # feedback without a readable time is still feedback
        return None
