"""Searches with other settings that also found edited documents."""

import pytest

from tests.support.comparing import Spec, agent, model, output, reply, system, user
from tests.unit.replay.proofs.changes.test_roots import dump_profile, separate
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType


def leave_run(setting: str, count: int, days: int) -> list[Spec]:
    """An answer from the first documents of a handbook."""
    texts = [f"Leave lasts {days} days", "Trips are paid", "Shoes are not"]
    documents: list[JSONValue] = [{"id": f"d{no}", "content": text} for no, text in enumerate(texts[:count], 1)]
    arguments: JSONObject = {"query": "leave", setting: count}
    context = "; ".join(texts[:count])
    return [
        agent(),
        Spec(type=StepType.RETRIEVAL, name="search", parent=1, input=arguments, output={"documents": documents}),
        model([system("Answer."), user(context)], reply(f"{days} days")),
        output(f"{days} days"),
    ]


@pytest.mark.parametrize("setting", ["top_k", "k"])
def test_edited_document_is_a_change_beside_another_number_of_documents(setting: str) -> None:
    changes = separate(leave_run(setting, 3, 25), leave_run(setting, 2, 26))
    retrieval = {name: change.atom for name, change in changes.changes.items() if change.atom.category == "retrieval"}
    [edit] = [name for name, atom in retrieval.items() if atom.testable]
    [other] = [atom for atom in retrieval.values() if not atom.testable]
    assert "the same place as another change" in other.why_not
    [entry] = dump_profile(changes, edit)
    assert [document["content"] for document in entry["retrieval"]["documents"]] == [
        "Leave lasts 26 days",
        "Trips are paid",
        "Shoes are not",
    ]


def test_another_number_of_equal_documents_is_one_change() -> None:
    changes = separate(leave_run("top_k", 3, 25), leave_run("top_k", 2, 25))
    [own] = [change.atom for change in changes.changes.values() if change.atom.category == "retrieval"]
    assert own.testable
