from typing import Any

import pytest

from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.run_builder import match_calls

USER: JSONObject = {"role": "user", "content": "Where are they?"}
FIRST: JSONObject = {"id": "c1", "name": "find", "arguments": {"id": 1}}
SECOND: JSONObject = {"id": "c2", "name": "track", "arguments": {"id": 2}}
JOINED: JSONObject = {"id": "c1c2", "name": "findtrack", "arguments": '{"id": 1}{"id": 2}'}
# Langfuse's wrapper in JavaScript leaves out the ids, and records the last name.
LAST_NAME: JSONObject = {"id": "", "name": "track", "arguments": '{"id": 1}{"id": 2}'}


def answer(*calls: JSONObject) -> JSONObject:
    return {"role": "assistant", "content": None, "tool_calls": [*calls]}


def step(key: str, messages: list[JSONObject], *calls: JSONObject) -> RecordedStep:
    output: JSONObject = {"message": answer(*calls), "finish_reason": "tool_calls"}
    return RecordedStep(key=key, name="chat", type=StepType.MODEL, input={"messages": [*messages]}, output=output)


def restored(call: JSONObject, *history: JSONObject) -> RecordedStep:
    return match_calls([step("a", [USER], call), step("b", [*history])])[0]


@pytest.mark.parametrize("call", [JOINED, LAST_NAME])
def test_joined_calls_are_those_of_the_next_request(call: JSONObject) -> None:
    model = restored(call, USER, answer(FIRST, SECOND))
    assert model.output == {"message": answer(FIRST, SECOND), "finish_reason": "tool_calls"}
    assert model.attributes == {"streamed_calls": [call]}


def test_missing_id_is_that_of_the_next_request() -> None:
    model: Any = restored({**FIRST, "id": ""}, USER, answer(FIRST))
    assert model.output["message"]["tool_calls"] == [FIRST]


@pytest.mark.parametrize(
    ("call", "history"),
    [
        (JOINED, [{**USER, "content": "Where is it?"}, answer(FIRST, SECOND)]),
        (JOINED, [USER, answer(SECOND, FIRST)]),
        (JOINED, [USER, answer(FIRST)]),
        (JOINED, [USER]),
        ({**FIRST, "id": ""}, [USER, answer({**FIRST, "id": ""})]),
        ({**JOINED, "name": "move"}, [USER, answer(FIRST, SECOND)]),
        ({**JOINED, "id": "c3"}, [USER, answer(FIRST, SECOND)]),
        ({**JOINED, "arguments": '{"id": 1}{"id"'}, [USER, answer(FIRST, SECOND)]),
        ({**JOINED, "arguments": "[" * 100_000}, [USER, answer(FIRST, SECOND)]),
    ],
)
def test_calls_of_another_answer_are_not_taken(call: JSONObject, history: list[JSONObject]) -> None:
    model: Any = restored(call, *history)
    assert model.output["message"]["tool_calls"] == [call]
    assert model.attributes == {}


def test_tools_get_the_ids_of_joined_calls() -> None:
    tool = RecordedStep(key="t", name="track", type=StepType.TOOL, tool_name="track", input={"id": 2}, output="soon")
    steps = match_calls([step("a", [USER], JOINED), tool, step("b", [USER, answer(FIRST, SECOND)])])
    assert steps[1].call_id == "c2"
