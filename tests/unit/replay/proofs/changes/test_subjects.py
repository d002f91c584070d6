"""The words that name what a changed result is about."""

import pytest

from diffing.report.examination import examine
from replay.proofs.changes.roots import roots
from tests.support.comparing import Store, agent, model, output, reply, side_of, system, tool
from tests.support.comparing import user as user_message
from traces.core.json_types import JSONObject, JSONValue


def subject(call: JSONObject, base: JSONValue, candidate: JSONValue) -> frozenset[str]:
    """The subject of the one result that differs between two runs."""
    runs = [
        [
            agent(),
            tool("lookup", "", call, result),
            model([system("Advise."), user_message("Go on.")], reply(answer)),
            output(answer),
        ]
        for result, answer in ((base, "yes"), (candidate, "no"))
    ]
    store = Store()
    examination = examine(*(side_of(run, store) for run in runs), store.load)
    (atom,) = (change.atom for change in roots(examination, store.load) if change.atom.category == "tool")
    return atom.subject


def test_arguments_of_a_call_name_its_result() -> None:
    assert subject({"payer": "Lang", "lot": "R-7b"}, {"due": 62}, {"due": 90}) == {"lang", "7b"}


def test_texts_beside_a_changed_value_name_it() -> None:
    rules: list[JSONValue] = [{"field": "purpose", "then": "review"}]
    base: JSONObject = {"rules": [*rules, {"field": "ratio", "limit": 40, "then": "refuse"}]}
    candidate: JSONObject = {"rules": [*rules, {"field": "ratio", "limit": 50, "then": "refuse"}]}
    assert subject({}, base, candidate) == {"ratio", "refuse"}


@pytest.mark.parametrize("length", [1, 40])
def test_equal_words_of_a_short_text_that_changed_name_it(length: int) -> None:
    base, candidate = ("Ana Blum, " * length + town for town in ("Basel", "Olten"))
    assert subject({}, {"notes": [base]}, {"notes": [candidate]}) == ({"ana", "blum"} if length == 1 else set())
