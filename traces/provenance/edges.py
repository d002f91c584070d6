"""Provenance: which step consumed what an earlier step produced, and how that is known.

Paths are JSON pointers: the value at `consumer_path` of the consumer's input came from `producer_path` of the
producer's output. An empty path is the whole value. By kind, strongest first:

* ``tool_call_id``  a tool step from the model step that requested it, or a tool message of a model's input
  from the tool step that answered.
* ``link``          stated by the recording; paths are empty.
* ``history``       a model's input begins with the whole input of the producer; `consumer_path` is the last message
  of that beginning: the producer's answer, with its `producer_path`, or if it is missing the last message of its input.
  Only later messages have further edges, so the number of edges grows linearly with a conversation.
* ``digest``        equal messages, documents or long texts.
* ``text``          an equal short value, or a run of words of a long text. Values as common as `yes` count only
  where a run's output is the whole text of the last model answer.
* ``value``         words, an id, a number or a JSON field of an output inside a text that code wrote (see
  `traces.provenance.short_values`). Weaker than the others: a coincidence is unlikely, but possible.

An output step without an input is the consumer by its output: its paths point there. Containers (agent, turn) neither
produce nor consume: their children do.
"""

# How a value in a request is traced to the answers it came from
#
# One pass over the steps in order. For each step: trace its input to the outputs indexed so far, then index its own
# output. Each part of an input is traced by the strongest evidence that fits it; an edge records that evidence.
# What nothing explains is stored as content of unknown origin, with the step in whose input it appeared first.
#
#   no  step       input                                              output
#   1   tool       {"text": "My order A-1042 arrived damaged."}       {"queue": "billing"}
#   2   retrieval  {"query": "damaged goods"}                         documents: [p1: "Damaged goods are refunded
#                                                                       within fourteen days."]
#   3   model      0 system:    "You work for BILLING. Damaged goods  calls get_order(order_id="A-1042"), id c1
#                                are refunded within fourteen days."
#                  1 user:      "My order A-1042 arrived damaged."
#   4   tool       {"order_id": "A-1042"}, call id c1                 {"total": 42}
#   5   model      0 and 1 as in step 3                               "Your refund of 42 is on its way."
#                  2 assistant: the answer of step 3
#                  3 tool, c1:  {"total": 42}
#   6   output                                                        "Your refund of 42 is on its way."
#
# Step 3, message 0. A run of six words is in document p1:  2 -> 3  text   /messages/0/content  /documents/0/content
#                    "BILLING" is a field of step 1:        1 -> 3  value  /messages/0/content  /queue
#                    The rest, "You work for….…", is of unknown origin, and so is all of message 1.
# Step 4. Its call id is that of a call in step 3:          3 -> 4  tool_call_id  (whole input)
#                                                                   /message/tool_calls/0/arguments
# Step 5. Its messages begin with all of step 3's input, and the answer of step 3 follows:
#                                                           3 -> 5  history  /messages/2  /message
#         Messages 0 to 2 get no other edge: their origins are those of step 3. Only message 3 is traced.
#         It has the call id of step 4:                     4 -> 5  tool_call_id  /messages/3/content  (whole output)
# Step 6. It has no input, so its output is traced:         5 -> 6  text  /text  /message/content
#
# Without a call id, message 3 would be traced by its digest if it equals a part of an output, else by its runs of words
# (`text_index`) and its short values (`short_values`).

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from traces.core.canonical import escape_pointer
from traces.core.json_access import as_object, as_string, member
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact, cut_evidence
from traces.provenance.input_origins import UnexplainedContent, empty_values, fit_path, newest, scalars
from traces.provenance.message_edges import message_edges
from traces.provenance.packed_edges import PackedEdges
from traces.provenance.step_outputs import ProvenanceState, StepFacts, index_output
from traces.provenance.value_edges import note_empty_value, scalar_edges, value_edges

# Edges into one step without a recognized history: enough for a window of messages, not for a whole conversation.
MAX_EDGES: Final = 256
_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})
_OUTPUT_TEXT: Final = "/text"
# Part of the stored digest: another wording would make old and new recordings differ.
_NO_INPUT: Final = "its input was not recorded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """All edges, and by step the content of its input that no edge explains."""

    edges: Collection[EdgeFact]
    unexplained_inputs: dict[int, tuple[UnexplainedContent, ...]]


def stated_links(steps: Iterable[StepFacts]) -> list[EdgeFact]:
    """Return the links that the recording itself states."""
    return [edge for step in steps for edge in _unique(_links(step))]


def find_provenance(
    steps: Sequence[StepFacts],
    splitter: Splitter,
    *,
    includes: Callable[[int], bool] = lambda no: True,
    stored_content: Mapping[int, Sequence[UnexplainedContent]] | None = None,
) -> Provenance:
    """Find the edges into the steps that `includes` accepts, and the unexplained content of their inputs.

    `stored_content` is the unexplained content of steps whose inputs are not among `steps`.
    """
    state = ProvenanceState(splitter=splitter)
    edges, unexplained_inputs = PackedEdges(), dict[int, tuple[UnexplainedContent, ...]]()
    for step in steps:
        if step.type in _CONTAINERS:
            unexplained_inputs[step.no] = ()
            continue
        state.unexplained_content = []
        state.origins.add_stored(step.no, (stored_content or {}).get(step.no, ()))
        # Trace every step, not only the included ones: content that appeared earlier did not come from a later step.
        own_edges = list(_unique(_edges_into(step, state)))
        if includes(step.no):
            edges.extend(own_edges)
            unexplained_inputs[step.no] = newest(state.unexplained_content)
        index_output(step, state)
    return Provenance(edges=edges, unexplained_inputs=unexplained_inputs)


def _unique(edges: Iterator[EdgeFact]) -> Iterator[EdgeFact]:
    """Drop repeated edges, edges from a step to itself and backward edges; fit paths into their columns."""
    keys: set[tuple[int, EdgeKind, str]] = set()
    for edge in edges:
        paths = fit_path(edge.consumer_path), fit_path(edge.producer_path)
        if paths != (edge.consumer_path, edge.producer_path):
            edge = replace(edge, consumer_path=paths[0], producer_path=paths[1])
        key = (edge.producer, edge.kind, edge.consumer_path)
        if key in keys or edge.producer >= edge.consumer:
            continue
        keys.add(key)
        yield edge
        if len(keys) >= MAX_EDGES:
            return


def _edges_into(step: StepFacts, state: ProvenanceState) -> Iterator[EdgeFact]:
    yield from _explicit_edges(step, state)
    if step.type is StepType.MODEL:
        yield from message_edges(step, state)
        _note_configuration(step, state)
    elif step.type is StepType.OUTPUT and step.input is None:
        yield from _output_edges(step, state)
    elif step.type is StepType.TOOL and step.call_id in state.callers:
        yield from _argument_edges(step, state)
    else:
        yield from value_edges(step.no, step.input, step.input_ref, state)
    if _lacks_input(step) and step.call_id not in state.callers:
        state.unexplained_content.append(state.origins.item(step.no, "", str(step.no), _NO_INPUT))


def _lacks_input(step: StepFacts) -> bool:
    """True if a recording does not contain what a step read; a tool may have no arguments."""
    if step.input is None:
        return step.type is not StepType.OUTPUT
    values = step.input.values() if isinstance(step.input, dict) else [step.input]
    return step.type is not StepType.TOOL and all(value in (None, "", [], {}) for value in values)


def _explicit_edges(step: StepFacts, state: ProvenanceState) -> Iterator[EdgeFact]:
    """Edges that the recording states: links, and the model step that requested a tool call."""
    yield from _links(step)
    if step.type is StepType.TOOL and step.call_id in state.callers:
        caller = state.callers[step.call_id]
        yield EdgeFact(
            producer=caller.step,
            consumer=step.no,
            kind=EdgeKind.TOOL_CALL_ID,
            producer_path=f"{caller.path}/arguments",
            evidence=cut_evidence(f"call {step.call_id}"),
        )


def _links(step: StepFacts) -> Iterator[EdgeFact]:
    for producer in step.links:
        yield EdgeFact(producer=producer, consumer=step.no, kind=EdgeKind.LINK, evidence="linked by the recording")


def _note_configuration(step: StepFacts, state: ProvenanceState) -> None:
    """Note the fields of a request besides its messages: where they first appear, their origin is unknown."""
    _note_model(step, state)
    for name, value in sorted(as_object(step.input).items()):
        if name != "messages" and value not in (None, [], {}):
            content = f"{name} {state.origins.digest_of(value)}"
            item = state.origins.item(step.no, f"/{escape_pointer(name)}", f"/{name}", content, snippet=name)
            state.unexplained_content.append(item)


def _note_model(step: StepFacts, state: ProvenanceState) -> None:
    """Note another model than the first one that is recorded: code may have chosen it by an earlier answer."""
    model = f"{step.provider} {step.model}" if step.model else ""
    state.first_model = state.first_model or model
    if model not in ("", state.first_model):
        state.unexplained_content.append(state.origins.item(step.no, "/model", "/model", model))


def _argument_edges(step: StepFacts, state: ProvenanceState) -> Iterator[EdgeFact]:
    """Edges into what code added to or changed in the arguments of the model's call."""
    arguments = state.callers[step.call_id].arguments
    if step.input is None or step.input == arguments:
        return
    originals = {path: value for path, _, value in scalars(arguments, "", "")}
    for path, shape, value in scalars(step.input, "", ""):
        if path not in originals or originals[path] != value:
            yield from scalar_edges(step.no, value, path, shape, state)
    empty_originals = {path for path, _, _ in empty_values(arguments, "", "")}
    for path, shape, value in empty_values(step.input, "", ""):
        if path not in empty_originals:
            note_empty_value(step.no, path, shape, value, state)


def _output_edges(step: StepFacts, state: ProvenanceState) -> Iterator[EdgeFact]:
    """Edges into a run's output. A short text counts too if it is the whole text of the last model answer."""
    edges = list(value_edges(step.no, step.output, step.output_ref, state))
    text = as_string(member(step.output, "text"))
    request = state.latest_request
    path = None if request is None else dict(request.message.text_places()).get(text.strip())
    is_covered = any(edge.kind is not EdgeKind.VALUE and edge.consumer_path in ("", _OUTPUT_TEXT) for edge in edges)
    if request is None or path is None or is_covered:
        yield from edges
        return
    yield from (edge for edge in edges if edge.producer != request.no or edge.consumer_path != _OUTPUT_TEXT)
    yield EdgeFact(
        producer=request.no,
        consumer=step.no,
        kind=EdgeKind.TEXT,
        consumer_path=_OUTPUT_TEXT,
        producer_path=path,
        evidence=cut_evidence(str(text)),
    )
