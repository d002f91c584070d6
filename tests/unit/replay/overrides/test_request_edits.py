"""Request edits: tools, response format, parameters, messages and tool arguments."""

from typing import Any

import pydantic
import pytest

from replay.core.applied_profile import apply_profile
from replay.core.calls import Call
from replay.overrides.edits import merge_settings
from replay.overrides.profile import OverrideProfile
from tests.support.memory_replays import Replay, replay, resolved_step
from tests.support.replay_runs import ORDERS, TOOLS, order_desk
from traces.core.json_types import JSONObject, JSONValue

PARAMETERS: JSONObject = {"temperature": 0.5, "max_completion_tokens": 9, "tool_choice": "auto"}
MODELS: dict[str, Any] = {"type": "model"}


def request_of(*entries: JSONValue, no: int = 3) -> dict[str, Any]:
    """Return the model request of a step."""
    run = order_desk(parameters=PARAMETERS)
    input = resolved_step(replay(*entries, run=run).execute(), no).call.input
    assert isinstance(input, dict)
    return dict(input)


def refusals(*entries: Any) -> list[tuple[str, str]]:
    profile = OverrideProfile.model_validate({"overrides": list(entries)})
    profile_result = apply_profile(profile, replay().graph)
    return [(refusal.code, refusal.where) for refusal in profile_result.refusals]


def test_model_settings_are_applied_to_request() -> None:
    json: JSONObject = {"type": "json_object"}
    settings: dict[str, Any] = {"tools": [{"name": "pay"}], "response_format": json, "parameters": {"n": 2}}
    input = request_of({"match": MODELS, "model": {**settings, "temperature": 0}})
    assert (input["tools"], input["response_format"]) == ([{"name": "pay"}], json)
    assert input["parameters"] == {**PARAMETERS, "temperature": 0, "n": 2}


def test_unset_removes_every_spelling() -> None:
    input = request_of({"match": MODELS, "model": {"unset": ["tools", "max_tokens", "temperature"]}})
    assert "tools" not in input
    assert input["parameters"] == {"tool_choice": "auto"}
    bare = request_of({"match": MODELS, "model": {"unset": list[JSONValue](PARAMETERS)}})
    assert "parameters" not in bare


def test_recorded_values_change_nothing() -> None:
    same: JSONObject = {"tools": TOOLS, "parameters": {"tool_choice": "auto"}, "unset": ["seed", "response_format"]}
    entry: JSONValue = {"match": MODELS, "model": same}
    counts = replay(entry, run=order_desk(parameters=PARAMETERS)).plan().counts
    assert (counts.exact, counts.cached, counts.simulated) == (10, 0, 0)


@pytest.mark.parametrize("op", ["replace", "insert"])
def test_edited_conversation_keeps_the_answers(op: str) -> None:
    """A later request contains the answers to the edited one, also after a message appended at its end."""
    edit: JSONObject = {"op": op, "index": 1 if op == "replace" else 2, "role": "user", "content": "And the bill?"}
    edited = request_of({"match": {"step": 3}, "messages": [edit]}, no=9)
    recorded = request_of({"match": {"step": 9}, "model": {"temperature": 1}}, no=9)
    roles = [message["role"] for message in recorded["messages"]]
    extra = ["user"] if op == "insert" else []
    assert [message["role"] for message in edited["messages"]] == [*roles[:2], *extra, *roles[2:]]


def test_empty_system_prompt_removes_all() -> None:
    for no in (3, 9):
        input = request_of({"match": {"step": 3}, "prompt": {"system": ""}}, no=no)
        assert "system" not in {message["role"] for message in input["messages"]}


@pytest.mark.parametrize(
    ("fields", "content"), [({}, "Where is my order A-1?"), ({"content": None}, None), ({"content": ""}, "")]
)
def test_other_role_keeps_the_text(fields: JSONObject, content: str | None) -> None:
    edit: JSONObject = {"op": "replace", "index": 1, "role": "developer", **fields}
    input = request_of({"match": {"step": 3}, "messages": [edit]})
    assert input["messages"][1] == {"role": "developer", "content": content}


def test_whole_message_keeps_its_calls() -> None:
    call: JSONObject = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "x", "name": "pay", "arguments": {}}],
    }
    answer: JSONObject = {"role": "tool", "tool_call_id": "x", "content": "done"}
    edits: JSONValue = [{"op": "insert", "index": 1, "message": message} for message in (call, answer)]
    assert request_of({"match": {"step": 3}, "messages": edits})["messages"][1:3] == [call, answer]
    replacement: JSONValue = [{"op": "replace", "index": 1, "message": answer}]
    assert request_of({"match": {"step": 3}, "messages": replacement})["messages"][1] == answer


def call_of(*entries: JSONValue, no: int = 4, **more: Any) -> Call:
    return resolved_step(replay(*entries, **more).execute(), no).call


def test_argument_override_changes_the_call() -> None:
    """The new call is not recorded and the tool does not run; the output of the recorded call is no answer."""
    entry: JSONValue = {"match": {"step": 4}, "arguments": {"order_id": "A-2"}}
    result = replay(entry).execute()
    call, answer = resolved_step(result, 4).call, resolved_step(result, 4).answer
    assert (call.input, call.differs, call.changed) == ({"order_id": "A-2"}, ("arguments",), True)
    assert answer.detail["blocked"]
    same: JSONValue = {"match": {"step": 4}, "arguments": {"order_id": "A-1"}}
    assert not call_of(same).changed
    entry_with_output: JSONValue = {**entry, "tool": {"output": ORDERS["A-2"]}} if isinstance(entry, dict) else None
    assert resolved_step(replay(entry_with_output).execute(), 4).answer.output == ORDERS["A-2"]


def test_plan_lists_changed_tools_and_arguments() -> None:
    entries: list[JSONValue] = [
        {"match": MODELS, "model": {"tools": []}},
        {"match": {"type": "tool"}, "arguments": {"order_id": "A-2"}},
    ]
    determinism = Replay(run=order_desk(), fork=1, entries=entries, policy=replay().policy).plan().determinism
    assert "tools" in determinism.critical_changes
    assert "tool arguments" in determinism.other_changes


def test_later_entry_wins_in_merge() -> None:
    first: JSONObject = {"temperature": 1, "parameters": {"n": 2, "k": 1}, "unset": ["seed", "tools"]}
    second: JSONObject = {"parameters": {"n": 3}, "unset": ["temperature"], "tools": []}
    assert merge_settings(first, second) == {
        "parameters": {"n": 3, "k": 1},
        "unset": ["seed", "temperature"],
        "tools": [],
    }
    assert merge_settings({"query": "a"}, {"top_k": 1}) == {"query": "a", "top_k": 1}
    assert merge_settings({"parameters": {"n": 2}}, {"unset": ["n"]}) == {"unset": ["n"]}


def test_name_is_not_set_and_unset() -> None:
    model = {"temperature": 1, "parameters": {"n": 2}, "unset": ["n", "temperature"]}
    location = "/overrides/overrides/0/model"
    assert refusals({"match": {"step": 3}, "model": model}) == [
        ("override_conflict", f"{location}/unset/0"),
        ("override_conflict", f"{location}/unset/1"),
    ]
    two = {"match": {"step": 3}, "model": {"parameters": {"n": 2}}}
    assert refusals(two, two) == [("override_conflict", "/overrides/overrides/1/model/parameters/n")]
    assert refusals({"match": {"step": 3}, "arguments": {}}) == [
        ("override_matches_nothing", "/overrides/overrides/0/arguments")
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"model": {"parameters": {"temperature": 1}}},
        {"model": {"unset": ["messages"]}},
        {"messages": [{"op": "delete", "index": 0, "message": {"role": "user"}}]},
        {"messages": [{"op": "insert", "index": 0, "message": {"content": "x"}}]},
        {"messages": [{"op": "insert", "index": 0, "content": "x", "message": {"role": "user"}}]},
    ],
)
def test_reserved_and_required_names_are_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError):
        OverrideProfile.model_validate({"overrides": [{"match": MODELS, **entry}]})


def test_passages_are_replaced_within_the_recorded_text() -> None:
    recorded = request_of({"match": {"step": 3}, "model": {"temperature": 1}})["messages"][1]
    word = str(recorded["content"]).split()[0]
    passages: JSONValue = [{"before": word, "after": "Psst,"}, {"before": "no such words", "after": "lost"}]
    edit: JSONValue = {"match": {"step": 3}, "messages": [{"op": "replace", "index": 1, "passages": passages}]}
    edited = request_of(edit)["messages"][1]
    assert edited == {**recorded, "content": str(recorded["content"]).replace(word, "Psst,", 1)}


@pytest.mark.parametrize("more", [{"content": "x"}, {"role": "user"}, {"message": {"role": "user"}}, {"op": "delete"}])
def test_passages_stand_alone(more: dict[str, Any]) -> None:
    edit = {"op": "replace", "index": 1, "passages": [{"before": "a", "after": "b"}], **more}
    with pytest.raises(pydantic.ValidationError):
        OverrideProfile.model_validate({"overrides": [{"match": {"step": 3}, "messages": [edit]}]})


def test_different_passages_of_one_message_do_not_conflict() -> None:
    edits = [
        {"op": "replace", "index": 1, "passages": [{"before": before, "after": "b"}]} for before in ("a", "c", "a")
    ]
    assert refusals({"match": {"step": 3}, "messages": edits[:2]}) == []
    assert refusals({"match": {"step": 3}, "messages": edits[1:]}) == []
    assert [code for code, _ in refusals({"match": {"step": 3}, "messages": edits})] == ["override_conflict"]
