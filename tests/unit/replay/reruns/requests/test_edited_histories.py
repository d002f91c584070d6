"""Which edits of messages the later calls of a conversation get."""

from typing import Any

from replay.overrides.edits import NO_EDITS, Edits
from replay.overrides.profile import MessageEdit
from replay.reruns.requests.edited_histories import Conversation, EditedHistory, has_same_form, inherit
from traces.core.json_types import JSONObject, JSONValue

KEY = b"k"
FIRST = MessageEdit(op="replace", index=0, content="A")
END = MessageEdit(op="insert", index=9, content="end")


def say(text: Any, role: str = "user") -> JSONValue:
    return {"role": role, "content": text}


TALK = [say("a"), say("b", "assistant"), say("c"), say("d", "assistant"), say("e")]


def edited(edits: Edits, messages: list[JSONValue]) -> list[JSONValue]:
    return [message for slot in edits.apply_to([[message] for message in messages]) for message in slot]


def histories_of(by_step: dict[int, int]) -> list[EditedHistory]:
    """Return those of requests with so many messages, by their steps; as they are stored."""
    histories = [Conversation(TALK[:count], KEY).history(step) for step, count in by_step.items()]
    return [EditedHistory.from_json(history.to_json()) for history in histories]


def test_conversation_continues_only_what_it_begins_with() -> None:
    [history] = histories_of({1: 3})
    other = [say("x"), *TALK[1:]]
    conversations = [TALK, TALK[:3], TALK[:2], other, []]
    expected = [True, True, False, False, False]
    assert [Conversation(messages, KEY).continues(history) for messages in conversations] == expected
    assert not Conversation(TALK, b"other").continues(history)


def test_edits_stay_at_their_place_in_a_longer_conversation() -> None:
    edits = inherit(NO_EDITS, histories_of({1: 3}), {1: Edits(messages=(FIRST, END))})
    assert edited(edits, TALK) == [say("A"), *TALK[1:3], say("end"), *TALK[3:]]


def test_own_edits_replace_inherited_ones() -> None:
    own = Edits(messages=(END,), prompt={"system": "x"})
    assert inherit(own, histories_of({1: 1}), {1: Edits(messages=(FIRST,))}) is own


def test_last_edits_of_messages_count_and_prompts_accumulate() -> None:
    by_step = {
        1: Edits(messages=(END,), prompt={"system": "one"}),
        2: Edits(messages=(FIRST,)),
        3: Edits(prompt={"system": "three"}),
    }
    edits = inherit(Edits(model={"seed": 1}), histories_of({3: 5, 2: 3, 1: 1}), by_step)
    assert (edits.messages, edits.message_count) == ((FIRST,), 3)
    assert (edits.prompt, edits.model) == ({"system": "three"}, {"seed": 1})
    assert inherit(NO_EDITS, histories_of({1: 1, 2: 3}), by_step).prompt == {}


def test_form_is_that_of_roles_and_tools() -> None:
    call: JSONObject = {"id": "c1", "name": "clock", "arguments": {}}
    asks: JSONObject = {"role": "assistant", "content": None, "tool_calls": [call]}
    result: JSONObject = {"role": "tool", "content": "noon", "tool_call_id": "c1"}
    recorded: list[JSONValue] = [say("a"), asks, result]
    assert has_same_form([say("x"), {**asks, "content": "Wait."}, {**result, "content": "1"}], recorded)
    assert not has_same_form([say("a"), {**asks, "tool_calls": [{**call, "name": "bell"}]}, result], recorded)
    assert not has_same_form([say("a"), asks], recorded)
