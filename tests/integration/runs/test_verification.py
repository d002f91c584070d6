"""Verification of many artifacts: each against its name, and each pack once."""

from collections.abc import Iterable, Iterator, Sequence

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tests.support.recordings import order_run
from traces.core.canonical import canonical_bytes, digest_bytes
from traces.core.ids import new_id
from traces.core.json_types import JSONValue
from traces.models import Artifact, Pack, Step
from traces.payloads.digest_packing import part_digests
from traces.runs import services
from traces.storage import artifacts, packs
from traces.storage.artifacts import StoredBytes
from traces.storage.integrity import Inspector
from traces.storage.packs import StoredPack
from traces.storage.verification import Verifier, closure, references

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def store(*contents: bytes, media_type: str = packs.JSON_TYPE) -> list[bytes]:
    """Store artifacts of one run, and return their names."""
    artifacts.write_many({new_id(): {digest_bytes(data): data for data in contents}}, media_type=media_type)
    return [bytes.fromhex(digest_bytes(data)) for data in contents]


def reference(key: bytes) -> JSONValue:
    return {"$part": key.hex()}


def test_intact_artifacts_name_their_parts() -> None:
    first, second = store(b'"first"', b'"second"')
    data = canonical_bytes({"messages": [reference(first), reference(second)]})
    literal = canonical_bytes({"$literal": {"$part": first.hex()}})
    whole, quoted = store(data, literal)
    assert references([whole, quoted, first]) == {whole: [first, second], quoted: [], first: []}
    assert closure([whole]) == {whole, first, second}
    assert Verifier().are_whole([whole, quoted, first])


def test_missing_artifacts_are_absent() -> None:
    (stored,) = store(b'"stored"')
    assert references([stored, b"", b"0" * 32]) == {stored: []}
    verifier = Verifier()
    assert verifier.are_whole([stored])
    assert not verifier.are_whole([stored, b"0" * 32])
    assert not verifier.are_whole([b""])


@pytest.mark.parametrize("media_type", [packs.JSON_TYPE, "text/plain"])
def test_bytes_with_line_breaks_are_one_artifact(media_type: str) -> None:
    (key,) = store(b'{\n"a": 1}\n', media_type=media_type)
    assert list(references([key])) == [key]
    assert Verifier().are_whole([key])


def test_artifact_at_another_place_is_damaged() -> None:
    keys = store(b'"one"', b'"two"')
    with services.retention():
        Artifact.objects.filter(sha256=keys[1].hex()).update(start=0)
    assert references(keys) == {keys[0]: [], keys[1]: None}
    assert not Verifier().are_whole(keys[1:])


def test_artifact_that_moves_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (key,) = store(b'"moves"')
    read = packs.read

    def move_before(ids: Iterable[int]) -> Iterator[StoredPack]:
        monkeypatch.setattr(packs, "read", read)
        ((_, pack_id, start, _),) = packs.insert([(key.hex(), b'"moves"')], None, packs.JSON_TYPE)
        with services.retention():
            Artifact.objects.filter(sha256=key.hex()).update(pack_id=pack_id, start=start)
        return iter(())

    monkeypatch.setattr(packs, "read", move_before)
    assert references([key]) == {key: []}


def test_each_pack_of_a_run_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = services.record(order_run()).run_id
    read, seen = packs.read, list[int]()

    def count(ids: Iterable[int]) -> Iterator[StoredPack]:
        for pack in read(ids):
            seen.append(pack.id)
            yield pack

    monkeypatch.setattr(packs, "read", count)
    inspector = Inspector()
    for number in range(1, Step.objects.filter(run_id=run_id).count() + 1):
        assert inspector.steps(run_id, number, number) == {}
    assert seen
    assert len(seen) == len(set(seen))


def test_all_parts_of_a_run_are_verified() -> None:
    run_id = services.record(order_run()).run_id
    refs = {
        ref for row in Step.objects.filter(run_id=run_id).values_list("input_ref", "output_ref") for ref in row if ref
    }
    parts = {part for item in artifacts.read(refs) for part in part_digests(item.data)}
    assert parts
    with services.retention():
        Artifact.objects.filter(sha256=min(parts)).delete()
    losses = Inspector().steps(run_id, 1, 100)
    assert {loss.digest for payloads in losses.values() for loss in payloads} == {min(parts)}


@pytest.mark.parametrize("size", [32, 64])
def test_text_that_is_no_digest_names_nothing(size: int) -> None:
    """Two halves of a digest are none, though together they are."""
    run_id = services.record(order_run()).run_id
    step = Step.objects.filter(run_id=run_id).exclude(input_ref="").exclude(output_ref="").earliest("sequence_no")
    derived_run = services.open_run(name="damaged", app="test")
    refs = {"input_ref": step.input_ref[:size], "output_ref": step.input_ref[size:]}
    Step.objects.create(run=derived_run, sequence_no=1, type="tool", name="t", status="ok", label="exact", **refs)
    losses = Inspector().steps(derived_run.id, 1, 1)
    fields = {"input", "output"} if size == 32 else {"output"}
    assert {loss.field for loss in losses[1]} == fields


def test_loss_of_any_artifact_of_a_run_is_noticed() -> None:
    run_id = services.record(order_run()).run_id
    refs = [ref for row in Step.objects.filter(run_id=run_id).values_list("input_ref", "output_ref") for ref in row]
    roots = [bytes.fromhex(ref) for ref in refs if ref]
    assert Verifier().are_whole(roots)
    for key in closure(roots):
        with transaction.atomic():
            with services.retention():
                Artifact.objects.filter(sha256=key.hex()).delete()
            verifier = Verifier()
            assert not verifier.are_whole(roots)
            # It does not forget what it has not verified.
            assert not verifier.are_whole(roots)
            transaction.set_rollback(True)


def stored_messages() -> list[bytes]:
    """Store messages, and a conversation that contains them, in one pack."""
    messages = [canonical_bytes({"role": "user", "content": f"message {number} " * 4}) for number in range(40)]
    parts: list[JSONValue] = [reference(bytes.fromhex(digest_bytes(data))) for data in messages]
    return store(*messages, canonical_bytes({"messages": parts}))


def are_readable(keys: Sequence[bytes]) -> bool:
    """True if each artifact is found and matches its name when it is read alone."""
    names = [key.hex() for key in keys]
    return sum(isinstance(artifact, StoredBytes) for artifact in artifacts.verify(names)) == len(keys)


def test_flip_of_any_byte_of_a_pack_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = stored_messages()
    (pack,) = packs.read(Pack.objects.values_list("id", flat=True))
    data = bytes(pack.data or b"")
    assert pack.encoding == "refszstd"
    noticed = 0
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
        monkeypatch.setattr(
            packs, "read", lambda ids, damaged=damaged: iter([pack._replace(data=damaged)] if ids else ())
        )
        # A few bits have no effect on any member: those of a separator, and some of the frame's header.
        is_readable = are_readable(keys)
        assert is_readable or not Verifier().are_whole(keys)
        noticed += not is_readable
    assert noticed > 0.9 * len(data)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_truncated_pack_is_noticed(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    keys = stored_messages()
    (pack,) = packs.read(Pack.objects.values_list("id", flat=True))
    data = bytes(pack.data or b"")
    monkeypatch.setattr(packs, "read", lambda ids: iter([pack._replace(data=data[: int(share * len(data))])]))
    assert not Verifier().are_whole(keys[:1])


@pytest.mark.parametrize("column", ["packs", "starts", "ends"])
@pytest.mark.parametrize("bit", [0, 1, 7, 20])
def test_flip_of_a_bit_of_a_place_is_noticed(column: str, bit: int) -> None:
    keys = stored_messages()
    # Instead of in the database, whose triggers reject it.
    damaged = artifacts.places_in_order(keys)
    getattr(damaged, column)[7] ^= 1 << bit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(artifacts, "places_in_order", lambda names: damaged)
        assert not Verifier().are_whole(keys)
    assert Verifier().are_whole(keys)


def test_artifacts_with_exchanged_places_are_noticed() -> None:
    keys = stored_messages()
    first, second = (Artifact.objects.get(sha256=key.hex()) for key in keys[3:5])
    assert first.size == second.size
    with services.retention():
        Artifact.objects.filter(sha256=first.sha256).update(start=second.start)
        Artifact.objects.filter(sha256=second.sha256).update(start=first.start)
    assert not Verifier().are_whole(keys)
    assert [key for key, parts in references(keys).items() if parts is None] == sorted(keys[3:5])


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stored=st.sets(st.integers(0, 99), max_size=70), requested=st.lists(st.integers(0, 99), max_size=70, unique=True)
)
def test_places_are_those_of_existing_artifacts_in_order(stored: set[int], requested: list[int]) -> None:
    """Digests are cut out in blocks of which the last is not full."""
    with transaction.atomic():
        store(*(b'"%d"' % number for number in stored))
        keys = [bytes.fromhex(digest_bytes(b'"%d"' % number)) for number in requested]
        rows = {row.sha256: (row.pack_id, row.start, row.start + row.size) for row in Artifact.objects.all()}
        places = [*zip(*artifacts.places_in_order(keys), strict=True)]
        assert places == [rows[key.hex()] for key in keys if key.hex() in rows]
        assert artifacts.present_keys({*keys}) == {key for key in keys if key.hex() in rows}
        transaction.set_rollback(True)
