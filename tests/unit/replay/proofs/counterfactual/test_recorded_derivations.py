"""What code derives from outputs, found in two recordings."""

import pytest

from replay.proofs.counterfactual.derivations import Derivations, OtherState, StepAnswer, UnknownState
from replay.proofs.counterfactual.recorded_derivations import derivations
from tests.support.comparing import Spec, agent, model, output, reply, system, user
from tests.unit.replay.proofs.changes.test_roots import examine_runs


def stream_run(rule: str, *tasks: str) -> list[Spec]:
    """A reader of tasks; code asks for a note on each of them, and puts the notes together."""
    notes = [model([system("Note it."), user(f"task: {task}")], reply(f"note on {task}")) for task in tasks]
    answer = ", ".join(f"note on {task}" for task in tasks)
    return [
        agent(),
        model(
            [system(f"List tasks.{rule}"), user("We paint the fence. We may mow the lawn.")], reply("; ".join(tasks))
        ),
        *notes,
        model([system("Report."), user(answer)], reply(f"Done: {answer}")),
        output(f"Done: {answer}"),
    ]


def stream() -> Derivations:
    runs = stream_run("", "paint the fence"), stream_run(" Count maybes.", "paint the fence", "mow the lawn")
    examination = examine_runs(*runs)
    return derivations(examination.comparison, examination.flow, examination.reasoning.atoms)


def answer_of(side: int) -> StepAnswer:
    [reader] = [found for found in stream().outputs if found.numbers == (2, 2)]
    return StepAnswer(status=reader.statuses[side], ref=reader.refs[side])


def test_call_that_code_adds_is_reached_with_the_other_runs_outputs() -> None:
    """Before the candidate's further call, its reader's answer is all that differs: the base continues as it did."""
    state = stream().state("base")
    state.note(2, "s", answer_of(1))
    with pytest.raises(OtherState):
        state.arrive(4)


def test_call_that_code_adds_stays_out_with_own_outputs() -> None:
    state = stream().state("base")
    state.note(2, "s", answer_of(0))
    state.arrive(4)


def test_call_that_code_adds_is_unknown_after_a_new_answer() -> None:
    state = stream().state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="", output=reply("nothing")))
    with pytest.raises(UnknownState):
        state.arrive(4)
