"""Bundles: export and import preserve a run; hostile files are rejected."""

import io
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import IO, Any

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from tests.support.recordings import conversation, order_run
from traces.bundles import archive as bundles_archive
from traces.bundles.archive import BadBundle
from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, RunStatus, StepType
from traces.errors import NotSealed, ProblemError, TooLarge
from traces.imports import portable_runs
from traces.models import Artifact, Edge, Run, Step
from traces.origins import stored_provenance
from traces.runs import queries, services
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
Members = dict[str, bytes]


def _record(run: RecordedRun) -> Run:
    return Run.objects.get(id=services.record(run).run_id)


def _export(run: Run) -> IO[bytes]:
    file = io.BytesIO()
    portable_runs.export(run, file)
    file.seek(0)
    return file


def _delete_all() -> None:
    with services.retention():
        Run.objects.filter(source_run__isnull=False).delete()
        Run.objects.all().delete()
        Artifact.objects.all().delete()


def _stored_content(run: Run) -> object:
    """Return the stored content of a run without local ids."""
    local_columns = {"id", "run", "source_step"}
    columns = [field.name for field in Step._meta.concrete_fields if field.name not in local_columns]
    stored_provenance.ensure(run.id)
    steps = queries.steps(run.id)
    values = artifacts.payloads(ref for step in steps for ref in (step.input_ref, step.output_ref, step.attributes_ref))
    totals = ("name", "content_digest", "step_count", "tokens_in", "cost_usd", "duration_ms", "exact_count", "search")
    edges = Edge.objects.filter(run=run).order_by("consumer_no", "producer_no", "kind", "consumer_path")
    return (
        [getattr(run, name) for name in totals],
        [[getattr(step, name) for name in columns] for step in steps],
        list(edges.values_list("producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")),
        values,
    )


@pytest.mark.parametrize("recording", [order_run(), conversation(40)], ids=["short", "long"])
def test_import_preserves_the_run(recording: RecordedRun) -> None:
    run = _record(recording)
    content, file = _stored_content(run), _export(run)
    _delete_all()
    imported = portable_runs.import_bundle(file)
    copy = Run.objects.get(id=imported.run_id)
    assert imported.is_new
    assert _stored_content(copy) == content
    assert (copy.source, copy.sealed_at is not None) == ("bundle", True)


def test_highly_compressible_run_is_portable() -> None:
    run = order_run()
    steps = [replace(step, output="a" * 3_000_000) if step.type is StepType.TOOL else step for step in run.steps]
    stored = _record(replace(run, steps=tuple(steps)))
    content, file = _stored_content(stored), _export(stored)
    _delete_all()
    assert _stored_content(Run.objects.get(id=portable_runs.import_bundle(file).run_id)) == content


def test_repeated_import_creates_no_copy() -> None:
    run = _record(order_run())
    file = _export(run)
    assert portable_runs.import_bundle(file) == services.RecordResult(run_id=run.id, is_new=False)
    _delete_all()
    file.seek(0)
    copy = portable_runs.import_bundle(file)
    file.seek(0)
    assert portable_runs.import_bundle(file) == services.RecordResult(run_id=copy.run_id, is_new=False)


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_create_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _export(_record(order_run())).read()
    _delete_all()
    outcomes: list[services.RecordResult | Exception] = []
    barrier, columns = threading.Barrier(2), portable_runs._columns

    def delayed_columns(*arguments: Any) -> dict[str, Any]:
        # On SQLite the second import waits for the first.
        with suppress(threading.BrokenBarrierError):
            barrier.wait(0.5)
        return columns(*arguments)

    def work() -> None:
        try:
            outcomes.append(portable_runs.import_bundle(io.BytesIO(data)))
        # The test must see any error of the thread.
        except Exception as error:  # noqa: BLE001
            outcomes.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(portable_runs, "_columns", delayed_columns)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorded = [outcome for outcome in outcomes if isinstance(outcome, services.RecordResult)]
    assert sorted(outcome.is_new for outcome in recorded) == [False, True], outcomes
    assert {outcome.run_id for outcome in recorded} == {Run.objects.get().id}


def test_export_is_deterministic() -> None:
    run = _record(order_run())
    assert _export(run).read() == _export(run).read()


def test_bundle_of_conflicting_run_is_kept_beside_it() -> None:
    file = _export(_record(order_run()))
    _delete_all()
    other = _record(
        replace(
            order_run(), steps=tuple(replace(step, key=f"other {step.key}", parent=None) for step in order_run().steps)
        )
    )
    result = portable_runs.import_bundle(file)
    assert (result.is_new, result.revision, result.conflicts_with) == (True, 2, other.id)


def test_bundle_of_longer_run_is_a_revision() -> None:
    file = _export(_record(order_run()))
    _delete_all()
    shorter = _record(replace(order_run(), steps=order_run().steps[:3]))
    result = portable_runs.import_bundle(file)
    assert (result.revision, result.supersedes) == (2, shorter.id)
    file.seek(0)
    assert portable_runs.import_bundle(file).run_id == result.run_id


def _derived() -> Run:
    source = _record(order_run())
    run = services.open_run(name="fork", app="desk", source_run=source, fork_sequence_no=3, external_id="fork")
    services.copy_steps(
        source_run_id=source.id, run_id=run.id, first=1, last=5, label=Label.EXACT, reason="source_output_reused"
    )
    services.seal_run(run.id, RunStatus.COMPLETED)
    return Run.objects.get(id=run.id)


def test_derived_run_links_to_stored_source() -> None:
    run = _derived()
    file, source_file = _export(run), _export(Run.objects.get(derived_runs=run))
    _delete_all()
    source = portable_runs.import_bundle(source_file)
    imported = Run.objects.get(id=portable_runs.import_bundle(file).run_id)
    assert (imported.source_run_id, imported.exact_count) == (source.run_id, 5)
    originals = [step.id for step in queries.steps(source.run_id)]
    assert [step.source_step for step in queries.steps(imported.id)] == originals


def test_derived_run_is_recognized() -> None:
    run = _derived()
    file = _export(run)
    assert portable_runs.import_bundle(file) == services.RecordResult(run_id=run.id, is_new=False)


def test_source_that_was_derived_itself_is_found() -> None:
    source = _derived()
    run = services.open_run(name="again", app="desk", source_run=source, fork_sequence_no=1, external_id="again")
    services.copy_steps(
        source_run_id=source.id, run_id=run.id, first=1, last=5, label=Label.EXACT, reason="source_output_reused"
    )
    services.seal_run(run.id, RunStatus.COMPLETED)
    file = _export(Run.objects.get(id=run.id))
    with services.retention():
        Run.objects.filter(id=run.id).delete()
    imported = portable_runs.import_bundle(file)
    assert imported.is_new
    assert Run.objects.get(id=imported.run_id).source_run_id == source.id


def test_derived_run_needs_no_source() -> None:
    run = _derived()
    file = _export(run)
    _delete_all()
    imported = Run.objects.get(id=portable_runs.import_bundle(file).run_id)
    assert (imported.source_run_id, imported.exact_count, imported.step_count) == (None, 5, 5)


def test_open_run_cannot_be_exported() -> None:
    with pytest.raises(NotSealed):
        _export(services.open_run(name="open", app="desk"))


def _members(file: IO[bytes]) -> Members:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _pack(members: Members, *, fix_manifest: bool = True) -> IO[bytes]:
    """Build a bundle; `fix_manifest` adjusts its manifest to the members."""
    if fix_manifest:
        manifest = orjson.loads(members["manifest.json"])
        manifest["members"] = {
            name: {"sha256": digest_bytes(data), "size": len(data)}
            for name, data in members.items()
            if name != "manifest.json"
        }
        members = {**members, "manifest.json": orjson.dumps(manifest)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    file.seek(0)
    return file


def _change_line(name: str, change: Callable[[JSONObject], None]) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        lines = [orjson.loads(line) for line in members[name].splitlines()]
        change(lines[-1])
        members[name] = b"".join(orjson.dumps(line) + b"\n" for line in lines)

    return apply


def _change_history_path(path: str) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        edges = members["edges.jsonl"]
        members["edges.jsonl"] = edges.replace(
            b'"history","consumer_path":"/messages/2"', b'"history","consumer_path":"' + path.encode() + b'"'
        )
        assert members["edges.jsonl"] != edges

    return apply


def _drop_artifact(members: Members) -> None:
    del members[next(name for name in members if name.startswith("artifacts/"))]


def _replace_artifact(members: Members) -> None:
    members[next(name for name in members if name.startswith("artifacts/"))] = b'"other"'


def _add(name: str) -> Callable[[Members], None]:
    return lambda members: members.update({name: b"{}"})


@pytest.mark.parametrize(
    ("change", "location"),
    [
        (_add("../../etc/passwd"), "../../etc/passwd"),
        (_add("/etc/passwd"), "/etc/passwd"),
        (_add("artifacts/../x"), "artifacts/../x"),
        (_drop_artifact, "artifacts/"),
        (_replace_artifact, "artifacts/"),
        (_change_line("steps.jsonl", lambda step: step.update(tokens_in=9)), "manifest.json"),
        (_change_line("steps.jsonl", lambda step: step.update(tokens_in=-9)), "steps.jsonl:5#/tokens_in"),
        (_change_line("steps.jsonl", lambda step: step.update(type="dream")), "steps.jsonl:5#/type"),
        (_change_line("steps.jsonl", lambda step: step.update(more=1)), "steps.jsonl:5#/more"),
        (_change_line("steps.jsonl", lambda step: step.update(parent_no=5)), "steps.jsonl:5"),
        (_change_line("steps.jsonl", lambda step: step.update(sequence_no=4)), "steps.jsonl:5"),
        (_change_line("steps.jsonl", lambda step: step.update(output_ref="f" * 64)), "artifacts/" + "f" * 64),
        (_change_line("edges.jsonl", lambda edge: edge.update(consumer=99)), "edges.jsonl:4"),
        (lambda members: members.update({"edges.jsonl": members["edges.jsonl"] * 2}), "edges.jsonl:5"),
        (_change_history_path("/messages/many"), "edges.jsonl:2#/consumer_path"),
        (_change_history_path("/messages/9999999999"), "edges.jsonl:2#/consumer_path"),
        (
            _change_line("steps.jsonl", lambda step: step.update(started_at="0001-01-01T00:00:00+14:00")),
            "steps.jsonl:5",
        ),
        (_change_line("run.json", lambda run: run.update(app="other")), "manifest.json"),
        (lambda members: members.update({"steps.jsonl": b"{\n"}), "steps.jsonl:1"),
    ],
)
def test_tampered_bundle_is_rejected_with_location(change: Callable[[Members], None], location: str) -> None:
    members = _members(_export(_record(order_run())))
    _delete_all()
    change(members)
    with pytest.raises(BadBundle) as error:
        portable_runs.import_bundle(_pack(members))
    assert error.value.where.startswith(location)
    assert not Run.objects.exists()
    assert not Artifact.objects.exists()


def test_wrong_manifest_is_rejected() -> None:
    members = _members(_export(_record(order_run())))
    members["edges.jsonl"] = b""
    with pytest.raises(BadBundle, match=r"edges\.jsonl does not match the manifest"):
        portable_runs.import_bundle(_pack(members, fix_manifest=False))


def test_import_recomputes_signatures() -> None:
    """A trusted signature would let a bundle inject the answer to any call."""
    run = _record(order_run())
    signature = queries.find_step(run, 3).signature
    file = _export(run)
    assert b"sig:v1" not in b"".join(_members(file).values())
    _delete_all()
    file.seek(0)
    imported = Run.objects.get(id=portable_runs.import_bundle(file).run_id)
    assert queries.find_step(imported, 3).signature == signature


def test_zip_bomb_is_rejected_before_unpacking() -> None:
    members = _members(_export(_record(order_run())))
    members["steps.jsonl"] = b" " * 30_000_000
    with pytest.raises(ProblemError, match="unpacks to more than"):
        portable_runs.import_bundle(_pack(members))


def test_many_padded_members_are_rejected() -> None:
    members = _members(_export(_record(order_run())))
    members |= {f"artifacts/{number:064x}": b" " * 1_000_000 for number in range(40)}
    with pytest.raises(ProblemError, match="unpacks to more than 100 times its size"):
        portable_runs.import_bundle(_pack(members))


def test_oversized_bundle_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    file = _export(_record(order_run()))
    monkeypatch.setattr(bundles_archive, "MAX_TOTAL", 100)
    with pytest.raises(TooLarge):
        portable_runs.import_bundle(file)


def _truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flip_byte(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [_truncate, _flip_byte, lambda data: b"", lambda data: b"PK\x03\x04" + b"x" * 50])
def test_damaged_file_is_rejected(damage: Callable[[bytes], bytes]) -> None:
    data = _export(_record(order_run())).read()
    _delete_all()
    with pytest.raises(BadBundle):
        portable_runs.import_bundle(io.BytesIO(damage(data)))
    assert not Run.objects.exists()


def test_duplicate_member_names_are_rejected() -> None:
    members = _members(_export(_record(order_run())))
    file = _pack(members)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("run.json", members["run.json"])
    file.seek(0)
    with pytest.raises(BadBundle, match="twice"):
        portable_runs.import_bundle(file)


def test_rest_exports_and_imports_bundles() -> None:
    run = _record(order_run())
    response = Client().post("/api/v1/bundles/export", {"run": str(run.id)}, content_type="application/json")
    data = response.getvalue()
    assert (response["Content-Type"], response["Content-Length"]) == ("application/zip", str(len(data)))
    _delete_all()
    for url in ("/api/v1/bundles/import", "/api/v1/runs/import"):
        upload = partial(Client().post, url, headers={"Idempotency-Key": "k"})
        for _ in range(2):
            report = upload({"file": SimpleUploadedFile("run.zip", data)}).json()
            assert [imported["external_id"] for imported in report["runs"]] == ["order-1"], report
        assert upload({"file": SimpleUploadedFile("run.zip", data[:-1])}).status_code == 409


def test_export_without_run_is_rejected() -> None:
    response = Client().post("/api/v1/bundles/export", {}, content_type="application/json")
    assert (response.status_code, response.json()["where"]) == (422, "/run")


def test_invalid_upload_body_is_rejected() -> None:
    response = Client().post("/api/v1/bundles/import", b"hello", content_type="application/octet-stream")
    assert (response.status_code, response.json()["code"]) == (400, "validation_error")
