"""Bundles: the run that comes out is the run that went in, and a hostile file gets nowhere."""

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
from traces.errors import NotSealed, ProblemError, RunConflict, TooLarge
from traces.imports import portable_runs
from traces.models import Artifact, Edge, Run, Step
from traces.runs import queries, services
from traces.storage import artifacts

pytestmark = pytest.mark.django_db
Members = dict[str, bytes]


def _record(run: RecordedRun) -> Run:
    return Run.objects.get(id=services.record(run).run_id)


def _exported(run: Run) -> IO[bytes]:
    file = io.BytesIO()
    portable_runs.export(run, file)
    file.seek(0)
    return file


def _forget_everything() -> None:
    with services.retention():
        Run.objects.filter(source_run__isnull=False).delete()
        Run.objects.all().delete()
        Artifact.objects.all().delete()


def _said(run: Run) -> object:
    """All that the store says of a run, without the ids that it gave."""
    ours = {"id", "run", "source_step"}
    columns = [field.name for field in Step._meta.concrete_fields if field.name not in ours]
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
def test_a_run_is_the_same_in_another_store(recording: RecordedRun) -> None:
    run = _record(recording)
    before, file = _said(run), _exported(run)
    _forget_everything()
    imported = portable_runs.import_bundle(file)
    again = Run.objects.get(id=imported.run_id)
    assert imported.created
    assert _said(again) == before
    assert (again.source, again.sealed_at is not None) == ("bundle", True)


def test_what_packs_too_well_for_a_stranger_to_send_travels_too() -> None:
    run = order_run()
    steps = [replace(step, output="a" * 3_000_000) if step.type is StepType.TOOL else step for step in run.steps]
    stored = _record(replace(run, steps=tuple(steps)))
    before, file = _said(stored), _exported(stored)
    _forget_everything()
    assert _said(Run.objects.get(id=portable_runs.import_bundle(file).run_id)) == before


def test_a_bundle_imported_twice_or_into_its_own_store_is_one_run() -> None:
    run = _record(order_run())
    file = _exported(run)
    assert portable_runs.import_bundle(file) == services.Recorded(run_id=run.id, created=False)
    _forget_everything()
    file.seek(0)
    first = portable_runs.import_bundle(file)
    file.seek(0)
    assert portable_runs.import_bundle(file) == services.Recorded(run_id=first.run_id, created=False)


@pytest.mark.django_db(transaction=True)
def test_a_bundle_imported_by_two_at_once_is_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _exported(_record(order_run())).read()
    _forget_everything()
    outcomes: list[services.Recorded | Exception] = []
    both, columns = threading.Barrier(2), portable_runs._columns

    def late(*given: Any) -> dict[str, Any]:
        with suppress(threading.BrokenBarrierError):  # on SQLite the second one waits for the first
            both.wait(0.5)
        return columns(*given)

    def work() -> None:
        try:
            outcomes.append(portable_runs.import_bundle(io.BytesIO(data)))
        except Exception as error:  # noqa: BLE001  # whatever it is must be seen by the test
            outcomes.append(error)
        finally:
            connection.close()

    monkeypatch.setattr(portable_runs, "_columns", late)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorded = [each for each in outcomes if isinstance(each, services.Recorded)]
    assert sorted(each.created for each in recorded) == [False, True], outcomes
    assert {each.run_id for each in recorded} == {Run.objects.get().id}


def test_equal_runs_give_equal_bytes() -> None:
    run = _record(order_run())
    assert _exported(run).read() == _exported(run).read()


def test_another_run_under_the_same_identity_is_a_conflict() -> None:
    file = _exported(_record(order_run()))
    _forget_everything()
    _record(order_run(name="something else"))
    with pytest.raises(RunConflict):
        portable_runs.import_bundle(file)


def _derived() -> Run:
    source = _record(order_run())
    run = services.open_run(name="fork", app="desk", source_run=source, fork_sequence_no=3, external_id="fork")
    services.copy_steps(
        source_run_id=source.id, run_id=run.id, first=1, last=5, label=Label.EXACT, reason="source_output_reused"
    )
    services.seal_run(run.id, RunStatus.COMPLETED)
    return Run.objects.get(id=run.id)


def test_a_derived_run_finds_its_source_where_that_is() -> None:
    run = _derived()
    file, source_file = _exported(run), _exported(Run.objects.get(derived_runs=run))
    _forget_everything()
    source = portable_runs.import_bundle(source_file)
    imported = Run.objects.get(id=portable_runs.import_bundle(file).run_id)
    assert (imported.source_run_id, imported.exact_count) == (source.run_id, 5)
    originals = [step.id for step in queries.steps(source.run_id)]
    assert [step.source_step for step in queries.steps(imported.id)] == originals


def test_a_derived_run_is_complete_without_its_source() -> None:
    run = _derived()
    file = _exported(run)
    _forget_everything()
    imported = Run.objects.get(id=portable_runs.import_bundle(file).run_id)
    assert (imported.source_run_id, imported.exact_count, imported.step_count) == (None, 5, 5)


def test_an_open_run_cannot_be_exported() -> None:
    with pytest.raises(NotSealed):
        _exported(services.open_run(name="open", app="desk"))


def _members(file: IO[bytes]) -> Members:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _packed(members: Members, *, honest: bool = True) -> IO[bytes]:
    """A bundle of members; an honest one has a manifest that agrees with them."""
    if honest:
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


def _change_history(path: str) -> Callable[[Members], None]:
    def apply(members: Members) -> None:
        before = members["edges.jsonl"]
        members["edges.jsonl"] = before.replace(
            b'"history","consumer_path":"/messages/2"', b'"history","consumer_path":"' + path.encode() + b'"'
        )
        assert members["edges.jsonl"] != before

    return apply


def _lose_an_artifact(members: Members) -> None:
    del members[next(name for name in members if name.startswith("artifacts/"))]


def _exchange_an_artifact(members: Members) -> None:
    members[next(name for name in members if name.startswith("artifacts/"))] = b'"other"'


def _add(name: str) -> Callable[[Members], None]:
    return lambda members: members.update({name: b"{}"})


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (_add("../../etc/passwd"), "../../etc/passwd"),
        (_add("/etc/passwd"), "/etc/passwd"),
        (_add("artifacts/../x"), "artifacts/../x"),
        (_lose_an_artifact, "artifacts/"),
        (_exchange_an_artifact, "artifacts/"),
        (_change_line("steps.jsonl", lambda step: step.update(tokens_in=9)), "manifest.json"),
        (_change_line("steps.jsonl", lambda step: step.update(tokens_in=-9)), "steps.jsonl:5#/tokens_in"),
        (_change_line("steps.jsonl", lambda step: step.update(type="dream")), "steps.jsonl:5#/type"),
        (_change_line("steps.jsonl", lambda step: step.update(more=1)), "steps.jsonl:5#/more"),
        (_change_line("steps.jsonl", lambda step: step.update(parent_no=5)), "steps.jsonl:5"),
        (_change_line("steps.jsonl", lambda step: step.update(sequence_no=4)), "steps.jsonl:5"),
        (_change_line("steps.jsonl", lambda step: step.update(output_ref="f" * 64)), "artifacts/" + "f" * 64),
        (_change_line("edges.jsonl", lambda edge: edge.update(consumer=99)), "edges.jsonl:4"),
        (lambda members: members.update({"edges.jsonl": members["edges.jsonl"] * 2}), "edges.jsonl:5"),
        (_change_history("/messages/many"), "edges.jsonl:2#/consumer_path"),
        (_change_history("/messages/9999999999"), "edges.jsonl:2#/consumer_path"),
        (
            _change_line("steps.jsonl", lambda step: step.update(started_at="0001-01-01T00:00:00+14:00")),
            "steps.jsonl:5",
        ),
        (_change_line("run.json", lambda run: run.update(app="other")), "manifest.json"),
        (lambda members: members.update({"steps.jsonl": b"{\n"}), "steps.jsonl:1"),
    ],
)
def test_a_bundle_that_was_tampered_with_is_refused_with_the_place_and_leaves_nothing(
    change: Callable[[Members], None], where: str
) -> None:
    members = _members(_exported(_record(order_run())))
    _forget_everything()
    change(members)
    with pytest.raises(BadBundle) as refused:
        portable_runs.import_bundle(_packed(members))
    assert refused.value.where.startswith(where)
    assert not Run.objects.exists()
    assert not Artifact.objects.exists()


def test_a_manifest_that_lies_is_found_out() -> None:
    members = _members(_exported(_record(order_run())))
    members["edges.jsonl"] = b""
    with pytest.raises(BadBundle, match=r"edges\.jsonl is not what the manifest says"):
        portable_runs.import_bundle(_packed(members, honest=False))


def test_a_claimed_signature_is_not_believed() -> None:
    """Else a bundle could plant the answer to any call."""
    run = _record(order_run())
    signature = queries.find_step(run, 3).signature
    file = _exported(run)
    assert b"sig:v1" not in b"".join(_members(file).values())
    _forget_everything()
    file.seek(0)
    imported = Run.objects.get(id=portable_runs.import_bundle(file).run_id)
    assert queries.find_step(imported, 3).signature == signature


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    members = _members(_exported(_record(order_run())))
    members["steps.jsonl"] = b" " * 30_000_000
    with pytest.raises(ProblemError, match="unpacks to more than"):
        portable_runs.import_bundle(_packed(members))


def test_many_padded_members_are_refused_together() -> None:
    members = _members(_exported(_record(order_run())))
    members |= {f"artifacts/{number:064x}": b" " * 1_000_000 for number in range(40)}
    with pytest.raises(ProblemError, match="unpacks to more than 100 times its size"):
        portable_runs.import_bundle(_packed(members))


def test_a_bundle_larger_than_allowed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = _exported(_record(order_run()))
    monkeypatch.setattr(bundles_archive, "MAX_TOTAL", 100)
    with pytest.raises(TooLarge):
        portable_runs.import_bundle(file)


def _truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _with_noise(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [_truncated, _with_noise, lambda data: b"", lambda data: b"PK\x03\x04" + b"x" * 50])
def test_a_damaged_file_is_refused(damage: Callable[[bytes], bytes]) -> None:
    data = _exported(_record(order_run())).read()
    _forget_everything()
    with pytest.raises(BadBundle):
        portable_runs.import_bundle(io.BytesIO(damage(data)))
    assert not Run.objects.exists()


def test_two_members_of_one_name_are_refused() -> None:
    members = _members(_exported(_record(order_run())))
    file = _packed(members)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("run.json", members["run.json"])
    file.seek(0)
    with pytest.raises(BadBundle, match="twice"):
        portable_runs.import_bundle(file)


def test_bundles_travel_over_rest() -> None:
    run = _record(order_run())
    response = Client().post("/api/v1/bundles/export", {"run": str(run.id)}, content_type="application/json")
    data = response.getvalue()
    assert (response["Content-Type"], response["Content-Length"]) == ("application/zip", str(len(data)))
    _forget_everything()
    for url in ("/api/v1/bundles/import", "/api/v1/runs/import"):
        sent = partial(Client().post, url, headers={"Idempotency-Key": "k"})
        for _ in range(2):
            report = sent({"file": SimpleUploadedFile("run.zip", data)}).json()
            assert [imported["external_id"] for imported in report["runs"]] == ["order-1"], report
        assert sent({"file": SimpleUploadedFile("run.zip", data[:-1])}).status_code == 409


def test_a_bundle_of_no_run_is_refused_with_the_place() -> None:
    answered = Client().post("/api/v1/bundles/export", {}, content_type="application/json")
    assert (answered.status_code, answered.json()["where"]) == (422, "/run")


def test_a_body_that_is_no_bundle_is_a_problem() -> None:
    response = Client().post("/api/v1/bundles/import", b"hello", content_type="application/octet-stream")
    assert (response.status_code, response.json()["code"]) == (400, "validation_error")
