"""Two trials of one task: diff and proof attribute their difference to chance, from the imported file to the answer."""

from typing import Any

import orjson
import pytest
from django.test import Client

from replay import tasks
from replay.execution import task_names
from tests.support.queues import capture_tasks
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


def record_trial(number: int, ask: str, final: str, *, rules: str = "You are the airline's desk.") -> str:
    """A run from one line of a benchmark file in the format of agent test beds."""
    flights = {"id": f"call_{number}", "name": "find_flights", "arguments": {"to": "OSL"}}
    row = {
        "dataset": "airline",
        "task_id": "7",
        "run_id": f"7#{number}",
        "config": {"model": "m1", "trial": number},
        "messages": [
            {"role": "system", "content": rules},
            {"role": "user", "content": ask},
            {"role": "assistant", "content": "When do you want to fly?"},
            {"role": "user", "content": "On Monday."},
            {"role": "assistant", "content": None, "tool_calls": [flights]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "HAT110, HAT200"},
            {"role": "assistant", "content": final},
        ],
    }
    [run] = chat.parse(Source(name="airline.json", data=orjson.dumps(row)))
    return str(record(run).run_id)


def post(client: Client, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json").json()


def make_diff(client: Client, base: str, candidate: str) -> Any:
    diff = post(client, "/diffs", {"base": base, "candidate": candidate, "options": {"similarity": "lexical"}})
    return client.get(f"/api/v1/diffs/{diff['id']}").json()


def run_proof(client: Client, monkeypatch: pytest.MonkeyPatch, diff: str) -> Any:
    queue = capture_tasks(monkeypatch, task_names.PROVE)
    proof = post(client, f"/diffs/{diff}/prove")
    for key in queue:
        tasks.prove(key)
    return client.get(f"/api/v1/proofs/{proof['id']}").json()


def test_trials_of_one_task_differ_by_chance(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    base = record_trial(0, "I want to fly to Oslo.", "Booked HAT110.")
    report = make_diff(client, base, record_trial(3, "Hello, I need a flight to Oslo.", "Booked HAT200."))
    assert (report["attribution"]["verdict"], report["attribution"]["confidence"]) == ("noise", "noise")
    assert "task 7, trial 0 and 3" in report["attribution"]["sentence"]

    plan = post(client, f"/diffs/{report['id']}/prove/preview")
    assert any(
        warning.startswith("No probe is needed, because the difference is chance") for warning in plan["warnings"]
    )
    findings = run_proof(client, monkeypatch, report["id"])["findings"]
    assert (findings["verdict"], findings["confidence"], findings["live_calls"]) == ("noise", "noise", 0)
    assert findings["conclusion"].startswith("The difference is chance: both runs are trials of task 7")
    attribution = client.get(f"/api/v1/diffs/{report['id']}").json()["attribution"]
    assert (attribution["verdict"], attribution["sentence"]) == ("noise", findings["conclusion"])


def test_trial_with_another_prompt_is_not_chance(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    base = record_trial(0, "I want to fly to Oslo.", "Booked HAT110.")
    candidate = record_trial(
        1, "I want to fly to Oslo.", "Booked HAT200.", rules="You are the airline's desk. Book the last one."
    )
    report = make_diff(client, base, candidate)
    assert (report["attribution"]["verdict"], report["attribution"]["primary"]["category"]) == ("cause", "prompt")
    findings = run_proof(client, monkeypatch, report["id"])["findings"]
    assert (findings["verdict"], findings["confidence"]) == ("inconclusive", "low")
