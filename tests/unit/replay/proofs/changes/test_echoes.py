"""Numbers and words of a change that recur in differences that code made, or in the final answer."""

from dataclasses import replace

import pytest

from replay.proofs.changes.roots import roots
from tests.support.comparing import Spec, agent, model, output, reply, system, tool
from tests.support.comparing import user as user_message
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from traces.core.json_types import JSONObject


def climb(feet: int, grade: int, text: str) -> list[Spec]:
    """Code converts one field of a result and writes a text; the other field is not used."""
    return [
        agent(),
        model([system("Plan."), user_message("A hike, please.")], reply("trail(ridge)")),
        tool("trail", "", {"id": "ridge"}, {"climb_ft": feet}),
        tool("guide", "", {"id": "ridge"}, {"grade": grade}),
        model([system("Advise."), user_message(text)], reply(f"{text}: fine")),
        output(f"{text}: fine"),
    ]


@pytest.mark.parametrize("text", ["a climb of 701 m", "a climb of 0.701 km", "a climb of 2,300.00 ft"])
def test_converted_number_is_an_echo(text: str) -> None:
    before = {"m": "a climb of 1250 m", "km": "a climb of 1.25 km", "ft": "a climb of 4,100.00 ft"}[text.split()[-1]]
    changes = roots(examine_runs(climb(4100, 31, before), climb(2300, 44, text)))
    results = {change.atom.id: change.atom.echoes for change in changes if change.atom.category == "tool"}
    assert results == {"result-2": True, "result-3": False}


def test_number_in_the_final_answer_is_an_echo() -> None:
    """A model computes with one result and not with the other; of its answer, one number is that of a result."""

    def lease(rent: int, deposit: int, answer: str) -> list[Spec]:
        return [
            agent(),
            model([system("Plan."), user_message("A flat, please.")], reply("rent(flat)")),
            tool("rent", "", {"id": "flat"}, {"monthly": rent}),
            tool("deposit", "", {"id": "flat"}, {"kept": deposit}),
            model([system("Advise."), user_message("Sum it up.")], reply(answer)),
            output(answer),
        ]

    changes = roots(examine_runs(lease(840, 31, "10080 a year"), lease(905, 44, "10860 a year, 905 a month")))
    results = {change.atom.id: change.atom.echoes for change in changes if change.atom.category == "tool"}
    assert results == {"result-2": True, "result-3": False}


def test_words_of_the_answers_that_a_change_led_to_are_an_echo() -> None:
    """The tools of one agent changed, and the rules of another; the final answer quotes the first."""

    def queue(level: int, tool_name: str, fix: str) -> list[Spec]:
        rated = model([system(f"Rate networks as {level}."), user_message("The network is down.")], reply(f"{level}"))
        request: JSONObject = {
            "messages": [system("Solve."), user_message("The network is down.")],
            "tools": [{"name": tool_name}],
        }
        solved = replace(model([], reply(fix)), input=request)
        return [
            agent(),
            rated,
            solved,
            model([system("Sum up."), user_message(f"T1: {fix}")], reply(f"First: {fix}")),
            output(f"First: {fix}"),
        ]

    base, candidate = queue(5, "article", "restart the switch"), queue(4, "page", "escalate")
    echoes = {change.atom.id: change.atom.echoes for change in roots(examine_runs(base, candidate))}
    assert {name for name, is_echo in echoes.items() if is_echo} == {"tool-schemas-2-tools"}
    assert {name for name, is_echo in echoes.items() if not is_echo} >= {"system-prompt-1-system"}


def test_result_that_a_later_call_passes_on_is_an_echo() -> None:
    """Code follows the next page of a list. The list also names its owner, which no call passes on."""

    def pages(following: str, owner: str) -> list[Spec]:
        return [
            agent(),
            model([system("Plan."), user_message("All tickets, please.")], reply("list")),
            tool("list", "", {"page": "first"}, {"next": following}),
            tool("owner", "", {"list": "tickets"}, {"name": owner}),
            tool("list", "", {"page": following}, {"tickets": following}),
            model([system("Sum up."), user_message("Count them.")], reply("done")),
            output("done"),
        ]

    changes = roots(examine_runs(pages("archive", "Lea"), pages("dustbin", "Tim")))
    results = {change.atom.title: change.atom.echoes for change in changes if change.atom.category == "tool"}
    assert results == {
        "Changing list's next from archive to dustbin": True,
        "Changing owner's name from Lea to Tim": False,
    }


def test_result_in_the_request_of_a_model_that_answers_differently_is_shown_there() -> None:
    def care(soil: str, shelf: str, days: int) -> list[Spec]:
        return [
            agent(),
            tool("plant", "", {"name": "orchid"}, {"soil": soil}),
            tool("shelf", "", {"name": "orchid"}, {"shelf": shelf}),
            model([system("Name the care."), user_message(f"Soil:\n{soil}")], reply(f"EVERY {days} DAYS")),
            model([system("Answer."), user_message(f"Dates: 2, {2 + days}")], reply(f"On day {2 + days}")),
            output(f"On day {2 + days}"),
        ]

    changes = roots(examine_runs(care("rather dry", "upper", 4), care("soaking wet", "lower", 6)))
    results = {change.atom.title: change.atom.shown_at for change in changes if change.atom.category == "tool"}
    assert list(results.values()) == [{3}, frozenset()]
