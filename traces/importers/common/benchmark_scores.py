"""Rewards, termination reasons and failure annotations that benchmarks store beside a transcript."""

import re
from collections.abc import Iterator
from dataclasses import replace

from traces.core.json_access import as_list, as_object, as_text, first_member, is_integer, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedStep
from traces.core.vocabulary import JudgementKind, StepStatus
from traces.importers.common.judgements import judgement, termination
from traces.ingest.outcome_rules import TERMINATION

_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")
_SCORES = (
    "reward",
    "final_reward",
    "score",
    "success",
    "passed",
    "pass",
    "resolved",
    "is_correct",
    "correct",
    "utility",
    "security",
)
# Verdicts that tables write as 0 or 1. Other names, such as `passed`, may be those of counts.
_FLAGS = frozenset({"success", "resolved", "is_correct"})
# Where benchmarks write the result of a trial.
_RESULTS = ("outcome", "reward_info", "eval_result")
_VERDICT_WORDS = {
    **dict.fromkeys(("success", "succeeded", "passed", "pass", "solved", "resolved"), True),
    **dict.fromkeys(("failure", "failed", "fail", "unsolved", "unresolved"), False),
}


def read_judgements(body: JSONObject) -> list[RecordedJudgement]:
    """Return the judgements in a benchmark's record. Steps are keyed by message number."""
    result = next((result for name in _RESULTS if (result := as_object(body.get(name)))), {})
    details = as_object(body.get("meta"))
    if "injection_task_id" in body and body["injection_task_id"] is None:
        # AgentDojo writes `security` even if there is no attack.
        body = omit(body, "security")
    values = {**{name: first_member(body, name) if name in body else details.get(name) for name in _SCORES}, **result}
    values |= as_object(body.get("scores"))
    scores = [
        judgement(name, parsed_value)
        for name, value in values.items()
        if _is_score(name, parsed_value := _parse_score(name, value))
    ]
    verdict = _VERDICT_WORDS.get(as_text(body.get("outcome")).lower())
    if verdict is not None and values["success"] is None:
        scores.append(judgement("success", verdict))
    parts = first_member(result, "breakdown", "reward_breakdown")
    scores += [judgement(f"reward.{name}", value) for name, value in as_object(parts).items() if _is_score(name, value)]
    reason = as_text(_termination(body))
    return [*scores, *([termination(reason)] if reason else []), *_annotations(as_object(body.get("annotation")))]


def termination_reason(body: JSONObject) -> str:
    """Return why a benchmark ended a trial; empty if its record has no reason."""
    return as_text(first_member(body, "error") or _termination(body))


def _termination(body: JSONObject) -> JSONValue:
    reason = first_member(body, TERMINATION, "exit_status") or as_object(body.get("run_info")).get(TERMINATION)
    return as_object(body.get("meta")).get("finish_reason") if not reason and "eval_result" in body else reason


def fail_without_turns(steps: list[RecordedStep], reason: str) -> list[RecordedStep]:
    """Fail the agent of a trial that ended before its first turn; other trials stay unchanged."""
    if len(steps) > 1 or steps[0].error:
        return steps
    moment = "its first turn" if "unread_messages" in steps[0].attributes else "any message"
    error = f"the trial ended before {moment}{': ' if reason else ''}{reason}"
    return [replace(steps[0], status=StepStatus.ERROR, error=error)]


def _parse_value(value: JSONValue) -> JSONValue:
    """Return the number or boolean that a text states, as tables write them."""
    if not isinstance(value, str):
        return value
    if (text := value.strip().lower()) in {"true", "false"}:
        return text == "true"
    return float(text) if _NUMBER.fullmatch(text) else value


def _parse_score(name: str, value: JSONValue) -> JSONValue:
    """Return a number or boolean; a flag that is 0 or 1 is a boolean."""
    number = _parse_value(value)
    return bool(number) if name in _FLAGS and is_integer(number) and number in (0, 1) else number


def _is_score(name: str, value: JSONValue) -> bool:
    return name != TERMINATION and isinstance(value, bool | int | float)


def _annotations(annotation: JSONObject) -> Iterator[RecordedJudgement]:
    """Yield labelled failures. A root step without a separate failure gets the overall category."""
    base = annotation.get("index_base")
    shift = 1 - base if isinstance(base, int) else 0
    root = _number(annotation.get("root_step"))
    failures = [as_object(failure) for failure in as_list(annotation.get("failures"))]
    for failure in failures:
        if (number := _number(failure.get("step_number"))) is not None:
            yield _annotation(
                number + shift, as_text(failure.get("failure_category")), as_text(failure.get("step_reason"))
            )
    if root is not None and all(_number(failure.get("step_number")) != root for failure in failures):
        yield _annotation(root + shift, as_text(annotation.get("category")), "")


def _annotation(number: int, category: str, reason: str) -> RecordedJudgement:
    comment = ": ".join(part for part in (category, reason) if part)
    return RecordedJudgement(name="annotation", kind=JudgementKind.FAIL, text=comment, step=f"msg-{number}")


def _number(value: JSONValue) -> int | None:
    return value if is_integer(value) else None
