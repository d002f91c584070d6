"""Code that gets a recorded answer in other words is assumed to make the same of it."""

from dataclasses import replace

import pytest

from replay.proofs.counterfactual.derivations import Derivations, OtherState, StepAnswer, UnknownState
from tests.unit.replay.proofs.counterfactual.test_derivations import ROUTER, code_after
from traces.core.json_types import JSONValue


def say(text: str) -> JSONValue:
    return {"message": {"role": "assistant", "content": text}}


VERDICTS = {"b": "Sure. The shaft is good.", "t": "Well, the shaft is bad."}
SAMPLES = ["Sure. The shaft is good.", "Well, the shaft is good.", "The shaft is good.", "Look: the shaft is good."]


def judge() -> Derivations:
    """Code after a judge whose answers to one request show which words are wording."""
    texts = {ref: say(verdict) for ref, verdict in VERDICTS.items()}
    after_judge = replace(code_after(replace(ROUTER, refs=("b", "t"))), load=texts.__getitem__)
    for sample in SAMPLES:
        after_judge.state("base").note(2, "s", StepAnswer(status="ok", ref="", output=say(sample), is_new=True))
    return after_judge


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("Hm, the shaft is good.", UnknownState),
        ("Look: the shaft is good.", None),
        ("Look: the shaft is bad.", OtherState),
    ],
)
def test_answer_in_other_words_keeps_the_state(text: str, reached: type[Exception] | None) -> None:
    """Repeats show which words are wording; another answer without them is that of a run."""
    state = judge().state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="", output=say(text)))
    if reached is None:
        state.end()
        assert state.assumes_code
        return
    with pytest.raises(reached):
        state.end()


@pytest.mark.parametrize(
    ("text", "other", "assumed_steps"),
    [
        ("Look: the shaft is good.", "", 0),
        ("Look: the shaft is bad.", "", 2),
        # Nothing shows what another step's new answer was in the recording.
        ("Look: the shaft is good.", "Go on.", 2),
    ],
)
def test_answers_in_other_words_leave_no_assumption(text: str, other: str, assumed_steps: int) -> None:
    """Code that got what it got in the recording, but for wording, makes the same of it."""
    state = judge().state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="", output=say(text), is_new=True))
    if other:
        state.note(4, "o", StepAnswer(status="ok", ref="", output=say(other), is_new=True))
    assert state.open_assumptions(2) == assumed_steps
    assert state.assumes_code is (assumed_steps == 0)
