"""Runs and reports in the store, for tests over REST."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django.test import Client

from tests.support.comparing import Spec
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.models import Run
from traces.runs import services as traces


def store_run(specs: Sequence[Spec], name: str = "run") -> Run:
    """A run as an importer would have stored it."""
    steps = tuple(
        RecordedStep(
            key=str(number),
            type=step.type,
            name=step.name,
            parent=str(step.parent) if step.parent else None,
            status=StepStatus(step.status),
            input=step.input,
            output=step.output,
            model=step.model,
            call_id=step.call_id,
            tool_name=step.name if step.type == "tool" else "",
        )
        for number, step in enumerate(specs, 1)
    )
    run = RecordedRun(external_id=str(uuid4()), name=name, app="desk", format="test", steps=steps)
    return Run.objects.get(id=traces.record(run).run_id)


def share_diff(diff_id: UUID, **body: Any) -> tuple[str, UUID]:
    """The token and the id of a new link."""
    answer = Client().post(f"/api/v1/diffs/{diff_id}/shares", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()["url"].rpartition("/share/")[2], UUID(answer.json()["id"])
