"""Recorded payloads read from the store: whole, by their last messages, and damaged."""

import pytest

from replay.store.payload_reader import Payloads
from tests.support.lost_artifacts import lose
from tests.support.recordings import conversation
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.payloads.parts import MissingPart, references
from traces.runs import services
from traces.storage import artifacts

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
