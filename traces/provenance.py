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

A step of type output that has no input is the consumer by its output: its paths point there. Containers
(agent, turn) neither produce nor consume: what they hold is their children's.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.canonical import escape_pointer
from traces.json_types import JSONObject, JSONValue
from traces.parts import Splitter
from traces.text_index import Found, TextIndex, distinctive
from traces.vocabulary import EdgeKind, StepType

MAX_EDGES: Final = 256  # into one step without a recognised history: a window of messages, not a whole conversation
MAX_PATH: Final = 200
SNIPPET: Final = 120
_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})
_ANSWER: Final = "/message"
_SAID: Final = "/text"  # of an output
_LISTS_OF_PARTS: Final = ("messages", "documents")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepFacts:
    """What provenance needs of a step: its payloads and their digests; `links` are sequence numbers."""

    no: int
    type: StepType
    input: JSONValue
    output: JSONValue
    input_ref: str = ""
    output_ref: str = ""
    call_id: str = ""
    links: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeFact:
    """`consumer` used what `producer` made."""

    producer: int
    consumer: int
    kind: EdgeKind
    consumer_path: str = ""
    producer_path: str = ""
    evidence: str = ""


@dataclass(slots=True)
class _Asked:
    """A model step that can be the history of a later one: the digests of its messages and of its answer."""

    no: int
    messages: list[str]
    answer: str
    calls: frozenset[str]
    text: str
    places: dict[str, str]  # of each text that it says, its path in the output


@dataclass(slots=True)
class _Known:
    """What the steps so far produced."""

    splitter: Splitter
    callers: dict[str, tuple[int, str]] = field(default_factory=dict)  # call id -> model step, path of the call
    answers: dict[str, int] = field(default_factory=dict)  # call id -> tool step
    parts: dict[str, tuple[int, str]] = field(default_factory=dict)  # digest -> step, path
    asked: dict[tuple[int, str], _Asked] = field(default_factory=dict)  # length and last digest of the messages
    last: _Asked | None = None
    texts: TextIndex = field(default_factory=TextIndex)


def find_edges(
    steps: Sequence[StepFacts],
    splitter: Splitter,
    *,
    wanted: Callable[[int], bool] = lambda no: True,
) -> list[EdgeFact]:
    """All edges into the `wanted` steps, of steps in sequence order; the splitter knows their parts."""
    known = _Known(splitter=splitter)
    edges: list[EdgeFact] = []
    for step in steps:
        if step.type in _CONTAINERS:
            continue
        if wanted(step.no):
            edges += _unique(_into(step, known))
        _remember(step, known)
    return edges


def _unique(edges: Iterator[EdgeFact]) -> Iterator[EdgeFact]:
    """The first of edges that say the same, none from a step to itself or backwards."""
    seen: set[tuple[int, EdgeKind, str]] = set()
    for found in edges:
        paths = _fitting(found.consumer_path), _fitting(found.producer_path)
        fits = paths == (found.consumer_path, found.producer_path)
        edge = found if fits else replace(found, consumer_path=paths[0], producer_path=paths[1])
        key = (edge.producer, edge.kind, edge.consumer_path)
        if key in seen or edge.producer >= edge.consumer:
            continue
        seen.add(key)
        yield edge
        if len(seen) >= MAX_EDGES:
            return


def _fitting(path: str) -> str:
    """The path, or that of the nearest value around it which a column can hold: PostgreSQL holds no NUL."""
    held = path[: MAX_PATH + 1].partition("\x00")[0]
    return path if len(held) == len(path) <= MAX_PATH else held.rpartition("/")[0]


def _into(step: StepFacts, known: _Known) -> Iterator[EdgeFact]:
    explicit = list(_explicit(step, known))
    yield from explicit
    if step.type is StepType.MODEL:
        yield from _into_messages(step, known)
    elif step.type is StepType.OUTPUT and step.input is None:
        yield from _into_output(step, known)
    elif not explicit:
        yield from _into_value(step.no, step.input, step.input_ref, known)


def _explicit(step: StepFacts, known: _Known) -> Iterator[EdgeFact]:
    for producer in step.links:
        yield EdgeFact(producer=producer, consumer=step.no, kind=EdgeKind.LINK, evidence="linked by the recording")
    if step.type is StepType.TOOL and step.call_id in known.callers:
        producer, path = known.callers[step.call_id]
        yield EdgeFact(
            producer=producer, consumer=step.no, kind=EdgeKind.TOOL_CALL_ID, consumer_path="",
            producer_path=f"{path}/arguments", evidence=_cut(f"call {step.call_id}"),
        )  # fmt: skip


def _into_messages(step: StepFacts, known: _Known) -> Iterator[EdgeFact]:
    messages = _messages(step.input)
    digests = known.splitter.part_digests(messages)
    start = 0
    if (before := _history(messages, digests, known)) is not None:
        earlier, answered = before
        start = len(earlier.messages) + answered
        yield EdgeFact(
            producer=earlier.no, consumer=step.no, kind=EdgeKind.HISTORY,
            consumer_path=f"/messages/{start - 1}",
            producer_path=_ANSWER if answered else "", evidence=f"{len(earlier.messages)} messages before",
        )  # fmt: skip
    for index in range(start, len(messages)):
        yield from _into_message(step.no, messages[index], digests[index], f"/messages/{index}", known)


def _history(messages: list[JSONValue], digests: list[str], known: _Known) -> tuple[_Asked, bool] | None:
    """The model step whose input this one continues, and whether its answer follows."""
    for earlier in _candidates(digests, known):
        length = len(earlier.messages)
        if length and digests[:length] == earlier.messages:
            return earlier, length < len(messages) and _is_answer(messages[length], digests[length], earlier)
    return None


def _candidates(digests: list[str], known: _Known) -> Iterator[_Asked]:
    """The latest model step first, which nearly always is the one; then longer prefixes before shorter ones."""
    if known.last is not None:
        yield known.last
    for length in range(len(digests), 0, -1):
        earlier = known.asked.get((length, digests[length - 1]))
        if earlier is not None:
            yield earlier


def _is_answer(message: JSONValue, digest: str, earlier: _Asked) -> bool:
    """The same message, or one of the same calls or text: recorders drop fields when they repeat a message."""
    if digest == earlier.answer:
        return True
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return False
    calls = frozenset(_call_ids(message))
    return calls == earlier.calls if calls or earlier.calls else bool(earlier.text) and _text(message) == earlier.text


def _into_message(no: int, message: JSONValue, digest: str, path: str, known: _Known) -> Iterator[EdgeFact]:
    if not isinstance(message, dict):
        return
    call = message.get("tool_call_id")
    if isinstance(call, str) and call in known.answers:
        yield EdgeFact(
            producer=known.answers[call], consumer=no, kind=EdgeKind.TOOL_CALL_ID,
            consumer_path=f"{path}/content", evidence=_cut(f"call {call}"),
        )  # fmt: skip
    elif digest in known.parts:
        producer, producer_path = known.parts[digest]
        yield EdgeFact(
            producer=producer, consumer=no, kind=EdgeKind.DIGEST, consumer_path=path, producer_path=producer_path,
            evidence="the same message",
        )  # fmt: skip
    else:
        yield from _into_texts(no, message.get("content"), f"{path}/content", known)


def _into_output(step: StepFacts, known: _Known) -> Iterator[EdgeFact]:
    """Edges into what a run says in the end: also a short answer is the last model's, where it is all of it."""
    found = list(_into_value(step.no, step.output, step.output_ref, known))
    yield from found
    text = step.output.get("text") if isinstance(step.output, dict) else None
    if known.last is None or not isinstance(text, str) or any(edge.consumer_path in ("", _SAID) for edge in found):
        return
    if (place := known.last.places.get(text.strip())) is not None:
        yield EdgeFact(
            producer=known.last.no, consumer=step.no, kind=EdgeKind.TEXT, consumer_path=_SAID, producer_path=place,
            evidence=_cut(text),
        )  # fmt: skip


def _into_value(no: int, value: JSONValue, ref: str, known: _Known) -> Iterator[EdgeFact]:
    """Edges into any value: whole, else by the parts in it and by its texts."""
    whole = known.parts.get(ref) if ref else None
    if whole is not None and isinstance(value, dict):
        yield EdgeFact(
            producer=whole[0], consumer=no, kind=EdgeKind.DIGEST, producer_path=whole[1], evidence="the same value"
        )
        return
    rest = value
    if isinstance(value, dict):
        for key in _LISTS_OF_PARTS:
            items = value.get(key)
            for index, item in enumerate(items if isinstance(items, list) else ()):
                yield from _into_part(no, item, f"/{key}/{index}", known)
        rest = {key: item for key, item in value.items() if key not in _LISTS_OF_PARTS}
    yield from _into_texts(no, rest, "", known)


def _into_part(no: int, item: JSONValue, path: str, known: _Known) -> Iterator[EdgeFact]:
    part = known.parts.get(known.splitter.part_digest(item))
    if part is None:
        yield from _into_texts(no, item, path, known)
        return
    yield EdgeFact(
        producer=part[0], consumer=no, kind=EdgeKind.DIGEST, consumer_path=path, producer_path=part[1],
        evidence="the same part",
    )  # fmt: skip


def _into_texts(no: int, value: JSONValue, path: str, known: _Known) -> Iterator[EdgeFact]:
    for place, text in leaves(value, path):
        for found in known.texts.find(text):
            yield EdgeFact(
                producer=found.producer, consumer=no, kind=_kind_of(found, text), consumer_path=place,
                producer_path=found.path, evidence=_cut(found.snippet),
            )  # fmt: skip


def _kind_of(found: Found, text: str) -> EdgeKind:
    return EdgeKind.DIGEST if found.whole and len(text) >= SNIPPET else EdgeKind.TEXT


def _remember(step: StepFacts, known: _Known) -> None:
    """Index what `step` produced. The latest producer of a value wins."""
    output = step.output
    if step.type is StepType.MODEL:
        _remember_answer(step, known)
    elif step.type is StepType.TOOL and step.call_id:
        known.answers[step.call_id] = step.no
    if step.output_ref:
        known.parts[step.output_ref] = (step.no, "")
    for path, part in _parts_of(output):
        known.parts[known.splitter.part_digest(part)] = (step.no, path)
    if step.type is not StepType.OUTPUT:
        for path, text in leaves(output, ""):
            known.texts.add(text, step.no, path)
    if step.type is StepType.TOOL and not step.call_id and isinstance(output, dict | list):
        # Nobody asked for it by an id, so what hands it on writes it into a text; its words say enough, not its marks.
        known.texts.add(json.dumps(output, ensure_ascii=False), step.no, "")


def _remember_answer(step: StepFacts, known: _Known) -> None:
    message = _message(step.output)
    digests = known.splitter.part_digests(_messages(step.input))
    asked = _Asked(
        no=step.no, messages=digests, answer=known.splitter.part_digest(message) if message else "",
        calls=frozenset(_call_ids(message)), text=_text(message), places=dict(_places(message)),
    )  # fmt: skip
    known.last = asked
    if digests:
        known.asked[len(digests), digests[-1]] = asked
    for index, call in enumerate(_call_ids(message)):
        known.callers[call] = (step.no, f"{_ANSWER}/tool_calls/{index}")


def _parts_of(output: JSONValue) -> Iterator[tuple[str, JSONValue]]:
    """The parts of an output that can appear in a later input as they are."""
    if not isinstance(output, dict):
        return
    if message := _message(output):
        yield _ANSWER, message
    for key in _LISTS_OF_PARTS:
        items = output.get(key)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield f"/{key}/{index}", item


def leaves(value: JSONValue, path: str) -> Iterator[tuple[str, str]]:
    """The distinctive texts and numbers in `value` with their places."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}/{escape_pointer(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}/{index}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = value if isinstance(value, str) else str(value)
        if distinctive(text):
            yield path, text


def _messages(value: JSONValue) -> list[JSONValue]:
    messages = value.get("messages") if isinstance(value, dict) else None
    return messages if isinstance(messages, list) else []


def _message(output: JSONValue) -> JSONObject:
    message = output.get("message") if isinstance(output, dict) else None
    return message if isinstance(message, dict) else {}


def _call_ids(message: JSONObject) -> list[str]:
    calls = message.get("tool_calls")
    return [str(call.get("id") or "") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _text(message: JSONObject) -> str:
    content = message.get("content")
    return content.strip() if isinstance(content, str) else ""


def _places(message: JSONObject) -> Iterator[tuple[str, str]]:
    """The texts of an answer, one or its blocks, with where each stands."""
    content = message.get("content")
    blocks = list(enumerate(content)) if isinstance(content, list) else []
    said = [(f"/{index}/text", block.get("text")) for index, block in blocks if isinstance(block, dict)]
    for path, text in said or [("", content)]:
        if isinstance(text, str) and text.strip():
            yield text.strip(), f"{_ANSWER}/content{path}"


def _cut(text: str) -> str:
    return text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…"
