"""Outcome of a run: the rule that derives it from judgements. Pure.

The first source that decides wins:

1. a person's newest pass or fail;
2. imported verdicts and scores: one that fails is enough to fail, and a termination reason counts only where there
   is no other;
3. checks, validators and judging models: any fail fails; then a failed run fails; one that did not run leaves the run
   unverified; else they pass it;
4. the run's status: a failed run failed. That a run completed does not tell whether it did its task.

A score decides only where a threshold exists for its name: the app's own, else one of `DEFAULT_THRESHOLDS`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from traces.core.json_types import JSONValue
from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, RunStatus, StepStatus

TERMINATION: Final = "termination_reason"
_REASON_LENGTH: Final = 200
_TOLERANCE: Final = 1e-6  # of rewards that are a product of floats
_BEGINNING: Final = datetime(1, 1, 2, tzinfo=UTC)
_AUTOMATIC: Final = frozenset({JudgementSource.CHECK, JudgementSource.VALIDATOR, JudgementSource.MODEL})
_PASSED_WORDS: Final = frozenset({"pass", "passed", "ok", "success", "valid", "true"})
_FAILED_WORDS: Final = frozenset({"fail", "failed", "error", "failure", "invalid", "false"})
_DECISION_FIELDS: Final = ("decision", "passed", "valid", "success")


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """The bound at which a score passes; exactly one of the two is set."""

    at_least: float | None = None
    at_most: float | None = None

    def passes(self, value: float) -> bool:
        if self.at_most is not None:
            return value <= self.at_most + _TOLERANCE
        return value >= (self.at_least or 0.0) - _TOLERANCE


Thresholds = Mapping[str, Threshold]
DEFAULT_THRESHOLDS: Final[Thresholds] = {
    name: Threshold(at_least=1.0) for name in ("reward", "success", "passed", "resolved", "is_correct")
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A judgement of a whole run, as far as its outcome is concerned; `at` is when it was made or stored."""

    name: str
    kind: JudgementKind
    source: JudgementSource
    value: float | None = None
    text: str = ""
    by: str = ""
    at: datetime | None = None
    step_no: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Conclusion:
    """The outcome, the source that decided (None: the run's status), and why in a few words."""

    outcome: Outcome
    basis: JudgementSource | None = None
    reason: str = ""


def conclude(status: RunStatus, judgements: Iterable[Verdict], thresholds: Thresholds) -> Conclusion:
    """Apply the outcome rule; `thresholds` are those of the app."""
    newest = _newest(judgements)
    effective = _effective(thresholds)
    return (
        _by_person(newest, effective)
        or _by_import(newest, effective)
        or _by_checks(status, newest, effective)
        or _by_status(status)
    )


def adverse(judgements: Iterable[Verdict], thresholds: Thresholds) -> list[Verdict]:
    """The judgements against a run or one of its steps: failed, below the app's threshold, or not made.

    Of several of one step, source and name the newest counts; a judgement of a step does not replace one of another.
    """
    effective = _effective(thresholds)
    by_step: dict[int | None, list[Verdict]] = {}
    for each in judgements:
        by_step.setdefault(each.step_no, []).append(each)
    return [
        each
        for verdicts in by_step.values()
        for each in _newest(verdicts)
        if each.kind is JudgementKind.NOT_RUN or _passes(each, effective) is False
    ]


def _effective(thresholds: Thresholds) -> Thresholds:
    return {**DEFAULT_THRESHOLDS, **thresholds}


def validator_kind(status: StepStatus, label: Label, output: JSONValue) -> JudgementKind | None:
    """The verdict of a validator step; None where it does not state one, as a parser of answers."""
    if label is Label.SIMULATED or status is StepStatus.TIMEOUT:
        return JudgementKind.NOT_RUN
    passed = _decision(output)
    if passed is None:
        return JudgementKind.FAIL if status is StepStatus.ERROR else None
    return JudgementKind.PASS if passed and status is not StepStatus.ERROR else JudgementKind.FAIL


def _newest(judgements: Iterable[Verdict]) -> list[Verdict]:
    """Judgements in order of time, of each source and name only the last: a validator that ran again, a new score."""
    ordered = sorted(judgements, key=lambda each: (each.at or _BEGINNING, each.step_no or 0))
    newest: dict[tuple[str, str, str], Verdict] = {}
    for each in ordered:
        author = each.by if each.source is JudgementSource.MODEL else ""
        newest.pop((each.source, each.name, author), None)
        newest[each.source, each.name, author] = each
    return list(newest.values())


def _by_person(newest: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    decided = [
        each for each in newest if each.source is JudgementSource.PERSON and _passes(each, thresholds) is not None
    ]
    return _conclusion(decided[-1], thresholds) if decided else None


def _by_import(newest: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    decided = [
        each for each in newest if each.source is JudgementSource.IMPORT and _passes(each, thresholds) is not None
    ]
    decided = [each for each in decided if each.name != TERMINATION] or decided
    return _worst(decided, thresholds)


def _by_checks(status: RunStatus, newest: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    checks = [each for each in newest if each.source in _AUTOMATIC]
    missing = next((each for each in checks if each.kind is JudgementKind.NOT_RUN), None)
    verdict = _worst([each for each in checks if _passes(each, thresholds) is not None], thresholds)
    if (verdict is not None and verdict.outcome is Outcome.FAILED) or status is RunStatus.FAILED:
        return verdict if verdict is not None and verdict.outcome is Outcome.FAILED else None
    if missing is not None:
        return Conclusion(
            outcome=Outcome.UNVERIFIED, basis=missing.source, reason=_reason(f"{missing.name} did not run")
        )
    return verdict


def _by_status(status: RunStatus) -> Conclusion:
    if status is RunStatus.FAILED:
        return Conclusion(outcome=Outcome.FAILED, reason="the run failed")
    return Conclusion(outcome=Outcome.UNKNOWN)


def _worst(decided: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    """The conclusion from the first that fails, else from the first."""
    if not decided:
        return None
    failed = next((each for each in decided if not _passes(each, thresholds)), None)
    return _conclusion(failed or decided[0], thresholds)


def _conclusion(verdict: Verdict, thresholds: Thresholds) -> Conclusion:
    outcome = Outcome.PASSED if _passes(verdict, thresholds) else Outcome.FAILED
    stated = f" {verdict.value:g}" if verdict.value is not None else f": {verdict.text}" if verdict.text else ""
    return Conclusion(outcome=outcome, basis=verdict.source, reason=_reason(f"{verdict.name}{stated}"))


def _passes(verdict: Verdict, thresholds: Thresholds) -> bool | None:
    """Whether a judgement passes the run; None: it does not decide."""
    match verdict.kind:
        case JudgementKind.PASS:
            return True
        case JudgementKind.FAIL:
            return False
        case JudgementKind.SCORE if verdict.value is not None and (bound := thresholds.get(verdict.name)):
            return bound.passes(verdict.value)
        case _:
            return None


def _decision(output: JSONValue) -> bool | None:
    """The pass or fail that an output states."""
    stated = output
    if isinstance(output, dict):
        stated = next((output[name] for name in _DECISION_FIELDS if output.get(name) is not None), None)
    if isinstance(stated, bool):
        return stated
    word = stated.strip().lower() if isinstance(stated, str) else ""
    return True if word in _PASSED_WORDS else False if word in _FAILED_WORDS else None


def _reason(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_LENGTH else f"{line[: _REASON_LENGTH - 1]}…"
