"""Provenance: which step consumed what an earlier one produced, and how that is known.

Paths are JSON pointers: the value at `consumer_path` of the consumer's input came from `producer_path` of the
producer's output. By kind:

* ``tool_call_id``  a tool step from the model step that asked for it, or a tool message of a model's input
  from the tool step that answered.
* ``link``          the recording says so; paths are empty.
* ``history``       a model's input begins with the whole input of the producer; `consumer_path` is the last message
  that came that way: the producer's own answer, with its `producer_path`, or else the last one of its input.
  Only the messages after it have edges of their own, so the edges of a conversation grow with its length.
* ``digest``        equal messages, documents or long texts.
* ``text``          an equal short value, or the words of a long text inside another. Values as common as `yes` are only
  taken for the same where an output says all of what the model answered last.
* ``value``         words, an id, a number or a JSON field of an output inside a text that code wrote (see
  `traces.provenance.short_values`). Weaker than the others: chance is unlikely, not impossible.

A step of type output that has no input is the consumer by its output: its paths point there. Containers
(agent, turn) neither produce nor consume: what they hold is their children's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.conversation_state import begins_with
from traces.payloads.messages import ANSWER, Message, ModelRequest
from traces.payloads.splitter import Splitter
from traces.provenance.input_origins import Unexplained, fitting, newest
from traces.provenance.input_origins import leaves as scalars
from traces.provenance.output_placements import PLAIN, Placements, Reading
from traces.provenance.step_outputs import LISTS_OF_PARTS, Asked, Known, StepFacts, remember
from traces.provenance.text_index import Found, distinctive

MAX_EDGES: Final = 256  # into one step without a recognised history: a window of messages, not a whole conversation
SNIPPET: Final = 120
_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})
_SAID: Final = "/text"  # of an output
_UNRECORDED: Final = "its input was not recorded"
_FEW_MESSAGES: Final = 4  # of a request that code writes for one question


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeFact:
    """`consumer` used what `producer` made."""

    producer: int
    consumer: int
    kind: EdgeKind
    consumer_path: str = ""
    producer_path: str = ""
    evidence: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """All edges, and by step what content of its input no edge explains."""

    edges: list[EdgeFact]
    unexplained: dict[int, tuple[Unexplained, ...]]


def find_provenance(
    steps: Sequence[StepFacts],
    splitter: Splitter,
    *,
    wanted: Callable[[int], bool] = lambda no: True,
    learned: Mapping[int, Sequence[Unexplained]] | None = None,
) -> Provenance:
    """The provenance of the `wanted` steps. `learned` is what is known of inputs that are not there."""
    known = Known(splitter=splitter)
    found = Provenance(edges=[], unexplained={})
    for step in steps:
        if step.type in _CONTAINERS:
            found.unexplained[step.no] = ()
            continue
        known.rest = []
        known.origins.learn(step.no, (learned or {}).get(step.no, ()))
        # Also what is not wanted is looked at, for content that stood there before came from no later step.
        edges = list(_unique(_into(step, known)))
        if wanted(step.no):
            found.edges.extend(edges)
            found.unexplained[step.no] = newest(known.rest)
        remember(step, known)
    return found


def _unique(edges: Iterator[EdgeFact]) -> Iterator[EdgeFact]:
    """The first of edges that say the same, none from a step to itself or backwards."""
    seen: set[tuple[int, EdgeKind, str]] = set()
    for found in edges:
        paths = fitting(found.consumer_path), fitting(found.producer_path)
        fits = paths == (found.consumer_path, found.producer_path)
        edge = found if fits else replace(found, consumer_path=paths[0], producer_path=paths[1])
        key = (edge.producer, edge.kind, edge.consumer_path)
        if key in seen or edge.producer >= edge.consumer:
            continue
        seen.add(key)
        yield edge
        if len(seen) >= MAX_EDGES:
            return


def _into(step: StepFacts, known: Known) -> Iterator[EdgeFact]:
    yield from _explicit(step, known)
    if step.type is StepType.MODEL:
        yield from _into_messages(step, known)
        _configuration(step, known)
    elif step.type is StepType.OUTPUT and step.input is None:
        yield from _into_output(step, known)
    elif step.type is StepType.TOOL and step.call_id in known.callers:
        yield from _into_arguments(step, known)
    else:
        yield from _into_value(step.no, step.input, step.input_ref, known)
    if step.input is None and step.type is not StepType.OUTPUT and step.call_id not in known.callers:
        known.rest.append(known.origins.item(step.no, "", str(step.no), _UNRECORDED))


def _explicit(step: StepFacts, known: Known) -> Iterator[EdgeFact]:
    for producer in step.links:
        yield EdgeFact(producer=producer, consumer=step.no, kind=EdgeKind.LINK, evidence="linked by the recording")
    if step.type is StepType.TOOL and step.call_id in known.callers:
        producer, path, _ = known.callers[step.call_id]
        yield EdgeFact(
            producer=producer,
            consumer=step.no,
            kind=EdgeKind.TOOL_CALL_ID,
            consumer_path="",
            producer_path=f"{path}/arguments",
            evidence=_cut(f"call {step.call_id}"),
        )


def _configuration(step: StepFacts, known: Known) -> None:
    """What a request has besides its messages: of unknown origin where it first appears."""
    for name, value in step.input.items() if isinstance(step.input, dict) else ():
        if name != "messages" and value not in (None, [], {}):
            content = f"{name} {known.origins.digest_of(value)}"
            known.rest.append(known.origins.item(step.no, f"/{escape_pointer(name)}", f"/{name}", content))


def _into_arguments(step: StepFacts, known: Known) -> Iterator[EdgeFact]:
    """Edges into what code added to the arguments that a model gave."""
    _, _, given = known.callers[step.call_id]
    if step.input is None or step.input == given:
        return
    same = {path: value for path, _, value in scalars(given, "", "")}
    for path, shape, value in scalars(step.input, "", ""):
        if path not in same or same[path] != value:
            yield from _into_scalar(step.no, value, path, shape, known)


def _into_messages(step: StepFacts, known: Known) -> Iterator[EdgeFact]:
    messages = ModelRequest(step.input).messages
    digests = known.splitter.part_digests(messages)
    start = 0
    known.placements = Placements()
    if (before := _history(messages, digests, known)) is not None:
        earlier, answered = before
        start = len(earlier.messages) + answered
        known.placements = earlier.placements.continued(len(earlier.messages), len(messages))
        if answered:
            known.placements.add(earlier.no, start - 1)
        yield EdgeFact(
            producer=earlier.no,
            consumer=step.no,
            kind=EdgeKind.HISTORY,
            consumer_path=f"/messages/{start - 1}",
            producer_path=ANSWER if answered else "",
            evidence=f"{len(earlier.messages)} messages before",
        )
        if not answered and start <= _FEW_MESSAGES:
            known.answering = _answering(messages[:start], 0, known.answers)
            yield from _into_repeated(step.no, messages[:start], digests, known)
    _place(messages, digests, start, known)
    answered = any(Message(message).role == "assistant" for message in islice(messages, start))
    for index in range(start, len(messages)):
        answered |= Message(messages[index]).role == "assistant"
        yield from _into_message(step.no, messages[index], digests[index], index, known, reply=answered)


def _place(messages: Sequence[JSONValue], digests: Sequence[str], start: int, known: Known) -> None:
    """Note which of the messages that are new in a request are whole outputs."""
    known.answering = _answering(messages, start, known.answers)
    for index in range(start, len(messages)):
        producer = known.answering.get(index)
        if producer is None and digests[index] in known.parts:
            producer = known.parts[digests[index]][0]
        if producer is not None:
            known.placements.add(producer, index)


def _answering(messages: Sequence[JSONValue], start: int, answers: Mapping[str, list[int]]) -> dict[int, int]:
    """The tool step of each tool message. Where several have the id of one call, both are in the order of time."""
    places: dict[str, list[int]] = {}
    for index in range(start, len(messages)):
        message = messages[index]
        call = message.get("tool_call_id") if isinstance(message, dict) else None
        if isinstance(call, str) and call in answers:
            places.setdefault(call, []).append(index)
    found: dict[int, int] = {}
    for call, indices in places.items():
        steps = answers[call][-len(indices) :]
        found.update(zip(indices, [*steps[:1] * (len(indices) - len(steps)), *steps], strict=True))
    return found


def _into_repeated(no: int, messages: Sequence[JSONValue], digests: Sequence[str], known: Known) -> Iterator[EdgeFact]:
    """Edges into messages that a short request repeats: code may have filled in the same value once more."""
    before = len(known.rest)
    for index, message in enumerate(messages):
        edges = _into_message(no, message, digests[index], index, known, reply=False)
        yield from (edge for edge in edges if edge.kind is EdgeKind.VALUE)
    del known.rest[before:]


def _history(messages: Sequence[JSONValue], digests: Sequence[str], known: Known) -> tuple[Asked, bool] | None:
    """The model step whose input this one continues, and whether its answer follows."""
    for earlier in _candidates(digests, known):
        length = len(earlier.messages)
        if length and begins_with(digests, earlier.messages):
            return earlier, length < len(messages) and _is_answer(messages[length], digests[length], earlier)
    return None


def _candidates(digests: Sequence[str], known: Known) -> Iterator[Asked]:
    """The latest model step first, which nearly always is the one; then longer prefixes before shorter ones."""
    if known.last is not None:
        yield known.last
    for length in range(len(digests), 0, -1):
        earlier = known.asked.get((length, digests[length - 1]))
        if earlier is not None:
            yield earlier


def _is_answer(message: JSONValue, digest: str, earlier: Asked) -> bool:
    """The same message, or one of the same calls or text: recorders drop fields when they repeat a message."""
    if digest == earlier.answer:
        return True
    said = Message(message)
    if said.role != "assistant":
        return False
    calls = frozenset(said.call_ids)
    return calls == earlier.calls if calls or earlier.calls else bool(earlier.text) and said.plain_text == earlier.text


def _into_message(
    no: int, message: JSONValue, digest: str, index: int, known: Known, *, reply: bool
) -> Iterator[EdgeFact]:
    if not isinstance(message, dict):
        return
    path, role = f"/messages/{index}", Message(message).role
    reading = Reading(reply=reply, hides=lambda step, value: known.placements.hides(step, index, role, value))
    if index in known.answering:
        yield EdgeFact(
            producer=known.answering[index],
            consumer=no,
            kind=EdgeKind.TOOL_CALL_ID,
            consumer_path=f"{path}/content",
            evidence=_cut(f"call {message['tool_call_id']}"),
        )
    elif digest in known.parts and not reading.hides(known.parts[digest][0], ""):
        producer, producer_path = known.parts[digest]
        yield EdgeFact(
            producer=producer,
            consumer=no,
            kind=EdgeKind.DIGEST,
            consumer_path=path,
            producer_path=producer_path,
            evidence="the same message",
        )
    else:
        shape = f"/messages/*:{role}/content"
        yield from _into_texts(no, message.get("content"), f"{path}/content", shape, known, reading)


def _into_output(step: StepFacts, known: Known) -> Iterator[EdgeFact]:
    """Edges into what a run says in the end: also a short answer is the last model's, where it is all of it."""
    edges = list(_into_value(step.no, step.output, step.output_ref, known))
    text = step.output.get("text") if isinstance(step.output, dict) else None
    place = known.last.places.get(text.strip()) if known.last is not None and isinstance(text, str) else None
    covered = any(edge.kind is not EdgeKind.VALUE and edge.consumer_path in ("", _SAID) for edge in edges)
    if known.last is None or place is None or covered:
        yield from edges
        return
    yield from (edge for edge in edges if edge.producer != known.last.no or edge.consumer_path != _SAID)
    yield EdgeFact(
        producer=known.last.no,
        consumer=step.no,
        kind=EdgeKind.TEXT,
        consumer_path=_SAID,
        producer_path=place,
        evidence=_cut(str(text)),
    )


def _into_value(no: int, value: JSONValue, ref: str, known: Known) -> Iterator[EdgeFact]:
    """Edges into any value: whole, else by the parts in it and by its texts."""
    whole = known.parts.get(ref) if ref else None
    if whole is not None and isinstance(value, dict):
        yield EdgeFact(
            producer=whole[0], consumer=no, kind=EdgeKind.DIGEST, producer_path=whole[1], evidence="the same value"
        )
        return
    rest = value
    if isinstance(value, dict):
        for key in LISTS_OF_PARTS:
            items = value.get(key)
            for index, item in enumerate(items if isinstance(items, list) else ()):
                yield from _into_part(no, item, f"/{key}/{index}", f"/{key}/*", known)
        rest = {key: item for key, item in value.items() if not (key in LISTS_OF_PARTS and isinstance(item, list))}
    yield from _into_texts(no, rest, "", "", known)


def _into_part(no: int, item: JSONValue, path: str, shape: str, known: Known) -> Iterator[EdgeFact]:
    part = known.parts.get(known.splitter.part_digest(item))
    if part is None:
        yield from _into_texts(no, item, path, shape, known)
        return
    yield EdgeFact(
        producer=part[0],
        consumer=no,
        kind=EdgeKind.DIGEST,
        consumer_path=path,
        producer_path=part[1],
        evidence="the same part",
    )


def _into_texts(
    no: int, value: JSONValue, path: str, shape: str, known: Known, reading: Reading = PLAIN
) -> Iterator[EdgeFact]:
    for place, place_shape, leaf in scalars(value, path, shape):
        yield from _into_scalar(no, leaf, place, place_shape, known, reading)


def _into_scalar(
    no: int, value: JSONValue, path: str, shape: str, known: Known, reading: Reading = PLAIN
) -> Iterator[EdgeFact]:
    """Edges into one value of an input, and what of it stays unexplained."""
    if isinstance(value, bool) or shape.endswith("/type"):
        known.rest.append(known.origins.item(no, path, shape, str(value)))
        return
    text = value if isinstance(value, str) else str(value)
    seen: set[int] = set()
    whole = False
    for found in known.texts.find(text) if distinctive(text) else ():
        if reading.hides(found.producer, found.snippet):
            continue
        seen.add(found.producer)
        whole |= found.whole
        yield EdgeFact(
            producer=found.producer,
            consumer=no,
            kind=_kind_of(found, text),
            consumer_path=path,
            producer_path=found.path,
            evidence=_cut(found.snippet),
        )
    sources, rest = known.origins.text(no, path, shape, text, reading)
    if not whole:
        known.rest += rest
    for source in sources:
        if source.producer not in seen:
            seen.add(source.producer)
            yield EdgeFact(
                producer=source.producer,
                consumer=no,
                kind=EdgeKind.VALUE,
                consumer_path=path,
                producer_path=source.path,
                evidence=_cut(source.text),
            )


def _kind_of(found: Found, text: str) -> EdgeKind:
    return EdgeKind.DIGEST if found.whole and len(text) >= SNIPPET else EdgeKind.TEXT


def _cut(text: str) -> str:
    return text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…"
