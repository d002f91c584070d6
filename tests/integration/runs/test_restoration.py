"""A recording that is imported again restores what was lost of it."""

from dataclasses import replace
from itertools import chain
from uuid import UUID

import pytest

from tests.support.lost_artifacts import large_artifacts, lose
from tests.support.recordings import order_run
from traces.core.canonical import digest_bytes
from traces.core.json_types import JSONValue
from traces.models import Artifact, Pack, Run, Step
from traces.runs.services import record, retention
from traces.storage import artifacts, sweep
from traces.storage.integrity import check_store

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
# More than what fits into a pack.
LARGE = "".join(digest_bytes(str(number).encode()) for number in range(2_500))


def payloads(run_id: UUID) -> list[JSONValue]:
    """Return the payloads of a run's steps."""
    rows = Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list("input_ref", "output_ref")
    return [artifacts.payload(ref) for ref in filter(None, chain.from_iterable(rows))]


def lose_pack(pack: Pack, loss: str) -> None:
    """Delete the members of a pack, or only the pack, or damage its bytes, which the database would not allow."""
    data = bytes(pack.data or b"")
    middle = len(data) // 2
    damaged = data[:middle] if loss == "truncated" else data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    with retention():
        members = Artifact.objects.filter(pack_id=pack.id)
        if loss == "deleted":
            members.delete()
        elif loss != "pack deleted":
            members.update(pack_id=Pack.objects.create(owner=pack.owner, encoding=pack.encoding, data=damaged).id)
        Pack.objects.filter(id=pack.id).delete()


@pytest.mark.parametrize("loss", ["deleted", "pack deleted", "truncated", "flipped"])
def test_importing_a_recording_again_restores_what_was_lost_of_it(loss: str) -> None:
    run = order_run()
    large = replace(run.steps[-1], output={"text": "the whole file", "file": LARGE})
    run = replace(run, steps=(*run.steps[:-1], large))
    run_id = record(run).run_id
    own_packs = list(Pack.objects.filter(owner=run_id.bytes))
    before = payloads(run_id)
    for name in large_artifacts():
        lose(name, "deleted" if loss == "pack deleted" else loss)
    for pack in own_packs:
        if pack.data is not None:
            lose_pack(pack, loss)
    assert check_store().lost_artifacts
    assert record(run).run_id == run_id
    assert check_store().lost_artifacts == ()
    assert payloads(run_id) == before
    # Nothing remains of the damaged packs, and the run still owns the bytes.
    assert set(Artifact.objects.values_list("pack_id", flat=True)) == set(Pack.objects.values_list("id", flat=True))
    with retention():
        Run.objects.filter(id=run_id).delete()
    sweep.sweep()
    assert not Artifact.objects.exists()


def test_another_owner_keeps_what_is_restored() -> None:
    """The run that is imported again is not the one whose pack was damaged."""
    first, second = order_run(), replace(order_run(), external_id="second")
    owner, user = record(first).run_id, record(second).run_id
    for pack in Pack.objects.filter(owner=owner.bytes):
        lose_pack(pack, "flipped")
    record(second)
    with retention():
        Run.objects.filter(id=user).delete()
    sweep.sweep()
    assert [loss for loss in check_store().lost_artifacts if owner in loss.runs] == []
