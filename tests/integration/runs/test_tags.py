"""Names, notes and tags that users give runs."""

import io
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from cockpit.http import auth
from tests.support.recordings import assistant, model_step, order_run, user
from traces.core.ids import new_id
from traces.imports import portable_runs
from traces.models import Run, SearchDocument
from traces.retention.policies import PolicyTerms, set_policy
from traces.run_lists import saved_views
from traces.runs import services
from traces.search import indexer

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def record(name: str, *tags: str, texts: tuple[str, ...] = ("Done.",), app: str = "desk") -> UUID:
    steps = tuple(model_step(f"{name}-{at}", [user("Hello")], assistant(text)) for at, text in enumerate(texts))
    return services.record(replace(order_run(name), steps=steps, tags=tags, app=app)).run_id


def index() -> None:
    while indexer.work():
        pass


def get(path: str, **query: Any) -> Any:
    return Client().get(f"/api/v1/{path}", query).json()


def names(**query: Any) -> list[str]:
    return [run["external_id"] for run in get("runs", **query)["runs"]]


def patch(run: UUID, **naming: Any) -> Any:
    response = Client().patch(f"/api/v1/runs/{run}", naming, content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def tag(*changes: Any, status: int = 200) -> Any:
    response = Client().post("/api/v1/runs/tags", {"changes": changes}, content_type="application/json")
    assert response.status_code == status, response.content
    return response.json()


def tags(run: UUID) -> list[str]:
    return list(get(f"runs/{run}")["tags"])


def counts() -> dict[str, int]:
    return {facet["value"]: facet["count"] for facet in get("runs/facets")["tags"]}


def test_tags_are_edited_in_bulk_and_undone() -> None:
    first, second = record("a", "beta", "slow"), record("b", "slow")
    result = tag({"runs": [first, second], "add": [" flaky ", "slow"], "remove": ["beta"]})
    assert result["changed_runs"] == 2
    assert (tags(first), tags(second)) == (["slow", "flaky"], ["slow", "flaky"])
    assert counts() == {"slow": 2, "flaky": 2}
    assert (names(tag="flaky"), names(tag="beta")) == (["b", "a"], [])
    undo = tag(*result["undo"])
    assert (tags(first), tags(second)) == (["beta", "slow"], ["slow"])
    assert (undo["changed_runs"], counts()) == (2, {"slow": 2, "beta": 1})
    assert Run.objects.get(id=first).tags == ["beta", "slow"]
    assert [entry["action"] for entry in get("audit")["entries"]] == ["run_tagged"] * 4


def test_one_refusal_leaves_all_tags_as_they_are() -> None:
    run, missing = record("a"), new_id()
    open_run = services.open_run(name="b", app="desk").id
    for refused, status in ((missing, 404), (open_run, 409)):
        tag({"runs": [run], "add": ["x"]}, {"runs": [refused], "add": ["x"]}, status=status)
    tag({"runs": [run], "add": ["a,b"]}, status=422)
    tag({"runs": [run], "add": ["x" * 101]}, status=422)
    tag({"runs": [run], "add": [" "]}, status=422)
    tag({"runs": [run], "add": [f"t{number}" for number in range(60)]})
    assert "100" in tag({"runs": [run], "add": [f"u{number}" for number in range(41)]}, status=422)["detail"]
    assert len(tags(run)) == 60


def test_tags_of_one_run_decide_its_outcome() -> None:
    run = record("a", "bad")
    client = Client()
    rule = {"tags": {"bad": "failed", "good": "passed"}}
    assert client.put("/api/v1/outcome-rules/desk", rule, content_type="application/json").status_code == 200
    assert get(f"runs/{run}")["outcome"] == "failed"
    assert patch(run, tags=["good", "b"])["tags"] == ["good", "b"]
    assert (get(f"runs/{run}")["outcome"], names(outcome="passed")) == ("passed", ["a"])


def test_only_admins_remove_a_tag_on_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = record("a", "case-7"), record("b", "case-7", app="shop")
    set_policy(PolicyTerms(app="desk", tag="case-7", legal_hold=True), by="root")
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="dana", role="debugger"))
    assert "legal hold" in tag({"runs": [run], "remove": ["case-7"]}, status=403)["detail"]
    tag({"runs": [other], "remove": ["case-7"]})
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="root", role="admin"))
    tag({"runs": [run], "remove": ["case-7"]})
    assert tags(run) == []


def test_search_covers_name_note_and_tags() -> None:
    old, _ = record("a", texts=("left Lisbon",)), record("b", texts=("left Porto",))
    patch(old, title="Cents fix")
    assert (names(q="cents"), names(q="cents", sort="name")) == (["a"], ["a"])
    index()
    documents = list(SearchDocument.objects.order_by("id").values_list("id", "run_id"))
    patch(old, title="Euro repair", note="Try it on B-2001", tags=["urgent"])
    for words in ("euro lisbon", "b 2001 left", "urgent"):
        assert names(q=words) == ["a"]
    assert (names(q="cents"), names(q="left")) == ([], ["b", "a"])
    assert list(SearchDocument.objects.order_by("id").values_list("id", "run_id")) == documents
    Client().delete(f"/api/v1/runs/{old}")
    assert names(q="euro") == []


def test_new_revision_inherits_name_note_and_tags() -> None:
    run = record("a", "beta")
    patch(run, title="Cents fix", note="Look here", tags=["urgent"])
    newer = record("a", "beta", "late", texts=("Done.", "Done again."))
    [row] = get("runs")["runs"]
    assert (row["id"], row["revision"], row["title"], row["note"]) == (str(newer), 2, "Cents fix", "Look here")
    assert (row["tags"], counts()) == (["late", "urgent"], {"late": 1, "urgent": 1})
    index()
    assert names(q="cents") == ["a"]


def test_bundle_contains_name_note_and_tags() -> None:
    run = record("a", "beta", texts=("left Lisbon",))
    patch(run, title="Cents fix", note="Look here", tags=["urgent"])
    file = io.BytesIO()
    portable_runs.export(Run.objects.get(id=run), file)
    with services.retention():
        Client().delete(f"/api/v1/runs/{run}", query_params={"at_once": "true"})
    imported = get(f"runs/{portable_runs.import_bundle(file).run_id}")
    assert imported["id"] != str(run)
    assert [imported[name] for name in ("title", "note", "tags")] == ["Cents fix", "Look here", ["urgent"]]
    index()
    assert names(q="cents lisbon") == names(tag="urgent") == ["a"]


def test_saved_views_belong_to_their_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(method: str, path: str, status: int, **body: str) -> Any:
        response = getattr(Client(), method)(f"/api/v1/{path}", body, content_type="application/json")
        assert response.status_code == status, response.content
        return response.json() if response.content else None

    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="dana", role="debugger"))
    view = send("post", "run-views", 201, name=" Costly ", query="sort=-cost&app=desk")
    assert (view["name"], view["query"], view["owner"]) == ("Costly", "sort=-cost&app=desk", "dana")
    assert send("post", "run-views", 409, name="Costly", query="")["where"] == "/name"
    send("post", "run-views", 422, name=" ", query="")
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="eve", role="debugger"))
    assert get("run-views")["views"] == [view]
    assert "dana" in send("patch", f"run-views/{view['id']}", 403, name="Mine")["detail"]
    send("delete", f"run-views/{view['id']}", 403)
    monkeypatch.setattr(auth, "LOCAL", auth.Caller(name="root", role="admin"))
    assert send("patch", f"run-views/{view['id']}", 200, name="Cheap", query="sort=cost")["name"] == "Cheap"
    other = send("post", "run-views", 201, name="Other", query="")
    # As if the name was stored between the check and the write.
    monkeypatch.setattr(saved_views, "_check_name", lambda name: None)
    assert send("post", "run-views", 409, name="Cheap", query="")["where"] == "/name"
    assert send("patch", f"run-views/{other['id']}", 409, name="Cheap")["where"] == "/name"
    send("delete", f"run-views/{other['id']}", 204)
    send("delete", f"run-views/{view['id']}", 204)
    assert (get("run-views")["views"], send("delete", f"run-views/{view['id']}", 404)["code"]) == ([], "not_found")
