"""Large artifacts on S3, over real HTTP with verified credentials: writes, reads and error messages."""

import random
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from cockpit.backups.archive_reader import open_archive
from cockpit.backups.archive_writer import write_archive
from cockpit.backups.manifest import Manifest
from cockpit.backups.stored_files import add_files, restore_files
from cockpit.settings import artifact_storage
from replay.execution import runner, task_names
from replay.sessions import queries, services
from replay.sessions.schemas import ReplayRequest
from tests.services.s3 import BUCKET, S3Server, s3_server
from tests.support.queues import capture_tasks
from tests.support.recordings import order_run
from traces.core.ids import new_id
from traces.errors import ArtifactCorrupt, StorageAway, StorageRefuses
from traces.models import Artifact
from traces.runs.services import record, retention
from traces.storage import artifact_files
from traces.storage import artifacts as artifact_store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
LARGE = random.Random(3).randbytes(300_000)
RUN = new_id()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def s3(server: S3Server, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """An empty S3 server as the artifact storage."""
    configured(server, settings, monkeypatch)
    yield server
    for each in keys(server):
        server.client.delete_object(Bucket=BUCKET, Key=each)


def configured(server: S3Server, settings: Settings, monkeypatch: pytest.MonkeyPatch, **other: str) -> None:
    for name, value in {**server.environment, **other}.items():
        monkeypatch.setenv(name, value)
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifact_storage()}


def keys(server: S3Server) -> list[str]:
    return [each["Key"] for each in server.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def kept() -> str:
    return artifact_store.write(LARGE, media_type="application/octet-stream", run_id=RUN)


def test_files_of_bucket_are_backed_up_and_restored(s3: S3Server, tmp_path: Path) -> None:
    digest, names, path = kept(), keys(s3), tmp_path / "store.tar"
    with path.open("wb") as file, write_archive(file) as archive:
        add_files(archive)
        facts: Any = {"database": "postgresql", "migrations": [], "runs": 0, "steps": 0}
        archive.close(Manifest(version="", created_at=datetime.now(UTC), members=archive.members, **facts))
    for name in names:
        s3.client.delete_object(Bucket=BUCKET, Key=name)
    with open_archive(path) as backup:
        restore_files(backup)
    assert keys(s3) == names
    assert artifact_store.read_one(digest).data == LARGE


def test_large_artifact_round_trips_through_bucket(s3: S3Server, client: Client) -> None:
    sha256 = kept()
    assert keys(s3) == [f"fp/{sha256[:2]}/{sha256[2:4]}/{sha256}"]
    assert artifact_store.read_one(sha256).data == LARGE
    assert client.get(f"/api/v1/artifacts/{sha256}").content == LARGE
    artifact_store.write(b"small", media_type="text/plain", run_id=RUN)
    assert len(keys(s3)) == 1


def test_only_incomplete_and_damaged_files_are_rewritten(s3: S3Server) -> None:
    kept()
    [key] = keys(s3)
    for contents in (LARGE, b"x" * len(LARGE), LARGE[:1000]):
        s3.client.put_object(Bucket=BUCKET, Key=key, Body=contents, Metadata={"writer": "another"})
        with retention():
            Artifact.objects.all().delete()
        kept()
        file = s3.client.get_object(Bucket=BUCKET, Key=key)
        assert file["Body"].read() == LARGE
        assert file["Metadata"] == ({"writer": "another"} if contents == LARGE else {})


def test_damaged_and_missing_files_are_never_served(s3: S3Server, client: Client) -> None:
    sha256 = kept()
    [key] = keys(s3)
    later = datetime.now(UTC) + timedelta(minutes=1)
    assert [*artifact_files.names(re.compile(".*"), before=later)] == [key.removeprefix("fp/")]
    for flipped_bytes in (b"x" + LARGE[1:], LARGE[:1000], b""):
        s3.client.put_object(Bucket=BUCKET, Key=key, Body=flipped_bytes)
        with pytest.raises(ArtifactCorrupt, match="do not match its digest"):
            artifact_store.read_one(sha256)
    s3.client.delete_object(Bucket=BUCKET, Key=key)
    with pytest.raises(ArtifactCorrupt, match=f"storage has no {key.removeprefix('fp/')}"):
        artifact_store.read_one(sha256)
    assert client.get(f"/api/v1/artifacts/{sha256}").status_code == 409


def test_unavailable_server_is_reported_until_it_returns(s3: S3Server, client: Client) -> None:
    sha256 = kept()
    assert client.get("/api/v1/ready").json()["ready"]
    s3.forward.close()
    try:
        detail = client.get("/api/v1/ready")
        assert (detail.status_code, detail.json()["checks"]["database"]) == (503, "ok")
        assert "does not answer" in detail.json()["checks"]["storage"]
        response = client.get(f"/api/v1/artifacts/{sha256}")
        assert response.status_code == 503
        assert (response.json()["code"], response.json()["retryable"]) == ("dependency_unavailable", True)
        with pytest.raises(StorageAway):
            artifact_store.write(LARGE[::-1], media_type="application/octet-stream", run_id=RUN)
    finally:
        s3.forward.open()
    assert client.get("/api/v1/ready").json()["ready"]
    assert artifact_store.read_one(sha256).data == LARGE


def test_replay_waits_for_unavailable_server(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    run = order_run()
    steps = [replace(step, output={"pages": LARGE.hex()}) if step.key == "look" else step for step in run.steps]
    source_run = record(replace(run, steps=tuple(steps)))
    session = services.launch(ReplayRequest(run=str(source_run.run_id))).id
    s3.forward.close()
    back = threading.Timer(0.3, s3.forward.open)
    back.start()
    runner.execute(session)
    back.join()
    assert queries.session_view(session).status == "completed_exact"


@pytest.mark.parametrize(
    ("bad_settings", "says"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wr0ng"}, "SignatureDoesNotMatch"),
        ({"AWS_ACCESS_KEY_ID": "AKIANOBODY"}, "InvalidAccessKeyId"),
        ({"FORKPOINT_ARTIFACTS": "s3://nowhere/fp"}, "NoSuchBucket"),
    ],
)
def test_refusal_quotes_the_server(
    server: S3Server,
    client: Client,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    bad_settings: dict[str, str],
    says: str,
) -> None:
    configured(server, settings, monkeypatch, **bad_settings)
    ready = client.get("/api/v1/ready")
    assert ready.status_code == 503
    assert says in ready.json()["checks"]["storage"]
    with pytest.raises(StorageRefuses):
        kept()


def test_unusable_folder_is_reported(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FORKPOINT_ARTIFACTS", str(tmp_path / "file" / "artifacts"))
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifact_storage()}
    assert f"{tmp_path / 'file'}" in client.get("/api/v1/ready").json()["checks"]["storage"]
    with pytest.raises(StorageAway, match="the artifact storage failed"):
        kept()
