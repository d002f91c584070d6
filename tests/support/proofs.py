"""Proving causes over REST in tests: a model that answers by a rule, and forks whose diffs are to be explained.

A test module that wants the fixtures here takes them under their names: pytest looks for them among its own.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import Settings

from cockpit.demo.agent import loading
from cockpit.demo.agent.scenarios import REFUND
from cockpit.demo.local_model import provider
from cockpit.demo.local_model import server as local_model_server
from replay import tasks
from replay.live import providers
from replay.models import ProofProbe
from tests.support.queues import held
from tests.support.replay_runs import Says, order_desk
from tests.support.servers.provider_server import Exchange, openai_chunk, provider_server
from traces.core.vocabulary import StepType
from traces.models import Run
from traces.runs import queries as recorded
from traces.runs.services import record
from traces.storage import artifacts

MODELS: dict[str, Any] = {"type": "model"}
HELPFUL = "You are the order desk. Answer in full sentences. Offer a refund."


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json", headers=headers)


@pytest.fixture
def local_model(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[None]:
    """The demo's model, known to every process: to a worker that starts later, too."""
    configured = {"local": {"protocol": "openai", "base_url": local_model_server.start()}}
    settings.PROVIDERS = configured
    monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps(configured))
    yield
    providers.close()
    provider.stop()


@pytest.fixture
def no_queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What would be queued; the test works it off itself."""
    queued: list[tuple[str, str]] = []

    names = (tasks.execute.name, tasks.prove.name, tasks.compare.name)
    held(monkeypatch, *names, into=lambda name, key: queued.append((name, key)))
    return queued


def work_off(queued: list[tuple[str, str]]) -> None:
    """What a worker does, one task after the other."""
    named = {task.name: task for task in (tasks.execute, tasks.prove, tasks.compare)}
    while queued:
        name, key = queued.pop(0)
        named[name](key)


def desk_run() -> tuple[Run, int, str]:
    """The refund that goes wrong, its first model step, and its system prompt."""
    loading.put_in_store()
    run = Run.objects.get(app="order-desk", external_id=loading._recording(REFUND).external_id)
    steps = recorded.steps(run.id)
    first = next(step for step in steps if step.type == StepType.MODEL)
    prompt = next(step for step in steps if step.type == StepType.PROMPT)
    said = artifacts.payload(prompt.output_ref)
    return run, first.sequence_no, str(said["text"] if isinstance(said, dict) else said)


def forked(client: Client, queued: list[tuple[str, str]], run: UUID, fork: int, *entries: Any) -> str:
    """The diff of a fork with these overrides."""
    body = {"run": str(run), "fork_step": fork, "overrides": {"overrides": list(entries)}}
    session = post(client, "/replays", body).json()
    work_off(queued)
    found = client.get(f"/api/v1/replays/{session['id']}").json()
    assert found["status"].startswith("completed"), found["error"]
    return str(found["diff"])


def prove(client: Client, queued: list[tuple[str, str]], diff: str, **request: Any) -> dict[str, Any]:
    started = post(client, f"/diffs/{diff}/prove", request)
    assert started.status_code == 201, started.json()
    work_off(queued)
    found: dict[str, Any] = client.get(f"/api/v1/proofs/{started.json()['id']}").json()
    assert found["status"] == "completed", found["error"]
    return dict(found["findings"])


def live(calls: int = 400, **more: Any) -> dict[str, Any]:
    return {"budget": {"live_calls": calls}, **more}


@dataclass(frozen=True)
class Asked:
    system: str
    model: str
    temperature: float
    user: str = ""
    tools: frozenset[str] = frozenset()


@dataclass
class Ruled:
    """A model that answers by a rule from what it is asked, and a run in which it gave one answer."""

    client: Client
    queued: list[tuple[str, str]]
    run: UUID
    rule: list[Callable[[Asked], str]]
    served: list[str]  # the model that answers in place of the one that is asked

    def diff(self, *entries: Any) -> str:
        return forked(self.client, self.queued, self.run, 3, *entries)

    def prove(self, diff: str, **request: Any) -> dict[str, Any]:
        return prove(self.client, self.queued, diff, **request)


@pytest.fixture
def ruled(client: Client, no_queue: list[tuple[str, str]], settings: Settings) -> Iterator[Ruled]:
    rule: list[Callable[[Asked], str]] = []
    served: list[str] = []

    def respond(exchange: Exchange) -> None:
        body = exchange.body
        system = next(str(each["content"]) for each in body["messages"] if each["role"] == "system")
        asked = Asked(
            system=system,
            model=body["model"],
            temperature=body.get("temperature", 0.0),
            user=next(str(each["content"]) for each in reversed(body["messages"]) if each["role"] == "user"),
            tools=frozenset(tool["function"]["name"] for tool in body.get("tools", ())),
        )
        text = rule[0](asked)
        exchange.stream()
        model = served[0] if served else asked.model
        exchange.send(openai_chunk({"role": "assistant", "content": text}, model=model))
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        exchange.send(openai_chunk(finish="stop", usage=usage, model=model))
        exchange.send("[DONE]")

    said = (("What about order A-1?", (Says("It is lost."),)),)
    with provider_server(respond) as server:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{server.base_url}/v1"}}
        yield Ruled(client, no_queue, UUID(str(record(order_desk(said)).run_id)), rule, served)
        providers.close()


def system(text: str) -> dict[str, Any]:
    return {"match": MODELS, "prompt": {"system": text}}


def setting(**fields: Any) -> dict[str, Any]:
    return {"match": MODELS, "model": fields}


def answered(proof: UUID | str) -> dict[str, Any]:
    """The probes that came to an answer."""
    probes = ProofProbe.objects.filter(proof=UUID(str(proof)), seen__isnull=False)
    return {probe.key: probe.seen for probe in probes if probe.seen and probe.seen["outcome"] != "needs_live"}


def candidate_of(client: Client, diff: str) -> UUID:
    return UUID(client.get(f"/api/v1/diffs/{diff}").json()["candidate"]["id"])
