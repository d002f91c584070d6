"""Recorded values that are read at their first use."""

from dataclasses import replace

import pytest

from replay.core.calls import Answer
from replay.core.graph import Node
from replay.core.values.unread import Unread
from replay.inputs.changes import Change
from tests.support.replay_runs import graph_of, order_desk
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason


class Store:
    """Payloads, and the references that were read."""

    def __init__(self) -> None:
        self.refs: list[str] = []

    def payload(self, ref: str) -> JSONValue:
        self.refs.append(ref)
        return {"payload": ref}

    def answer(self) -> Answer:
        output = Unread(self.payload, "r")
        return Answer(action="reuse", label=Label.EXACT, reason=Reason.SOURCE_OUTPUT_REUSED, output=output)


@pytest.fixture
def store() -> Store:
    return Store()


def test_value_is_read_once(store: Store) -> None:
    answer = store.answer()
    assert not store.refs
    assert answer.output is answer.output == {"payload": "r"}
    assert store.refs == ["r"]


def test_copy_of_an_answer_reads_nothing(store: Store) -> None:
    copy = store.answer().with_detail({"why": "none"})
    assert not store.refs
    assert copy.output == {"payload": "r"}


def test_other_copy_has_the_value(store: Store) -> None:
    assert replace(store.answer(), note="again").output == {"payload": "r"}
    assert replace(store.answer(), output="another").output == "another"


def test_value_that_is_given_needs_no_reading() -> None:
    answer = Answer(action="live", label=None, reason=None)
    assert answer.output is None
    assert replace(answer, output=["text"]).output == ["text"]


def test_original_output_of_a_change_is_read_at_its_first_use(store: Store) -> None:
    change = Change(node=first_step(), original=Unread(store.payload, "r"), current="new")
    assert (store.refs, change.current) == ([], "new")
    assert (change.original, store.refs) == ({"payload": "r"}, ["r"])


def first_step() -> Node:
    graph, _ = graph_of(order_desk())
    return graph.nodes[0]
