"""Origins of differences after a changed output: derived, exogenous, or open."""

from dataclasses import replace

import pytest

from diffing.attribution.difference_origins import Origin, Words
from diffing.attribution.reasoning import Reasoning
from diffing.attribution.unexplained_changes import Atom
from diffing.attribution.verdict import atom_phrase
from tests.support.comparing import (
    Spec,
    agent,
    diff_of,
    model,
    output,
    reply,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

TABLE = {"billing": "Desk 4 owns invoices.", "technical": "Desk 9 owns devices."}  # the agent's code looks it up


def reason_about(base: list[Spec], candidate: list[Spec]) -> Reasoning:
    return examine_runs(base, candidate).reasoning


def open_atoms(reasoning: Reasoning) -> list[Atom]:
    return [atom for atom in (reasoning.primary, *reasoning.rivals, *reasoning.later) if atom is not None]


def route(rule: str, word: str, answer: str, *, specialist: str = "You answer customers.") -> list[Spec]:
    """A router whose answer reaches the specialist only through a table in the agent's code."""
    return [
        agent(),
        model([system(f"Sort the ticket. {rule}"), user("My screen is broken.")], reply(word)),
        model([system(specialist), user(TABLE[word])], reply(answer)),
        output(answer),
    ]


def test_router_prompt_wins_over_derived_message() -> None:
    result = reason_about(route("", "billing", "Pay first."), route("Screens are devices.", "technical", "Send it in."))
    assert result.primary is not None
    assert (result.verdict, result.primary.category, result.primary.origin) == (
        "cause",
        "prompt",
        Origin.EXOGENOUS,
    )
    assert result.exclusions == ()
    [derived] = result.later
    assert (derived.category, derived.origin) == ("upstream", Origin.DERIVED)


def test_prompt_chosen_by_code_is_an_effect() -> None:
    base = route("", "billing", "Pay first.", specialist="Bill people politely and quote the invoice.")
    candidate = route("Screens!", "technical", "Send it in.", specialist="Mend hardware; ask for serial numbers.")
    result = reason_about(base, candidate)
    assert result.primary is not None
    assert result.primary.pair.step.sequence_no == 2
    assert [atom.origin for atom in result.later] == [Origin.DERIVED, Origin.DERIVED]


def test_edited_prompt_of_later_agent_stays_open() -> None:
    base = route("", "billing", "Pay first.")
    candidate = route("Screens!", "technical", "Send it in.", specialist="You answer customers. Be brief.")
    origins = {atom.category: atom.origin for atom in open_atoms(reason_about(base, candidate)) if atom.pair.place == 2}
    assert origins == {"prompt": Origin.OPEN, "upstream": Origin.DERIVED}


def test_step_called_by_code_is_an_effect() -> None:
    base = route("", "billing", "Pay first.")
    candidate = route("Screens!", "technical", "Send it in.")
    candidate.insert(2, tool("open_case", "", {"desk": 9}, "opened"))
    derived = [atom for atom in open_atoms(reason_about(base, candidate)) if atom.facet is None]
    assert [atom.origin for atom in derived] == [Origin.DERIVED]


def talk(*, first: str, second: str, answers: tuple[str, str], temperature: float = 0.0) -> list[Spec]:
    """Two turns of one conversation."""
    first_messages = [system("Be kind."), user(first)]
    going_on = [*first_messages, reply(answers[0]), user(second)]
    return [
        agent(),
        model(first_messages, reply(answers[0]), temperature=temperature),
        model(going_on, reply(answers[1]), temperature=temperature),
        output(answers[1]),
    ]


def test_later_user_message_is_listed_beside_a_parameter() -> None:
    base = talk(first="Hello", second="Refund A-1", answers=("Hi there", "Done with A-1"))
    candidate = talk(first="Hello", second="Refund A-2", answers=("Good day", "Done with A-2"), temperature=0.7)
    atoms = {atom_phrase(atom): atom.origin for atom in open_atoms(reason_about(base, candidate))}
    assert atoms == {
        "Changing the temperature from 0 to 0.7": Origin.EXOGENOUS,
        "Changing “1” to “2” in the user's message": Origin.OPEN,
    }


def test_later_user_message_after_equal_answers_is_exogenous() -> None:
    base = talk(first="Hello", second="Refund A-1", answers=("Hi there", "Done with A-1"))
    candidate = talk(first="Hello", second="Refund A-2", answers=("Hi there", "Done with A-2"))
    assert [atom.origin for atom in open_atoms(reason_about(base, candidate))] == [Origin.EXOGENOUS]


@pytest.mark.parametrize(
    ("last", "origins"), [("Thank you.", [Origin.EXOGENOUS, Origin.OPEN]), ("", [Origin.EXOGENOUS])]
)
def test_further_turn_of_one_run_is_an_open_change(last: str, origins: list[Origin]) -> None:
    """A model's setting, which every call of the agent has, does not make somebody speak again."""
    base = talk(first="Hello", second="Refund A-1", answers=("Hi there", "Done with A-1"))
    candidate = talk(first="Hello", second="Refund A-1", answers=("Hi there", "It is done"), temperature=0.7)
    earlier = [system("Be kind."), user("Hello"), reply("Hi there"), user("Refund A-1"), reply("It is done")]
    further_turn = [model([*earlier, user(last)], reply("Gladly"), temperature=0.7), output("Gladly")]
    candidate = [*candidate[:3], *further_turn] if last else candidate
    assert [atom.origin for atom in reason_about(base, candidate).atoms] == origins


@pytest.mark.parametrize(
    ("last", "is_listed"), [("Now, please make it shorter!", False), ("Please make it a poem!", True)]
)
def test_message_that_quotes_an_output_outside_the_conversation_is_composed(last: str, is_listed: bool) -> None:
    def draft(remark: str, *further: Spec) -> list[Spec]:
        first = model([system("Be kind."), user("Advertise bread.")], reply("Fresh bread."))
        critic = replace(model([system("Judge."), user("Fresh bread.")], reply(remark)), name="critic")
        return [agent(), first, critic, *further, output("Fresh bread.")]

    again = model([system("Be kind."), user("Advertise bread."), reply("Fresh bread."), user(last)], reply("Bread."))
    atoms = reason_about(draft("It is fine."), draft("You should make it shorter.", again)).atoms
    assert any(atom.user_message == last for atom in atoms) is is_listed


def search_run(prompt: str, note: str, content: str, answer: str, *, query: str = "fees") -> list[Spec]:
    """A note, a search with an independent query, and an answer from its documents."""
    document: JSONObject = {"id": "d1", "content": content}
    search = Spec(
        type=StepType.RETRIEVAL, name="search", parent=1, input={"query": query}, output={"documents": [document]}
    )
    asked_with = [system("Answer."), user(f"{note} {content}")]
    return [
        agent(),
        model([system(prompt), user("Note it.")], reply(note)),
        search,
        model(asked_with, reply(answer)),
        output(answer),
    ]


def test_documents_after_changed_answer_are_listed() -> None:
    base = search_run("Short.", "The customer is upset today.", "The fee is 4 euros a month.", "4 euros")
    candidate = search_run("Long.", "The customer is quite calm today.", "The fee is 9 euros a month.", "9 euros")
    categories = {atom.category: atom.origin for atom in open_atoms(reason_about(base, candidate))}
    assert categories == {"prompt": Origin.EXOGENOUS, "retrieval": Origin.EXOGENOUS}


@pytest.mark.parametrize(("amount", "origin"), [(5, Origin.EXOGENOUS), (7, Origin.OPEN)])
def test_tool_answer_may_follow_from_an_earlier_call(amount: int, origin: Origin) -> None:
    """A different balance for the same call, after the same or another payment."""

    def run(prompt: str, amount: int, balance: str, answer: str) -> list[Spec]:
        first = [system(prompt), user("Pay and tell me the balance.")]
        payment_history = [*first, tool_call("c1", "pay", amount=amount), tool_message("c1", "paid")]
        balance_history = [*payment_history, tool_call("c2", "balance"), tool_message("c2", balance)]
        return [
            agent(),
            model(first, tool_call("c1", "pay", amount=amount)),
            tool("pay", "c1", {"amount": amount}, "paid"),
            model(payment_history, tool_call("c2", "balance")),
            tool("balance", "c2", {}, balance),
            model(balance_history, reply(answer)),
            output(answer),
        ]

    result = reason_about(run("Pay.", 5, "95 euros are left", "95"), run("Pay!", amount, "88 euros are left", "88"))
    assert {atom.origin for atom in open_atoms(result) if atom.category == "tool"} == {origin}


def test_reply_repeating_changed_words_is_an_effect() -> None:
    base = talk(first="Hello", second="Yes, move it.", answers=("Shall I move the booking?", "Moved to Friday."))
    offer = ("Shall I cancel the booking?", "Cancelled, with a refund.")
    candidate = talk(first="Hello", second="Yes, cancel it.", answers=offer, temperature=0.7)
    result = reason_about(base, candidate)
    assert {atom.category: atom.origin for atom in open_atoms(result)} == {
        "model": Origin.EXOGENOUS,
        "upstream": Origin.DERIVED,
    }


def test_renamed_agent_was_selected_by_code() -> None:
    base = route("", "billing", "Pay first.", specialist="You are at the desk. Be brief about 4.")
    candidate = route("Screens!", "technical", "Send it in.", specialist="You are at the desk. Be brief about 9.")
    base[2], candidate[2] = replace(base[2], name="invoices"), replace(candidate[2], name="repairs")
    result = reason_about(base, candidate)
    assert result.primary is not None
    assert result.primary.pair.step.sequence_no == 2
    assert {atom.origin for atom in (*result.rivals, *result.later)} == {Origin.DERIVED}


def test_task_that_code_composed_for_an_agent_is_no_input() -> None:
    """A payment that code computes from a changed result is the task of an agent, and the clerk's message."""

    def claim(share: int, payment: int) -> list[Spec]:
        task, letter = f"Payment {payment} for water.", f"We pay {payment}."
        return [
            agent(),
            model([system("Extract."), user("There is water in my cellar.")], reply("water")),
            tool("get_terms", "c1", {"kind": "water"}, {"share": share}),
            Spec(type=StepType.AGENT, name="assessor", parent=1, input={"task": task}, output={"text": "Accept it."}),
            replace(model([system("Assess."), user(task)], reply("Accept it.")), parent=4),
            model([system("Write."), user(f"{task} Accept it.")], reply(letter)),
            output(letter),
        ]

    atoms = reason_about(claim(200, 1480), claim(600, 1080)).atoms
    assert {atom.category: atom.origin for atom in atoms} == {
        "tool": Origin.EXOGENOUS,
        "upstream": Origin.DERIVED,
    }


def test_unrecorded_model_names_are_gaps() -> None:
    base = [replace(step, model="") for step in route("", "billing", "Pay first.")]
    report = diff_of(base, route("Screens!", "technical", "Send it in."))
    missing = [item.what for item in report.sections.model.unavailable]
    assert "the model name of 2 model steps" in missing


def test_new_message_is_its_own_change() -> None:
    def talk(second: str, third: str, answer: str) -> list[Spec]:
        """The agent drops its first messages before the third question, so no link records the history."""
        return [
            agent(),
            model([system("Help."), user("Hello."), reply("Yes?"), user(second)], reply("Fine.")),
            model([system("Help."), user(second), reply("Fine."), user(third)], reply(answer)),
            output(answer),
        ]

    result = reason_about(talk("Thanks.", "Move it.", "Moved."), talk("Well.", "Cancel it.", "Cancelled."))
    changed = {
        item.candidate: atom.places for atom in result.atoms for item in (atom.facet.messages if atom.facet else ())
    }
    assert changed == {"Well.": (1, 2), "Cancel it.": (2,)}


def test_prompt_edit_beside_value_is_a_change() -> None:
    def desk(signature: str, rule: str) -> list[Spec]:
        return [
            agent(),
            model([system(f"Name the queue.{signature}"), user("Broken.")], reply(f"The code is 4170.{signature}")),
            model([system(f"You answer. For 4170 say: {rule}"), user("Broken.")], reply(rule)),
            output(rule),
        ]

    result = reason_about(desk("", "Pay the invoice."), desk(" Yours, the desk.", "Take the money."))
    assert {(atom.category, atom.pair.step.sequence_no) for atom in result.atoms} == {("prompt", 2), ("prompt", 3)}


def test_steps_added_by_code_carry_effects() -> None:
    def drafts(rule: str, verdict: str, *answers: str) -> list[Spec]:
        drafts_ = [
            replace(model([system("Write."), user(f"Draft {at}")], reply(text)), name="author")
            for at, text in enumerate(answers)
        ]
        critic = replace(model([system(f"Criticise.{rule}"), user("Is it good?")], reply(verdict)), name="critic")
        return [agent(), drafts_[0], critic, *drafts_[1:], output(answers[-1])]

    result = reason_about(
        drafts("", "ACCEPT", "A speech."), drafts(" Ask for a poem.", "REVISE", "A speech.", "A poem.")
    )
    [critic] = [atom for atom in open_atoms(result) if atom.category == "prompt"]
    assert critic.pair.step.sequence_no == 3


def test_page_selected_by_answer_is_an_effect() -> None:
    """The page comes from the result; the judge's answer selects it."""
    pages = {"one": "Rule: abroad means twenty days.", "two": "Memo: people have thirty days."}

    def run(rule: str, mark: str, page: str, note: str) -> list[Spec]:
        pages_and_note: JSONObject = {**pages, "note": note}
        request = [system(f"Judge.{rule}"), user("Which page fits the question best?")]
        final_request = [system("You answer."), user(f"{note} {pages[page]}")]
        search = tool("search", "", {"query": "abroad"}, pages_and_note)
        return [agent(), search, model(request, reply(mark)), model(final_request, reply(page)), output(page)]

    base = run("", "40 points", "one", "Printed in early spring.")
    result = reason_about(base, run(" Prefer memos.", "73 points", "two", "Printed in late autumn."))
    origins = {atom.pair.step.sequence_no: atom.origin for atom in result.atoms}
    assert origins == {2: Origin.EXOGENOUS, 3: Origin.OPEN, 4: Origin.DERIVED}


def test_untraced_value_is_an_effect() -> None:
    """The peak is traced. The number of beds is too short to be traced, but both runs copy it."""

    def run(beds: int, polite: str, answer: str) -> list[Spec]:
        choice = model([system("Choose."), user("A peak, please.")], reply(f"{polite}Take Rigi-4170."))
        request = [system("Invite."), user(f"Peak: Rigi-4170\nBeds: {beds}")]
        huts = tool("huts", "", {"at": "north"}, {"beds": beds})
        return [agent(), choice, huts, model(request, reply(answer)), output(answer)]

    result = reason_about(run(20, "", "We sleep there."), run(10, "Sure. ", "We come back."))
    origins = {atom.pair.step.sequence_no: atom.origin for atom in result.atoms}
    assert origins == {2: Origin.EXOGENOUS, 3: Origin.EXOGENOUS, 4: Origin.DERIVED}


def test_link_explains_no_words_that_no_output_has() -> None:
    """Both mails name Paris, so the second one looks as if it came from the answer to the first."""

    def run(first: str, second: str, answer: str) -> list[Spec]:
        mails = [f"KL-1800 to Paris-CDG at {first}", f"KL-1900 from Paris-CDG at {second}"]
        legs = [
            model([system("Read."), user(mail)], reply(f'{{"to": "Paris-CDG", "at": "{at}"}}'))
            for mail, at in zip(mails, (first, second), strict=True)
        ]
        return [agent(), *legs, model([system("Check."), user("Is it fine?")], reply(answer)), output(answer)]

    result = reason_about(run("noon", "three", "Fine."), run("one", "two", "Too short."))
    mails = [atom for atom in result.atoms if atom.category == "upstream"]
    assert {atom.pair.step.sequence_no: atom.origin for atom in mails} == {
        2: Origin.EXOGENOUS,
        3: Origin.DERIVED,
    }


@pytest.mark.parametrize("greeting", ["", "Certainly. "])
def test_value_of_a_memory_in_the_prompt_is_an_effect(greeting: str) -> None:
    """In both runs the memory has the sport of the first turn, if in other words; later, a turn replaces it in one."""

    def run(turn: str, notes: str, sport: str) -> list[Spec]:
        first_notes = f"{greeting if turn == 'Hello!' else ''}sport = running"
        noter = [
            model([system("Note."), user(text)], reply(answer))
            for text, answer in (("I like running.", first_notes), (turn, notes))
        ]
        coach = model([system(f"Advise. Known: {sport}."), user("What now?")], reply(f"Go {sport}."))
        return [agent(), *noter, coach, output(f"Go {sport}.")]

    result = reason_about(run("Hello!", "nothing", "running"), run("I prefer tennis.", "sport = tennis", "tennis"))
    [prompt] = [atom for atom in result.atoms if atom.category == "prompt"]
    assert prompt.origin is Origin.DERIVED


@pytest.mark.parametrize(("text", "is_explained"), [("value: 44, then", True), ("value: 45, then", False)])
def test_punctuation_does_not_change_numbers(text: str, *, is_explained: bool) -> None:
    words = Words([], {})
    pairs = examine_runs(route("", "billing", "Pay."), route("Screens!", "technical", "Send.")).comparison.pairs
    words.add(pairs[1], text, text.replace("4", "6"))
    assert words.explains_most(pairs[2], "load=44 of the mill", "load=66 of the mill") is is_explained


def test_task_precedes_unrequested_call() -> None:
    """The recording starts with the tool and ends with the only model, whose task explains the call."""

    def log_run(task: str, place: str, answer: str) -> list[Spec]:
        call = replace(tool("weather", "", {"place": place}, {"is": answer}), call_id="")
        desk = replace(agent(), input={"task": task})
        return [desk, call, model([system("Help."), user(task)], reply(answer)), output(answer)]

    result = reason_about(log_run("Weather in Bern?", "Bern", "Sun."), log_run("Weather in Chur?", "Chur", "Rain."))
    assert result.primary is not None
    assert result.primary.category == "upstream"


def handed_over(limit: int) -> list[Spec]:
    """A porter's answer is the task of a second agent, in capital letters."""
    note = f"Deposit of {limit} dollars noted for room 12."
    task = f"Guest in room 12 wants to leave. {note.upper()}"
    return [
        Spec(type=StepType.AGENT, name="hotel", input={"task": "Room 12 wants to leave."}, output={"text": "Done."}),
        model([system(f"Ask at most {limit} dollars."), user("Room 12 wants to leave.")], reply(note)),
        Spec(type=StepType.AGENT, name="cashier", parent=1, input={"task": task}, output={"text": f"{limit} paid."}),
        replace(model([system("You are the cashier."), user(task)], reply(f"{limit} paid.")), parent=3),
        output(f"{limit} paid."),
    ]


def test_task_that_code_composed_from_a_changed_answer_is_no_input() -> None:
    reasoning = reason_about(handed_over(40), handed_over(25))
    assert [(atom.category, atom.origin) for atom in reasoning.atoms] == [("prompt", Origin.EXOGENOUS)]


def test_further_call_after_equal_outputs_is_left_to_code() -> None:
    """The model was switched, but answered alike; it is code that stopped after one call."""

    def run(model_name: str, *answers: str) -> list[Spec]:
        steps = [model([user("Which part?")], reply(text), model=model_name) for text in answers]
        return [agent(), *steps, output(answers[-1])]

    comparison = reason_about(
        run("m1", "The chain is worn.", "Order a chain of 9 links."), run("m2", "The chain is worn.")
    )
    assert [atom.category for atom in comparison.atoms] == ["model", "structure"]
