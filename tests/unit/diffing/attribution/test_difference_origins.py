"""Differences after a changed output: what follows from it, what came from outside, and what may be either."""

from dataclasses import replace

import pytest

from diffing.attribution.difference_origins import Origin, Words
from diffing.attribution.reasoning import Reasoning
from diffing.attribution.unexplained_changes import Atom
from diffing.attribution.verdict import atom_phrase
from tests.support.comparing import (
    StepSpec,
    agent,
    assistant,
    assistant_call,
    diff_of,
    model,
    output,
    system,
    tool,
    tool_message,
    user,
)
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

TABLE = {"billing": "Desk 4 owns invoices.", "technical": "Desk 9 owns devices."}  # the agent's code looks it up


def reasoned(base: list[StepSpec], candidate: list[StepSpec]) -> Reasoning:
    return examine_runs(base, candidate).reasoning


def open_atoms(found: Reasoning) -> list[Atom]:
    return [atom for atom in (found.primary, *found.rivals, *found.later) if atom is not None]


def routed(rule: str, word: str, answer: str, *, specialist: str = "You answer customers.") -> list[StepSpec]:
    """A router whose answer reaches the specialist only through a table in the agent's code."""
    return [
        agent(),
        model([system(f"Sort the ticket. {rule}"), user("My screen is broken.")], assistant(word)),
        model([system(specialist), user(TABLE[word])], assistant(answer)),
        output(answer),
    ]


def test_router_prompt_wins_over_derived_message() -> None:
    found = reasoned(routed("", "billing", "Pay first."), routed("Screens are devices.", "technical", "Send it in."))
    assert found.primary is not None
    assert (found.verdict, found.primary.category, found.primary.origin) == ("cause", "prompt", Origin.EXOGENOUS)
    assert found.exclusions == ()
    [derived] = found.later
    assert (derived.category, derived.origin) == ("upstream", Origin.DERIVED)


def test_prompt_chosen_by_code_is_an_effect() -> None:
    base = routed("", "billing", "Pay first.", specialist="Bill people politely and quote the invoice.")
    candidate = routed("Screens!", "technical", "Send it in.", specialist="Mend hardware; ask for serial numbers.")
    found = reasoned(base, candidate)
    assert found.primary is not None
    assert found.primary.pair.step.sequence_no == 2
    assert [atom.origin for atom in found.later] == [Origin.DERIVED, Origin.DERIVED]


def test_edited_prompt_of_later_agent_stays_open() -> None:
    base = routed("", "billing", "Pay first.")
    candidate = routed("Screens!", "technical", "Send it in.", specialist="You answer customers. Be brief.")
    origins = {atom.category: atom.origin for atom in open_atoms(reasoned(base, candidate)) if atom.pair.place == 2}
    assert origins == {"prompt": Origin.OPEN, "upstream": Origin.DERIVED}


def test_step_called_by_code_is_an_effect() -> None:
    base = routed("", "billing", "Pay first.")
    candidate = routed("Screens!", "technical", "Send it in.")
    candidate.insert(2, tool("open_case", "", {"desk": 9}, "opened"))
    derived = [atom for atom in open_atoms(reasoned(base, candidate)) if atom.facet is None]
    assert [atom.origin for atom in derived] == [Origin.DERIVED]


def talk(*, first: str, second: str, answers: tuple[str, str], temperature: float = 0.0) -> list[StepSpec]:
    """Two turns of one conversation."""
    begun = [system("Be kind."), user(first)]
    going_on = [*begun, assistant(answers[0]), user(second)]
    return [
        agent(),
        model(begun, assistant(answers[0]), temperature=temperature),
        model(going_on, assistant(answers[1]), temperature=temperature),
        output(answers[1]),
    ]


def test_later_user_message_is_listed_beside_a_parameter() -> None:
    base = talk(first="Hello", second="Refund A-1", answers=("Hi there", "Done with A-1"))
    candidate = talk(first="Hello", second="Refund A-2", answers=("Good day", "Done with A-2"), temperature=0.7)
    atoms = {atom_phrase(atom): atom.origin for atom in open_atoms(reasoned(base, candidate))}
    assert atoms == {
        "Changing the temperature from 0 to 0.7": Origin.EXOGENOUS,
        "Changing “1” to “2” in the user's message": Origin.OPEN,
    }


def test_later_user_message_after_equal_answers_is_exogenous() -> None:
    base = talk(first="Hello", second="Refund A-1", answers=("Hi there", "Done with A-1"))
    candidate = talk(first="Hello", second="Refund A-2", answers=("Hi there", "Done with A-2"))
    assert [atom.origin for atom in open_atoms(reasoned(base, candidate))] == [Origin.EXOGENOUS]


def searched(prompt: str, note: str, content: str, answer: str, *, query: str = "fees") -> list[StepSpec]:
    """A note, then a search with a query of its own, then an answer from what was found."""
    document: JSONObject = {"id": "d1", "content": content}
    search = StepSpec(
        type=StepType.RETRIEVAL, name="search", parent=1, input={"query": query}, output={"documents": [document]}
    )
    asked_with = [system("Answer."), user(f"{note} {content}")]
    return [
        agent(),
        model([system(prompt), user("Note it.")], assistant(note)),
        search,
        model(asked_with, assistant(answer)),
        output(answer),
    ]


def test_documents_of_the_same_query_are_listed_after_a_changed_answer() -> None:
    base = searched("Short.", "The customer is upset today.", "The fee is 4 euros a month.", "4 euros")
    candidate = searched("Long.", "The customer is quite calm today.", "The fee is 9 euros a month.", "9 euros")
    categories = {atom.category: atom.origin for atom in open_atoms(reasoned(base, candidate))}
    assert categories == {"prompt": Origin.EXOGENOUS, "retrieval": Origin.EXOGENOUS}


@pytest.mark.parametrize(("amount", "origin"), [(5, Origin.EXOGENOUS), (7, Origin.OPEN)])
def test_tool_answer_may_follow_from_an_earlier_call(amount: int, origin: Origin) -> None:
    """A balance that differs for the same call, after the same or another payment."""

    def run(prompt: str, amount: int, balance: str, answer: str) -> list[StepSpec]:
        first = [system(prompt), user("Pay and tell me the balance.")]
        paid = [*first, assistant_call("c1", "pay", amount=amount), tool_message("c1", "paid")]
        checked = [*paid, assistant_call("c2", "balance"), tool_message("c2", balance)]
        return [
            agent(),
            model(first, assistant_call("c1", "pay", amount=amount)),
            tool("pay", "c1", {"amount": amount}, "paid"),
            model(paid, assistant_call("c2", "balance")),
            tool("balance", "c2", {}, balance),
            model(checked, assistant(answer)),
            output(answer),
        ]

    found = reasoned(run("Pay.", 5, "95 euros are left", "95"), run("Pay!", amount, "88 euros are left", "88"))
    assert {atom.origin for atom in open_atoms(found) if atom.category == "tool"} == {origin}


def test_reply_that_takes_up_the_changed_words_is_an_effect() -> None:
    base = talk(first="Hello", second="Yes, move it.", answers=("Shall I move the booking?", "Moved to Friday."))
    offer = ("Shall I cancel the booking?", "Cancelled, with a refund.")
    candidate = talk(first="Hello", second="Yes, cancel it.", answers=offer, temperature=0.7)
    found = reasoned(base, candidate)
    assert {atom.category: atom.origin for atom in open_atoms(found)} == {
        "model": Origin.EXOGENOUS,
        "upstream": Origin.DERIVED,
    }


def test_agent_of_another_name_was_chosen_by_code() -> None:
    base = routed("", "billing", "Pay first.", specialist="You are at the desk. Be brief about 4.")
    candidate = routed("Screens!", "technical", "Send it in.", specialist="You are at the desk. Be brief about 9.")
    base[2], candidate[2] = replace(base[2], name="invoices"), replace(candidate[2], name="repairs")
    found = reasoned(base, candidate)
    assert found.primary is not None
    assert found.primary.pair.step.sequence_no == 2
    assert {atom.origin for atom in (*found.rivals, *found.later)} == {Origin.DERIVED}


def test_messages_that_a_context_window_dropped_are_named_as_that() -> None:
    def forgetting(window: int, answer: str) -> list[StepSpec]:
        talk: list[JSONObject] = [
            user("I hold a card."),
            assistant("Noted."),
            user("Move my seat."),
            assistant("Which one?"),
        ]
        third = [*talk, user("The one at the window.")][-window:]
        return [
            agent(),
            model([system("Be kind."), talk[0]], talk[1]),
            model([system("Be kind."), *talk[:3]], talk[3]),
            model([system("Be kind."), *third], assistant(answer)),
            output(answer),
        ]

    found = reasoned(forgetting(5, "Moved for free."), forgetting(3, "That costs 10 francs."))
    [atom] = open_atoms(found)
    assert atom_phrase(atom) == "Dropping 2 earlier messages from the context (“I hold a card.”)"
    assert atom.origin is Origin.EXOGENOUS


def test_model_names_that_were_not_recorded_are_named_as_missing() -> None:
    unnamed = [replace(step, model="") for step in routed("", "billing", "Pay first.")]
    report = diff_of(unnamed, routed("Screens!", "technical", "Send it in."))
    missing = [item.what for item in report.sections.model.unavailable]
    assert "the name of the model of 2 model steps" in missing


def test_message_that_differs_beside_a_repeated_one_is_its_own_change() -> None:
    def talk(second: str, third: str, answer: str) -> list[StepSpec]:
        """The agent forgets its beginning before the third question, so the history shows in no link."""
        return [
            agent(),
            model([system("Help."), user("Hello."), assistant("Yes?"), user(second)], assistant("Fine.")),
            model([system("Help."), user(second), assistant("Fine."), user(third)], assistant(answer)),
            output(answer),
        ]

    found = reasoned(talk("Thanks.", "Move it.", "Moved."), talk("Well.", "Cancel it.", "Cancelled."))
    changed = {
        item.candidate: atom.places for atom in found.atoms for item in (atom.facet.messages if atom.facet else ())
    }
    assert changed == {"Well.": (1, 2), "Cancel it.": (2,)}


def test_prompt_that_differs_beside_a_value_of_an_answer_is_a_change() -> None:
    def desk(signature: str, reply: str) -> list[StepSpec]:
        return [
            agent(),
            model([system(f"Name the queue.{signature}"), user("Broken.")], assistant(f"The code is 4170.{signature}")),
            model([system(f"You answer. For 4170 say: {reply}"), user("Broken.")], assistant(reply)),
            output(reply),
        ]

    found = reasoned(desk("", "Pay the invoice."), desk(" Yours, the desk.", "Take the money."))
    assert {(atom.category, atom.pair.step.sequence_no) for atom in found.atoms} == {("prompt", 2), ("prompt", 3)}


def test_steps_that_code_adds_carry_an_effect() -> None:
    def drafts(rule: str, verdict: str, *answers: str) -> list[StepSpec]:
        written = [
            replace(model([system("Write."), user(f"Draft {at}")], assistant(text)), name="author")
            for at, text in enumerate(answers)
        ]
        critic = replace(model([system(f"Criticise.{rule}"), user("Is it good?")], assistant(verdict)), name="critic")
        return [agent(), written[0], critic, *written[1:], output(answers[-1])]

    found = reasoned(drafts("", "ACCEPT", "A speech."), drafts(" Ask for a poem.", "REVISE", "A speech.", "A poem."))
    [critic] = [atom for atom in open_atoms(found) if atom.category == "prompt"]
    assert critic.pair.step.sequence_no == 3


def test_page_that_code_chose_by_an_answer_is_an_effect() -> None:
    """What is handed on stands in the result, and which part of it is, the judge's answer decides."""
    pages = {"one": "Rule: abroad means twenty days.", "two": "Memo: people have thirty days."}

    def run(rule: str, mark: str, page: str, note: str) -> list[StepSpec]:
        found: JSONObject = {**pages, "note": note}
        asked = [system(f"Judge.{rule}"), user("Which page fits the question best?")]
        told = [system("You answer."), user(f"{note} {pages[page]}")]
        search = tool("search", "", {"query": "abroad"}, found)
        return [agent(), search, model(asked, assistant(mark)), model(told, assistant(page)), output(page)]

    base = run("", "40 points", "one", "Printed in early spring.")
    found = reasoned(base, run(" Prefer memos.", "73 points", "two", "Printed in late autumn."))
    origins = {atom.pair.step.sequence_no: atom.origin for atom in found.atoms}
    assert origins == {2: Origin.EXOGENOUS, 3: Origin.OPEN, 4: Origin.DERIVED}


def test_value_from_an_output_that_no_flow_leads_from_is_an_effect() -> None:
    """The peak is traced, and the number of beds is too short to be; that it is copied both runs show."""

    def run(beds: int, polite: str, answer: str) -> list[StepSpec]:
        chosen = model([system("Choose."), user("A peak, please.")], assistant(f"{polite}Take Rigi-4170."))
        told = [system("Invite."), user(f"Peak: Rigi-4170\nBeds: {beds}")]
        huts = tool("huts", "", {"at": "north"}, {"beds": beds})
        return [agent(), chosen, huts, model(told, assistant(answer)), output(answer)]

    found = reasoned(run(20, "", "We sleep there."), run(10, "Sure. ", "We come back."))
    origins = {atom.pair.step.sequence_no: atom.origin for atom in found.atoms}
    assert origins == {2: Origin.EXOGENOUS, 3: Origin.EXOGENOUS, 4: Origin.DERIVED}


@pytest.mark.parametrize(("text", "taken"), [("value: 44, then", True), ("value: 45, then", False)])
def test_number_before_a_comma_is_the_same_number(text: str, *, taken: bool) -> None:
    words = Words()
    pairs = examine_runs(routed("", "billing", "Pay."), routed("Screens!", "technical", "Send.")).comparison.pairs
    words.add(pairs[1], text, text.replace("4", "6"))
    assert words.explains_most(pairs[2], "load=44 of the mill", "load=66 of the mill") is taken


def test_call_that_nobody_recorded_asking_for_is_no_cause_before_the_task() -> None:
    """The recording has the tool first and one model step at its end: what it was asked stands behind the call."""

    def logged(task: str, place: str, answer: str) -> list[StepSpec]:
        called = replace(tool("weather", "", {"place": place}, {"is": answer}), call_id="")
        desk = replace(agent(), input={"task": task})
        return [desk, called, model([system("Help."), user(task)], assistant(answer)), output(answer)]

    found = reasoned(logged("Weather in Bern?", "Bern", "Sun."), logged("Weather in Chur?", "Chur", "Rain."))
    assert found.primary is not None
    assert found.primary.category == "upstream"
