"""Loops of models and tools that code ended in one run only."""

import pytest

from tests.support.comparing import Spec, agent, model, output, reply, system, tool, tool_call, tool_message, user
from tests.unit.diffing.attribution.test_difference_origins import reason_about
from traces.core.vocabulary import StepStatus


def loop(
    *, calls: int, prompt: str = "Look it up.", answers: bool = True, status: StepStatus = StepStatus.OK
) -> list[Spec]:
    """A model that requests one page after the other."""
    messages = [system(prompt), user("Where is it?")]
    steps: list[Spec] = []
    for page in range(calls):
        request = tool_call(f"c{page}", "read", page=page)
        steps += [model(messages, request), tool("read", f"c{page}", {"page": page}, f"See {page}", status=status)]
        messages = [*messages, request, tool_message(f"c{page}", f"See {page}")]
    end = [model(messages, reply("Here."))] if answers else []
    return [agent(), *steps, *end, output("Here." if answers else f"See {calls - 1}")]


@pytest.mark.parametrize(
    ("candidate", "is_ended"),
    [
        (loop(calls=2, prompt="Look it up, please.", answers=False), True),
        # Its model requested more calls until the limit that both runs may have.
        (loop(calls=5, prompt="Look it up, please.", answers=False), False),
        (loop(calls=1, prompt="Look it up, please."), False),
        (loop(calls=2, prompt="Look it up, please.", answers=False, status=StepStatus.ERROR), False),
    ],
)
def test_loop_that_ends_before_its_model_answers_was_ended_by_code(candidate: list[Spec], is_ended: bool) -> None:
    atoms = reason_about(loop(calls=3), candidate).atoms
    assert [atom.category for atom in atoms if atom.ends_loop] == ["structure"] * is_ended
    assert "prompt" in {atom.category for atom in atoms}
