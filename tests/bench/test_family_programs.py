"""Programs of further families: each edit has the declared effect, and recordings are reproducible."""

from typing import Final

import pytest

from tests.bench.attribution import track_p
from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.running import AnswerRuntime, record_run, request_of
from tests.bench.attribution.programs.families import FAMILIES
from tests.bench.attribution.programs.families.computers import evaluate
from tests.bench.attribution.programs.rewording import plain_wording, with_rewording
from tests.bench.attribution.programs.shapes import Hunks, Program, draw_case, user_message
from traces.core.json_types import JSONValue

PLAIN: Final = [program for program in FAMILIES if not program.rewords]
each_program: Final = pytest.mark.parametrize("program", FAMILIES, ids=lambda program: program.name)
each_plain: Final = pytest.mark.parametrize("program", PLAIN, ids=lambda program: program.name)


def answer(program: Program, hunks: Hunks = ()) -> str:
    return program.program(AnswerRuntime({**program.settings, **dict(hunks)}, ask=program.model))


def test_families_are_planned_at_full_size_only() -> None:
    assert {name for name, _, _ in track_p.plan(2, held_out=False, only="families")} == {"families"}
    assert "families" not in {name for name, _, _ in track_p.plan(2, held_out=False)}


def test_family_names_and_groups_are_new() -> None:
    others = [program for name, programs in track_p.SETS.items() if name != "families" for program in programs]
    assert len({program.name for program in FAMILIES}) == len({program.group for program in FAMILIES}) == len(FAMILIES)
    assert not {program.name for program in FAMILIES} & {program.name for program in others}
    assert not {program.group for program in FAMILIES} & {program.group for program in others}


@each_program
def test_three_of_four_family_cases_have_causes(program: Program) -> None:
    cases = [draw_case(program, number, track_p.SEED) for number in range(32)]
    assert sum(bool(case.truth.sets) for case in cases) == 24
    assert max(len(case.injections) for case in cases) == program.most


@each_plain
def test_family_decoys_have_no_effect_alone(program: Program) -> None:
    variants = [hunks for edit in program.edits if edit.decoy for hunks in edit.variants]
    assert {hunks: answer(program, hunks) for hunks in variants} == dict.fromkeys(variants, answer(program))


@each_plain
def test_most_family_edits_have_an_effect_alone(program: Program) -> None:
    acting = [edit for edit in program.edits if not edit.decoy]
    effective = [edit for edit in acting if {answer(program, hunks) for hunks in edit.variants} != {answer(program)}]
    assert len(effective) >= 0.6 * len(acting)


@each_plain
def test_family_recordings_are_reproducible(program: Program) -> None:
    first, second = (record_run(program.program, program.settings, "run", program.model) for _ in range(2))
    assert first == second
    assert first.steps[-1].output == {"text": answer(program)}


@each_program
def test_reworded_families_make_the_same_decisions(program: Program) -> None:
    for number in range(8):
        model = with_rewording(program.model, f"sample {number}")
        reworded = program.program(AnswerRuntime(program.settings, ask=model))
        assert not program.rewords or plain_wording(reworded) == plain_wording(answer(program))


@each_plain
def test_family_models_answer_unexpected_messages(program: Program) -> None:
    nodes = {path.split(".")[1] for path in program.settings if path.startswith("prompt.")}
    for node in nodes:
        opening: JSONValue = {"role": "system", "content": access.system(program.settings, node)}
        for messages in ([], [user_message("")], [{"role": "tool", "content": "null", "tool_call_id": "call_1"}]):
            request = request_of(program.settings, node, [opening, *messages], None)
            assert program.model(request, "m1")["role"] == "assistant"


@pytest.mark.parametrize("expression", ["1 +", "open('x')", "length ** 2", "width"])
def test_code_interpreter_rejects_other_code(expression: str) -> None:
    with pytest.raises(ValueError, match=r"not defined|syntax|unsupported"):
        evaluate(expression, {"length": 2.0})


def test_code_interpreter_computes_with_inputs() -> None:
    assert evaluate("(length + 1) * 4 / 2 - 1", {"length": 2.0}) == 5.0
