"""Rewards, termination reasons and failure annotations that benchmarks store beside a transcript."""

from collections.abc import Iterator

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.core.vocabulary import JudgementKind
from traces.importers.common.judgements import judgement, termination
from traces.importers.files.json_reader import first, items, obj, text
from traces.ingest.outcome_rules import TERMINATION

_SCORES = ("reward", "score", "success", "passed", "resolved", "is_correct")


def read_judgements(body: JSONObject) -> list[RecordedJudgement]:
    """The judgements of a benchmark's record, whose steps are keyed by the number of their message."""
    result = obj(body.get("outcome")) or obj(body.get("reward_info"))
    named = {**{name: body.get(name) for name in _SCORES}, **result}
    scores = [judgement(name, value) for name, value in named.items() if _is_score(name, value)]
    parts = first(result, "breakdown", "reward_breakdown")
    scores += [judgement(f"reward.{name}", value) for name, value in obj(parts).items() if _is_score(name, value)]
    reason = text(body.get(TERMINATION) or obj(body.get("run_info")).get(TERMINATION))
    return [*scores, *([termination(reason)] if reason else []), *_annotations(obj(body.get("annotation")))]


def _is_score(name: str, value: JSONValue) -> bool:
    return name != TERMINATION and isinstance(value, bool | int | float)


def _annotations(given: JSONObject) -> Iterator[RecordedJudgement]:
    """Labelled failures: of each step the failure, of a step that is only named as the root its category."""
    base = given.get("index_base")
    shift = 1 - base if isinstance(base, int) else 0
    root = _number(given.get("root_step"))
    failures = [obj(each) for each in items(given.get("failures"))]
    for failure in failures:
        if (number := _number(failure.get("step_number"))) is not None:
            yield _annotation(number + shift, text(failure.get("failure_category")), text(failure.get("step_reason")))
    if root is not None and all(_number(failure.get("step_number")) != root for failure in failures):
        yield _annotation(root + shift, text(given.get("category")), "")


def _annotation(number: int, category: str, reason: str) -> RecordedJudgement:
    comment = ": ".join(part for part in (category, reason) if part)
    return RecordedJudgement(name="annotation", kind=JudgementKind.FAIL, text=comment, step=f"msg-{number}")


def _number(value: JSONValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
