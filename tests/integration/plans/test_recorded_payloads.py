"""Recorded payloads read from the store: whole, by their last messages, and damaged."""

from collections.abc import Iterable
from typing import Any

import pytest

from replay.store import payload_reader
from replay.store.payload_reader import Payloads
from tests.support.lost_artifacts import lose
from tests.support.recordings import conversation
from traces.core.vocabulary import StepType
from traces.errors import ArtifactCorrupt
from traces.models import Artifact, Step
from traces.payloads.parts import MissingPart, references
from traces.runs import services
from traces.storage import artifacts, packs
from traces.storage.packs import RecentPacks

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def requests_of_a_conversation() -> list[str]:
    """Input references of a conversation's model steps."""
    run = services.record(conversation(60, "payloads")).run_id
    steps = Step.objects.filter(run_id=run, type=StepType.MODEL).order_by("sequence_no")
    return list(steps.values_list("input_ref", flat=True))


@pytest.mark.parametrize("is_read_whole", [False, True])
def test_last_messages_equal_those_of_the_whole_request(is_read_whole: bool) -> None:
    refs = requests_of_a_conversation()
    payloads, whole_requests = Payloads(), artifacts.payloads(refs)
    payloads.expect(lambda: [refs])
    for ref in refs:
        request = whole_requests[ref]
        assert isinstance(request, dict)
        messages = request["messages"]
        assert isinstance(messages, list)
        start = max(0, len(messages) - 3)
        assert not is_read_whole or payloads(ref) == request
        assert payloads.messages(ref, start) == messages[start:]
        assert payloads(ref) == request


def test_last_messages_of_a_damaged_request_are_not_read() -> None:
    refs = requests_of_a_conversation()
    payloads = Payloads()
    payloads.expect(lambda: [refs])
    first_message = references(artifacts.load([refs[0]])[refs[0]])[0]
    lose(first_message, "deleted")
    for ref in (refs[-1], refs[-2], refs[-1]):
        with pytest.raises(MissingPart):
            payloads.messages(ref, 100)


def test_requests_read_before_a_damaged_one_stay_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    refs = requests_of_a_conversation()
    whole_requests = artifacts.payloads(refs[:4])
    monkeypatch.setattr(payload_reader, "_FIRST_READ", 4)
    payloads = Payloads()
    payloads.expect(lambda: [refs])
    assert payloads(refs[0]) == whole_requests[refs[0]]
    lose(refs[5], "deleted")
    with pytest.raises(MissingPart):
        payloads(refs[5])
    assert {ref: payloads(ref) for ref in refs[:4]} == whole_requests


def test_pack_is_decoded_once_for_requests_and_their_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    refs, read, ids = requests_of_a_conversation(), packs.read, list[int]()

    def spy(pack_ids: Iterable[int]) -> Any:
        pack_ids = list(pack_ids)
        ids.extend(pack_ids)
        return read(pack_ids)

    monkeypatch.setattr(packs, "read", spy)
    monkeypatch.setattr(payload_reader, "_FIRST_READ", 4)
    payloads = Payloads()
    payloads.expect(lambda: [refs])
    values = {ref: payloads(ref) for ref in refs}
    assert ids
    assert len(ids) == len(set(ids))
    assert values == artifacts.payloads(refs)


def test_each_read_ahead_is_twice_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    refs, load, sizes = requests_of_a_conversation(), artifacts.load, list[int]()

    def spy(digests: Iterable[str], *rest: Any) -> Any:
        names = set(digests)
        sizes.append(len(names & set(refs)))
        return load(names, *rest)

    monkeypatch.setattr(artifacts, "load", spy)
    monkeypatch.setattr(payload_reader, "_FIRST_READ", 4)
    monkeypatch.setattr(payload_reader, "_LONGEST_READ", 16)
    payloads = Payloads()
    payloads.expect(lambda: [refs])
    for ref in refs:
        payloads(ref)
    assert [size for size in sizes if size][:5] == [4, 8, 16, 16, 16]
    assert max(sizes) == 16


def test_artifact_of_a_decoded_pack_is_verified() -> None:
    ref = requests_of_a_conversation()[0]
    (pack,) = packs.read([Artifact.objects.get(sha256=ref).pack_id])
    recent_packs, content = RecentPacks(), packs.decode(pack, ref)
    recent_packs.add(pack, content.swapcase())
    (problem,) = artifacts.verify([ref], recent_packs)
    assert isinstance(problem, ArtifactCorrupt)
    recent_packs.add(pack, content)
    assert ref in artifacts.load([ref], recent_packs)
