"""Artifact store: bytes are returned unchanged or not at all."""

import errno
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings

from tests.support.lost_artifacts import large_artifacts
from tests.unit.traces.payloads.test_parts import VALUES
from traces.core.canonical import digest_bytes
from traces.core.ids import new_id
from traces.core.json_types import JSONValue
from traces.errors import ArtifactCorrupt, ArtifactMissing
from traces.models import Artifact, ArtifactUse, Pack
from traces.payloads.parts import MissingPart
from traces.runs.services import retention
from traces.storage import artifacts as artifact_store
from traces.storage.artifact_folder import ArtifactFolder

pytestmark = pytest.mark.django_db
RUN = new_id()


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES)
def test_saved_value_round_trips(value: JSONValue) -> None:
    assert artifact_store.payload(artifact_store.save(value, run_id=RUN)) == value


def test_many_values_need_few_queries() -> None:
    digests = [artifact_store.save({"n": number}, run_id=RUN) for number in range(40)]
    many = {digest_bytes(str(number).encode()): str(number).encode() for number in range(5_000)}
    artifact_store.write_many({RUN: many})
    with CaptureQueriesContext(connection) as queries:
        assert len(artifact_store.load(many)) == 5_000
    assert len(queries) <= 7
    with CaptureQueriesContext(connection) as queries:
        assert len(artifact_store.payloads(digests)) == 40
    assert len(queries) == 2


def test_many_large_values_are_stored_together() -> None:
    """The files of large values need queries of their own, beside the statement that inserts the rows."""
    values = {digest_bytes(data): data for data in (random.Random(seed).randbytes(300_000) for seed in range(40))}
    artifact_store.write_many({RUN: values}, media_type="application/octet-stream")
    assert {stored.sha256: stored.data for stored in artifact_store.read(values)} == values


def test_storing_bytes_is_idempotent() -> None:
    artifact_store.save({"a": "b" * 500}, run_id=RUN)
    before = list(Artifact.objects.values_list())
    artifact_store.save({"a": "b" * 500}, run_id=RUN)
    assert list(Artifact.objects.values_list()) == before


def test_artifacts_that_another_writer_stores_meanwhile_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("one writer at a time")
    first = artifact_store.save({"messages": [{"content": "a"}]}, run_id=new_id())
    look = artifact_store._lock
    looks = iter([lambda digests: {}, look])
    # The first look is too early to see what the other writer stored.
    monkeypatch.setattr(artifact_store, "_lock", lambda digests: next(looks)(digests))
    second = artifact_store.save({"messages": [{"content": "a"}, {"content": "b"}]}, run_id=RUN)
    assert artifact_store.payload(second) == {"messages": [{"content": "a"}, {"content": "b"}]}
    assert Artifact.objects.count() == 4
    assert first in artifact_store.present([first])
    assert ArtifactUse.objects.filter(run_id=RUN).count() == 1


def test_repetitive_text_is_compressed() -> None:
    digest = artifact_store.save("again " * 600, run_id=RUN)
    pack = Pack.objects.get(id=Artifact.objects.get(sha256=digest).pack_id)
    assert pack.encoding == "zstd"
    assert len(pack.data or b"") < 3600 / 20


def test_large_bytes_use_artifact_storage() -> None:
    data = Path(__file__).read_bytes() + b"".join(
        digest_bytes(str(number).encode()).encode() for number in range(9_000)
    )
    sha256 = artifact_store.write(data, media_type="application/octet-stream", run_id=RUN)
    assert large_artifacts() == {sha256: f"{sha256[:2]}/{sha256[2:4]}/{sha256}.zst"}
    assert storages["artifacts"].exists(f"{sha256[:2]}/{sha256[2:4]}/{sha256}.zst")
    assert artifact_store.read_one(sha256).data == data


def test_incomplete_file_is_rewritten() -> None:
    data = b"".join(digest_bytes(str(number).encode()).encode() for number in range(9_000))
    sha256 = artifact_store.write(data, media_type="text/plain", run_id=RUN)
    place = f"{sha256[:2]}/{sha256[2:4]}/{sha256}.zst"
    with retention():
        Artifact.objects.filter(sha256=sha256).delete()
    Path(storages["artifacts"].path(place)).write_bytes(b"half")
    assert artifact_store.write(data, media_type="text/plain", run_id=RUN) == sha256
    assert artifact_store.read_one(sha256).data == data


def test_file_appears_in_full(tmp_path: Path) -> None:
    folder = ArtifactFolder(str(tmp_path))

    class Watched:
        def chunks(self) -> Iterator[bytes]:
            for chunk in (b"first ", b"second"):
                # Another writer of the same bytes must not take a part for a file that a crash left.
                assert not folder.exists("aa/file")
                yield chunk

    content: Any = Watched()
    assert folder.save("aa/file", content) == "aa/file"
    assert folder.save("aa/file", ContentFile(b"third")) == "aa/file"
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "aa").iterdir()] == [("file", b"third")]


def test_failed_and_killed_writers_leave_no_part(tmp_path: Path) -> None:
    folder = ArtifactFolder(str(tmp_path))

    class Full:
        def chunks(self) -> Iterator[bytes]:
            yield b"first "
            raise OSError(errno.ENOSPC, "No space left on device")

    content: Any = Full()
    with pytest.raises(OSError, match="No space"):
        folder.save("aa/bb/file", content)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    old, fresh = tmp_path / "parts/old", tmp_path / "parts/fresh"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    folder.remove_old_parts()
    assert [*old.parent.iterdir()] == [fresh]


def test_missing_file_is_reported_as_damage() -> None:
    data = b"".join(digest_bytes(str(number).encode()).encode() for number in range(9_001))
    sha256 = artifact_store.write(data, media_type="text/plain", run_id=RUN)
    storages["artifacts"].delete(f"{sha256[:2]}/{sha256[2:4]}/{sha256}.zst")
    with pytest.raises(ArtifactCorrupt, match=sha256):
        artifact_store.read_one(sha256)


@pytest.mark.parametrize(
    ("encoding", "data"), [("", b'{"a":2}'), ("zstd", b"not zstd at all"), ("zstd", b""), ("refs", b"\x00")]
)
def test_wrong_bytes_are_never_served(encoding: str, data: bytes) -> None:
    name = digest_bytes(b'{"a":1}')
    pack = Pack.objects.create(encoding=encoding, data=data)
    Artifact.objects.create(sha256=name, pack_id=pack.id, start=0, size=7)
    assert artifact_store.load([name]) == {}
    with pytest.raises(ArtifactCorrupt, match=name):
        artifact_store.read_one(name)


def test_missing_parts_are_reported() -> None:
    with pytest.raises(ArtifactMissing):
        artifact_store.read_one("0" * 64)
    with pytest.raises(MissingPart, match="0" * 64):
        artifact_store.payload("0" * 64)
    assert artifact_store.load(["0" * 64]) == {}


def test_available_skips_incomplete_values() -> None:
    whole, broken = (
        artifact_store.save({"messages": [{"content": "a"}]}, run_id=RUN),
        artifact_store.save({"messages": [{"content": "b"}]}, run_id=RUN),
    )
    with retention():
        Artifact.objects.filter(sha256=digest_bytes(b'{"content":"b"}')).delete()
    assert artifact_store.available([whole, broken, ""]) == {whole: {"messages": [{"content": "a"}]}}
