"""Recorded runs over REST."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.support.recordings import NOON, conversation, order_run
from traces.core.canonical import digest_bytes
from traces.core.vocabulary import Label, Reason, RunStatus
from traces.http.hang_ups import HANG_UP
from traces.models import Artifact, Deletion, Run, Step
from traces.origins import stored_provenance
from traces.runs import services
from traces.schemas import EdgeList, RunDetail, RunFacets, RunList, StepDetail, StepList

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def _get(path: str, **query: Any) -> Any:
    response = Client().get(f"/api/v1/{path}", query)
    assert response.status_code == 200, response.content
    return orjson.loads(response.content)


def _problem(path: str, **query: Any) -> Any:
    response = Client().get(f"/api/v1/{path}", query)
    assert response["Content-Type"] == "application/problem+json"
    return response.status_code, response.json()


def _ids(**query: Any) -> list[str]:
    return [run["external_id"] for run in _get("runs", **query)["runs"]]


def _record(external_id: str, **changes: Any) -> Run:
    return Run.objects.get(id=services.record(replace(order_run(external_id), **changes)).run_id)


def test_runs_are_paged_newest_first() -> None:
    for number in range(5):
        _record(f"run-{number}")
    first = _get("runs", limit=2)
    second = _get("runs", limit=2, cursor=first["next"])
    third = _get("runs", limit=2, cursor=second["next"])
    names = [run["external_id"] for page in (first, second, third) for run in page["runs"]]
    assert names == ["run-4", "run-3", "run-2", "run-1", "run-0"]
    assert (first["total"], third["next"]) == (5, None)
    RunList.model_validate(first)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["c", "b", "a"]),
        ({"app": "shop"}, ["b"]),
        ({"app": "shop,air"}, ["c", "b"]),
        ({"environment": "prod"}, ["b"]),
        ({"status": "failed"}, ["c"]),
        ({"source": "import"}, ["c", "b", "a"]),
        ({"source": "replay"}, []),
        ({"tag": "vip"}, ["b"]),
        ({"tag": "vip,orders"}, ["c", "b", "a"]),
        ({"label": "live"}, ["c", "b", "a"]),
        ({"label": "exact,cached"}, []),
        ({"since": "2026-03-02T00:00:00Z"}, ["c"]),
        ({"until": "2026-03-02T00:00:00Z"}, ["b", "a"]),
        ({"min_cost": "0.003", "max_cost": "0.003"}, ["c", "b", "a"]),
        ({"max_cost": "0.002"}, []),
        ({"q": "where"}, ["c", "b", "a"]),
        ({"q": "WHERE SHOP"}, ["b"]),
        ({"q": "gpt-4o"}, ["c", "b", "a"]),
        ({"q": "100%"}, []),
        ({"q": "vip", "app": "desk"}, []),
    ],
)
def test_filters_select_matching_runs(query: dict[str, str], names: list[str]) -> None:
    _record("a")
    _record("b", app="shop", environment="prod", tags=("orders", "vip"))
    _record("c", app="air", status=RunStatus.FAILED, started_at=NOON + timedelta(days=3), ended_at=None)
    assert _ids(**query) == names


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"cursor": "nonsense"}, "/cursor"),
        ({"limit": "many"}, "/limit"),
        ({"limit": "0"}, "/limit"),
        ({"status": "asleep"}, "/status"),
        ({"label": "wrong"}, "/label"),
        ({"since": "yesterday"}, "/since"),
        ({"since": "2026-03-02T00:00:00"}, "/since"),
        ({"min_cost": "cheap"}, "/min_cost"),
        ({"min_cost": "NaN"}, "/min_cost"),
    ],
)
def test_invalid_filter_is_rejected_by_name(query: dict[str, str], where: str) -> None:
    status, problem = _problem("runs", **query)
    assert (status, problem["code"], problem["where"]) == (400, "validation_error", where)


def test_list_uses_constant_queries() -> None:
    _record("first")
    with CaptureQueriesContext(connection) as small_count:
        _get("runs")
    for number in range(20):
        _record(f"more-{number}")
    with CaptureQueriesContext(connection) as many:
        _get("runs")
    # Ids, runs and captions.
    assert len(small_count) == len(many) <= 3


def test_facets_count_values() -> None:
    _record("a")
    _record("b", app="shop", environment="", tags=("vip", "orders"))
    facets = _get("runs/facets")
    assert facets["apps"] == [{"value": "desk", "count": 1}, {"value": "shop", "count": 1}]
    assert facets["environments"] == [{"value": "test", "count": 1}]
    assert {"value": "orders", "count": 2} in facets["tags"]
    RunFacets.model_validate(facets)


def test_facets_count_visible_runs() -> None:
    _record("a")
    run = _record("b", app="shop", tags=("vip",))
    assert {"value": "vip", "count": 1} in _get("runs/facets")["tags"]
    now = datetime.now(UTC)
    Deletion.objects.create(run=run, at=now, due_at=now)
    facets = _get("runs/facets")
    assert facets["apps"] == [{"value": "desk", "count": 1}]
    assert "vip" not in [facet["value"] for facet in facets["tags"]]


def test_run_shows_its_lineage() -> None:
    source = _record("a")
    derived = services.open_run(name="fork", app="desk", source_run=source, fork_sequence_no=3)
    document = _get(f"runs/{source.id}")
    assert [run["id"] for run in document["derived"]] == [str(derived.id)]
    assert _get(f"runs/{derived.id}")["source_run_name"] == source.name
    RunDetail.model_validate(document)


def test_run_is_found_by_each_id() -> None:
    run = _record("trace-77")
    for ref in (str(run.id), run.id.hex, run.id.hex[:12], "trace-77", "last"):
        assert _get(f"runs/{ref}")["id"] == str(run.id)


def test_ambiguous_prefix_lists_matches() -> None:
    runs = [_record("same", app=app) for app in ("desk", "shop")]
    status, problem = _problem("runs/same")
    assert (status, problem["code"]) == (400, "validation_error")
    assert all(str(run.id) in problem["detail"] for run in runs)


@pytest.mark.parametrize(
    "path",
    [
        "runs/nobody",
        "runs/0198c0de",
        "runs/nobody/steps",
        "steps/1",
        "artifacts/00",
        "redirects/traces/x",
        "redirects/spans/x",
    ],
)
def test_missing_objects_are_not_found(path: str) -> None:
    status, problem = _problem(path)
    assert (status, problem["code"]) == (404, "not_found")


def test_steps_are_compact_and_paged() -> None:
    run = _record("a")
    whole = _get(f"runs/{run.id}/steps")
    assert [step["sequence_no"] for step in whole["steps"]] == [1, 2, 3, 4, 5]
    assert whole["next"] is None
    assert [step["offset_ms"] for step in whole["steps"]] == [0, 1000, 2000, 3000, 4000]
    StepList.model_validate(whole)
    first = _get(f"runs/{run.id}/steps", limit=2)
    assert first["next"] == 2
    assert [step["sequence_no"] for step in _get(f"runs/{run.id}/steps", after=2)["steps"]] == [3, 4, 5]


def test_long_run_needs_two_queries() -> None:
    run = Run.objects.get(id=services.record(conversation(50)).run_id)
    with CaptureQueriesContext(connection) as queries:
        _get(f"runs/{run.id}/steps")
    assert len(queries) == 2


def test_step_has_payloads_and_provenance() -> None:
    run = _record("a")
    step = _get(f"runs/{run.id}/steps/4")
    assert step["input"]["messages"][0]["role"] == "system"
    assert step["output"]["message"]["content"].startswith("Your order A-1042")
    assert step["inherited_messages"] == 2
    assert [(edge["step"], edge["kind"]) for edge in step["consumed"]] == [(2, "history"), (3, "tool_call_id")]
    assert [(edge["step"], edge["name"]) for edge in step["produced_for"]] == [(5, "answer")]
    assert step["unavailable"] == []
    StepDetail.model_validate(step)
    assert step == _get(f"steps/{step['id']}") == _get(f"runs/{run.id}/steps/tell")


def test_edges_connect_producers_and_consumers() -> None:
    run = _record("order-1")
    page = _get(f"runs/{run.id}/edges")
    EdgeList.model_validate(page)
    consumer = [(edge["producer"], edge["consumer"], edge["kind"]) for edge in page["edges"]]
    assert (2, 3, "tool_call_id") in consumer
    assert (3, 4, "tool_call_id") in consumer
    assert (2, 4, "history") in consumer
    assert page["next"] is None


def test_edge_pages_do_not_overlap() -> None:
    run = _record("order-1")
    whole = _get(f"runs/{run.id}/edges")["edges"]
    first = _get(f"runs/{run.id}/edges", limit=3)
    second = _get(f"runs/{run.id}/edges", limit=3, after=first["next"])
    assert first["edges"] + second["edges"] == whole
    assert len({tuple(edge.values()) for edge in whole}) == len(whole)
    assert (first["next"], second["next"]) == (3, None)


def test_step_of_long_conversation_needs_few_queries() -> None:
    run = Run.objects.get(id=services.record(conversation(100)).run_id)
    stored_provenance.ensure(run.id)
    with CaptureQueriesContext(connection) as queries:
        _get(f"runs/{run.id}/steps/{run.step_count}")
    # Each level of parts takes two: where the artifacts are, and their packs.
    assert len(queries) <= 13


def test_missing_payload_is_listed() -> None:
    run = _record("a")
    step = Step.objects.get(run=run, sequence_no=3)
    with services.retention():
        Artifact.objects.filter(sha256=step.output_ref).delete()
    document = _get(f"steps/{step.id}")
    assert (document["unavailable"], document["output"], document["input"]) == (
        ["output"],
        None,
        {"order_id": "A-1042"},
    )


def test_artifact_is_immutable_and_sandboxed() -> None:
    run = _record("a")
    sha256 = Step.objects.get(run=run, sequence_no=3).output_ref
    response = Client().get(f"/api/v1/artifacts/{sha256}")
    assert digest_bytes(response.content) == sha256
    assert "immutable" in response["Cache-Control"]
    assert response["X-Content-Type-Options"] == "nosniff"
    not_modified = Client().get(f"/api/v1/artifacts/{sha256}", headers={"If-None-Match": response["ETag"]})
    assert (not_modified.status_code, not_modified.content) == (304, b"")


def test_permalinks_by_external_ids() -> None:
    run = _record("trace/1")
    trace = Client().get("/api/v1/redirects/traces/trace/1")
    span = Client().get("/api/v1/redirects/spans/look")
    assert (trace.status_code, trace["Location"]) == (302, f"/runs/{run.id}")
    assert (span.status_code, span["Location"]) == (302, f"/runs/{run.id}?step=3")


def test_permalink_of_a_span_leads_to_the_recorded_step_after_a_fork() -> None:
    run = _record("trace/1")
    fork = services.open_run(name="fork", app=run.app)
    reason = str(Reason.SOURCE_OUTPUT_REUSED)
    services.copy_steps(source_run_id=run.id, run_id=fork.id, first=1, last=3, label=Label.EXACT, reason=reason)
    assert Client().get("/api/v1/redirects/spans/look")["Location"] == f"/runs/{run.id}?step=3"


def _chat(name: str) -> bytes:
    messages = [{"role": "user", "content": f"hello from {name}"}, {"role": "assistant", "content": "Good morning"}]
    return json.dumps({"messages": messages}).encode()


def test_form_upload_reports_bad_files() -> None:
    files = [SimpleUploadedFile("one.json", _chat("one")), SimpleUploadedFile("two.json", b"{")]
    response = Client().post("/api/v1/runs/import", {"file": files, "app": "given"})
    report = response.json()
    assert response.status_code == 200, report
    assert [(run["app"], run["created"]) for run in report["runs"]] == [("given", True)]
    assert [skipped_file["path"] for skipped_file in report["skipped"]] == ["two.json"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_raw_body_is_imported_once(pack: Callable[[bytes], bytes]) -> None:
    url = "/api/v1/runs/import?filename=one.json&app=given"
    reports = [Client().post(url, pack(_chat("one")), content_type="application/octet-stream").json() for _ in range(2)]
    assert [run["created"] for report in reports for run in report["runs"]] == [True, False]


def test_import_key_rejects_other_files() -> None:
    def post_files(app: str, *names: str) -> Any:
        files = [SimpleUploadedFile("run.json", _chat(name)) for name in names]
        body = {"file": files, "app": app}
        return Client().post("/api/v1/runs/import", body, headers={"Idempotency-Key": "k"})

    reports = [post_files("given", "one", "two").json(), post_files("given", "one", "two").json()]
    assert [[run["created"] for run in report["runs"]] for report in reports] == [[True, True], [False, False]]
    other_files = [
        post_files("given", "one"),
        post_files("given", "two", "one"),
        post_files("given", "one", "three"),
        post_files("x", "one", "two"),
    ]
    assert [(response.status_code, response.json()["where"]) for response in other_files] == [
        (409, "Idempotency-Key")
    ] * 4
    assert Run.objects.count() == 2


def test_request_without_file_is_rejected() -> None:
    response = Client().post("/api/v1/runs/import", {"app": "x"})
    assert (response.status_code, response.json()["where"]) == (400, "/file")


@pytest.mark.django_db(transaction=True)
def test_import_streams_its_progress() -> None:
    files = [SimpleUploadedFile(f"{number}.json", _chat(str(number))) for number in range(3)]
    response = Client().post("/api/v1/runs/import", {"file": files}, headers={"Accept": "application/x-ndjson"})
    lines = [orjson.loads(line) for line in response.getvalue().splitlines()]
    assert response["Content-Type"] == "application/x-ndjson"
    assert {line["type"] for line in lines[:-1]} == {"progress"}
    assert all(line["done"] <= line["total"] for line in lines[:-1])
    assert {line["runs"] for line in lines[:-1]} == {0}  # all are stored together at the end
    assert lines[-1]["type"] == "report"
    assert len(lines[-1]["runs"]) == 3


@pytest.mark.django_db(transaction=True)
def test_import_stops_when_its_client_hangs_up() -> None:
    hang_up = Event()
    hang_up.set()
    files = [SimpleUploadedFile(f"{number}.json", _chat(str(number))) for number in range(3)]
    scope: dict[str, Any] = {"asgi.scope": {HANG_UP: hang_up}}
    response = Client().post(
        "/api/v1/runs/import", {"file": files}, headers={"Accept": "application/x-ndjson"}, **scope
    )
    assert response.getvalue() == b""
    assert not Run.objects.exists()


def test_label_filter_finds_derived_runs() -> None:
    source = _record("a")
    derived = services.open_run(name="fork", app="desk", source_run=source, external_id="fork")
    services.copy_steps(
        source_run_id=source.id, run_id=derived.id, first=1, last=5, label=Label.EXACT, reason="source_output_reused"
    )
    services.seal_run(derived.id, RunStatus.COMPLETED)
    assert _ids(label="exact") == ["fork"]
    assert _ids(label="live") == ["a"]


def test_run_is_found_by_external_prefix() -> None:
    run = services.record(order_run("zz-4babbd1c-d250")).run_id
    services.record(order_run("zz-4babbd1c-ffff"))
    assert _get("runs/zz-4babbd1c-d2")["id"] == str(run)
    assert _problem("runs/zz-4babbd1c")[0] == 400  # it fits both
    assert _problem("runs/zz-4b")[0] == 404
    assert _problem("runs/ZZ-4babbd1c-d2")[0] == 404
    assert _problem(f"runs/{'z' * 60_000}")[0] == 404
