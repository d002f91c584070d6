"""Scores of a finished row: from its diff, and from the checks on its outcome."""

from typing import Final
from uuid import UUID

import pydantic
from django.db import transaction

from diffing import queries as diffs
from replay.checks import checks
from replay.checks.schemas import Check, CheckResult
from replay.core.vocabulary import COMPLETED
from replay.experiments import scheduler
from replay.live.matching_process import first_error_isolated
from replay.models import ExperimentRow
from replay.store.run_outcome import ANSWER_LIMIT, read_outcome
from traces.core.json_types import JSONObject
from traces.core.vocabulary import JudgementKind, JudgementSource
from traces.ingest.judgement_rows import NAME_LENGTH, JudgementRow
from traces.judgements import services

_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])


def judge(session_id: UUID) -> None:
    """Store the result of a session that is a row of an experiment; other sessions are ignored."""
    row = ExperimentRow.objects.select_related("session", "experiment").filter(session_id=session_id).first()
    if row is None or row.session.run_id is None or row.session.status not in COMPLETED:
        return
    conditions = _CHECKS.validate_python(row.experiment.request["checks"])
    outcome = read_outcome(row.session.run_id, conditions)
    results = checks.apply(conditions, outcome, first_error_isolated)
    row_result: JSONObject = {
        "answer": outcome.answer[:ANSWER_LIMIT],
        "checks": [result.model_dump(mode="json") for result in results],
        **_scores(row.session.diff_id),
    }
    with transaction.atomic():
        ExperimentRow.objects.filter(id=row.id).update(result=row_result)
        services.add({row.session.run_id: [_judgement(result, row.experiment.id) for result in results]})
        services.notify_views([row.session.run_id])
        scheduler.touch(session_id)


def _judgement(result: CheckResult, experiment: UUID) -> JudgementRow:
    return JudgementRow(
        name=result.name[:NAME_LENGTH],
        kind=JudgementKind.PASS if result.passed else JudgementKind.FAIL,
        source=JudgementSource.CHECK,
        text=result.detail.replace("\x00", "\ufffd"),
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
