"""Packs: artifacts that a run stores together, of which nothing remains once they are deleted."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support.recordings import order_run
from traces.core.canonical import digest_bytes
from traces.core.ids import new_id
from traces.errors import ArtifactCorrupt
from traces.models import Artifact, ArtifactUse, Pack, Run
from traces.retention import deletions, purge
from traces.runs import services
from traces.runs.services import retention
from traces.storage import artifacts, integrity, packs, sweep
from traces.storage.packs import StoredPack

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
TEXTS = [b'"text %d of a customer"' % number for number in range(12)]
CONTENTS = st.lists(st.frozensets(st.sampled_from(TEXTS), min_size=1), min_size=1, max_size=5)


def named(*contents: bytes) -> dict[str, bytes]:
    return {digest_bytes(data): data for data in contents}


def stored_run(name: str) -> UUID:
    """Return a run without steps, for artifacts to belong to."""
    return services.open_run(name=name, app="desk").id


def forget(run_id: UUID) -> None:
    """Delete a run and what only it used."""
    with retention():
        Run.objects.filter(id=run_id).delete()
    sweep.sweep()


def stored_texts() -> set[bytes]:
    """Return what the packs contain, whatever is known of it."""
    contents = [packs.decode(pack, "") for pack in packs.read(Pack.objects.values_list("id", flat=True))]
    return {line for content in contents for line in content.split(b"\n")}


def sizes() -> list[int]:
    """Return the number of artifacts in each pack."""
    ids = list(Artifact.objects.values_list("pack_id", flat=True))
    return sorted(ids.count(pack_id) for pack_id in set(ids))


def test_artifacts_of_a_run_share_a_pack() -> None:
    parts = named(*TEXTS)
    artifacts.write_many({new_id(): parts})
    assert sizes() == [len(TEXTS)]
    assert {item.sha256: item.data for item in artifacts.read(parts)} == parts


def test_packs_of_many_runs_are_stored_together() -> None:
    parts_by_run = {new_id(): named(b'"run %d"' % number, b'{"number":%d}' % number) for number in range(100)}
    with CaptureQueriesContext(connection) as queries:
        artifacts.write_many(parts_by_run)
    insertions = [query for query in queries if 'INTO "traces_pack"' in query["sql"]]
    assert len(insertions) == 2
    parts = {sha256: data for run_parts in parts_by_run.values() for sha256, data in run_parts.items()}
    assert {item.sha256: item.data for item in artifacts.read(parts)} == parts
    owners = {bytes(owner or b"") for owner in Pack.objects.values_list("owner", flat=True)}
    assert owners == {run_id.bytes for run_id in parts_by_run}


def test_packs_are_small_enough_to_read_one_member() -> None:
    parts = named(*(b'"%d%b"' % (number, b"x" * 1_000) for number in range(100)))
    artifacts.write_many({new_id(): parts})
    all_packs = list(packs.read(Pack.objects.values_list("id", flat=True)))
    assert len(all_packs) == 7
    assert all(len(packs.decode(pack, "")) <= packs.TARGET + 100 for pack in all_packs)


def test_bytes_with_line_breaks_and_other_types_are_alone() -> None:
    lone = named(b'{\n"a": 1}', b'"%b"' % (b"long" * packs.TARGET))
    image = named(b"GIF89a", b"GIF87a")
    artifacts.write_many({new_id(): {**named(*TEXTS), **lone}})
    artifacts.write_many({new_id(): image}, media_type="image/gif")
    assert sizes() == [1, 1, 1, 1, len(TEXTS)]
    types = {item.data: item.media_type for item in artifacts.read({**lone, **image})}
    assert types == {**dict.fromkeys(lone.values(), packs.JSON_TYPE), **dict.fromkeys(image.values(), "image/gif")}


def test_a_deleted_run_leaves_nothing_in_the_packs_of_others() -> None:
    first, second = stored_run("first"), stored_run("second")
    artifacts.write_many({first: named(*TEXTS)})
    artifacts.write_many({second: named(*TEXTS[:3], b'"new"')})
    forget(first)
    assert stored_texts() == {*TEXTS[:3], b'"new"'}
    kept = named(*TEXTS[:3], b'"new"')
    assert {item.sha256: item.data for item in artifacts.read(kept)} == kept
    assert integrity.check_store().lost_artifacts == ()
    forget(second)
    assert (Pack.objects.count(), Artifact.objects.count()) == (0, 0)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CONTENTS, st.data())
def test_packs_contain_what_the_remaining_runs_use(contents: Sequence[frozenset[bytes]], data: st.DataObject) -> None:
    for table in (Artifact, ArtifactUse, Pack):
        # An example may end early.
        with retention():
            table.objects.all().delete()
    runs = {stored_run(f"run {index}"): content for index, content in enumerate(contents)}
    for run_id, content in runs.items():
        artifacts.write_many({run_id: named(*sorted(content))})
    for run_id in data.draw(st.permutations(list(runs))):
        forget(run_id)
        del runs[run_id]
        used = named(*(text for content in runs.values() for text in content))
        assert stored_texts() == set(used.values())
        assert {item.sha256: item.data for item in artifacts.read(used)} == used
        assert Artifact.objects.count() == len(used)


def test_a_reader_follows_an_artifact_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = stored_run("first"), stored_run("second")
    artifacts.write_many({first: named(*TEXTS)})
    artifacts.write_many({second: named(TEXTS[5])})
    read = packs.read

    def sweep_before(ids: Sequence[int]) -> Iterator[StoredPack]:
        # The reader knows the old place already.
        monkeypatch.setattr(packs, "read", read)
        forget(first)
        return read(ids)

    monkeypatch.setattr(packs, "read", sweep_before)
    assert [item.data for item in artifacts.read(named(TEXTS[5]))] == [TEXTS[5]]


def test_a_damaged_pack_does_not_stop_a_deletion() -> None:
    first, second = stored_run("first"), stored_run("second")
    broken = Pack.objects.create(owner=first.bytes, encoding="zstd", data=b"no frame")
    for text in TEXTS[:2]:
        Artifact.objects.create(sha256=digest_bytes(text), pack_id=broken.id, start=0, size=len(text))
    artifacts.write_many({second: named(TEXTS[0])})
    forget(first)
    assert not Pack.objects.exists()
    (problem,) = artifacts.verify(named(*TEXTS[:2]))
    assert isinstance(problem, ArtifactCorrupt)
    assert problem.sha256 == digest_bytes(TEXTS[0])
    forget(second)
    assert not Artifact.objects.exists()


def test_a_run_and_its_packs_are_read_with_few_queries() -> None:
    run_id = services.record(order_run()).run_id
    refs = [ref for ref in Run.objects.get(id=run_id).steps.values_list("output_ref", flat=True) if ref]
    with CaptureQueriesContext(connection) as queries:
        assert len(list(artifacts.read(refs))) == len(set(refs))
    assert len(queries) == 2


def test_purge_deletes_the_packs_of_a_run() -> None:
    run_id = services.record(order_run()).run_id
    deletions.delete([run_id], by="ann", at_once=True)
    purge.remove_due()
    assert not Pack.objects.exists()
