"""Outcome of a run: the rule that derives it from judgements. Pure.

The first decider that applies wins. By default these are:

1. a person's newest pass or fail;
2. imported verdicts and scores, and tags that the app's rule names: a single failing one fails the run; a termination
   reason counts only if there is no other judgement;
3. checks, validators and judging models: any fail fails the run; then a failed run fails; then one that did not run
   leaves the run unverified; otherwise they pass it.

An app may order them differently, leave some out, or limit each to judgements with one name. If none applies, the run's
status decides: a failed run failed. A completed run has not necessarily succeeded.

A score decides only if its name has a threshold: the app's own, else one of `DEFAULT_THRESHOLDS`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from traces.core.json_access import as_string
from traces.core.json_types import JSONValue
from traces.core.vocabulary import JudgementKind, JudgementSource, Label, Outcome, Reason, RunStatus, StepStatus

DecidingSource = Literal["person", "import", "check"]
TERMINATION: Final = "termination_reason"
_REASON_LENGTH: Final = 200
# Rewards may be products of floats.
_TOLERANCE: Final = 1e-6
_BEGINNING: Final = datetime(1, 1, 2, tzinfo=UTC)
_GROUPS: Final[Mapping[JudgementSource, str]] = {
    JudgementSource.PERSON: "person",
    JudgementSource.IMPORT: "import",
    JudgementSource.TAG: "import",
    JudgementSource.CHECK: "check",
    JudgementSource.VALIDATOR: "check",
    JudgementSource.MODEL: "check",
}
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
class Decider:
    """A group of judgements that may decide; with a `name`, only those with that name.

    `import` includes tags, and `check` includes validators and judging models.
    """

    source: DecidingSource
    name: str = ""

    def covers(self, verdict: "Verdict") -> bool:
        return _GROUPS[verdict.source] == self.source and self.name in ("", verdict.name)


DEFAULT_DECIDERS: Final = (Decider(source="person"), Decider(source="import"), Decider(source="check"))


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeCriteria:
    """The outcome rule of an app: bounds of scores by name, outcomes by tag, and what decides, in order."""

    thresholds: Thresholds = field(default_factory=dict)
    tags: Mapping[str, bool] = field(default_factory=dict)
    deciders: Sequence[Decider] = DEFAULT_DECIDERS

    def tag_verdicts(self, tags: Iterable[str]) -> "list[Verdict]":
        """Return the verdicts of a recording's tags."""
        return [
            Verdict(
                name=tag, kind=JudgementKind.PASS if self.tags[tag] else JudgementKind.FAIL, source=JudgementSource.TAG
            )
            for tag in tags
            if tag in self.tags
        ]


DEFAULT_CRITERIA: Final = OutcomeCriteria()


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """A judgement as the outcome rule reads it; `at` is when it was made, else when it was stored."""

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
    """The outcome, the source and name of the judgement that decided (None: the run's status), and a short reason."""

    outcome: Outcome
    basis: JudgementSource | None = None
    reason: str = ""
    name: str = ""


def conclude(status: RunStatus, judgements: Iterable[Verdict], criteria: OutcomeCriteria) -> Conclusion:
    """Apply an app's outcome rule."""
    newest = _newest(judgements)
    thresholds = _effective(criteria.thresholds)
    for decider in criteria.deciders:
        verdicts = [verdict for verdict in newest if decider.covers(verdict)]
        if conclusion := _conclude_from(decider.source, status, verdicts, thresholds):
            return conclusion
    return _by_status(status)


def _conclude_from(
    source: DecidingSource, status: RunStatus, verdicts: Sequence[Verdict], thresholds: Thresholds
) -> Conclusion | None:
    match source:
        case "person":
            return _by_person(verdicts, thresholds)
        case "import":
            return _by_import(verdicts, thresholds)
        case "check":
            return _by_checks(status, verdicts, thresholds)


def decisive_verdicts(judgements: Iterable[Verdict], criteria: OutcomeCriteria) -> list[tuple[Verdict, bool]]:
    """Return the newest judgements that pass or fail a run, each with whether it passes it, in order of time."""
    thresholds = _effective(criteria.thresholds)
    decisions = ((verdict, _passes(verdict, thresholds)) for verdict in _newest(judgements))
    return [(verdict, passes) for verdict, passes in decisions if passes is not None]


def adverse(judgements: Iterable[Verdict], criteria: OutcomeCriteria) -> list[Verdict]:
    """Return the judgements against a run or one of its steps: failed, below the app's threshold, or not run.

    Of several with the same step, source and name, the newest counts.
    """
    effective = _effective(criteria.thresholds)
    by_step: dict[int | None, list[Verdict]] = {}
    for judgement in judgements:
        by_step.setdefault(judgement.step_no, []).append(judgement)
    return [
        verdict
        for verdicts in by_step.values()
        for verdict in _newest(verdicts)
        if verdict.kind is JudgementKind.NOT_RUN or _passes(verdict, effective) is False
    ]


def _effective(thresholds: Thresholds) -> Thresholds:
    return {**DEFAULT_THRESHOLDS, **thresholds}


def validator_kind(
    status: StepStatus, label: Label, output: JSONValue, reason: Reason | None = None
) -> JudgementKind | None:
    """Return the verdict of a validator step; None if it states none, such as a parser of answers."""
    is_placeholder = label is Label.SIMULATED and reason is not Reason.AGENT_RAN
    if is_placeholder or status is StepStatus.TIMEOUT:
        return JudgementKind.NOT_RUN
    decision = _decision(output)
    if decision is None:
        return JudgementKind.FAIL if status is StepStatus.ERROR else None
    return JudgementKind.PASS if decision and status is not StepStatus.ERROR else JudgementKind.FAIL


def _newest(judgements: Iterable[Verdict]) -> list[Verdict]:
    """Return the last judgement of each source and name, in order of time: a repeated validator, a new score."""
    newest: dict[tuple[str, str, str], Verdict] = {}
    for verdict in sorted(judgements, key=lambda verdict: (verdict.at or _BEGINNING, verdict.step_no or 0)):
        author = verdict.by if verdict.source is JudgementSource.MODEL else ""
        newest.pop((verdict.source, verdict.name, author), None)
        newest[verdict.source, verdict.name, author] = verdict
    return list(newest.values())


def _decisive(verdicts: Sequence[Verdict], thresholds: Thresholds) -> list[Verdict]:
    """Return the judgements that pass or fail the run."""
    return [verdict for verdict in verdicts if _passes(verdict, thresholds) is not None]


def _by_person(verdicts: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    decisive = _decisive(verdicts, thresholds)
    return _conclusion(decisive[-1], thresholds) if decisive else None


def _by_import(verdicts: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    decisive = _decisive(verdicts, thresholds)
    return _worst([verdict for verdict in decisive if verdict.name != TERMINATION] or decisive, thresholds)


def _by_checks(status: RunStatus, checks: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    missing = next((check for check in checks if check.kind is JudgementKind.NOT_RUN), None)
    verdict = _worst(_decisive(checks, thresholds), thresholds)
    if (verdict is not None and verdict.outcome is Outcome.FAILED) or status is RunStatus.FAILED:
        return verdict if verdict is not None and verdict.outcome is Outcome.FAILED else None
    if missing is not None:
        return Conclusion(
            outcome=Outcome.UNVERIFIED,
            basis=missing.source,
            reason=_reason(f"{missing.name} did not run"),
            name=missing.name,
        )
    return verdict


def _by_status(status: RunStatus) -> Conclusion:
    if status is RunStatus.FAILED:
        return Conclusion(outcome=Outcome.FAILED, reason="the run failed")
    if status is RunStatus.PARTIAL:
        return Conclusion(outcome=Outcome.UNKNOWN, reason="the end of the run was not recorded")
    return Conclusion(outcome=Outcome.UNKNOWN)


def _worst(verdicts: Sequence[Verdict], thresholds: Thresholds) -> Conclusion | None:
    """Conclude from the first verdict that fails, else from the first."""
    if not verdicts:
        return None
    failure = next((verdict for verdict in verdicts if not _passes(verdict, thresholds)), None)
    return _conclusion(failure or verdicts[0], thresholds)


def _conclusion(verdict: Verdict, thresholds: Thresholds) -> Conclusion:
    outcome = Outcome.PASSED if _passes(verdict, thresholds) else Outcome.FAILED
    detail = f" {verdict.value:g}" if verdict.value is not None else f": {verdict.text}" if verdict.text else ""
    name = f"tag {verdict.name}" if verdict.source is JudgementSource.TAG else verdict.name
    return Conclusion(outcome=outcome, basis=verdict.source, reason=_reason(f"{name}{detail}"), name=verdict.name)


def _passes(verdict: Verdict, thresholds: Thresholds) -> bool | None:
    """Return whether a judgement passes the run; None if it does not decide."""
    match verdict.kind:
        case JudgementKind.PASS:
            return True
        case JudgementKind.FAIL:
            return False
        case JudgementKind.SCORE if verdict.value is not None and (threshold := thresholds.get(verdict.name)):
            return threshold.passes(verdict.value)
        case _:
            return None


def _decision(output: JSONValue) -> bool | None:
    """Return the pass or fail in an output; None if there is neither."""
    decision = output
    if isinstance(output, dict):
        decision = next((output[name] for name in _DECISION_FIELDS if output.get(name) is not None), None)
    if isinstance(decision, bool):
        return decision
    word = as_string(decision).strip().lower()
    return True if word in _PASSED_WORDS else False if word in _FAILED_WORDS else None


def _reason(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_LENGTH else f"{line[: _REASON_LENGTH - 1]}…"
