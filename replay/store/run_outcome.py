"""Outcome of a stored run: final answer, tool calls and status."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from diffing.content.payload_texts import answer_text
from replay.checks import checks
from replay.checks.schemas import Check
from traces.core.vocabulary import RunStatus, StepType
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


def final_answer(run_id: UUID) -> str:
    """Text of the last output step, or of the last model step if the run has no output step."""
    steps = Step.objects.filter(run_id=run_id).exclude(output_ref="").order_by("-sequence_no")
    for type in (StepType.OUTPUT, StepType.MODEL):
        if reference := steps.filter(type=type).values_list("output_ref", flat=True).first():
            return answer_text(artifacts.payload(reference))
    return ""
