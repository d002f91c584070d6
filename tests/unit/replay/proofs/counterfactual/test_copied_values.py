"""Values that code copies into later inputs, found because both recordings differ in them in the same way."""

import json

from diffing.sequences.word_hunks import hunks, is_copy
from replay.core.graph import CopiedValue, Link, Node
from replay.inputs.changes import Change
from replay.inputs.copied_values import with_copies
from replay.proofs.changes.overrides import RunPair
from replay.proofs.counterfactual.copied_values import Copies, copies, dump_links, load_links
from tests.support.comparing import Spec, agent, model, output, reply, system, tool, user
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from traces.core.ids import new_id
from traces.core.vocabulary import EdgeKind, StepType

NODE = Node(no=2, id=new_id(), type=StepType.MODEL, name="counter")


def counter_run(faults: int, weight: str, verdict: str) -> list[Spec]:
    """A counter whose number the agent's code puts into the judge's table."""
    return [
        agent(),
        model([system(f"Count {weight} faults."), user("Report of Bern")], reply(f"Bern had {faults} of them.")),
        model([system("Judge."), user(f"Which is worst?\nBern: {faults}")], reply(verdict)),
        output(verdict),
    ]


def found_copies(base: list[Spec], candidate: list[Spec]) -> Copies:
    examination = examine_runs(base, candidate)
    return copies(RunPair(examination=examination, load=lambda refs: {}), examination.reasoning.atoms)


def fill_copy(text: str, before: str, now: str, *, rivals: frozenset[int] = frozenset({2})) -> tuple[str, list[Link]]:
    """A text into which 45 was copied, after the counter's answer changed, and the links that could not be filled."""
    start = text.index("45")
    value = CopiedValue(start=start, end=start + 2, own="45", other="17", rivals=rivals)
    link = Link(producer=2, kind=EdgeKind.VALUE, consumer_path="/messages/1/content", copies=(value,))
    change = Change(node=NODE, original={"message": reply(before)}, current={"message": reply(now)})
    missing_links: list[Link] = []
    return with_copies(text, [(link, change)], missing_links), missing_links


def test_equally_changed_numbers_are_copies() -> None:
    value_copies = found_copies(counter_run(45, "all", "Alarm"), counter_run(17, "heavy", "Fine"))
    [[link]] = value_copies.links["base"].values()
    assert (link.producer, link.copies[0].own, link.copies[0].other) == (2, "45", "17")
    assert value_copies.whole == {2}


def test_input_with_other_differences_is_no_copy() -> None:
    candidate = counter_run(17, "heavy", "Fine")
    candidate[2] = model([system("Judge."), user("Tell me the worst.\nBern: 17")], reply("Fine"))
    value_copies = found_copies(counter_run(45, "all", "Alarm"), candidate)
    assert value_copies == Copies()


def priced_run(price: int, rule: str) -> list[Spec]:
    """A result whose price, too short for a link, the agent's code puts into a message between other values."""
    answer = f"A badge costs {price} francs."
    return [
        agent(),
        model([system("Find the words."), user("I lost my badge.")], reply("badge")),
        tool("search", "", {"query": "badge"}, {"thing": "badge", "price": price}),
        model([system(f"Help. {rule}"), user(f"thing: badge\nprice: {price}")], reply(answer)),
        output(answer),
    ]


def test_short_result_is_a_copy_without_a_link() -> None:
    value_copies = found_copies(priced_run(30, ""), priced_run(32, "Be brief."))
    [[link]] = value_copies.links["base"].values()
    assert (link.producer, link.copies[0].own, link.copies[0].other) == (3, "30", "32")
    assert value_copies.whole == frozenset()


def test_value_in_a_models_answer_is_left_to_its_link() -> None:
    def reported_run(price: int, rule: str) -> list[Spec]:
        report = f"The badge costs {price} francs at the desk."
        steps = priced_run(price, rule)
        steps[1:2] = []
        steps[2:2] = [model([system("Report."), user(f"price: {price}")], reply(report))]
        steps[3] = model([system(f"Help. {rule}"), user(report)], reply(f"Pay {price}."))
        return steps

    value_copies = found_copies(reported_run(30, ""), reported_run(32, "Be brief."))
    assert {consumer for consumer in value_copies.links["base"] if value_copies.links["base"][consumer]} <= {3}


def test_new_value_replaces_the_copy() -> None:
    assert fill_copy("Bern: 45", "Bern had 45 of them.", "Bern had 75 of them.") == ("Bern: 75", [])


def test_surrounding_words_do_not_matter() -> None:
    assert fill_copy("Bern: 45", "Bern had 45 of them.", "Sure. Bern had 45 of them, I think.") == ("Bern: 45", [])


def test_missing_value_is_unknown() -> None:
    text, missing_links = fill_copy("Bern: 45", "Bern had 45 of them.", "I could not count.")
    assert text == "Bern: 45"
    assert len(missing_links) == 1


def test_ambiguous_copy_of_changed_output_is_unknown() -> None:
    text, missing_links = fill_copy("Bern: 45", "Bern had 45.", "Bern had 75.", rivals=frozenset({2, 3}))
    assert (text, len(missing_links)) == ("Bern: 45", 1)


def test_links_survive_storage() -> None:
    links = found_copies(counter_run(45, "all", "Alarm"), counter_run(17, "heavy", "Fine")).links["candidate"]
    assert load_links(json.loads(json.dumps(dump_links(links)))) == links


def test_nested_hunk_is_a_copy_on_both_sides() -> None:
    [inner] = hunks("Bern: 45", "Bern: 17")
    [outer] = hunks("had 45", "had 17")
    [different] = hunks("had 45", "had 18")
    assert is_copy(inner, outer)
    assert not is_copy(inner, different)
