"""Override profiles and policies that are stored, named and reused."""

from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest
from django.test import Client

from replay.execution import runner, task_names
from replay.models import OverrideProfile
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from tests.unit.replay.inputs.test_documents import library
from traces.core.canonical import digest
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
BRIEF: dict[str, Any] = {"overrides": [{"match": {"type": "model"}, "prompt": {"system": "Be brief."}}]}
WARM: dict[str, Any] = {"overrides": [{"match": {"step": 9}, "model": {"temperature": 0}, "output": None}]}
STRICT: dict[str, Any] = {"order": "reexecute", "budget": {"max_cost_usd": 0.5}}


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def run() -> str:
    return str(record(order_desk()).run_id)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def save(client: Client, name: str, profile: Any) -> Any:
    answer = post(client, "/profiles", {"name": name, "profile": profile})
    assert answer.status_code == 201, answer.json()
    return answer.json()


def test_profile_is_found_by_name_or_digest(client: Client) -> None:
    profile = save(client, "brief", BRIEF)
    assert (profile["names"], profile["profile"], profile["used_by"]) == (["brief"], BRIEF, 0)
    for ref in ("brief", profile["digest"], profile["digest"][:12]):
        assert client.get(f"/api/v1/profiles/{ref}").json() == profile
    assert client.get("/api/v1/profiles").json() == {"profiles": [profile]}
    assert client.get("/api/v1/profiles/unheard-of").status_code == 404


def test_document_is_stored_verbatim(client: Client) -> None:
    profile = save(client, "warm", WARM)
    assert (profile["profile"], profile["digest"]) == (WARM, digest(WARM))  # 0 and null are values
    policy = post(client, "/policies", {"name": "strict", "policy": STRICT}).json()
    assert (policy["policy"], policy["digest"]) == (STRICT, digest(STRICT))


def test_name_moves_and_old_document_stays(client: Client, run: str) -> None:
    first = save(client, "mine", BRIEF)
    post(client, "/replays", {"run": run, "overrides": "mine"})
    second = save(client, "mine", WARM)
    assert client.get("/api/v1/profiles/mine").json()["digest"] == second["digest"] != first["digest"]
    old_profile = client.get(f"/api/v1/profiles/{first['digest']}").json()
    assert (old_profile["profile"], old_profile["names"], old_profile["used_by"]) == (BRIEF, [], 1)


def test_deletion_removes_only_the_name(client: Client) -> None:
    profile = save(client, "brief", BRIEF)
    assert client.delete("/api/v1/profiles/brief").status_code == 204
    assert client.delete("/api/v1/profiles/brief").status_code == 404
    assert client.get("/api/v1/profiles").json() == {"profiles": []}
    assert OverrideProfile.objects.get(digest=profile["digest"]).profile == BRIEF


def test_replay_resolves_profile_names(client: Client, run: str) -> None:
    profile = save(client, "brief", BRIEF)
    policy = post(client, "/policies", {"name": "careful", "policy": STRICT}).json()
    body = {"run": run, "fork_step": 9, "overrides": "brief", "policy": policy["digest"]}
    session = post(client, "/replays", body).json()
    assert (session["overrides_digest"], session["policy_digest"]) == (profile["digest"], policy["digest"])
    assert session["overrides"]["overrides"][0]["prompt"]["system"] == "Be brief."
    assert (session["policy"]["order"], session["policy"]["max_turns"]) == ("reexecute", 25)
    inline = post(client, "/replays", {**body, "overrides": BRIEF, "policy": STRICT}).json()
    assert inline["overrides_digest"] == profile["digest"]
    assert client.get("/api/v1/policies/careful").json()["used_by"] == 2


def test_preview_and_experiment_resolve_names(client: Client, run: str) -> None:
    save(client, "brief", BRIEF)
    post(client, "/policies", {"name": "careful", "policy": {"max_turns": 3}})
    request = {"run": run, "fork_step": 9, "overrides": "brief", "policy": "careful"}
    whole = {**request, "overrides": BRIEF, "policy": {"max_turns": 3}}
    for path in ("/replays/preview", "/experiments/preview"):
        answer = post(client, path, request)
        assert (answer.status_code, answer.json()) == (200, post(client, path, whole).json())


def test_unfitting_profile_is_refused_at_its_place(client: Client, run: str) -> None:
    save(client, "brief", {"overrides": [*BRIEF["overrides"], {"match": {"step": 77}, "output": "x"}]})
    [refusal] = post(client, "/replays/preview", {"run": run, "overrides": "brief"}).json()["refusals"]
    assert (refusal["code"], refusal["where"]) == ("override_matches_nothing", "/overrides/overrides/1/match")


@pytest.mark.parametrize(
    ("path", "body", "status", "code", "pointer"),
    [
        ("/profiles", {"name": "Big", "profile": BRIEF}, 422, "validation_error", "/name"),
        ("/profiles", {"name": "deadbeef", "profile": BRIEF}, 422, "validation_error", "/name"),
        (
            "/profiles",
            {"name": "a", "profile": {"overrides": [{"match": {"type": "model"}}]}},
            422,
            "validation_error",
            "/profile/overrides/0",
        ),
        (
            "/profiles",
            {"name": "a", "profile": {"overrides": [{"match": {"step": 3}, "delete": True}]}},
            422,
            "structural_change",
            "/profile/overrides/0/delete",
        ),
        ("/policies", {"name": "a", "policy": {"alow": []}}, 422, "validation_error", "/policy/alow"),
        ("/replays", {"run": "last", "overrides": "nobody"}, 404, "not_found", "/overrides"),
        ("/experiments/preview", {"run": "last", "policy": "0123456789"}, 404, "not_found", "/policy"),
    ],
)
def test_invalid_profile_is_refused_with_its_place(
    client: Client, path: str, body: Any, status: int, code: str, pointer: str
) -> None:
    answer = post(client, path, body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["where"]) == (status, code, pointer)


def test_published_schemas_match_the_parser(client: Client) -> None:
    no_match, sets_nothing = {"match": {}, "output": 1}, {"match": {"step": 1}}
    overspecified = {"match": {"step": 1, "type": "model"}, "output": 1}
    documents: list[tuple[str, list[Any], list[Any]]] = [
        (
            "override-profile",
            [BRIEF, WARM, {"overrides": []}],
            [{"overrides": [x]} for x in (no_match, sets_nothing, overspecified)],
        ),
        ("policy", [{}, STRICT], [{"alow": []}, {"max_turns": 0}, {"allow": ["everything"]}]),
    ]
    for name, good, bad in documents:
        answer = client.get(f"/api/v1/schemas/{name}.json")
        assert answer["Content-Type"] == "application/schema+json"
        validator = jsonschema_rs.Draft202012Validator(answer.json())
        assert [validator.is_valid(document) for document in (*good, *bad)] == [True] * len(good) + [False] * len(bad)
    assert client.get("/api/v1/schemas/nothing.json").status_code == 404


EVERY_CATEGORY: list[tuple[dict[str, Any], str]] = [
    (
        {"match": {"type": "prompt"}, "prompt": {"template": "Be {mood}.", "template_id": "t9", "version": "2"}},
        "prompt",
    ),
    ({"match": {"type": "prompt"}, "prompt": {"variables": {"rules": "none", "role": "a poet"}}}, "prompt"),
    (
        {"match": {"type": "retrieval"}, "retrieval": {"documents": [{"id": "n", "content": "A new rule."}]}},
        "retrieval",
    ),
    ({"match": {"type": "model"}, "messages": [{"op": "replace", "index": 0, "content": "Hello?"}]}, "model"),
    ({"match": {"type": "model"}, "model": {"temperature": 0.3, "stop": []}}, "model"),
    ({"match": {"type": "model"}, "prompt": {"system": "Be brief."}}, "model"),
    ({"match": {"type": "model"}, "output": "What if."}, "model"),
]


@pytest.mark.parametrize(("entry", "kind"), EVERY_CATEGORY)
def test_stored_profile_supports_every_category(client: Client, entry: dict[str, Any], kind: str) -> None:
    run = str(record(library()).run_id)
    save(client, "one", {"overrides": [entry]})
    plan = post(client, "/replays/preview", {"run": run, "overrides": "one"}).json()
    assert plan["refusals"] == []
    session = post(client, "/replays", {"run": run, "overrides": "one"}).json()
    runner.execute(UUID(session["id"]))
    after = client.get(f"/api/v1/replays/{session['id']}").json()
    assert after["status"].startswith("completed")
    steps = client.get(f"/api/v1/runs/{after['run']}/steps").json()["steps"]
    changed = next(step for step in steps if step["label"] == "simulated")
    assert changed["type"] == kind
    planned_labels = {step["sequence_no"]: step["label"] for step in plan["steps"]}
    assert {step["sequence_no"]: step["label"] for step in steps} == planned_labels
