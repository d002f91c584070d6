"""The list of a run's steps, which the database writes as JSON."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from replay.execution import runner
from replay.sessions import services as replays
from replay.sessions.schemas import ReplayRequest
from tests.support.recordings import NOON, order_run
from traces.models import Step
from traces.runs import services
from traces.schemas import StepList

pytestmark = pytest.mark.django_db(transaction=True)
ODD_NAME = 'say "Größe" \\ 日本 🚚 </script>'


def record() -> UUID:
    recording = order_run()
    steps = list(recording.steps)
    start = NOON + timedelta(microseconds=1)
    # As a number of milliseconds, 9 microseconds have more digits than SQLite writes.
    end = start + timedelta(microseconds=9)
    steps[1] = replace(steps[1], name=ODD_NAME, started_at=start, ended_at=end, cost_usd=Decimal("0.12345678"))
    steps[2] = replace(steps[2], started_at=None, ended_at=None)
    return services.record(replace(recording, steps=tuple(steps), started_at=NOON)).run_id


def listed(client: Client, run: UUID, **parameters: Any) -> dict[str, Any]:
    response = client.get(f"/api/v1/runs/{run}/steps", parameters)
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    StepList.model_validate_json(response.content)
    return body


def test_every_field_is_as_stored(client: Client) -> None:
    run = record()
    rows = list(Step.objects.filter(run=run).order_by("sequence_no"))
    steps = listed(client, run)["steps"]
    names = ("name", "summary", "type", "status", "label", "reason", "provider", "model", "tool_name", "tokens_in")
    for name in (*names, "sequence_no", "tokens_out", "retries", "duration_ms"):
        assert [step[name] for step in steps] == [getattr(row, name) for row in rows]
    assert [step["id"] for step in steps] == [str(row.id) for row in rows]
    assert [step["parent"] for step in steps] == [row.parent_no for row in rows]
    assert (steps[1]["name"], steps[1]["duration_ms"]) == (ODD_NAME, 0.009000000000000001)
    assert [step["offset_ms"] for step in steps] == [0.0, 0.001, None, 3000.0, 4000.0]
    assert [step["cost_usd"] for step in steps] == [None, 0.12345678, None, 0.002, None]
    assert {step["source_step"] for step in steps} == {None}


def test_replayed_steps_name_their_sources(client: Client) -> None:
    run = record()
    session = replays.launch(ReplayRequest(run=str(run)))
    runner.execute(session.id)
    session.refresh_from_db()
    sources = [step["id"] for step in listed(client, run)["steps"]]
    assert session.run_id is not None
    assert [step["source_step"] for step in listed(client, session.run_id)["steps"]] == sources


def test_pages_follow_each_other(client: Client) -> None:
    run = record()
    first = listed(client, run, limit=3)
    rest = listed(client, run, limit=3, after=first["next"])
    assert [step["sequence_no"] for page in (first, rest) for step in page["steps"]] == [1, 2, 3, 4, 5]
    assert (first["next"], rest["next"]) == (3, None)
    assert listed(client, run, after=5) == {"steps": [], "next": None}
