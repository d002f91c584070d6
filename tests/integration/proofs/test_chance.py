"""Two tries at one task: the diff and the proof call their difference chance, from the file to the answer."""

from typing import Any

import orjson
import pytest
from django.test import Client

from replay import tasks
from replay.execution import task_names
from tests.support.queues import held
from traces.importers.files.source import Source
from traces.importers.formats.chats import chat
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)


def tried(number: int, ask: str, final: str, *, rules: str = "You are the airline's desk.") -> str:
    """The run of one line in a benchmark's file, as test beds of agents write it."""
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


def diffed(client: Client, base: str, candidate: str) -> Any:
    made = post(client, "/diffs", {"base": base, "candidate": candidate, "options": {"similarity": "lexical"}})
    return client.get(f"/api/v1/diffs/{made['id']}").json()


def proved(client: Client, monkeypatch: pytest.MonkeyPatch, diff: str) -> Any:
    queued = held(monkeypatch, task_names.PROVE)
    started = post(client, f"/diffs/{diff}/prove")
    for key in queued:
        tasks.prove(key)
    return client.get(f"/api/v1/proofs/{started['id']}").json()


def test_tries_at_one_task_are_chance_in_the_diff_and_in_the_proof(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tried(0, "I want to fly to Oslo.", "Booked HAT110.")
    report = diffed(client, base, tried(3, "Hello, I need a flight to Oslo.", "Booked HAT200."))
    assert (report["attribution"]["verdict"], report["attribution"]["confidence"]) == ("noise", "noise")
    assert "task 7, trial 0 and 3" in report["attribution"]["sentence"]

    plan = post(client, f"/diffs/{report['id']}/prove/preview")
    assert any(warning.startswith("No probe is needed, chance is the answer") for warning in plan["warnings"])
    found = proved(client, monkeypatch, report["id"])["findings"]
    assert (found["verdict"], found["confidence"], found["live_calls"]) == ("noise", "noise", 0)
    assert found["conclusion"].startswith("Chance made the difference: both runs are trials of task 7")
    shown = client.get(f"/api/v1/diffs/{report['id']}").json()["attribution"]
    assert (shown["verdict"], shown["sentence"]) == ("noise", found["conclusion"])


def test_a_try_under_another_prompt_is_not_called_chance(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tried(0, "I want to fly to Oslo.", "Booked HAT110.")
    other = tried(1, "I want to fly to Oslo.", "Booked HAT200.", rules="You are the airline's desk. Book the last one.")
    report = diffed(client, base, other)
    assert (report["attribution"]["verdict"], report["attribution"]["primary"]["category"]) == ("cause", "prompt")
    found = proved(client, monkeypatch, report["id"])["findings"]
    assert (found["verdict"], found["confidence"]) == ("inconclusive", "low")
