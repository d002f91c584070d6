"""The answer of a run of spans: what its outermost one returned, unless a model said it last."""

import pytest

from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.spans import with_root_answer

OFFER = "Lamp: bright, small, cheap."


def steps(returned: str | None, *answers: str) -> list[RecordedStep]:
    root = RecordedStep(
        key="agent", type=StepType.AGENT, name="agent", output=None if returned is None else {"text": returned}
    )
    models = [
        RecordedStep(
            key=f"m{number}",
            type=StepType.MODEL,
            name="chat",
            parent="agent",
            output={"message": {"role": "assistant", "content": answer}},
        )
        for number, answer in enumerate(answers)
    ]
    return [root, *models]


@pytest.mark.parametrize(
    ("returned", "answers", "is_own"),
    [
        (OFFER, [OFFER, "OK"], True),
        ("Please ask a colleague.", [OFFER], True),
        ("invite", ["After some thought about the years in this file, I say invite to this one."], True),
        (OFFER, [""], True),
        (OFFER, ["OK", OFFER], False),
        (f"**{OFFER.upper()}**\n", [OFFER], False),
        (OFFER[:20], [OFFER], False),
        (None, [OFFER], False),
        (OFFER, [], False),
    ],
)
def test_answer_that_no_model_gave_last_is_a_step(returned: str | None, answers: list[str], is_own: bool) -> None:
    recorded = steps(returned, *answers)
    answered = with_root_answer(recorded)
    assert answered[: len(recorded)] == recorded
    added = [(step.type, step.parent, step.input, step.output) for step in answered[len(recorded) :]]
    assert added == ([(StepType.OUTPUT, "agent", {"text": returned}, {"text": returned})] if is_own else [])


def test_run_of_several_roots_or_with_an_output_keeps_its_steps() -> None:
    recorded = steps(OFFER, "OK")
    output = RecordedStep(key="o", type=StepType.OUTPUT, name="output", parent="agent", output={"text": OFFER})
    other_root = RecordedStep(key="b", type=StepType.AGENT, name="b", output={"text": "No."})
    for more in (output, other_root):
        assert with_root_answer([*recorded, more]) == [*recorded, more]
