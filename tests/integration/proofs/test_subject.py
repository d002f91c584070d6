"""The changes that a proof finds in two stored runs."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from replay.proofs.subject.subject import Subject, subject_of
from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepStatus
from traces.models import Run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
ORDER: JSONObject = {"order_id": "A-1"}


def store_run(name: str, result: str, status: StepStatus, answer: str) -> Run:
    conversation = (("Where is my order A-1?", (ToolCall("get_order", ORDER, result, status), Reply(answer))),)
    return Run.objects.get(id=record(order_desk(conversation, external_id=name)).run_id)


def subject() -> Subject:
    base = store_run("base", "The depot does not answer.", StepStatus.TIMEOUT, "I cannot say where it is.")
    candidate = store_run("candidate", "It left the depot on Monday.", StepStatus.OK, "It left on Monday.")
    return subject_of(base, candidate)


def test_tool_result_changes_with_its_status() -> None:
    changes = subject().changes.changes.values()
    (change,) = [change for change in changes if change.on_base and change.on_base[0].category == "tool"]
    assert (change.base, change.candidate) == (
        {"output": "The depot does not answer.", "status": "timeout"},
        {"output": "It left the depot on Monday.", "status": "ok"},
    )


def test_steps_are_read_once_for_all_sessions_of_a_proof() -> None:
    first = subject()
    with CaptureQueriesContext(connection) as queries:
        again = subject_of(first.base, first.candidate)
    statements = [query["sql"] for query in queries]
    assert not [sql for sql in statements if "traces_step" in sql and "ORDER BY sequence_no" in sql]
    assert again.atoms == first.atoms
