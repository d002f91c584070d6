"""What a finished row is worth: its scores from the diff, and the checks on its final answer."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import pydantic
from django.db import transaction

from diffing import queries as diffs
from diffing.facets import answer_text
from replay.experiments import checks, progress
from replay.experiments.aggregation import COMPLETED
from replay.experiments.schemas import Check, CheckResult
from replay.models import ExperimentRow
from traces import judgements, store
from traces.json_types import JSONObject
from traces.judging import NAME_LENGTH, JudgementRow
from traces.models import Run, Step
from traces.vocabulary import JudgementKind, JudgementSource, RunStatus, StepType

SHOWN: Final = 2_000  # characters of an answer that are kept beside its verdict
_CHECKS: Final[pydantic.TypeAdapter[list[Check]]] = pydantic.TypeAdapter(list[Check])


def judge(session_id: UUID) -> None:
    """Store the result of a session that is a row of an experiment; any other session is left alone."""
    row = ExperimentRow.objects.select_related("session", "experiment").filter(session_id=session_id).first()
    if row is None or row.session.run_id is None or row.session.status not in COMPLETED:
        return
    asked = _CHECKS.validate_python(row.experiment.request["checks"])
    outcome = outcome_of(row.session.run_id, asked)
    results = checks.apply(asked, outcome)
    said: JSONObject = {
        "answer": outcome.answer[:SHOWN], "checks": [result.model_dump(mode="json") for result in results],
        **_scores(row.session.diff_id),
    }  # fmt: skip
    with transaction.atomic():
        ExperimentRow.objects.filter(id=row.id).update(result=said)
        judgements.add({row.session.run_id: [_judgement(result, row.experiment.id) for result in results]})
        judgements.wake([row.session.run_id])
        progress.touch(session_id)


def _judgement(result: CheckResult, experiment: UUID) -> JudgementRow:
    return JudgementRow(
        name=result.name[:NAME_LENGTH],
        kind=JudgementKind.PASS if result.passed else JudgementKind.FAIL,
        source=JudgementSource.CHECK,
        text=result.detail.replace("\x00", "\ufffd"),
        by=f"experiment {experiment}",
    )


def outcome_of(run_id: UUID, asked: Sequence[Check]) -> checks.Outcome:
    """What the checks look at of a sealed run; the arguments of its calls only when they are wanted."""
    calls = Step.objects.filter(run_id=run_id, type=StepType.TOOL).order_by("sequence_no")
    rows = list(calls.values_list("tool_name", "name", "input_ref"))
    refs = [ref for *_, ref in rows if ref] if checks.wants_arguments(asked) else []
    arguments = store.available(refs)
    return checks.Outcome(
        answer=final_answer(run_id), failed=Run.objects.filter(id=run_id, status=RunStatus.FAILED).exists(),
        tools=[checks.ToolUse(tool=tool or name, arguments=arguments.get(ref)) for tool, name, ref in rows],
    )  # fmt: skip


def final_answer(run_id: UUID) -> str:
    """The text of the last output, or of the last model step where the run has no output step."""
    steps = Step.objects.filter(run_id=run_id).exclude(output_ref="").order_by("-sequence_no")
    for type in (StepType.OUTPUT, StepType.MODEL):
        if reference := steps.filter(type=type).values_list("output_ref", flat=True).first():
            return answer_text(store.payload(reference))
    return ""


def _scores(diff_id: UUID | None) -> JSONObject:
    if diff_id is None:  # the comparison failed: the row is complete without its scores
        return {}
    scores = diffs.report(diff_id).scores
    return {
        "ars": scores.ars, "output_similarity": scores.output_similarity, "method": scores.similarity_method,
        "new": scores.tools.new, "unused": scores.tools.unused,
    }  # fmt: skip
