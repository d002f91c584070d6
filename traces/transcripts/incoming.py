"""Find the messages of model requests that no earlier step of the run shows.

Each model call repeats its conversation. Provenance states where the repetition ends; a call without that statement,
such as one whose history was shortened, is compared with the calls before it, message by message.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

import orjson

from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.models import Edge, Step
from traces.payloads.messages import Message, ModelAnswer
from traces.payloads.missing_parts import placeholder
from traces.storage import artifacts, bulk
from traces.transcripts.request_tails import Tail, message_digests
from traces.transcripts.turns import answer_text

MAX_INCOMING: Final = 100
# Calls to compare with: enough for a few agents that take turns.
_EARLIER_CALLS: Final = 8
# Steps whose whole output may come back as a message.
_SPEAKERS: Final = (StepType.MODEL, StepType.AGENT, StepType.TURN, StepType.PROMPT, StepType.TOOL)
# Roles of messages that repeat the output of a step.
_REPLIES: Final = ("assistant", "tool")
_REPETITION: Final = (EdgeKind.DIGEST, EdgeKind.TEXT)
EdgesByConsumer = Mapping[int, Sequence[Edge]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """The new messages of a request, in order, with placeholders for lost ones; `more` of them are left out."""

    messages: Sequence[JSONValue] = ()
    more: int = 0


class _Candidate(NamedTuple):
    """A message that may be new, and the steps whose output it may repeat."""

    digest: str
    producers: Sequence[int]


@dataclass(frozen=True, kw_only=True, slots=True)
class _History:
    """Earlier calls: the digests of their messages, the ids of the tool calls that their answers request, and the texts
    of their answers and of the steps after them."""

    digests: AbstractSet[str] = frozenset()
    call_ids: AbstractSet[str] = frozenset()
    outputs: AbstractSet[str] = frozenset()


_NO_HISTORY: Final = _History()


def incoming_messages(run_id: UUID, steps: Iterable[Step], edges: EdgesByConsumer) -> dict[int, Incoming]:
    """Return the new messages of model steps by sequence number."""
    models = [step for step in steps if step.type == StepType.MODEL and step.input_ref]
    starts = {step.sequence_no: _first_new(edges.get(step.sequence_no, ())) for step in models}
    requests = {step.sequence_no: Tail(step.input_ref, starts[step.sequence_no]) for step in models}
    histories = _histories(run_id, [no for no, start in starts.items() if not start])
    candidates = {
        no: list(_candidates(digests, starts[no], edges.get(no, ()), histories.get(no, _NO_HISTORY)))
        for no, digests in message_digests(requests, artifacts.load).items()
    }
    first_items = {no: items[:MAX_INCOMING] for no, items in candidates.items()}
    values = _messages({item.digest for items in first_items.values() for item in items})
    answers = _answers(run_id, {no for items in first_items.values() for item in items for no in item.producers})
    return {
        no: Incoming(
            messages=[
                values[item.digest]
                for item in items
                if not _is_repetition(values[item.digest], item, answers, histories.get(no, _NO_HISTORY))
            ],
            more=len(candidates[no]) - len(items),
        )
        for no, items in first_items.items()
    }


def _first_new(edges: Sequence[Edge]) -> int:
    """Return the index of the first message after the repetition of an earlier call and its answer."""
    return next((_message_index(edge.consumer_path) + 1 for edge in edges if edge.kind == EdgeKind.HISTORY), 0)


def _messages(digests: AbstractSet[str]) -> dict[str, JSONValue]:
    """Return messages by digest, with placeholders for lost ones."""
    values = artifacts.readable(digests).values
    return {digest: values.get(digest, placeholder(digest, "messages")) for digest in digests}


def _candidates(digests: Sequence[str], start: int, edges: Sequence[Edge], history: _History) -> Iterator[_Candidate]:
    """Yield the messages from index `start` on that are neither tool results with a step nor in the history."""
    producers: dict[int, list[int]] = {}
    results: set[int] = set()
    for edge in edges:
        index = _message_index(edge.consumer_path)
        if edge.kind == EdgeKind.TOOL_CALL_ID:
            results.add(index)
        elif edge.kind in _REPETITION:
            producers.setdefault(index, []).append(edge.producer_no)
    for index, digest in enumerate(digests, start):
        if index not in results and digest not in history.digests:
            yield _Candidate(digest, producers.get(index, ()))


def _message_index(path: str) -> int:
    """Return the index in a path like `/messages/3/content`; -1 for another path."""
    parts = path.split("/")
    return int(parts[2]) if len(parts) > 2 and parts[1] == "messages" and parts[2].isdecimal() else -1


def _is_repetition(value: JSONValue, candidate: _Candidate, answers: Mapping[int, str], history: _History) -> bool:
    """True if an earlier step shows the message: as its output, or as the calls that it requests."""
    message = Message(value)
    if message.call_ids and history.call_ids >= set(message.call_ids):
        return True
    text = message.text.strip()
    if not text:
        return False
    # A run has no provenance while it is recorded: what its steps say then comes back without an edge.
    is_known = message.role in _REPLIES and _comparable(text) in history.outputs
    return is_known or any(answers.get(producer) == text for producer in candidate.producers)


def _comparable(value: JSONValue) -> str:
    """Return a value as JSON, whether it is a text that is JSON, as models receive results of tools, or its value."""
    if isinstance(value, str):
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(value)
    return json.dumps(value, sort_keys=True)


def _answers(run_id: UUID, numbers: AbstractSet[int]) -> dict[int, str]:
    """Return the texts of the outputs of steps that speak, by sequence number."""
    refs: dict[int, str] = {}
    for chunk in bulk.chunks(numbers):
        speakers = Step.objects.filter(run_id=run_id, sequence_no__in=chunk, type__in=_SPEAKERS)
        refs |= dict(speakers.values_list("sequence_no", "output_ref"))
    outputs = artifacts.available(refs.values())
    return {no: answer_text(outputs.get(ref)) for no, ref in refs.items()}


def _histories(run_id: UUID, numbers: Sequence[int]) -> dict[int, _History]:
    """Return what the calls before each of some model steps contain."""
    if not numbers:
        return {}
    models = Step.objects.filter(run_id=run_id, type=StepType.MODEL).exclude(input_ref="")
    before = models.filter(sequence_no__lt=numbers[0]).order_by("-sequence_no")[:_EARLIER_CALLS]
    first = min(before.values_list("sequence_no", flat=True), default=numbers[0])
    speakers = Step.objects.filter(run_id=run_id, type__in=_SPEAKERS, sequence_no__range=(first, numbers[-1] - 1))
    steps = list(speakers.order_by("sequence_no").only("type", "sequence_no", "input_ref", "output_ref"))
    calls = [step for step in steps if step.type == StepType.MODEL and step.input_ref]
    digests = message_digests({step.sequence_no: Tail(step.input_ref, 0) for step in calls}, artifacts.load)
    values = artifacts.available(step.output_ref for step in steps)
    outputs = {step.sequence_no: values.get(step.output_ref) for step in steps}
    return {
        number: _history([step for step in calls if step.sequence_no < number], number, digests, outputs)
        for number in numbers
    }


def _history(
    calls: Sequence[Step], number: int, digests: Mapping[int, Sequence[str]], outputs: Mapping[int, JSONValue]
) -> _History:
    """Return what the last of the calls before a step contain."""
    earlier = [step.sequence_no for step in calls[-_EARLIER_CALLS:]]
    answers = [Message(ModelAnswer(outputs[no]).message) for no in earlier]
    later = [value for no, value in outputs.items() if earlier and earlier[0] <= no < number]
    return _History(
        digests={digest for no in earlier for digest in digests.get(no, ())},
        call_ids={call_id for answer in answers for call_id in answer.call_ids if call_id},
        outputs={_comparable(answer_text(value) or value) for value in later},
    )
