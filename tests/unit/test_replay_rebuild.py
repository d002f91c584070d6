"""Rebuilt inputs hold what the steps before them say now."""

from uuid import UUID

from replay.graph import Node
from replay.rebuild import Change, replaced_in
from traces.vocabulary import StepType


def said(no: int, before: str, after: str) -> Change:
    node = Node(no=no, id=UUID(int=no), type=StepType.MODEL, name="mapper")
    return Change(
        node=node, recorded={"message": {"role": "assistant", "content": before}},
        current={"message": {"role": "assistant", "content": after}},
    )  # fmt: skip


def test_two_answers_that_changed_places_change_places_in_a_text_made_of_both() -> None:
    red, blue = "The team red counted 17.", "The team blue counted 11."
    assert replaced_in(f"{red}\n{blue}", [said(1, red, blue), said(2, blue, red)]) == f"{blue}\n{red}"


def test_what_was_put_into_a_text_is_not_replaced_again() -> None:
    changes = [said(1, "first answer", "second answer"), said(2, "second answer", "third answer")]
    assert replaced_in("It was: first answer", changes) == "It was: second answer"
