"""Index of what a run's steps have produced so far, in the forms in which later inputs may repeat it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

import orjson

from traces.core.json_access import as_list, member
from traces.core.json_types import JSONValue
from traces.core.json_walk import scalars
from traces.core.step_header import StepHeader, step_view
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ANSWER, Message, ModelAnswer, ModelRequest
from traces.payloads.splitter import Splitter
from traces.provenance.input_origins import Origins, UnexplainedContent
from traces.provenance.output_placements import Placements
from traces.provenance.short_values import output_values
from traces.provenance.text_index import TextIndex, is_distinctive

LISTS_OF_PARTS: Final = ("messages", "documents")


@step_view
class StepFacts(StepHeader):
    """A step as provenance reads it: its payloads and their digests; `links` are sequence numbers."""

    # Not read: a name is no evidence.
    name: str = ""
    no: int
    input: JSONValue
    output: JSONValue
    input_ref: str = ""
    output_ref: str = ""
    links: tuple[int, ...] = ()


@dataclass(slots=True)
class PastRequest:
    """A model step that a later one may continue: the digests of its messages and of its answer."""

    no: int
    messages: Sequence[str]
    answer: str
    calls: frozenset[str]
    text: str
    message: Message
    # Outputs in its messages.
    placements: Placements
    has_hidden_messages: bool


class ToolRequest(NamedTuple):
    """A model's request for a tool call: its step, its path in the output, and its arguments."""

    step: int
    path: str
    arguments: JSONValue


@dataclass(slots=True)
class ProvenanceState:
    """The outputs of the steps so far, and notes on the step being traced."""

    splitter: Splitter
    # By call id.
    callers: dict[str, ToolRequest] = field(default_factory=dict)
    # Tool steps by call id; some recorders repeat ids.
    tool_steps: dict[str, list[int]] = field(default_factory=dict)
    # Results of the tool steps with a call id that succeeded, by step. Code words the error of a failed one.
    results: dict[int, JSONValue] = field(default_factory=dict)
    # Model steps by the ids of the calls in their answers.
    answers: dict[frozenset[str], int] = field(default_factory=dict)
    # Step and path, by digest.
    parts: dict[str, tuple[int, str]] = field(default_factory=dict)
    # By number of messages and digest of the last one.
    requests: dict[tuple[int, str], PastRequest] = field(default_factory=dict)
    latest_request: PastRequest | None = None
    # Provider and model of the first request that names one.
    first_model: str = ""
    texts: TextIndex = field(default_factory=TextIndex)
    # Steps whose outputs are not in `texts` and `origins` yet.
    unread_steps: list[StepFacts] = field(default_factory=list)
    origins: Origins = field(init=False)
    # The fields below describe the step being traced.
    unexplained_content: list[UnexplainedContent] = field(default_factory=list)
    placements: Placements = field(default_factory=Placements)
    # The texts of some messages, or of those that it repeats, were not recorded.
    has_hidden_messages: bool = False
    # The tool step of each tool message, by index.
    tool_messages: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.origins = Origins(self.texts)


def index_output(step: StepFacts, state: ProvenanceState) -> None:
    """Index what `step` produced. The latest producer of a value wins."""
    output = step.output
    if step.type is StepType.MODEL:
        _index_answer(step, state)
    elif step.type is StepType.TOOL and step.call_id:
        state.tool_steps.setdefault(step.call_id, []).append(step.no)
        if step.status == StepStatus.OK:
            state.results[step.no] = output
    if step.output_ref:
        state.parts[step.output_ref] = (step.no, "")
    for path, part in _parts_of(output):
        state.parts[state.splitter.part_digest(part)] = (step.no, path)
    state.unread_steps.append(step)


def index_texts(state: ProvenanceState) -> None:
    """Index the texts and values of the outputs that were not read yet.

    Only texts that code wrote are searched for them. In a conversation whose messages are whole outputs, that is never
    needed, and it takes most of the time.
    """
    for step in state.unread_steps:
        _index_values(step, state)
    state.unread_steps.clear()


def _index_values(step: StepFacts, state: ProvenanceState) -> None:
    output = step.output
    if step.type is not StepType.OUTPUT:
        state.origins.values.add(step.no, output_values(step.type, output))
        for path, text in _distinctive_texts(output):
            state.texts.add(text, step.no, path)
    if step.type is StepType.TOOL and not step.call_id and isinstance(output, dict | list):
        # Without a call id, the result reaches later inputs only inside text that code wrote. Match it by its words.
        state.texts.add(json.dumps(output, ensure_ascii=False), step.no, "")


def _index_answer(step: StepFacts, state: ProvenanceState) -> None:
    answer = ModelAnswer(step.output).message
    message = Message(answer)
    digests = state.splitter.part_digests(ModelRequest(step.input).messages)
    request = PastRequest(
        no=step.no,
        messages=digests,
        answer=state.splitter.part_digest(answer) if answer else "",
        calls=frozenset(message.call_ids),
        text=message.plain_text,
        message=message,
        placements=state.placements,
        has_hidden_messages=state.has_hidden_messages,
    )
    state.latest_request = request
    if digests:
        state.requests[len(digests), digests[-1]] = request
    if request.calls and "" not in request.calls:
        state.answers[request.calls] = step.no
    for index, call in enumerate(message.calls):
        request_path = f"{ANSWER}/tool_calls/{index}"
        state.callers[str(call.get("id") or "")] = ToolRequest(step.no, request_path, call.get("arguments"))


def _parts_of(output: JSONValue) -> Iterator[tuple[str, JSONValue]]:
    """Yield the parts of an output that can appear unchanged in a later input, with their paths."""
    if message := ModelAnswer(output).message:
        yield ANSWER, message
    for key in LISTS_OF_PARTS:
        for index, item in enumerate(as_list(member(output, key))):
            yield f"/{key}/{index}", item


def _distinctive_texts(value: JSONValue) -> Iterator[tuple[str, str]]:
    """Yield the distinctive texts and numbers in `value` with their paths, also those of JSON in a text."""
    for place, leaf in scalars(value):
        if isinstance(leaf, bool | None) or not is_distinctive(text := str(leaf)):
            continue
        yield place, text
        # Recorders write results of tools as text.
        if isinstance(leaf, str) and leaf.startswith(("{", "[")):
            yield from ((f"{place}#{inner}", inner_text) for inner, inner_text in _distinctive_texts(_parse(leaf)))


def _parse(text: str) -> JSONValue:
    try:
        return cast(JSONValue, orjson.loads(text))
    except orjson.JSONDecodeError:
        return None
