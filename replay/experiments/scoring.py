"""Scores of a finished row: from its diff, and from the checks on its outcome."""

from typing import Final
from uuid import UUID

import pydantic
from django.db import transaction

from diffing import queries as diffs
from replay.checks import checks
from replay.checks.schemas import Check, CheckResult
from replay.core.vocabulary import COMPLETED
from replay.core.wording import NOT_FOLLOWED
from replay.experiments import scheduler
from replay.live.matching_process import first_error_isolated
from replay.models import ExperimentRow, ReplaySession
from replay.store.run_outcome import ANSWER_LIMIT, read_outcome
from traces.core.json_types import JSONObject
from traces.core.vocabulary import JudgementKind, JudgementSource, Reason, StepType
from traces.ingest.judgement_rows import NAME_LENGTH, JudgementRow
from traces.judgements import services
from traces.models import Step

_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])


def judge(session_id: UUID) -> None:
    """Store the result of a session that is a row of an experiment; other sessions are ignored."""
    row = ExperimentRow.objects.select_related("session", "experiment").filter(session_id=session_id).first()
    if row is None or row.session.run_id is None or row.session.status not in COMPLETED:
        return
    conditions = _CHECKS.validate_python(row.experiment.request["checks"])
    outcome = read_outcome(row.session.run_id, conditions)
    results = checks.apply(conditions, outcome, first_error_isolated)
    unverified = _unverified_reason(row.session.run_id, row.session)
    row_result: JSONObject = {
        "answer": outcome.answer[:ANSWER_LIMIT],
        "checks": [result.model_dump(mode="json") for result in results],
        "unverified": unverified,
        **_scores(row.session.diff_id),
    }
    with transaction.atomic():
        ExperimentRow.objects.filter(id=row.id).update(result=row_result)
        services.add({row.session.run_id: [_judgement(result, row.experiment.id, unverified) for result in results]})
        services.notify_views([row.session.run_id])
        scheduler.touch(session_id)


def _unverified_reason(run_id: UUID, session: ReplaySession) -> str:
    """Why the checks of a completed session prove nothing; empty if they do.

    Its last model answer is a placeholder, so the agent's answer is not known; or it was not followed.
    """
    models = Step.objects.filter(
        run_id=run_id, sequence_no__gte=session.fork_sequence_no, type=StepType.MODEL
    ).order_by("-sequence_no")
    if (last := models.first()) is not None and last.reason == Reason.POLICY_FALLBACK:
        return f"a placeholder stands for the model's answer at step {last.sequence_no}"
    return next((text for text in session.divergences if NOT_FOLLOWED in text), "")


def _judgement(result: CheckResult, experiment: UUID, unverified: str) -> JudgementRow:
    kind = JudgementKind.PASS if result.passed else JudgementKind.FAIL
    return JudgementRow(
        name=result.name[:NAME_LENGTH],
        kind=JudgementKind.NOT_RUN if unverified else kind,
        source=JudgementSource.CHECK,
        text=(unverified or result.detail).replace("\x00", "\ufffd"),
        by=f"experiment {experiment}",
    )


def _scores(diff_id: UUID | None) -> JSONObject:
    # If the comparison failed, the row is complete without scores.
    if diff_id is None:
        return {}
    scores = diffs.report(diff_id).scores
    return {
        "ars": scores.ars,
        "output_similarity": scores.output_similarity,
        "method": scores.similarity_method,
        "new": scores.tools.new,
        "unused": scores.tools.unused,
    }
