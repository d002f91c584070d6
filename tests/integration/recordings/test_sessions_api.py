"""Krabs events and session files over HTTP."""

import io
import random
from typing import Any

import orjson
import pytest
from django.test import Client

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus
from traces.imports import import_files
from traces.models import Recording, Run
from traces.reading.progress import NamedFile
from traces.recordings import assembler

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def _seal_all() -> None:
    Recording.objects.filter(due_at__isnull=False).update(due_at="2026-01-01T00:00:00Z", arrived_at="2026-01-01T00:00Z")
    while assembler.work():
        pass


def _import(name: str, data: bytes) -> list[Any]:
    return list(import_files.import_files([NamedFile(name=name, file=io.BytesIO(data))]).runs)


def test_krabs_events_in_any_order_equal_the_imported_file() -> None:
    data = (fixtures.FOLDER / "krabs_telemetry.jsonl").read_bytes()
    lines = data.splitlines()
    random.Random(3).shuffle(lines)
    for line in lines:
        response = Client().post("/api/v1/krabs/events", line, content_type="application/json")
        assert response.json() == {"accepted": 1, "rejected": []}
    _seal_all()
    assert [(run.id, run.created) for run in _import("telemetry.jsonl", data)] == [(Run.objects.get().id, False)]


def test_krabs_events_in_a_list_are_recorded() -> None:
    lines = (fixtures.FOLDER / "krabs_telemetry.jsonl").read_bytes().splitlines()
    body = orjson.dumps([orjson.loads(line) for line in lines])
    assert Client().post("/api/v1/krabs/events", body, content_type="application/json").json()["accepted"] == len(lines)


def test_bad_krabs_event_of_a_list_is_named_and_the_others_are_recorded() -> None:
    good, *_ = (fixtures.FOLDER / "krabs_telemetry.jsonl").read_bytes().splitlines()
    body = b"[" + b",".join([good, b'{"event_type": "dance"}', b'{"timestamp_ms": NaN}', b"1"]) + b"]"
    receipt = Client().post("/api/v1/krabs/events", body, content_type="application/json").json()
    assert (receipt["accepted"], [item["line"] for item in receipt["rejected"]]) == (1, [2, 3, 4])


def test_krabs_session_is_found_by_its_own_id() -> None:
    for line in (fixtures.FOLDER / "krabs_telemetry.jsonl").read_bytes().splitlines():
        event = {**orjson.loads(line), "session_id": "ks1"}
        Client().post("/api/v1/krabs/events", orjson.dumps(event), content_type="application/json")
    _seal_all()
    run = Run.objects.get()
    assert Client().get("/api/v1/runs/ks1").json()["id"] == str(run.id)
    assert Client().get("/api/v1/redirects/traces/ks1")["Location"] == f"/runs/{run.id}"
    assert Client().get("/api/v1/runs/ks2").status_code == 404


@pytest.mark.parametrize("body", [b"{broken", b"1", b'{"event_type": "dance", "timestamp_ms": 1, "payload": {}}'])
def test_bad_krabs_event_is_refused(body: bytes) -> None:
    response = Client().post("/api/v1/krabs/events", body, content_type="application/json")
    assert (response.status_code, response.json()["code"]) == (400, "validation_error")
    assert not Recording.objects.exists()


def _lines() -> list[bytes]:
    return (fixtures.FOLDER / "claude_code.jsonl").read_bytes().splitlines(keepends=True)


def _session_id() -> str:
    return next(str(session) for line in _lines() if (session := orjson.loads(line).get("sessionId")))


def _append(part: bytes, offset: int) -> tuple[int, Any]:
    address = f"/api/v1/session-files/claude-code/{_session_id()}?file=a.jsonl&offset={offset}"
    response = Client().post(address, part, content_type="application/x-ndjson")
    return response.status_code, response.json()


def test_session_file_grows_part_by_part() -> None:
    size = 0
    for line in _lines():
        assert _append(line, size) == (200, {"size": size + len(line)})
        size += len(line)
        Recording.objects.update(due_at="2026-01-01T00:00:00Z", refresh_at=None)
        assembler.work()
    run = Run.objects.get(external_id=_session_id())
    assert (run.sealed_at, run.status) == (None, RunStatus.RUNNING)
    _seal_all()
    run.refresh_from_db()
    assert run.sealed_at is not None
    assert run.status == RunStatus.COMPLETED
    assert [imported.created for imported in _import("a.jsonl", b"".join(_lines()))] == [False] * Run.objects.count()


def test_part_that_does_not_continue_the_file_is_a_conflict() -> None:
    first, second = _lines()[:2]
    _append(first, 0)
    status, problem = _append(second, 3)
    assert (status, problem["code"]) == (409, "conflict")
    assert str(len(first)) in problem["detail"]
    assert _append(second, len(first))[0] == 200


def test_size_of_a_session_file_is_known() -> None:
    address = f"/api/v1/session-files/claude-code/{_session_id()}?file=a.jsonl"
    assert Client().get(address).json() == {"size": 0}
    _append(_lines()[0], 0)
    assert Client().get(address).json() == {"size": len(_lines()[0])}


def test_other_formats_are_refused() -> None:
    assert Client().get("/api/v1/session-files/prela/s1?file=a").status_code == 400
    assert Client().get("/api/v1/session-files/codex/s1").status_code == 400
