"""NUL characters, which PostgreSQL holds in no text: payloads keep them, columns replace them, nothing fails."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from diffing import services as diffing
from replay.execution import runner, task_names
from tests.support.queues import held
from tests.support.recordings import order_run
from traces.core.json_types import JSONObject
from traces.models import Run
from traces.runs import queries, services
from traces.storage import artifacts

pytestmark = pytest.mark.django_db(transaction=True)
NUL = "\x00"


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    held(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def recorded(**columns: Any) -> Run:
    """The order desk, with a NUL wherever a recording can have one."""
    run = order_run(**columns)
    ask, look = run.steps[1], run.steps[2]
    question: JSONObject = {"role": "user", "content": f"Where{NUL} is my order A-1042? {NUL}"}
    asked: JSONObject = {"messages": [question], f"k{NUL}": NUL}
    found: JSONObject = {f"order{NUL}": f"A-1042 was{NUL} shipped by the carrier on Monday", "escaped": "\\u0000"}
    steps = [
        run.steps[0],
        replace(ask, name=f"ch{NUL}at", input=asked, attributes={f"a{NUL}": NUL}),
        replace(look, error=f"la{NUL}te", output=found),
        *run.steps[3:],
    ]
    given = replace(run, name=f"na{NUL}me", tags=(f"t{NUL}",), metadata={f"m{NUL}": [NUL]}, steps=tuple(steps))
    return Run.objects.get(id=services.record(given).run_id)


def test_a_recording_keeps_them_in_payloads_and_replaces_them_in_columns() -> None:
    run = recorded()
    step = queries.find_step(run, "look")
    assert artifacts.payload(step.output_ref) == {
        f"order{NUL}": f"A-1042 was{NUL} shipped by the carrier on Monday",
        "escaped": "\\u0000",
    }
    assert (run.name, run.tags, run.metadata) == ("na\ufffdme", ["t\ufffd"], {"m\ufffd": ["\ufffd"]})
    assert (step.error, queries.find_step(run, "ask").name) == ("la\ufffdte", "ch\ufffdat")


def test_the_same_recording_again_is_known() -> None:
    assert recorded().id == recorded().id


def test_a_replay_and_its_diff_take_them(client: Client) -> None:
    run = recorded()
    wrong = {"match": {"step": 3}, "tool": {"output": {f"k{NUL}": f"not{NUL} found \\u0000"}}}
    body = {"run": str(run.id), "fork_step": 3, "overrides": {"overrides": [wrong]}, "policy": {"fallback": "simulate"}}
    launched = client.post("/api/v1/replays", body, content_type="application/json")
    assert launched.status_code == 201, launched.content
    session = UUID(launched.json()["id"])
    runner.execute(session)
    after = client.get(f"/api/v1/replays/{session}").json()
    assert after["status"].startswith("completed"), after
    candidate = Run.objects.get(id=after["run"])
    held = "\ufffd" if connection.vendor == "postgresql" else NUL  # what is typed into a profile is a column, too
    step = queries.find_step(candidate, 3)
    assert artifacts.payload(step.output_ref) == {f"k{held}": f"not{held} found \\u0000"}
    assert diffing.diff(base_id=run.id, candidate_id=candidate.id).status == "ready"


@pytest.mark.parametrize("path", ["/runs?search=%00", "/runs?tag=%00", "/runs/%00", "/runs?app=%00"])
def test_a_question_with_one_is_answered(client: Client, path: str) -> None:
    assert client.get(f"/api/v1{path}").status_code < 500
