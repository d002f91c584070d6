"""When an answer of a probe is that of a recording."""

import pytest

from replay.proofs.counterfactual.derivations import (
    Derivations,
    OtherState,
    Output,
    Product,
    State,
    StepAnswer,
    UnknownState,
)
from traces.core.json_types import JSONObject, JSONValue

CALL: JSONObject = {"id": "c1", "name": "find", "arguments": {"no": 1}}
PAYLOADS: dict[str, JSONValue] = {
    "base": {"message": {"content": "bill"}},
    "candidate": {"message": {"content": None, "tool_calls": [CALL]}},
}
ROUTER = Output(numbers=(2, 2), answers=("ok base", "ok candidate"), signatures=("s", "s"), refs=("base", "candidate"))


def state_after(answer: JSONValue) -> State:
    """A probe of the base whose model gives this answer, before code reads it."""
    both = Derivations(outputs=[ROUTER], products=[Product(due=(3, 3))], load=PAYLOADS.get)
    state = both.state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="", output=answer, is_new=True))
    return state


def test_other_recorders_keep_more_of_the_same_answer() -> None:
    state = state_after({"message": {"content": "bill", "role": "assistant"}, "finish_reason": "stop"})
    state.end()
    assert not state.assumes_code


def test_calls_have_new_ids_each_time() -> None:
    state = state_after({"message": {"content": "", "tool_calls": [{**CALL, "id": "c2"}]}})
    with pytest.raises(OtherState):
        state.end()


@pytest.mark.parametrize(
    "answer",
    [
        {"message": {"content": "bills"}},
        {"message": {"content": "bill", "tool_calls": [CALL]}},
        {"message": {"content": None, "tool_calls": [{**CALL, "arguments": {"no": 2}}]}},
        None,
    ],
)
def test_other_texts_and_calls_are_other_answers(answer: JSONValue) -> None:
    with pytest.raises(UnknownState):
        state_after(answer).end()
