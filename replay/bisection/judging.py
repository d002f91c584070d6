"""Judge a run by the question of a bisection: its checks, its app's outcome rule, or one judgement."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from replay.bisection import findings
from replay.bisection.core.schemas import BisectRequest
from replay.checks import checks
from replay.checks.pass_rules import PassRule, is_decided, problem
from replay.checks.schemas import CheckResult
from replay.live.matching_process import first_error_isolated
from replay.models import Bisection
from replay.store.run_outcome import (
    evaluated_conclusion,
    final_answer,
    pass_rule,
    read_outcome,
    recorded_conclusions,
    validator_verdicts,
)
from traces.core.vocabulary import Outcome
from traces.models import Run


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """Whether a run passes; `problem` is why nothing decides it."""

    checks: list[CheckResult]
    answer: str
    passes: bool
    problem: str = ""


def rule_for(run: Run, request: BisectRequest, at: datetime | None = None) -> PassRule | None:
    """What passes the run and its forks; None if that is all checks."""
    return None if request.question == "check" else pass_rule(request, [run], at)


def rule_of(bisection: Bisection) -> PassRule | None:
    """The rule as it was when the bisection was started."""
    return rule_for(bisection.run, findings.request_of(bisection), bisection.created_at)


def judge(run_id: UUID, request: BisectRequest, rule: PassRule | None) -> RunResult:
    """Judge a run by what was evaluated in it."""
    outcome = read_outcome(run_id, request.checks)
    results = checks.apply(request.checks, outcome, first_error_isolated)
    if rule is None:
        return RunResult(checks=results, answer=outcome.answer, passes=all(result.passed for result in results))
    conclusion = rule.conclude_replay(outcome.failed, results, validator_verdicts(run_id))
    passes = conclusion.outcome is Outcome.PASSED
    verdict = CheckResult(name=rule.title, passed=passes, detail=conclusion.reason)
    is_clear = is_decided(conclusion)
    reason = conclusion.reason or "no check or rule decides it"
    return RunResult(
        checks=[verdict, *results] if is_clear else results,
        answer=outcome.answer,
        passes=passes,
        problem="" if is_clear else f"the {rule.title} is {conclusion.outcome}: {reason}",
    )


def judge_recording(run: Run, request: BisectRequest) -> RunResult:
    """Judge a recording. With an outcome rule or a judgement, replays have to be able to produce the same result."""
    rule = rule_for(run, request)
    if rule is None:
        return judge(run.id, request, None)
    [recording] = recorded_conclusions(rule, [run])
    replay = evaluated_conclusion(rule, run.id, request.checks, first_error_isolated)
    passes = recording.outcome is Outcome.PASSED
    return RunResult(
        checks=[CheckResult(name=rule.title, passed=passes, detail=recording.reason)],
        answer=final_answer(run.id),
        passes=passes,
        problem=problem(rule, "run", recording, replay),
    )
