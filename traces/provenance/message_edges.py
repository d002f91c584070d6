"""Edges into a model's messages: history first, then each message after it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

import orjson

from traces.core.json_types import JSONValue
from traces.core.json_walk import scalars
from traces.core.vocabulary import EdgeKind
from traces.payloads.conversation_state import begins_with
from traces.payloads.messages import ANSWER, Message, ModelRequest
from traces.provenance.edge_facts import EdgeFact, cut_evidence
from traces.provenance.hidden_content import has_gap, is_hidden
from traces.provenance.input_origins import hidden_content
from traces.provenance.output_placements import Placements, Reading
from traces.provenance.short_values import words_of
from traces.provenance.step_outputs import PastRequest, ProvenanceState, StepFacts
from traces.provenance.value_edges import text_edges

# A request this short may be built by code for one question, rather than continue a conversation.
_FEW_MESSAGES: Final = 4
_HIDDEN_HISTORY: Final = "texts of its messages were not recorded"


def message_edges(step: StepFacts, state: ProvenanceState) -> Iterator[EdgeFact]:
    """Find the edges into the messages of a model step."""
    messages = ModelRequest(step.input).messages
    digests = state.splitter.part_digests(messages)
    start = 0
    previous_placements = state.placements
    state.placements, state.has_hidden_messages = Placements(), False
    if (history := _find_history(messages, digests, state)) is not None:
        earlier, has_answer = history
        start = len(earlier.messages) + has_answer
        state.placements = earlier.placements.branch_at(len(earlier.messages), len(messages))
        if has_answer:
            state.placements.add(earlier.no, start - 1)
        _note_hidden_history(step.no, earlier, state)
        yield EdgeFact(
            producer=earlier.no,
            consumer=step.no,
            kind=EdgeKind.HISTORY,
            consumer_path=f"/messages/{start - 1}",
            producer_path=ANSWER if has_answer else "",
            evidence=f"{len(earlier.messages)} messages before",
        )
        if not has_answer and start <= _FEW_MESSAGES:
            state.tool_messages = _match_tool_messages(messages[:start], 0, state.tool_steps)
            yield from _repeated_edges(step.no, messages[:start], digests, state)
    if state.placements is not previous_placements:
        previous_placements.put_aside()
    _note_placements(messages, digests, start, state)
    is_reply = any(Message(message).role == "assistant" for message in islice(messages, start))
    for index in range(start, len(messages)):
        is_reply |= Message(messages[index]).role == "assistant"
        state.has_hidden_messages |= _has_gap(Message(messages[index]))
        yield from _edges_into_message(step.no, messages[index], digests[index], index, state, reply=is_reply)


def _note_hidden_history(no: int, earlier: PastRequest, state: ProvenanceState) -> None:
    """Note that a request may not continue an earlier one whose messages it repeats: a mark hides some of them."""
    if earlier.has_hidden_messages:
        state.has_hidden_messages = True
        state.unexplained_content.append(hidden_content(no, "/messages", _HIDDEN_HISTORY))


def _has_gap(message: Message) -> bool:
    """True if a message's text was not recorded as a whole, and no call id shows which it is."""
    return message.role != "tool" and has_gap(message.text)


def _note_placements(messages: Sequence[JSONValue], digests: Sequence[str], start: int, state: ProvenanceState) -> None:
    """Note which of a request's new messages are whole outputs."""
    state.tool_messages = _match_tool_messages(messages, start, state.tool_steps)
    for index in range(start, len(messages)):
        producer = state.tool_messages.get(index)
        if producer is None and digests[index] in state.parts:
            producer = state.parts[digests[index]][0]
        if producer is not None:
            state.placements.add(producer, index)


def _match_tool_messages(
    messages: Sequence[JSONValue], start: int, tool_steps: Mapping[str, list[int]]
) -> dict[int, int]:
    """Return the tool step of each tool message, by index. Messages and steps with the same call id pair in order."""
    indices_by_call: dict[str, list[int]] = {}
    for index in range(start, len(messages)):
        call_id = Message(messages[index]).tool_call_id
        if call_id in tool_steps:
            indices_by_call.setdefault(call_id, []).append(index)
    matches: dict[int, int] = {}
    for call_id, indices in indices_by_call.items():
        steps = tool_steps[call_id][-len(indices) :]
        matches.update(zip(indices, [*steps[:1] * (len(indices) - len(steps)), *steps], strict=True))
    return matches


def _repeated_edges(
    no: int, messages: Sequence[JSONValue], digests: Sequence[str], state: ProvenanceState
) -> Iterator[EdgeFact]:
    """Edges into messages that a short request repeats: code may have filled in the same value again."""
    length = len(state.unexplained_content)
    for index, message in enumerate(messages):
        edges = _edges_into_message(no, message, digests[index], index, state, reply=False)
        yield from (edge for edge in edges if edge.kind is not EdgeKind.TOOL_CALL_ID)
    del state.unexplained_content[length:]


def _find_history(
    messages: Sequence[JSONValue], digests: Sequence[str], state: ProvenanceState
) -> tuple[PastRequest, bool] | None:
    """Return the model step whose input this one continues, and whether its answer follows."""
    for earlier in _candidates(digests, state):
        length = len(earlier.messages)
        if length and begins_with(digests, earlier.messages):
            return earlier, length < len(messages) and _is_answer(messages[length], digests[length], earlier)
    return None


def _candidates(digests: Sequence[str], state: ProvenanceState) -> Iterator[PastRequest]:
    """Yield the latest model step, which nearly always matches; then longer prefixes before shorter ones."""
    if state.latest_request is not None:
        yield state.latest_request
    for length in range(len(digests), 0, -1):
        earlier = state.requests.get((length, digests[length - 1]))
        if earlier is not None:
            yield earlier


def _is_answer(message: JSONValue, digest: str, earlier: PastRequest) -> bool:
    """True for the same message, or the same calls or text: recorders drop fields when they repeat a message."""
    if digest == earlier.answer:
        return True
    view = Message(message)
    if view.role != "assistant":
        return False
    calls = frozenset(view.call_ids)
    return calls == earlier.calls if calls or earlier.calls else bool(earlier.text) and view.plain_text == earlier.text


def _edges_into_message(
    no: int, message: JSONValue, digest: str, index: int, state: ProvenanceState, *, reply: bool
) -> Iterator[EdgeFact]:
    if not isinstance(message, dict):
        return
    view = Message(message)
    path, role = _message_path(index), view.role
    reading = Reading(reply=reply, hides=lambda step, value: state.placements.hides(step, index, role, value))
    answer = state.answers.get(frozenset(view.call_ids)) if role == "assistant" else None
    if index in state.tool_messages:
        yield from _result_edges(no, view, index, state, reading)
    elif digest in state.parts and not reading.hides(state.parts[digest][0], "") and not is_hidden(view.text):
        producer, producer_path = state.parts[digest]
        yield _message_edge(no, path, producer, producer_path, "the same message")
    elif answer is not None and not reading.hides(answer, ""):
        # Recorders drop fields when they repeat a message.
        yield _message_edge(no, path, answer, ANSWER, "the same calls")
    else:
        yield from _edges_into_fields(no, view, path, state, reading)


# Each step of a long conversation has an edge into each message of its window: together, their paths take much memory.
@lru_cache(maxsize=4096)
def _message_path(index: int) -> str:
    return f"/messages/{index}"


@lru_cache(maxsize=4096)
def _field_path(path: str, name: str) -> str:
    return f"{path}/{name}"


def _message_edge(no: int, path: str, producer: int, producer_path: str, evidence: str) -> EdgeFact:
    return EdgeFact(
        producer=producer,
        consumer=no,
        kind=EdgeKind.DIGEST,
        consumer_path=path,
        producer_path=producer_path,
        evidence=evidence,
    )


def _result_edges(no: int, view: Message, index: int, state: ProvenanceState, reading: Reading) -> Iterator[EdgeFact]:
    """Edges into a tool message: from the tool step, and from the sources of what code added to its result."""
    producer, path = state.tool_messages[index], _field_path(_message_path(index), "content")
    yield EdgeFact(
        producer=producer,
        consumer=no,
        kind=EdgeKind.TOOL_CALL_ID,
        consumer_path=path,
        evidence=cut_evidence(f"call {view.tool_call_id}"),
    )
    result = state.results.get(producer)
    if producer in state.results and not _is_rendering(view, result):
        edges = text_edges(no, view.content, path, f"/messages/*:{view.role}/content", state, reading)
        if other_edges := [edge for edge in edges if edge.producer != producer]:
            # What the result itself contains came from there.
            result_words = _words_of_result(result)
            yield from (edge for edge in other_edges if _joined_words(edge.evidence) not in result_words)


def _words_of_result(result: JSONValue) -> str:
    """The words of a result as JSON, and those of its texts, whose line ends and quotation marks JSON escapes."""
    texts = [json.dumps(result, ensure_ascii=False), *(str(leaf) for _, leaf in scalars(result))]
    return "\n".join(map(_joined_words, texts))


def _joined_words(text: str) -> str:
    return " ".join(words_of(text))


def _is_rendering(view: Message, result: JSONValue) -> bool:
    """True if a tool message contains the tool's result and nothing else."""
    text = view.text
    if text in ("", str(result).strip()) or view.content == result:
        return True
    if any(leaf == text for _, leaf in scalars(result)):
        # The text of a result in blocks, as MCP servers have it.
        return True
    try:
        return bool(orjson.loads(text) == result)
    except orjson.JSONDecodeError:
        return False


def _edges_into_fields(
    no: int, view: Message, path: str, state: ProvenanceState, reading: Reading
) -> Iterator[EdgeFact]:
    """Edges into a message that code wrote: its content, its author's name, and the calls that it claims."""
    shape = f"/messages/*:{view.role}"
    yield from text_edges(no, view.content, _field_path(path, "content"), f"{shape}/content", state, reading)
    yield from text_edges(no, view.name, f"{path}/name", f"{shape}/name", state, reading)
    for index, call in enumerate(view.calls):
        for field in ("name", "arguments"):
            place = f"{path}/tool_calls/{index}/{field}"
            yield from text_edges(no, call.get(field), place, f"{shape}/tool_calls/*/{field}", state, reading)
