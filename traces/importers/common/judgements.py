"""Scores, rewards and verdicts of other systems as judgements."""

import re
from datetime import datetime
from math import isfinite
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.core.vocabulary import JudgementKind
from traces.importers.common.messages import result_text
from traces.ingest.outcome_rules import TERMINATION

# A larger integer may not convert to a float.
_LARGEST: Final = 1e300
# The start of a word inside a name such as `LimitsExceeded`.
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Booleans that state success. For others, such as `is_toxic`, it is unknown which value is good.
_VERDICTS: Final = frozenset(
    {
        "success",
        "passed",
        "pass",
        "correct",
        "is_correct",
        "resolved",
        "solved",
        "is_successful",
        "completed_task",
        "utility",
    }
)
# Termination reasons of benchmarks and agents for runs that were cut off.
_CUT_OFF: Final = frozenset(
    {
        "max_steps",
        "max_turns",
        "max_iterations",
        "max_errors",
        "too_many_errors",
        "timeout",
        "timed_out",
        "agent_error",
        "user_error",
        "infrastructure_error",
        "error",
        "budget_exceeded",
        "context_exceeded",
        "context_window_exceeded",
        "unexpected_error",
        "exit_cost",
        "exit_context",
        "exit_error",
        "exit_format",
        "exit_command_timeout",
        "limits_exceeded",
        "time_exceeded",
        "context_window_exceeded_error",
    }
)


def judgement(
    name: str,
    value: JSONValue,
    *,
    text: str = "",
    author: str = "",
    at: datetime | None = None,
    step: str | None = None,
    detail: JSONObject | None = None,
) -> RecordedJudgement:
    """Build a judgement: a score from a number, a verdict from a success flag, else a note.

    Of `detail`, fields without a value are left out.
    """
    kind, number, value_text = _classify(name, value)
    comment = ": ".join(part for part in (value_text, text) if part)
    fields: JSONObject = {key: item for key, item in (detail or {}).items() if item not in (None, "", [], {})}
    return RecordedJudgement(
        name=name, kind=kind, value=number, text=comment, by=author, at=at, step=step, detail=fields
    )


def words(judgement: RecordedJudgement) -> str:
    """Return the statement of a judgement as a text."""
    value = "" if judgement.value is None else f"{judgement.value:g}"
    return " ".join(part for part in (judgement.kind, value, judgement.text) if part)


def termination(reason: str) -> RecordedJudgement:
    """Build the judgement for a termination reason: a failure if the run was cut off, else a note."""
    words = _CAPITAL.sub("_", reason.strip()).lower().replace("-", "_").replace(" ", "_")
    cut_off = words in _CUT_OFF or words.endswith("_limit")
    kind = JudgementKind.FAIL if cut_off else JudgementKind.NOTE
    return RecordedJudgement(name=TERMINATION, kind=kind, text=reason)


def _classify(name: str, value: JSONValue) -> tuple[JudgementKind, float | None, str]:
    if isinstance(value, bool):
        if name.lower() in _VERDICTS:
            return (JudgementKind.PASS if value else JudgementKind.FAIL), None, ""
        return JudgementKind.SCORE, float(value), ""
    if isinstance(value, int | float):
        is_score = abs(value) < _LARGEST and isfinite(value)
        return (JudgementKind.SCORE, float(value), "") if is_score else (JudgementKind.NOTE, None, str(value))
    return JudgementKind.NOTE, None, "" if value is None else result_text(value)
