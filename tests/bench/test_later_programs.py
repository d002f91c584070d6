"""Later programs of the attribution benchmark: each edit has the declared effect, and runs are reproducible."""

from typing import Final

import pytest

from tests.bench.attribution import track_p
from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.running import AnswerRuntime, record_run, request_of
from tests.bench.attribution.programs.later import LATER
from tests.bench.attribution.programs.later.reading import day_of, decimal, find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from tests.bench.attribution.programs.rewording import plain_wording, with_rewording
from tests.bench.attribution.programs.shapes import Hunks, Program, draw_case, user_message
from traces.core.json_types import JSONValue

PLAIN: Final = [program for program in LATER if not program.rewords]
REWORDED: Final = [program for program in LATER if program.rewords]
each_plain: Final = pytest.mark.parametrize("program", PLAIN, ids=lambda program: program.name)
each_reworded: Final = pytest.mark.parametrize("program", REWORDED, ids=lambda program: program.name)


def answer(program: Program, hunks: Hunks = ()) -> str:
    return program.program(AnswerRuntime({**program.settings, **dict(hunks)}, ask=program.model))


def test_later_set_is_planned_at_full_size_only() -> None:
    assert {name for name, _, _ in track_p.plan(2, held_out=False, only="later")} == {"later"}
    assert "later" not in {name for name, _, _ in track_p.plan(2, held_out=False)}


def test_names_are_unique_and_groups_are_new() -> None:
    groups = {program.group for name, programs in track_p.SETS.items() if name != "later" for program in programs}
    assert len({program.name for program in LATER}) == len(LATER)
    assert not {program.group for program in PLAIN} & groups


@pytest.mark.parametrize("program", LATER, ids=lambda program: program.name)
def test_three_of_four_cases_have_causes(program: Program) -> None:
    cases = [draw_case(program, number, track_p.SEED) for number in range(32)]
    assert sum(bool(case.truth.sets) for case in cases) == 24
    assert max(len(case.injections) for case in cases) == program.most


@each_plain
def test_decoys_have_no_effect_alone(program: Program) -> None:
    variants = [hunks for edit in program.edits if edit.decoy for hunks in edit.variants]
    assert {answer(program, hunks) for hunks in variants} == {answer(program)}


@each_plain
def test_most_edits_have_an_effect_alone(program: Program) -> None:
    acting = [edit for edit in program.edits if not edit.decoy]
    effective = [edit for edit in acting if {answer(program, hunks) for hunks in edit.variants} != {answer(program)}]
    assert len(effective) >= 0.6 * len(acting)


@each_plain
def test_recordings_are_reproducible(program: Program) -> None:
    first, second = (record_run(program.program, program.settings, "run", program.model) for _ in range(2))
    assert first == second
    assert first.steps[-1].output == {"text": answer(program)}


@each_plain
def test_models_answer_unexpected_messages(program: Program) -> None:
    nodes = {path.split(".")[1] for path in program.settings if path.startswith("prompt.")}
    for node in nodes:
        opening: JSONValue = {"role": "system", "content": access.system(program.settings, node)}
        for messages in ([], [user_message("")], [{"role": "tool", "content": "null", "tool_call_id": "call_1"}]):
            request = request_of(program.settings, node, [opening, *messages], None)
            assert program.model(request, "m1")["role"] == "assistant"


@each_reworded
def test_reworded_models_make_the_same_decisions(program: Program) -> None:
    for number_of_case in range(32):
        case = draw_case(program, number_of_case, track_p.SEED)
        model = with_rewording(program.model, str(number_of_case))
        run = record_run(program.program, case.truth.settings(case.by_id), "run", model)
        assert isinstance(run.steps[-1].output, dict)
        assert plain_wording(str(run.steps[-1].output["text"])) == plain_wording(case.truth.full)


def test_values_are_read_with_defaults() -> None:
    assert (find(r"(\w+)@", "anna@example.org"), find(r"(\w+)@", "none", "?")) == ("anna", "?")
    assert (number(r"([\d,]+) euros", "2,000 euros"), number(r"(\d+)", "none", 7)) == (2000, 7)
    assert (decimal(r"([\d,.]+) USD", "1,250.50 USD"), decimal(r"(\d+)", "none", 0.5)) == (1250.5, 0.5)
    assert day_of("03/01/2026").isoformat() == "2026-01-03"


def test_model_requests_several_calls_and_sees_its_temperature() -> None:
    def role(request: Request) -> str | list[ToolCall]:
        return "hot" if request.temperature > 0.5 else [("look", {"at": "a"}), ("look", {"at": "b"})]

    ask = model_of({"clerk": role})
    messages: list[JSONValue] = [{"role": "system", "content": "You are the clerk."}]
    calls = ask({"messages": messages, "parameters": {"temperature": 0}}, "m1")["tool_calls"]
    assert isinstance(calls, list)
    assert [call["id"] for call in calls if isinstance(call, dict)] == ["call_1", "call_2"]
    assert ask({"messages": messages, "parameters": {"temperature": 0.9}}, "m1")["content"] == "hot"
