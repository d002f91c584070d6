"""Run archives: several runs in one file that every import accepts."""

import io
import struct
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.support.recordings import order_run
from traces.errors import TooLarge
from traces.imports import run_archives
from traces.models import Artifact, Run
from traces.reading.progress import NamedFile
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def _runs(*names: str) -> list[Run]:
    return [Run.objects.get(id=services.record(order_run(name)).run_id) for name in names]


def _export(*refs: str) -> Any:
    return Client().post("/api/v1/runs/export", {"runs": refs}, content_type="application/json")


def _archive(*runs: Run) -> bytes:
    response = _export(*(str(run.id) for run in runs))
    data: bytes = response.getvalue()
    assert (response.status_code, response["Content-Length"]) == (200, str(len(data)))
    return data


def _names(data: bytes) -> list[str]:
    return [item.name for item in run_archives.unpack([NamedFile(name="a.zip", file=io.BytesIO(data))])]


@pytest.mark.parametrize("url", ["/api/v1/runs/import", "/api/v1/bundles/import", "/api/v1/runs/import?format=bundle"])
def test_exported_runs_are_imported_again(url: str) -> None:
    first, second = _runs("order-1", "order-2")
    digests = [run.content_digest for run in (first, second)]
    # A run that is named twice is exported once.
    data = _archive(first, second, first)
    with services.retention():
        Run.objects.all().delete()
        Artifact.objects.all().delete()
    for is_new in (True, False):
        report = Client().post(url, {"file": SimpleUploadedFile("runs.zip", data)}).json()
        assert [(run["external_id"], run["created"]) for run in report["runs"]] == [
            ("order-1", is_new),
            ("order-2", is_new),
        ], report
        assert not report["skipped"]
    assert [*Run.objects.order_by("external_id").values_list("content_digest", flat=True)] == digests


def test_damaged_bundle_is_named_and_the_others_are_imported() -> None:
    first, second = _runs("order-1", "order-2")
    data = bytearray(_archive(first, second))
    data[200] ^= 1
    report = Client().post("/api/v1/runs/import", {"file": SimpleUploadedFile("runs.zip", bytes(data))}).json()
    assert [file["path"] for file in report["skipped"]] == [f"runs.zip/{first.id}.forkpoint.zip"]
    assert [run["external_id"] for run in report["runs"]] == ["order-2"]


def test_refused_export_sends_nothing() -> None:
    first, second = _runs("first", "second")
    live = Run.objects.create(external_id="live", app="desk")
    assert Client().delete(f"/api/v1/runs/{second.id}").status_code == 200
    gone = _export(str(first.id), str(second.id))
    assert (gone.status_code, "deleted" in gone.json()["detail"]) == (404, True), gone.json()
    assert _export(str(first.id), "none").json()["code"] == "not_found"
    assert [_export(*refs).status_code for refs in ([], ["last"] * 201)] == [422, 422]
    recording = _export(str(first.id), str(live.id))
    assert (recording.status_code, str(live.id) in recording.json()["detail"]) == (409, True), recording.json()
    with pytest.raises(TooLarge, match="export fewer"):
        run_archives.export([first], io.BytesIO(), max_bytes=100)


def test_only_archives_of_bundles_are_unpacked() -> None:
    (run,) = _runs("order-1")
    data = _archive(run)
    assert _names(data) == [f"a.zip/{run.id}.forkpoint.zip"]
    for other in (b"", b"[]", data[:-1], data + b" ", _zip("a.json"), _zip("a.forkpoint.zip", zipfile.ZIP_DEFLATED)):
        assert _names(other) == ["a.zip"]


def test_bomb_of_overlapping_bundles_is_not_unpacked() -> None:
    data = _zip("a.forkpoint.zip")
    start = data.index(b"PK\x01\x02")
    entry, end = data[start : data.index(b"PK\x05\x06")], data.index(b"PK\x05\x06")
    directory = entry * 50
    record = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, 50, 50, len(directory), start, 0)
    assert _names(data[:end]) == ["a.zip"]
    assert _names(data[:start] + directory + record) == ["a.zip"]


def _zip(name: str, compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(name, b"x" * 10_000)
    return file.getvalue()
