"""Whether a run passes by its app's outcome rule or by one judgement: as recorded, and as a replay can find out. Pure.

A replay evaluates checks and, where nothing changed before them, validators. It produces no judgement of a person, no
imported score and no tag. A check or a validator with the name of such a judgement stands in for it, for example a
check `reward` for the imported score `reward`. It must agree with the judgement on the recordings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from replay.checks.schemas import CheckResult, JudgementChoice
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome, RunStatus
from traces.ingest.outcome_rules import DEFAULT_DECIDERS, Conclusion, OutcomeCriteria, Verdict, conclude

_UNPRODUCIBLE: Final[Mapping[JudgementSource, str]] = {
    JudgementSource.TAG: "tag",
    JudgementSource.IMPORT: "imported judgement",
    JudgementSource.MODEL: "model's judgement",
    JudgementSource.CHECK: "check",
    JudgementSource.PERSON: "person's judgement",
}
_DECISIVE_OUTCOMES: Final = frozenset({Outcome.PASSED, Outcome.FAILED})


@dataclass(frozen=True, kw_only=True)
class PassRule:
    """An outcome rule, or with `judgement` the one judgement that decides.

    `stand_ins`: by name, the source of the recorded judgement for which a check or validator of that name stands in.
    """

    criteria: OutcomeCriteria
    judgement: str = ""
    stand_ins: Mapping[str, JudgementSource] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"judgement {self.judgement}" if self.judgement else "outcome"

    def conclude_recording(self, status: RunStatus, verdicts: Iterable[Verdict]) -> Conclusion:
        """Conclude from the judgements of a recording."""
        if not self.judgement:
            return conclude(status, verdicts, self.criteria)
        matches = [verdict for verdict in verdicts if verdict.name == self.judgement]
        criteria = OutcomeCriteria(thresholds=self.criteria.thresholds, deciders=DEFAULT_DECIDERS)
        return conclude(RunStatus.COMPLETED, matches, criteria)

    def conclude_replay(
        self, failed: bool | None, check_results: Sequence[CheckResult], validators: Iterable[Verdict]
    ) -> Conclusion:
        """Conclude from what a replay evaluated; `failed` None: unknown."""
        verdicts = [self._stand_in(verdict) for verdict in (*map(_verdict, check_results), *validators)]
        statuses = [RunStatus.FAILED] if failed else [RunStatus.COMPLETED]
        if failed is None:
            statuses.append(RunStatus.FAILED)
        conclusions = [self.conclude_recording(status, verdicts) for status in statuses]
        if len({conclusion.outcome for conclusion in conclusions}) > 1:
            return Conclusion(outcome=Outcome.UNKNOWN, reason="only the agent's code decides whether the run fails")
        return conclusions[0]

    def _stand_in(self, verdict: Verdict) -> Verdict:
        source = self.stand_ins.get(verdict.name)
        return verdict if source is None else replace(verdict, source=source)


def stand_ins(verdicts: Iterable[Verdict]) -> dict[str, JudgementSource]:
    """Return by name the judgements that a replay cannot produce; a person's has precedence."""
    matches = [verdict for verdict in verdicts if verdict.source in _UNPRODUCIBLE]
    order = list(_UNPRODUCIBLE)
    return {
        verdict.name: verdict.source for verdict in sorted(matches, key=lambda verdict: order.index(verdict.source))
    }


def is_decided(conclusion: Conclusion) -> bool:
    return conclusion.outcome in _DECISIVE_OUTCOMES


def choice_problems(question: str, choice: JudgementChoice) -> list[tuple[str, str]]:
    """Problems of the chosen judgement and its bounds, each with its place in the request."""
    problems = []
    has_choice = choice.judgement or choice.at_least is not None or choice.at_most is not None
    if question == "judgement" and not choice.judgement:
        problems.append(("/judgement", "the question `judgement` needs the name of a judgement"))
    if question != "judgement" and has_choice:
        problems.append(("/judgement", "only the question `judgement` takes a judgement and its bounds"))
    if choice.at_least is not None and choice.at_most is not None:
        problems.append(("/at_most", "give either `at_least` or `at_most`"))
    return problems


def problem(rule: PassRule, run: str, recording: Conclusion, replay: Conclusion) -> str:
    """Why replays cannot answer whether `run` passes; empty if they can. It names what would enable them."""
    if not is_decided(recording):
        return _undecided_problem(rule, run, recording)
    if not is_decided(replay):
        return _unproducible_problem(rule, run, recording, replay)
    if replay.outcome is not recording.outcome:
        return (
            f"under these checks the {run} {replay.outcome} ({replay.reason}), but by its recording it "
            f"{recording.outcome} ({recording.reason}): use checks that agree with the recorded judgement"
        )
    return ""


def _undecided_problem(rule: PassRule, run: str, recording: Conclusion) -> str:
    reason = f" ({recording.reason})" if recording.reason else ""
    if rule.judgement:
        return (
            f"the judgement “{rule.judgement}” does not decide whether the {run} passes{reason}: judge the run under "
            "this name, or set `at_least` or `at_most` if it is a score"
        )
    return f"the outcome of the {run} is {recording.outcome}{reason}: judge the run, or choose checks or a judgement"


def _unproducible_problem(rule: PassRule, run: str, recording: Conclusion, replay: Conclusion) -> str:
    name = rule.judgement or recording.name
    if not name:
        return f"the {run} {recording.outcome} by its status, which replays cannot determine: choose checks"
    source = "judgement" if recording.basis is None else _UNPRODUCIBLE.get(recording.basis, str(recording.basis))
    reason = f" ({replay.reason})" if replay.reason else ""
    return (
        f"the {run} {recording.outcome} by the {source} “{name}”, which a replay cannot produce{reason}: add a check "
        f"named “{name}” that agrees with it, or record a validator step with that name"
    )


def _verdict(result: CheckResult) -> Verdict:
    kind = JudgementKind.PASS if result.passed else JudgementKind.FAIL
    return Verdict(name=result.name, kind=kind, source=JudgementSource.CHECK, text=result.detail)
