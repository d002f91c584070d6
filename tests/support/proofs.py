"""Proofs over REST in tests: a model that answers by a rule, and forks whose diffs are explained.

Test modules import the fixtures from here by name, because pytest collects them from the module.
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
from tests.support.demo import load_demo
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, order_desk
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
    """The demo's model, configured for every process, including workers that start later."""
    providers_setting = {"local": {"protocol": "openai", "base_url": local_model_server.start()}}
    settings.PROVIDERS = providers_setting
    monkeypatch.setenv("FORKPOINT_PROVIDERS", json.dumps(providers_setting))
    yield
    providers.close()
    provider.stop()


@pytest.fixture
def no_queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Collects the tasks that would be queued; the test runs them itself."""
    queue: list[tuple[str, str]] = []

    names = (tasks.execute.name, tasks.prove.name, tasks.compare.name)
    capture_tasks(monkeypatch, *names, callback=lambda name, key: queue.append((name, key)))
    return queue


def work_off(queue: list[tuple[str, str]]) -> None:
    """Run the tasks one after another, as a worker would."""
    tasks_by_name = {task.name: task for task in (tasks.execute, tasks.prove, tasks.compare)}
    while queue:
        name, key = queue.pop(0)
        tasks_by_name[name](key)


def desk_run() -> tuple[Run, int, str]:
    """The failing refund run, its first model step, and its system prompt."""
    load_demo()
    run = Run.objects.get(app="order-desk", external_id=loading.load_recording(REFUND).external_id)
    steps = recorded.steps(run.id)
    first = next(step for step in steps if step.type == StepType.MODEL)
    prompt = next(step for step in steps if step.type == StepType.PROMPT)
    payload = artifacts.payload(prompt.output_ref)
    return run, first.sequence_no, str(payload["text"] if isinstance(payload, dict) else payload)


def fork_and_diff(client: Client, queue: list[tuple[str, str]], run: UUID, fork: int, *entries: Any) -> str:
    """The diff between a run and its fork with these overrides."""
    body = {"run": str(run), "fork_step": fork, "overrides": {"overrides": list(entries)}}
    session = post(client, "/replays", body).json()
    work_off(queue)
    session = client.get(f"/api/v1/replays/{session['id']}").json()
    assert session["status"].startswith("completed"), session["error"]
    return str(session["diff"])


def prove(client: Client, queue: list[tuple[str, str]], diff: str, **request: Any) -> dict[str, Any]:
    response = post(client, f"/diffs/{diff}/prove", request)
    assert response.status_code == 201, response.json()
    work_off(queue)
    proof: dict[str, Any] = client.get(f"/api/v1/proofs/{response.json()['id']}").json()
    assert proof["status"] == "completed", proof["error"]
    return dict(proof["findings"])


def live(calls: int = 400, **more: Any) -> dict[str, Any]:
    return {"budget": {"live_calls": calls}, **more}


@dataclass(frozen=True)
class ModelCall:
    system: str
    model: str
    temperature: float
    user: str = ""
    tools: frozenset[str] = frozenset()


@dataclass
class RuleDesk:
    """A model that answers each call by a rule, and a run with one of its answers."""

    client: Client
    queue: list[tuple[str, str]]
    run: UUID
    rule: list[Callable[[ModelCall], str]]
    substitutes: list[str]  # the model that answers in place of the one that is asked

    def diff(self, *entries: Any) -> str:
        return fork_and_diff(self.client, self.queue, self.run, 3, *entries)

    def prove(self, diff: str, **request: Any) -> dict[str, Any]:
        return prove(self.client, self.queue, diff, **request)


@pytest.fixture
def rule_desk(client: Client, no_queue: list[tuple[str, str]], settings: Settings) -> Iterator[RuleDesk]:
    rule: list[Callable[[ModelCall], str]] = []
    substitutes: list[str] = []

    def respond(exchange: Exchange) -> None:
        body = exchange.body
        system = next(str(message["content"]) for message in body["messages"] if message["role"] == "system")
        call = ModelCall(
            system=system,
            model=body["model"],
            temperature=body.get("temperature", 0.0),
            user=next(str(message["content"]) for message in reversed(body["messages"]) if message["role"] == "user"),
            tools=frozenset(tool["function"]["name"] for tool in body.get("tools", ())),
        )
        text = rule[0](call)
        exchange.stream()
        model = substitutes[0] if substitutes else call.model
        exchange.send(openai_chunk({"role": "assistant", "content": text}, model=model))
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        exchange.send(openai_chunk(finish="stop", usage=usage, model=model))
        exchange.send("[DONE]")

    conversation = (("What about order A-1?", (Reply("It is lost."),)),)
    with provider_server(respond) as server:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{server.base_url}/v1"}}
        yield RuleDesk(client, no_queue, UUID(str(record(order_desk(conversation)).run_id)), rule, substitutes)
        providers.close()


def system(text: str) -> dict[str, Any]:
    return {"match": MODELS, "prompt": {"system": text}}


def setting(**fields: Any) -> dict[str, Any]:
    return {"match": MODELS, "model": fields}


def answered_probes(proof: UUID | str) -> dict[str, Any]:
    """The stored probes that have an outcome."""
    probes = ProofProbe.objects.filter(proof=UUID(str(proof)), seen__isnull=False)
    return {probe.key: probe.seen for probe in probes if probe.seen and probe.seen["outcome"] != "needs_live"}


def candidate_of(client: Client, diff: str) -> UUID:
    return UUID(client.get(f"/api/v1/diffs/{diff}").json()["candidate"]["id"])
