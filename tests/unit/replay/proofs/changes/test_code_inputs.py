"""What the agent's code reads: the run's input, and the values that it computes for a template."""

import pytest

from tests.support.comparing import Spec, agent, model, output, reply, system, tool, user
from tests.unit.replay.proofs.changes.test_roots import dump_profile, separate
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType


def parcel_run(weight: int, size: str) -> list[Spec]:
    """A request of which code makes a size, which alone a model is shown."""
    return [
        Spec(type=StepType.AGENT, name="agent", input={"task": f"Ship {weight} kg to Turku."}),
        model([system("Name a carrier."), user(f"Size: {size}")], reply(f"{size} post")),
        output(f"{size} post"),
    ]


def test_input_that_only_code_reads_is_listed() -> None:
    changes = separate(parcel_run(40, "large"), parcel_run(4, "small"))
    [own] = [change.atom for change in changes.changes.values() if change.atom.is_input]
    assert own.title == "Changing “40” to “4” in the input of the run"
    assert "the agent's own code reads it" in own.why_not
    assert dump_profile(changes, own.id) == []


def test_equal_input_is_no_change() -> None:
    changes = separate(parcel_run(40, "large"), parcel_run(40, "small"))
    assert not any(change.atom.is_input for change in changes.changes.values())


def bill_run(read: str, amount: str) -> list[Spec]:
    """A meter, and a letter that code fills with an amount."""
    letter = f"You owe {amount} euros."
    variables: JSONObject = {"amount": amount}
    return [
        agent(),
        tool("meter", "", {"customer": "C7"}, {"kwh": 420, "read": read}),
        Spec(
            type=StepType.PROMPT,
            name="letter",
            parent=1,
            input={"template": "You owe {amount} euros.", "variables": variables},
            output={"text": letter},
        ),
        model([system("Write."), user(letter)], reply(f"Dear customer. {letter}")),
        output(f"Dear customer. {letter}"),
    ]


def test_variables_that_code_computed_can_be_held() -> None:
    changes = separate(bill_run("May", "130.20"), bill_run("April", "111.60"))
    [relay] = [change.atom for change in changes.changes.values() if change.atom.is_relay]
    assert not relay.has_own_words
    [entry] = dump_profile(changes, relay.id)
    assert entry == {"match": {"step": 3}, "prompt": {"variables": {"amount": "111.60"}}}
    assert dump_profile(changes) == []


def tax_run(rule: str, rate: int, amount: int) -> list[Spec]:
    """Code fills an answer with an amount that it computes of a rate; a model gives the rest."""
    form = model([system(rule), user("I am Nils, and I earn 4100.")], reply(f"Nils ({rule})"))
    return [agent(), form, tool("get_rate", "", {"country": "NO"}, {"rate": rate}), output(f"Nils ({rule}): {amount}")]


def test_result_of_which_code_made_a_part_of_the_answer_is_not_certified() -> None:
    changes = separate(tax_run("Briefly.", 22, 902), tax_run("Shortly.", 25, 1025))
    certificates = {change.atom.category: change.atom.certificate for change in changes.changes.values()}
    assert certificates == {"prompt": None, "tool": None}
    spare = separate(tax_run("Briefly.", 22, 902), tax_run("Shortly.", 25, 902))
    [result] = [change.atom for change in spare.changes.values() if change.atom.category == "tool"]
    assert result.certificate is not None


def note_run(result: JSONObject, note: str) -> list[Spec]:
    """A meter, and a note that code composes for a model."""
    return [
        agent(),
        model([system("Plan."), user("A bill, please.")], reply("meter(C7)")),
        tool("meter", "", {"customer": "C7"}, result),
        model([system("Write."), user(note)], reply(f"Dear customer. {note}")),
        output(f"Dear customer. {note}"),
    ]


@pytest.mark.parametrize(
    ("notes", "has_own_words"),
    [
        (("Used 420, owe 130.20 eur", "Used 510, owe 158.10 eur"), False),
        (("From: house\nOwed: 42", "From: cabin\nOwed: 51"), False),
        (("State: normal\nOwed: 42", "State: unusual\nOwed: 51"), True),
        (("Owed: 42", "Owed: 51\nPlease call us."), True),
    ],
)
def test_words_that_no_output_explains_are_chosen_by_code(notes: tuple[str, str], has_own_words: bool) -> None:
    results: list[JSONObject] = [{"kwh": 420, "place": "house"}, {"kwh": 510, "place": "cabin"}]
    changes = separate(*(note_run(result, note) for result, note in zip(results, notes, strict=True)))
    [relay] = [change.atom for change in changes.changes.values() if change.atom.is_relay]
    assert relay.has_own_words is has_own_words
