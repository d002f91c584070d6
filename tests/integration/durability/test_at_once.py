"""Idempotency keys and concurrent requests."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections
from django.db.models import Model
from django.test import Client

from diffing.models import DiffReport
from replay.execution import task_names
from replay.models import Experiment, Proof, ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.models import IgnoreList, RequestKey, ShareLink
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = 5


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE, task_names.PROVE, task_names.SIGN_CALLS)


def desk(request_id: str) -> UUID:
    asks = ToolCall("get_order", {"order_id": "A-1", "request_id": request_id}, {"status": "on its way"})
    return record(order_desk([("Where is it?", (asks, Reply("On its way.")))], external_id=request_id)).run_id


@pytest.fixture
def pair() -> tuple[str, str]:
    first, second = str(uuid4()), str(uuid4())
    return str(desk(first)), str(desk(second))


@pytest.fixture
def diff(client: Client, pair: tuple[str, str]) -> str:
    return str(post(client, "/diffs", {"base": pair[0], "candidate": pair[1]}).json()["id"])


def post(client: Client, path: str, body: Any = None, key: str | None = None) -> Any:
    headers = {"Idempotency-Key": key} if key else None
    return client.post(f"/api/v1{path}", body or {}, content_type="application/json", headers=headers)


def send_concurrently(act: Callable[[Client, int], Any]) -> list[Any]:
    """Send a request from several clients at the same moment; returns all answers."""
    ready = threading.Barrier(PEOPLE)

    def send(number: int) -> Any:
        ready.wait()
        try:
            return act(Client(), number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(PEOPLE) as people:
        return list(people.map(send, range(PEOPLE)))


def codes(answers: list[Any]) -> set[int]:
    return {answer.status_code for answer in answers}


POSTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("/diffs/{diff}/shares", {"max_views": 3}, {"max_views": 4}),
    ("/diffs/{diff}/unchanged", {"policy": {"order": "reuse"}}, {"policy": {"max_turns": 3}}),
    ("/diffs/{diff}/prove", {"parts": False}, {"parts": True}),
    ("/replays", {"run": "{base}"}, {"run": "{base}", "fork_step": 2}),
    ("/experiments", {"run": "{base}", "policy": {"order": "reuse"}}, {"run": "{base}", "name": "other"}),
    ("/calibrations", {"base": "{base}", "candidate": "{candidate}"}, {"base": "{candidate}", "candidate": "{base}"}),
    ("/diffs", {"base": "{base}", "candidate": "{candidate}"}, {"base": "{candidate}", "candidate": "{base}"}),
    ("/ignore-lists", {"app": "desk", "rules": []}, {"app": "desk", "rules": [{"type": "tool", "pointer": "/a"}]}),
    ("/tokens", {"name": "ci", "role": "viewer"}, {"name": "ci", "role": "admin"}),
    ("/profiles", {"name": "p", "profile": {"overrides": []}}, {"name": "q", "profile": {"overrides": []}}),
    ("/policies", {"name": "p", "policy": {}}, {"name": "q", "policy": {}}),
]


@pytest.mark.parametrize(("path", "body", "other_body"), POSTS, ids=[path for path, *_ in POSTS])
def test_key_reuse_for_another_request_conflicts(
    client: Client, pair: tuple[str, str], diff: str, path: str, body: dict[str, Any], other_body: dict[str, Any]
) -> None:
    ids = {"base": pair[0], "candidate": pair[1], "diff": diff}

    def fill(template: dict[str, Any]) -> dict[str, Any]:
        return {name: value.format_map(ids) if isinstance(value, str) else value for name, value in template.items()}

    url = path.format_map(ids)
    answers = [post(client, url, fill(body), "k"), post(client, url, fill(body), "k")]
    assert codes(answers) <= {200, 201}, answers[0].content
    assert answers[0].json() == answers[1].json()
    conflict = post(client, url, fill(other_body), "k")
    assert (conflict.status_code, conflict.json()["code"]) == (409, "conflict")
    assert conflict.json()["where"] == "Idempotency-Key"


def test_concurrent_share_requests_create_one_link(diff: str) -> None:
    answers = send_concurrently(lambda client, _: post(client, f"/diffs/{diff}/shares", {}, "k"))
    assert codes(answers) == {201}
    [url] = {answer.json()["url"] for answer in answers}
    link = ShareLink.objects.get()
    columns = [*ShareLink.objects.values_list(), *RequestKey.objects.values_list()]
    assert url.rpartition("/")[2] not in str(columns)
    assert {answer.json()["id"] for answer in answers} == {str(link.id)}
    assert Client().get(f"/api/v1/share/{url.rpartition('/')[2]}").status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/replays", {"run": "{base}"}, ReplaySession),
        ("/experiments", {"run": "{base}", "policy": {"order": "reuse"}}, Experiment),
        ("/diffs/{diff}/prove", {"parts": False}, Proof),
    ],
    ids=["replay", "experiment", "proof"],
)
def test_one_key_starts_work_once(
    pair: tuple[str, str], diff: str, path: str, body: dict[str, Any], model: type[Model]
) -> None:
    request = {name: value.format(base=pair[0]) if isinstance(value, str) else value for name, value in body.items()}
    answers = send_concurrently(lambda client, _: post(client, path.format(diff=diff), request, "k"))
    assert codes(answers) == {201}
    assert len({answer.json()["id"] for answer in answers}) == model._default_manager.count() == 1


def test_links_without_a_key_differ(client: Client, diff: str) -> None:
    assert len({post(client, f"/diffs/{diff}/shares").json()["url"] for _ in range(3)}) == 3


def test_link_respects_its_view_limit(client: Client, diff: str) -> None:
    token = post(client, f"/diffs/{diff}/shares", {"max_views": 2}).json()["url"].rpartition("/")[2]
    answers = send_concurrently(lambda person, _: person.get(f"/api/v1/share/{token}"))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 404, 404, 404]


def test_concurrent_requests_start_one_control_replay(diff: str) -> None:
    answers = send_concurrently(
        lambda client, _: post(client, f"/diffs/{diff}/unchanged", {"policy": {"order": "reuse"}})
    )
    assert codes(answers) == {200}
    assert len({answer.json()["session"]["id"] for answer in answers}) == ReplaySession.objects.count() == 1


def test_concurrent_diffs_make_one_report(pair: tuple[str, str]) -> None:
    answers = send_concurrently(lambda client, _: post(client, "/diffs", {"base": pair[0], "candidate": pair[1]}))
    assert codes(answers) == {200}
    assert len({answer.content for answer in answers}) == DiffReport.objects.count() == 1


def test_concurrent_ignore_lists_get_separate_versions() -> None:
    def rules(number: int) -> dict[str, Any]:
        return {"app": "desk", "rules": [{"type": "tool", "pointer": f"/field{number}"}]}

    answers = send_concurrently(lambda client, number: post(client, "/ignore-lists", rules(number)))
    assert codes(answers) == {201}
    assert sorted(answer.json()["version"] for answer in answers) == [1, 2, 3, 4, 5]


def test_concurrent_accepts_lose_no_rule(client: Client, pair: tuple[str, str]) -> None:
    calibration = post(client, "/calibrations", {"base": pair[0], "candidate": pair[1]}).json()
    places = range(len(calibration["proposals"]))
    accept = f"/calibrations/{calibration['id']}/accept"
    answers = send_concurrently(lambda person, number: post(person, accept, {"proposals": [number % len(places)]}))
    assert codes(answers) == {200}
    newest = IgnoreList.objects.order_by("-version")[0]
    assert sorted(rule["pointer"] for rule in newest.rules) == sorted(
        calibration["proposals"][place]["rule"]["pointer"] for place in places
    )


def test_proof_cancelled_before_start_is_readable(client: Client, diff: str) -> None:
    proof = post(client, f"/diffs/{diff}/prove").json()["id"]
    answers = send_concurrently(lambda person, _: post(person, f"/proofs/{proof}/cancel"))
    assert codes(answers) == {200}
    view = client.get(f"/api/v1/proofs/{proof}").json()
    assert (view["status"], view["progress"]["probes"]) == ("cancelled", 0)
    assert client.get(f"/api/v1/diffs/{diff}/proofs").json()["proofs"] == [view]
