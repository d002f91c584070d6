"""Rebuilt inputs contain the current outputs of earlier steps."""

from uuid import UUID

from replay.core.graph import Graph, Link, Node, with_ordinals
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import flat, rebuild_slots, replace_outputs
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType


def change(no: int, before: str, after: str) -> Change:
    node = Node(no=no, id=UUID(int=no), type=StepType.MODEL, name="mapper")
    return Change(
        node=node,
        original={"message": {"role": "assistant", "content": before}},
        current={"message": {"role": "assistant", "content": after}},
    )


def test_swapped_answers_swap_in_text() -> None:
    first, second = "The team red counted 17.", "The team blue counted 11."
    assert (
        replace_outputs(f"{first}\n{second}", [change(1, first, second), change(2, second, first)])
        == f"{second}\n{first}"
    )


def test_replacement_is_not_replaced_again() -> None:
    changes = [change(1, "first answer", "second answer"), change(2, "second answer", "third answer")]
    assert replace_outputs("It was: first answer", changes) == "It was: second answer"


def test_only_changed_one_of_equal_texts_is_replaced() -> None:
    same = "Nothing is wrong with this part."
    nodes = tuple(
        Node(no=no, id=UUID(int=no), type=StepType.MODEL, name="reviewer", output_ref="same") for no in (1, 2, 3)
    )
    graph = Graph(fork=1, nodes=nodes)
    links = [Link(producer=no, kind=EdgeKind.TEXT, consumer_path="/messages/0/content") for no in (3, 1, 2)]
    messages: list[JSONValue] = [{"role": "user", "content": "\n".join([same, same, same])}]
    changed = change(2, same, "This part is wrong.")
    incoming = [(link, changed) for link in with_ordinals(graph, links) if link.producer == 2]
    [message] = flat(rebuild_slots(messages, None, incoming))
    assert isinstance(message, dict)
    assert message["content"] == "\n".join([same, "This part is wrong.", same])
