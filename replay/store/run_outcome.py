"""Outcome of a stored run: final answer, tool calls, status, judgements and validators."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from diffing.content.payload_texts import answer_text
from replay.checks import checks
from replay.checks.bounded_matching import IsolatedMatcher
from replay.checks.pass_rules import PassRule, stand_ins
from replay.checks.schemas import Check, JudgementChoice
from traces.captions.queries import tags_of
from traces.core.vocabulary import RunStatus, StepType
from traces.ingest.outcome_rules import Conclusion, OutcomeCriteria, Threshold, Verdict
from traces.judgements import services as judgements
from traces.judgements.queries import criteria_at, verdict_of, verdicts_of
from traces.models import Run, Step
from traces.storage import artifacts

ANSWER_LIMIT: Final = 2_000  # characters of an answer stored with its verdict


def read_outcome(run_id: UUID, requested_checks: Sequence[Check]) -> checks.Outcome:
    """Read what checks evaluate of a sealed run; call arguments only if one of the checks needs them."""
    calls = Step.objects.filter(run_id=run_id, type=StepType.TOOL).order_by("sequence_no")
    rows = list(calls.values_list("tool_name", "name", "input_ref"))
    refs = [ref for *_, ref in rows if ref] if checks.wants_arguments(requested_checks) else []
    arguments = artifacts.available(refs)
    return checks.Outcome(
        answer=final_answer(run_id),
        failed=Run.objects.filter(id=run_id, status=RunStatus.FAILED).exists(),
        tools=[checks.ToolUse(tool=tool or name, arguments=arguments.get(ref)) for tool, name, ref in rows],
    )


def validator_verdicts(run_id: UUID, *, before: int | None = None) -> list[Verdict]:
    """Return the verdicts of a run's validators, or of those before a step."""
    rows = judgements.validator_judgements(run_id, before=before)
    now = datetime.now(UTC)
    return [verdict for row in rows if (verdict := verdict_of(row, now))]


def pass_rule(choice: JudgementChoice, runs: Sequence[Run], at: datetime | None) -> PassRule:
    """Return what passes or fails these runs: a judgement, or the outcome rule that their app had at a time."""
    criteria = criteria_at(runs[0].app, at or datetime.now(UTC))
    if choice.at_least is not None or choice.at_most is not None:
        threshold = Threshold(at_least=choice.at_least, at_most=choice.at_most)
        criteria = replace(criteria, thresholds={**criteria.thresholds, choice.judgement: threshold})
    verdicts = recorded_verdicts(runs, criteria)
    return PassRule(
        criteria=criteria,
        judgement=choice.judgement,
        stand_ins=stand_ins(verdict for run_verdicts in verdicts.values() for verdict in run_verdicts),
    )


def recorded_conclusions(rule: PassRule, runs: Sequence[Run]) -> list[Conclusion]:
    """Conclude from the stored judgements of runs."""
    verdicts = recorded_verdicts(runs, rule.criteria)
    return [rule.conclude_recording(RunStatus(run.status), verdicts[run.id]) for run in runs]


def evaluated_conclusion(
    rule: PassRule, run_id: UUID, requested_checks: Sequence[Check], matcher: IsolatedMatcher
) -> Conclusion:
    """Conclude from what was evaluated in a run itself: checks on its outcome, and its validators."""
    outcome = read_outcome(run_id, requested_checks)
    results = checks.apply(requested_checks, outcome, matcher)
    return rule.conclude_replay(outcome.failed, results, validator_verdicts(run_id))


def recorded_verdicts(runs: Sequence[Run], criteria: OutcomeCriteria) -> dict[UUID, list[Verdict]]:
    ids = [run.id for run in runs]
    verdicts, tags = verdicts_of(ids), tags_of(ids)
    return {run.id: [*verdicts[run.id], *criteria.tag_verdicts(tags[run.id])] for run in runs}


def final_answer(run_id: UUID) -> str:
    """Text of the last output step, or of the last model step if the run has no output step."""
    steps = Step.objects.filter(run_id=run_id).exclude(output_ref="").order_by("-sequence_no")
    for type in (StepType.OUTPUT, StepType.MODEL):
        if reference := steps.filter(type=type).values_list("output_ref", flat=True).first():
            return answer_text(artifacts.payload(reference))
    return ""
