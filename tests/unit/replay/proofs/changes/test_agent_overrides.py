"""Overrides in the form in which a running agent's requests can be edited."""

from typing import Any

import pytest

from replay.overrides.profile import OverrideProfile
from replay.proofs.changes.agent_overrides import Unfit, fit
from traces.core.json_types import JSONObject

RECORDED: dict[tuple[str, int], JSONObject] = {
    ("2", 1): {"role": "user", "content": "Where is A-1?"},
    ("4", 1): {"role": "user", "content": "Where is A-1?"},
    ("4", 2): {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "find", "arguments": {}}]},
}


def fitted(*entries: Any) -> list[Any]:
    profile = fit(
        OverrideProfile.model_validate({"overrides": entries}), lambda step, index: RECORDED.get((step, index))
    )
    return [entry.model_dump(mode="json", exclude_unset=True) for entry in profile.overrides]


def edit(step: int, **fields: Any) -> Any:
    return {"match": {"step": step}, "messages": [{"op": "replace", "index": 1, **fields}]}


def test_text_is_replaced_in_every_request_that_has_it() -> None:
    """The agent keeps its own message, so the next request has it again."""
    new = {"role": "user", "content": "Where is A-2?"}
    passages = [{"before": "Where is A-1?", "after": "Where is A-2?"}]
    assert fitted(edit(2, message=new), edit(4, **new)) == [
        {"match": {"type": "model"}, "messages": [{"op": "replace", "index": 1, "passages": passages}]}
    ]


def test_settings_and_passages_stay_as_they_are() -> None:
    passages = edit(2, passages=[{"before": "A-1", "after": "A-2"}])
    settings = {"match": {"type": "model"}, "model": {"temperature": 0.5}, "prompt": {"system": "Be kind."}}
    assert fitted(settings, passages) == [settings, passages]
    mixed = {**edit(2, content="Where is A-2?"), "model": {"temperature": 0.5}}
    assert fitted(mixed)[0] == {"match": {"step": 2}, "model": {"temperature": 0.5}}


@pytest.mark.parametrize(
    "entry",
    [
        {"match": {"step": 2}, "messages": [{"op": "insert", "index": 1, "role": "user", "content": "Hello."}]},
        {"match": {"step": 2}, "messages": [{"op": "delete", "index": 1}]},
        edit(2, message={"role": "assistant", "content": "Where is A-2?"}),
        {"match": {"step": 4}, "messages": [{"op": "replace", "index": 2, "content": "No call."}]},
        edit(9, content="Not recorded."),
    ],
)
def test_what_an_agent_builds_itself_is_unfit(entry: Any) -> None:
    with pytest.raises(Unfit):
        fitted(entry)
