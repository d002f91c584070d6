"""Passages: a message that code composed is divided by the sources of its differences."""

from dataclasses import replace

from diffing.attribution.difference_origins import Origin
from diffing.attribution.reasoning import Reasoning
from diffing.attribution.unexplained_changes import Atom
from tests.support.comparing import Spec, model, output, reply, system, tool, user
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from traces.core.vocabulary import StepType


def reason_about(base: list[Spec], candidate: list[Spec]) -> Reasoning:
    return examine_runs(base, candidate).reasoning


def agent_with(task: str) -> Spec:
    return Spec(type=StepType.AGENT, name="agent", input={"task": task}, output={"text": "ok"})


def differences(atom: Atom) -> set[tuple[str, str]]:
    """The words in which the messages of a change differ."""
    messages = atom.facet.messages if atom.facet is not None else ()
    return {(hunk.base, hunk.candidate) for item in messages for hunk in item.passages}


def rental(number: str, days: str, *, rule: str = "") -> list[Spec]:
    """Code looks up the booking that a short request names, and puts the request above a figure of its own."""
    request = f"Car {number}"
    return [
        agent_with(request),
        tool("bookings", "", {"number": number}, {"days": days}),
        model([system(f"Read the booking.{rule}"), user(f"days: {days}")], reply(f"{days} days at the desk")),
        model([system("Write the bill."), user(f"{request}\n* {days} DAYS AT THE DESK")], reply(f"Pay {days}0.")),
        output(f"Pay {days}0."),
    ]


def test_a_call_by_code_and_a_message_that_pass_on_a_short_input_are_one_change() -> None:
    reasoning = reason_about(rental("Q17", "four"), rental("Q18", "nine"))
    [request] = [atom for atom in reasoning.atoms if atom.origin is Origin.EXOGENOUS]
    assert (request.category, request.places) == ("upstream", (1, 3))
    assert differences(request) == {("Q17", "Q18")}


def ballot(option: str, *votes: str) -> list[Spec]:
    """Three voters get the options in different orders; nobody sees another one's vote."""
    orders = (f"Paint: {option} / white.", f"Paint: white / {option}.", f"Either {option} or white paint.")
    return [
        agent_with(""),
        *(model([system("Vote."), user(order)], reply(vote)) for order, vote in zip(orders, votes, strict=True)),
        output(votes[-1]),
    ]


def test_later_messages_that_repeat_a_users_words_belong_to_the_same_change() -> None:
    reasoning = reason_about(ballot("olive", "one", "one", "two"), ballot("coral", "two", "two", "one"))
    assert [(atom.origin, atom.places) for atom in reasoning.atoms] == [(Origin.EXOGENOUS, (1, 2, 3))]


def keeper(budget: int, *, tone: str = "", answer: str) -> list[Spec]:
    """A note that a model keeps is part of an assistant's system prompt, beside a rule that a developer wrote."""
    note = f"note: budget {budget}, room with a view"
    assistant = replace(model([system(f"You sell trips.{tone} {note}"), user("Go on.")], reply(answer)), name="seller")
    return [
        agent_with(""),
        replace(model([system("Keep a note."), user(f"I have {budget} dollars.")], reply(note)), name="keeper"),
        assistant,
        output(answer),
    ]


def test_an_edited_rule_beside_a_changed_note_is_a_change_without_the_note() -> None:
    reasoning = reason_about(keeper(300, answer="Rome."), keeper(800, tone=" Rhyme always.", answer="Lima."))
    prompts = [atom for atom in reasoning.atoms if atom.facet is not None and atom.facet.kind == "system prompt"]
    assert [[hunk.candidate for hunk in atom.facet.passages] for atom in prompts if atom.facet] == [["Rhyme always"]]


def test_a_prompt_that_differs_by_the_note_alone_is_no_change() -> None:
    reasoning = reason_about(keeper(300, answer="Rome."), keeper(800, answer="Lima."))
    assert [atom.category for atom in reasoning.atoms] == ["upstream"]


def advice(question: str, documents: str, answer: str) -> list[Spec]:
    """Code searches with the run's input, and puts it in front of a model."""
    search = Spec(
        type=StepType.RETRIEVAL,
        name="leaflets",
        parent=1,
        input={"query": question, "top_k": 1},
        output={"documents": [{"id": "a", "content": documents}]},
    )
    request = [system("Answer."), user(f"{question}\nLeaflet: {documents}")]
    return [agent_with(question), search, model(request, reply(answer)), output(answer)]


def test_a_search_that_passes_on_an_input_belongs_to_it() -> None:
    base = advice("How much may I take?", "Take it with water.", "One.")
    candidate = advice("How much may I take? I am 34.", "Take it with milk.", "Two.")
    [question] = [atom for atom in reason_about(base, candidate).atoms if atom.origin is Origin.EXOGENOUS]
    assert (question.category, question.places) == ("upstream", (1, 2))


def flight(start: str, hours: str, answer: str) -> list[Spec]:
    """Code computes the length of a trip from a mail about its start."""
    return [
        agent_with(""),
        model([system("Read."), user(f"It leaves at {start}.")], reply(f"start {start}")),
        model([system("Check."), user(f"Is it fine?\nTotal: {hours}")], reply(answer)),
        output(answer),
    ]


def test_short_numbers_are_no_copies_of_an_input() -> None:
    """That 10 turns into 40 in both texts is a coincidence."""
    reasoning = reason_about(flight("09:10", "21 h 10", "Fine."), flight("10:40", "21 h 40", "Long."))
    assert {atom.origin: atom.places for atom in reasoning.atoms} == {Origin.EXOGENOUS: (1,), Origin.DERIVED: (2,)}


def chat(*turns: str, notes: tuple[str, str]) -> list[Spec]:
    """Code composes each request of a model's note on the talk so far and of what the customer says."""
    first, second = turns
    answers = "Which one?", f"Done: {notes[1]}."
    helper = [system("Help.")]
    return [
        agent_with(first),
        replace(model([*helper, user(f"Note: none\nCustomer: {first}")], reply(answers[0])), name="helper"),
        replace(model([system("Keep a note."), user(first)], reply(notes[0])), name="keeper"),
        replace(model([*helper, user(f"Note: {notes[0]}\nCustomer: {second}")], reply(answers[1])), name="helper"),
        replace(model([system("Keep a note."), user(f"Customer: {second}")], reply(notes[1])), name="keeper"),
        output(answers[1]),
    ]


FIRST = "My mower has stopped."


def test_what_a_customer_says_later_is_a_change_beside_the_note() -> None:
    base = chat(FIRST, "It smells of petrol.", notes=("mower, stopped", "mower, petrol"))
    candidate = chat(FIRST, "The cable was torn.", notes=("mower broken", "mower, cable"))
    origins = {atom.origin: atom for atom in reason_about(base, candidate).atoms if atom.category == "upstream"}
    assert differences(origins[Origin.OPEN]) == {("It smells of petrol", "The cable was torn")}
    # The keeper gets the same words.
    assert origins[Origin.OPEN].places == (3, 4)


def test_words_of_an_output_after_the_label_of_an_input_are_an_effect() -> None:
    base, candidate = (chat(FIRST, f"replace {part}", notes=(f"replace {part}", part)) for part in ("plugs", "blades"))
    assert Origin.OPEN not in {atom.origin for atom in reason_about(base, candidate).atoms}


def test_words_after_a_label_that_introduced_no_input_are_an_effect() -> None:
    base = chat(FIRST, "It smells of petrol.", notes=("mower, stopped", "mower, petrol"))
    candidate = chat(FIRST, "The cable was torn.", notes=("mower broken", "mower, cable"))
    atoms = reason_about([agent_with("Mow."), *base[1:]], [agent_with("Mow."), *candidate[1:]]).atoms
    assert Origin.OPEN not in {atom.origin for atom in atoms}
