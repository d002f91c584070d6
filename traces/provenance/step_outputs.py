"""What the steps of a run have produced so far, as later inputs may repeat it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue
from traces.core.step_header import StepHeader, step_view
from traces.core.vocabulary import StepType
from traces.payloads.messages import ANSWER, Message, ModelAnswer, ModelRequest
from traces.payloads.splitter import Splitter
from traces.provenance.input_origins import Origins, Unexplained
from traces.provenance.output_placements import Placements
from traces.provenance.short_values import answer_values, output_values
from traces.provenance.text_index import TextIndex, distinctive

LISTS_OF_PARTS: Final = ("messages", "documents")


@step_view
class StepFacts(StepHeader):
    """What provenance needs of a step: its payloads and their digests; `links` are sequence numbers."""

    name: str = ""  # explains nothing
    no: int
    input: JSONValue
    output: JSONValue
    input_ref: str = ""
    output_ref: str = ""
    links: tuple[int, ...] = ()


@dataclass(slots=True)
class Asked:
    """A model step that can be the history of a later one: the digests of its messages and of its answer."""

    no: int
    messages: Sequence[str]
    answer: str
    calls: frozenset[str]
    text: str
    places: dict[str, str]  # of each text that it says, its path in the output
    placements: Placements  # of outputs in its messages


@dataclass(slots=True)
class Known:
    """What the steps so far produced."""

    splitter: Splitter
    callers: dict[str, tuple[int, str, JSONValue]] = field(default_factory=dict)  # call id -> step, path, arguments
    answers: dict[str, list[int]] = field(default_factory=dict)  # call id -> tool steps: some recorders repeat ids
    parts: dict[str, tuple[int, str]] = field(default_factory=dict)  # digest -> step, path
    asked: dict[tuple[int, str], Asked] = field(default_factory=dict)  # length and last digest of the messages
    last: Asked | None = None
    texts: TextIndex = field(default_factory=TextIndex)
    origins: Origins = field(init=False)
    rest: list[Unexplained] = field(default_factory=list)  # of the step that is looked at
    placements: Placements = field(default_factory=Placements)  # in its messages
    answering: dict[int, int] = field(default_factory=dict)  # which tool steps its messages are from, by index

    def __post_init__(self) -> None:
        self.origins = Origins(self.texts)


def remember(step: StepFacts, known: Known) -> None:
    """Index what `step` produced. The latest producer of a value wins."""
    output = step.output
    if step.type is StepType.MODEL:
        _remember_answer(step, known)
    elif step.type is StepType.TOOL and step.call_id:
        known.answers.setdefault(step.call_id, []).append(step.no)
    if step.type is not StepType.OUTPUT:
        model = step.type is StepType.MODEL
        values = answer_values(ModelAnswer(output).message, ANSWER) if model else output_values(output)
        known.origins.values.add(step.no, values)
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


def _remember_answer(step: StepFacts, known: Known) -> None:
    answer = ModelAnswer(step.output).message
    message = Message(answer)
    digests = known.splitter.part_digests(ModelRequest(step.input).messages)
    asked = Asked(
        no=step.no,
        messages=digests,
        answer=known.splitter.part_digest(answer) if answer else "",
        calls=frozenset(message.call_ids),
        text=message.plain_text,
        places=dict(message.text_places()),
        placements=known.placements,
    )
    known.last = asked
    if digests:
        known.asked[len(digests), digests[-1]] = asked
    for index, call in enumerate(message.calls):
        path = f"{ANSWER}/tool_calls/{index}"
        known.callers[str(call.get("id") or "")] = (step.no, path, call.get("arguments"))


def _parts_of(output: JSONValue) -> Iterator[tuple[str, JSONValue]]:
    """The parts of an output that can appear in a later input as they are."""
    if not isinstance(output, dict):
        return
    if message := ModelAnswer(output).message:
        yield ANSWER, message
    for key in LISTS_OF_PARTS:
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
