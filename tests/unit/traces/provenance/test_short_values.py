"""Short output values in texts that code wrote."""

import pytest

from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact
from traces.provenance.edges import Provenance, find_provenance
from traces.provenance.short_values import ValueIndex, output_values
from traces.provenance.step_outputs import StepFacts


def _model(no: int, *contents: str, says: str = "Done.") -> StepFacts:
    roles = ("system", "user") if len(contents) > 1 else ("user",)
    messages: list[JSONValue] = [{"role": role, "content": text} for role, text in zip(roles, contents, strict=True)]
    return StepFacts(
        no=no,
        type=StepType.MODEL,
        input={"messages": messages},
        output={"message": {"role": "assistant", "content": says}},
    )


def _sources(*steps: StepFacts) -> Provenance:
    return find_provenance(steps, Splitter())


def _edges_into(provenance: Provenance, consumer: int) -> list[EdgeFact]:
    return [edge for edge in provenance.edges if edge.consumer == consumer]


_ROUTES: list[tuple[str, str, str]] = [
    ("billing", "Answer this billing question: why was I charged?", "one word"),
    ("refund request", "Deal with the refund request of Ms. Okafor.", "two words"),
    ("lost in transit", "The parcel is lost in transit. Write an apology.", "three words"),
    ("needs a human agent", "Escalate: needs a human agent today.", "four words"),
    ("customer is angry about delay", "Note: customer is angry about delay here.", "five words"),
    ("TCK-20931", "Look into ticket TCK-20931 and reply.", "an id"),
    ("4711", "Write to customer 4711 about it.", "a number"),
    ('{"queue": "shipping", "urgent": true}', "You are the shipping desk.", "a JSON field"),
    ('Here it is:\n```json\n{"queue": "legal"}\n```', "Your team: legal", "JSON in a fence"),
    ("billing", "QUEUE BILLING HANDLES THIS", "upper case"),
    ("Tech_Support", "Forward to tech support please", "other separators"),
    ("The customer wants a replacement", "Summary: The customer wan", "cut off"),
    ("The customer wants a replacement", "The customer wants… (cut)", "cut off with a mark"),
    ("yes", "yes", "the whole message"),
    ("yes", "Approved: yes", "a filled-in common word"),
    ("I opened ticket TCK-20931 for you, Sam.", "Check TCK-20931 now", "an id in a sentence"),
    ('The right team is "claims" here', "You work in claims.", "a quoted word"),
]


@pytest.mark.parametrize(("answer", "request_text"), [route[:2] for route in _ROUTES], ids=[r[2] for r in _ROUTES])
def test_value_passed_by_code_is_traced(answer: str, request_text: str) -> None:
    (edge,) = _edges_into(_sources(_model(1, "Hello", says=answer), _model(2, request_text)), 2)
    assert (edge.producer, edge.kind, edge.consumer_path) == (1, EdgeKind.VALUE, "/messages/0/content")


@pytest.mark.parametrize(
    ("answer", "request_text"),
    [
        ("yes", "There is yes and no in it"),
        ("7", "Take 7 of them"),
        ("bill", "Look at the billing"),
        ("TCK-2093", "Look at TCK-20931"),
        ("It is all good", "You are an agent that is asked for good advice"),
        ("billing", "Nothing in common"),
    ],
)
def test_coincidences_are_no_edges(answer: str, request_text: str) -> None:
    assert not _edges_into(_sources(_model(1, "Hello", says=answer), _model(2, request_text)), 2)


def test_tool_argument_passed_by_code_is_traced() -> None:
    call: JSONValue = {"id": "c1", "name": "route", "arguments": {"team": "claims"}}
    first = StepFacts(
        no=1,
        type=StepType.MODEL,
        input={"messages": [{"role": "user", "content": "Hi"}]},
        output={"message": {"role": "assistant", "content": None, "tool_calls": [call]}},
    )
    (edge,) = _edges_into(_sources(first, _model(2, "You are the claims team.")), 2)
    assert edge.producer_path == "/message/tool_calls/0/arguments/team"


def test_two_sources_are_both_named() -> None:
    steps = [_model(1, "Hello", says="billing"), _model(2, "Hello again", says="billing")]
    assert {edge.producer for edge in _edges_into(_sources(*steps, _model(3, "You do billing.")), 3)} == {1, 2}


def test_options_in_a_prompt_are_no_consumers() -> None:
    options = "Choose one of billing, shipping or legal."
    steps = [_model(1, options, "Ticket one", says="billing"), _model(2, options, "Ticket two", says="legal")]
    assert not _edges_into(_sources(*steps), 2)


def test_repeated_template_has_latest_source() -> None:
    asks = "Write the standard reply of billing."
    steps = [_model(1, "One", says="billing"), _model(2, asks), _model(3, "Two", says="billing"), _model(4, asks)]
    assert {edge.producer for edge in _edges_into(_sources(*steps), 4)} >= {1, 3}


def test_replies_trace_only_ids() -> None:
    index = ValueIndex()
    index.add(1, output_values(StepType.TOOL, {"color": "turquoise", "order": "W-2201"}))
    text = "I want the turquoise one of W-2201"
    assert [text[span.start : span.end] for span in index.find(text, reply=True)] == ["W-2201"]
    assert len(index.find(text)) == 2
