"""Proving causes over REST: counterfactual replays of stored runs, by a real worker that asks a real model server."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from cockpit.demo import loading, model_server, provider
from replay import providers
from replay.models import ReplaySession

pytestmark = pytest.mark.django_db(transaction=True)
LIMIT_S = 90


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json", headers=headers)


@pytest.fixture
def local_model(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[None]:
    """The demo's model, known to every process: to a worker that starts later, too."""
    configured = {"local": {"protocol": "openai", "base_url": model_server.start()}}
    settings.PROVIDERS = configured
    monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps(configured))
    yield
    providers.close()
    provider.stop()


def ended(client: Client, proof: str) -> dict[str, Any]:
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        found: dict[str, Any] = client.get(f"/api/v1/proofs/{proof}").json()
        if found["status"] not in {"pending", "running"}:
            return found
        time.sleep(0.05)
    raise AssertionError(f"the proof is still {found['status']}: {found['progress']}")


def fork_of_the_demo(client: Client) -> tuple[ReplaySession, str]:
    """The mended refund, replayed, and its diff."""
    session = loading.put_in_store()
    until = time.monotonic() + LIMIT_S
    while session.diff_id is None and time.monotonic() < until:
        time.sleep(0.05)
        session.refresh_from_db()
    return session, str(session.diff_id)


def test_the_mended_prompt_of_the_demo_is_proved(
    client: Client, local_model: None, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("worker")
    _, diff = fork_of_the_demo(client)
    plan = post(client, f"/diffs/{diff}/prove/preview").json()
    print(json.dumps(plan, indent=1))
    started = post(client, f"/diffs/{diff}/prove", {"budget": {"live_calls": 200}}).json()
    found = ended(client, started["id"])
    print(json.dumps(found, indent=1))
    assert found["status"] == "completed", found["error"]
    assert found["findings"]["confidence"] == "high"
