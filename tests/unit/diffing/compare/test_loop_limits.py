"""Loops of models and tools that code ended in one run only."""

from dataclasses import replace

import pytest

from diffing.report.examination import examine
from tests.support.comparing import (
    Spec,
    Store,
    agent,
    model,
    output,
    reply,
    side_of,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)
from tests.unit.diffing.attribution.test_difference_origins import reason_about
from traces.core.vocabulary import RunStatus, StepStatus


def loop(
    *,
    calls: int,
    prompt: str = "Look it up.",
    answers: bool = True,
    status: StepStatus = StepStatus.OK,
    last_tool: str = "read",
) -> list[Spec]:
    """A model that requests one page after the other."""
    messages = [system(prompt), user("Where is it?")]
    steps: list[Spec] = []
    for page in range(calls):
        name = last_tool if page == calls - 1 else "read"
        request = tool_call(f"c{page}", name, page=page)
        steps += [model(messages, request), tool(name, f"c{page}", {"page": page}, f"See {page}", status=status)]
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


def test_loop_that_a_tool_ends_was_not_ended_by_code() -> None:
    """Some agents submit their result by a tool; one that does so earlier has no other limit."""
    base, candidate = (loop(calls=calls, answers=False, last_tool="submit") for calls in (4, 2))
    assert not [atom for atom in reason_about(base, candidate).atoms if atom.ends_loop]


def test_loop_of_a_run_without_end_was_not_ended_by_code() -> None:
    """Nothing shows why its recording stops."""
    store = Store()
    base, candidate = side_of(loop(calls=3), store), side_of(loop(calls=2, answers=False), store)
    partial = replace(candidate, run=replace(candidate.run, status=RunStatus.PARTIAL))
    ends = [examine(base, side, store.load).reasoning.atoms for side in (candidate, partial)]
    assert [any(atom.ends_loop for atom in atoms) for atoms in ends] == [True, False]


def handed_over(*, calls: int, prompt: str = "Look it up.", last_result: str = "") -> list[Spec]:
    """The same loop, after which another agent writes the answer."""
    *steps, last, _ = loop(calls=calls, prompt=prompt, answers=calls == 3)
    if last_result:
        last = replace(last, output=last_result)
    writer = replace(model([system("Write."), user("Answer: see above.")], reply("There.")), name="writer")
    return [*steps, last, writer, output("There.")]


@pytest.mark.parametrize(
    ("candidate", "is_ended"),
    [
        (handed_over(calls=2, prompt="Look it up, please."), True),
        # The result may have ended the loop.
        (handed_over(calls=2, prompt="Look it up, please.", last_result="Found"), False),
        (handed_over(calls=3, prompt="Look it up, please."), False),
    ],
)
def test_loop_that_ends_after_an_equal_result_was_ended_by_code(candidate: list[Spec], is_ended: bool) -> None:
    atoms = reason_about(handed_over(calls=3), candidate).atoms
    assert any(atom.ends_loop for atom in atoms) is is_ended
