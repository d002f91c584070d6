"""Field programs of the attribution benchmark: the truth of each case, by running the programs without the method."""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import combinations
from typing import Final

import pytest

from tests.bench.attribution import track_p
from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.running import AnswerRuntime, Model, record_run, request_of
from tests.bench.attribution.program_lab import ProgramBench
from tests.bench.attribution.programs.chance import Chance, with_chance
from tests.bench.attribution.programs.field import FIELD
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.rewording import plain_wording, with_rewording
from tests.bench.attribution.programs.shapes import Hunks, Program, draw_case, user_message
from tests.bench.attribution.results import SIZES
from traces.core.json_types import JSONValue

CASES: Final = SIZES["full"].p
SAMPLES: Final = 60
each_program: Final = pytest.mark.parametrize("program", FIELD, ids=lambda program: program.name)
by_chance: Final = [program for program in FIELD if program.chance]
each_by_chance: Final = pytest.mark.parametrize("program", by_chance, ids=lambda program: program.name)
each_reworded: Final = pytest.mark.parametrize(
    "program", [program for program in FIELD if program.rewords], ids=lambda program: program.name
)


def cases(program: Program) -> list[BenchCase]:
    return _cases(FIELD.index(program))


@cache
def _cases(index: int) -> list[BenchCase]:
    return [draw_case(FIELD[index], number, track_p.SEED) for number in range(CASES)]


def answer(program: Program, hunks: Hunks = (), model: Model | None = None) -> str:
    return program.program(AnswerRuntime({**program.settings, **dict(hunks)}, ask=model or program.model))


def with_changes(case: BenchCase, names: Iterable[str]) -> Hunks:
    return tuple(hunk for name in sorted(names) for hunk in case.by_id[name].hunks)


def test_field_set_is_planned_at_full_size_only() -> None:
    assert len(track_p.plan(CASES, held_out=False, only="field")) == 448
    assert "field" not in {name for name, _, _ in track_p.plan(2, held_out=False)}


def test_field_names_and_groups_are_new() -> None:
    others = [program for name, programs in track_p.SETS.items() if name != "field" for program in programs]
    assert len({program.name for program in FIELD}) == len({program.group for program in FIELD}) == len(FIELD)
    assert not {program.group for program in FIELD} & {program.group for program in others}
    assert not {program.name for program in FIELD} & {program.name for program in others}


@each_program
def test_no_two_edits_share_a_setting(program: Program) -> None:
    paths = Counter(path for edit in program.edits for path in {path for hunks in edit.variants for path, _ in hunks})
    assert set(paths.values()) == {1}


@each_program
def test_three_of_four_field_cases_have_causes(program: Program) -> None:
    assert sum(bool(case.truth.sets) for case in cases(program)) == CASES * 3 / 4
    assert max(len(case.injections) for case in cases(program)) == program.most


@each_program
def test_field_decoys_have_no_effect_alone(program: Program) -> None:
    variants = [hunks for edit in program.edits if edit.decoy for hunks in edit.variants]
    assert {answer(program, hunks) for hunks in variants} == {answer(program)}


@each_program
def test_causes_suffice_and_are_minimal(program: Program) -> None:
    """Each set of causes gives the candidate's answer, and none of its smaller subsets does."""
    for case in cases(program):
        base, full = answer(program), answer(program, with_changes(case, case.by_id))
        assert bool(case.truth.sets) == (base != full)
        for members in case.truth.sets:
            assert answer(program, with_changes(case, members)) == full
            subsets = [names for size in range(len(members)) for names in combinations(sorted(members), size)]
            assert all(answer(program, with_changes(case, names)) != full for names in subsets)


@each_program
def test_reverting_causes_changes_the_answer(program: Program) -> None:
    """Without one member of each set of causes, the candidate's answer is another one."""
    for case in cases(program):
        full = answer(program, with_changes(case, case.by_id))
        for names in combinations(case.by_id, 1):
            if case.truth.sets and all(set(names) & members for members in case.truth.sets):
                assert answer(program, with_changes(case, case.by_id.keys() - set(names))) != full
        if len(case.truth.sets) > 1:
            reverted = {min(members) for members in case.truth.sets}
            assert answer(program, with_changes(case, case.by_id.keys() - reverted)) != full


@each_program
def test_changes_outside_causes_do_not_suffice(program: Program) -> None:
    for case in cases(program):
        innocent = case.by_id.keys() - frozenset[str]().union(*case.truth.sets)
        if case.truth.sets:
            assert answer(program, with_changes(case, innocent)) != case.truth.full


def test_causes_are_of_all_kinds() -> None:
    drawn = [case for program in FIELD for case in cases(program)]
    members = [case.by_id[name] for case in drawn for names in case.truth.sets for name in names]
    kinds = Counter(change.path.split(".")[0] for change in members)
    assert kinds.keys() == {"prompt", "model", "row", "doc", "tool", "user", "turn"}
    assert Counter(case.truth.structure for case in drawn) == {
        "single": 243,
        "joint": 80,
        "over_determined": 13,
        "none": 112,
    }


@each_program
def test_field_recordings_are_reproducible(program: Program) -> None:
    first, second = (record_run(program.program, program.settings, "run", program.model) for _ in range(2))
    assert first == second
    assert first.steps[-1].output == {"text": answer(program)}


@each_program
def test_field_models_answer_unexpected_messages(program: Program) -> None:
    nodes = {path.split(".")[1] for path in program.settings if path.startswith("prompt.")}
    for node in nodes:
        opening: JSONValue = {"role": "system", "content": access.system(program.settings, node)}
        for messages in ([], [user_message("")], [{"role": "tool", "content": "null", "tool_call_id": "call_1"}]):
            request = request_of(program.settings, node, [opening, *messages], None)
            assert program.model(request, "m1")["role"] == "assistant"


@each_reworded
def test_reworded_field_models_make_the_same_decisions(program: Program) -> None:
    for case in cases(program):
        bench = ProgramBench(case)
        for source, usual in ((bench.base, case.truth.base), (bench.candidate, case.truth.full)):
            assert plain_wording(source.answer) == plain_wording(usual)
        model = with_rewording(program.model, f"probe {case.number}")
        assert plain_wording(answer(program, with_changes(case, case.by_id), model)) == plain_wording(case.truth.full)


@each_by_chance
def test_truth_is_about_the_usual_answers(program: Program) -> None:
    assert program.chance
    for case in cases(program):
        for names, usual in (((), case.truth.base), (tuple(case.by_id), case.truth.full)):
            models = [with_chance(program.model, program.chance, f"sample {place}") for place in range(SAMPLES)]
            answers = Counter(answer(program, with_changes(case, names), model) for model in models)
            assert answers[usual] > SAMPLES / 2


@each_by_chance
def test_recordings_by_chance_show_their_case(program: Program) -> None:
    """With a cause the recordings show the usual answers; without one they differ although nothing matters."""
    for case in cases(program):
        bench = ProgramBench(case)
        if case.truth.sets:
            assert (bench.base.answer, bench.candidate.answer) == (case.truth.base, case.truth.full)
        else:
            assert bench.base.answer != bench.candidate.answer
            assert case.truth.base in {bench.base.answer, bench.candidate.answer}


@pytest.mark.parametrize("program", [program for program in FIELD if not program.is_sampled], ids=lambda p: p.name)
def test_recordings_without_chance_show_the_truth(program: Program) -> None:
    for case in cases(program):
        bench = ProgramBench(case)
        assert (bench.base.answer, bench.candidate.answer) == (case.truth.base, case.truth.full)


def test_chance_replaces_phrases_at_its_rate() -> None:
    def vote(request: Request) -> str:
        return "Verdict: yes"

    chance = Chance(rate=0.25, alternatives=(("yes", "no"), ("no", "yes")))
    request = request_of({}, "voter", [{"role": "system", "content": "You are the voter."}], None)
    models = [with_chance(model_of({"voter": vote}), chance, str(place)) for place in range(400)]
    answers = Counter(str(model(request, "m1")["content"]) for model in models)
    assert answers.keys() == {"Verdict: yes", "Verdict: no"}
    assert 60 < answers["Verdict: no"] < 140
    assert models[0](request, "m1") == models[0](request, "m1")


def test_json_of_any_shape_is_read() -> None:
    assert (json_in('Here: {"a": 1}.'), json_in("none"), json_in("{broken}")) == ({"a": 1}, {}, {})
    assert (fields({"a": 1}), fields([1]), items([{"a": 1}, 2]), items("x")) == ({"a": 1}, {}, [{"a": 1}], [])
    assert (real("1.5"), real(2), real("two", 3.0)) == (1.5, 2.0, 3.0)
