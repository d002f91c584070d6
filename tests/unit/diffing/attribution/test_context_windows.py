"""Context windows: messages that one side's requests no longer contain."""

import pytest

from diffing.attribution.difference_origins import Origin
from diffing.attribution.verdict import atom_phrase
from diffing.content.facet import WINDOW
from tests.support.comparing import Spec, agent, model, output, reply, system, tool, tool_call, tool_message, user
from tests.unit.diffing.attribution.test_difference_origins import open_atoms, reason_about
from traces.core.json_types import JSONObject


def test_dropped_context_messages_are_named() -> None:
    def forgetting(window: int, answer: str) -> list[Spec]:
        talk: list[JSONObject] = [
            user("I hold a card."),
            reply("Noted."),
            user("Move my seat."),
            reply("Which one?"),
        ]
        third = [*talk, user("The one at the window.")][-window:]
        return [
            agent(),
            model([system("Be kind."), talk[0]], talk[1]),
            model([system("Be kind."), *talk[:3]], talk[3]),
            model([system("Be kind."), *third], reply(answer)),
            output(answer),
        ]

    result = reason_about(forgetting(5, "Moved for free."), forgetting(3, "That costs 10 francs."))
    [atom] = open_atoms(result)
    assert atom_phrase(atom) == "Dropping 2 earlier messages from the context (“I hold a card.”)"
    assert atom.origin is Origin.EXOGENOUS


@pytest.mark.parametrize(
    ("question", "origin"), [("Which of your seats do you mean?", Origin.DERIVED), ("Which?", Origin.OPEN)]
)
def test_longer_history_explains_a_shorter_window(question: str, origin: Origin) -> None:
    """A context window with room for so many characters drops messages when an answer becomes longer."""

    def talk(rule: str, question: str, dropped: int, answer: str) -> list[Spec]:
        messages = [user("I hold a card."), reply("Noted."), user("Move my seat."), reply(question)]
        third = [*messages, user("The one at the window.")][dropped:]
        return [
            agent(),
            model([system(rule), messages[0]], messages[1]),
            model([system(rule), *messages[:3]], messages[3]),
            model([system(rule), *third], reply(answer)),
            output(answer),
        ]

    base, candidate = talk("Be kind.", "Which one?", 0, "Moved."), talk("Be so kind.", question, 2, "10 francs.")
    atoms = reason_about(base, candidate).atoms
    assert [atom.origin for atom in atoms if atom.facet and atom.facet.kind == WINDOW] == [origin]


def test_first_request_of_a_conversation_drops_nothing() -> None:
    """The first page of one run is the second of the other; the earlier page was not dropped, but never opened."""

    def browse(*pages: str) -> list[Spec]:
        talk: list[JSONObject] = [system(f"Start at {pages[0]}."), user("What is the fee?")]
        steps = [agent()]
        for number, page in enumerate(pages, 1):
            call = tool_call(f"c{number}", "open", page=page)
            steps += [model([*talk], call), tool("open", f"c{number}", {"page": page}, {"title": page})]
            talk += [call, tool_message(f"c{number}", {"title": page})]
        return [*steps, model([*talk], reply(f"See {pages[-1]}.")), output(f"See {pages[-1]}.")]

    atoms = reason_about(browse("home", "visit", "tickets"), browse("visit", "tickets", "prices")).atoms
    assert [atom.facet.kind for atom in atoms if atom.facet] == ["system prompt"]
