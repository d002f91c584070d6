"""Values that code copies into later inputs, known because both recordings differ in them alike."""

import json

from diffing.sequences.word_hunks import hunks, is_copy
from replay.core.graph import CopiedValue, Link, Node
from replay.inputs.changes import Change
from replay.inputs.copied_values import with_copies
from replay.proofs.changes.overrides import RunPair
from replay.proofs.counterfactual.copied_values import Copies, copies, dump_links, load_links
from tests.support.comparing import Given, agent, model, output, said, system, user
from tests.unit.replay.proofs.changes.test_roots import examined
from traces.core.ids import new_id
from traces.core.vocabulary import EdgeKind, StepType

NODE = Node(no=2, id=new_id(), type=StepType.MODEL, name="counter")


def counted(faults: int, weight: str, verdict: str) -> list[Given]:
    """A counter whose figure code puts into the judge's table."""
    return [
        agent(),
        model([system(f"Count {weight} faults."), user("Report of Bern")], said(f"Bern had {faults} of them.")),
        model([system("Judge."), user(f"Which is worst?\nBern: {faults}")], said(verdict)),
        output(verdict),
    ]


def found_copies(base: list[Given], candidate: list[Given]) -> Copies:
    seen = examined(base, candidate)
    return copies(RunPair(examination=seen, load=lambda refs: {}), seen.reasoning.atoms)


def copied(text: str, before: str, now: str, *, rivals: frozenset[int] = frozenset({2})) -> tuple[str, list[Link]]:
    """A text into which 45 was copied, after the counter answers otherwise, and the links that could not be filled."""
    start = text.index("45")
    value = CopiedValue(start=start, end=start + 2, own="45", other="17", rivals=rivals)
    link = Link(producer=2, kind=EdgeKind.VALUE, consumer_path="/messages/1/content", copies=(value,))
    change = Change(node=NODE, original={"message": said(before)}, current={"message": said(now)})
    missed: list[Link] = []
    return with_copies(text, [(link, change)], missed), missed


def test_small_numbers_that_change_alike_are_copies() -> None:
    found = found_copies(counted(45, "all", "Alarm"), counted(17, "heavy", "Fine"))
    [[link]] = found.links["base"].values()
    assert (link.producer, link.copies[0].own, link.copies[0].other) == (2, "45", "17")
    assert found.whole == {2}


def test_input_with_another_difference_is_no_copy() -> None:
    candidate = counted(17, "heavy", "Fine")
    candidate[2] = model([system("Judge."), user("Tell me the worst.\nBern: 17")], said("Fine"))
    found = found_copies(counted(45, "all", "Alarm"), candidate)
    assert found == Copies()


def test_new_value_stands_in_its_place() -> None:
    assert copied("Bern: 45", "Bern had 45 of them.", "Bern had 75 of them.") == ("Bern: 75", [])


def test_other_words_around_a_value_change_nothing() -> None:
    assert copied("Bern: 45", "Bern had 45 of them.", "Sure. Bern had 45 of them, I think.") == ("Bern: 45", [])


def test_value_that_is_gone_is_not_known() -> None:
    text, missed = copied("Bern: 45", "Bern had 45 of them.", "I could not count.")
    assert text == "Bern: 45"
    assert len(missed) == 1


def test_copy_of_either_of_two_outputs_is_not_known_where_one_changes() -> None:
    text, missed = copied("Bern: 45", "Bern had 45.", "Bern had 75.", rivals=frozenset({2, 3}))
    assert (text, len(missed)) == ("Bern: 45", 1)


def test_links_survive_storage() -> None:
    links = found_copies(counted(45, "all", "Alarm"), counted(17, "heavy", "Fine")).links["candidate"]
    assert load_links(json.loads(json.dumps(dump_links(links)))) == links


def test_hunk_inside_another_is_a_copy_on_both_sides_only() -> None:
    [inner] = hunks("Bern: 45", "Bern: 17")
    [outer] = hunks("had 45", "had 17")
    [other] = hunks("had 45", "had 18")
    assert is_copy(inner, outer)
    assert not is_copy(inner, other)
