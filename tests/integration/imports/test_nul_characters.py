"""NUL characters, which PostgreSQL text cannot store: payloads preserve them, columns replace them."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from diffing import services as diffing
from replay.execution import runner, task_names
from tests.support.queues import capture_tasks
from tests.support.recordings import order_run
from traces.core.json_types import JSONObject
from traces.models import Run
from traces.runs import queries, services
from traces.storage import artifacts

pytestmark = pytest.mark.django_db(transaction=True)
NUL = "\x00"


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def record_with_nuls(**columns: Any) -> Run:
    """Record an order run with NULs in every place where a recording can have them."""
    run = order_run(**columns)
    model_step, tool_step = run.steps[1], run.steps[2]
    question: JSONObject = {"role": "user", "content": f"Where{NUL} is my order A-1042? {NUL}"}
    model_input: JSONObject = {"messages": [question], f"k{NUL}": NUL}
    tool_output: JSONObject = {f"order{NUL}": f"A-1042 was{NUL} shipped by the carrier on Monday", "escaped": "\\u0000"}
    steps = [
        run.steps[0],
        replace(model_step, name=f"ch{NUL}at", input=model_input, attributes={f"a{NUL}": NUL}),
        replace(tool_step, error=f"la{NUL}te", output=tool_output),
        *run.steps[3:],
    ]
    recording = replace(run, name=f"na{NUL}me", tags=(f"t{NUL}",), metadata={f"m{NUL}": [NUL]}, steps=tuple(steps))
    return Run.objects.get(id=services.record(recording).run_id)


def test_payloads_preserve_nuls_and_columns_replace_them() -> None:
    run = record_with_nuls()
    step = queries.find_step(run, "look")
    assert artifacts.payload(step.output_ref) == {
        f"order{NUL}": f"A-1042 was{NUL} shipped by the carrier on Monday",
        "escaped": "\\u0000",
    }
    assert (run.name, run.tags, run.metadata) == ("na\ufffdme", ["t\ufffd"], {"m\ufffd": ["\ufffd"]})
    assert (step.error, queries.find_step(run, "ask").name) == ("la\ufffdte", "ch\ufffdat")


def test_repeated_recording_is_one_run() -> None:
    assert record_with_nuls().id == record_with_nuls().id


def test_replay_and_diff_accept_nuls(client: Client) -> None:
    run = record_with_nuls()
    override: dict[str, Any] = {"match": {"step": 3}, "tool": {"output": {f"k{NUL}": f"not{NUL} found \\u0000"}}}
    body = {
        "run": str(run.id),
        "fork_step": 3,
        "overrides": {"overrides": [override]},
        "policy": {"fallback": "simulate"},
    }
    response = client.post("/api/v1/replays", body, content_type="application/json")
    assert response.status_code == 201, response.content
    session = UUID(response.json()["id"])
    runner.execute(session)
    details = client.get(f"/api/v1/replays/{session}").json()
    assert details["status"].startswith("completed"), details
    candidate = Run.objects.get(id=details["run"])
    step = queries.find_step(candidate, 3)
    assert artifacts.payload(step.output_ref) == override["tool"]["output"]
    assert diffing.diff(base_id=run.id, candidate_id=candidate.id).status == "ready"


@pytest.mark.parametrize("path", ["/runs?search=%00", "/runs?tag=%00", "/runs/%00", "/runs?app=%00"])
def test_query_with_nul_is_answered(client: Client, path: str) -> None:
    assert client.get(f"/api/v1{path}").status_code < 500
