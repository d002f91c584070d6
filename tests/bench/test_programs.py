"""Held-out programs of the attribution benchmark: the truth of each case, by running them without the method."""

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
from tests.bench.attribution.program_sets import SETS
from tests.bench.attribution.programs.chance import with_chance
from tests.bench.attribution.programs.rewording import plain_wording, with_rewording
from tests.bench.attribution.programs.shapes import Hunks, Program, draw_case, user_message
from traces.core.json_types import JSONValue

# Enough to cover every combination of size and cause; the benchmark measures two such rounds.
CASES: Final = 16
SAMPLES: Final = 30
# Cases without a cause in each set: a quarter of its cases, and more where models answer by chance.
CONTROLS: Final = {
    "held out": 40,
    "unseen": 56,
    "fresh": 56,
    "blind": 56,
    "later": 88,
    "field": 56,
    "wild": 72,
    "families": 44,
    "patterns": 28,
    "novel": 36,
    "services": 36,
    "bureaus": 28,
    "trades": 36,
    "outposts": 16,
    "stations": 16,
    "guilds": 52,
    "studios": 52,
    "harbours": 16,
    "mills": 44,
    "depots": 32,
    "gardens": 16,
    "ateliers": 28,
    "foundries": 44,
    "observatories": 32,
}
# In these sets, every edit that is not a decoy has an effect alone.
STRICT_SETS: Final = {
    "wild",
    "patterns",
    "novel",
    "services",
    "bureaus",
    "trades",
    "outposts",
    "stations",
    "guilds",
    "studios",
    "harbours",
    "mills",
    "depots",
    "gardens",
    "ateliers",
    "foundries",
    "observatories",
}
# The order of the list in its answers is left to its model.
UNORDERED: Final = "patterns: hotel reviews"
SHARED_GROUPS: Final = {"loop", "reworded"}
SHARED_SETTINGS: Final = {"row.find_flights.LHR-POR.seats", "row.book_dinner.leeds.stars"}

PROGRAMS: Final = {f"{name}: {program.name}": program for name in CONTROLS for program in SETS[name].programs}
each_set: Final = pytest.mark.parametrize("name", CONTROLS)
each_program: Final = pytest.mark.parametrize("key", PROGRAMS)
each_reworded: Final = pytest.mark.parametrize("key", [key for key, program in PROGRAMS.items() if program.rewords])
each_by_chance: Final = pytest.mark.parametrize("key", [key for key, program in PROGRAMS.items() if program.chance])


@cache
def cases(key: str) -> list[BenchCase]:
    return [draw_case(PROGRAMS[key], number, track_p.SEED) for number in range(CASES)]


def answer(program: Program, hunks: Hunks = (), model: Model | None = None) -> str:
    return program.program(AnswerRuntime({**program.settings, **dict(hunks)}, ask=model or program.model))


def with_changes(case: BenchCase, names: Iterable[str]) -> Hunks:
    return tuple(hunk for name in sorted(names) for hunk in case.by_id[name].hunks)


def acts(program: Program, variants: Iterable[Hunks]) -> bool:
    return {answer(program, hunks) for hunks in variants} != {answer(program)}


@each_set
def test_set_is_planned_only_when_requested(name: str) -> None:
    assert len(track_p.plan(CASES, held_out=False, only=name)) == CASES * len(SETS[name].programs)
    assert name not in {planned for planned, _, _ in track_p.plan(2, held_out=False)}


@each_set
def test_set_has_its_controls(name: str) -> None:
    keys = [key for key in PROGRAMS if key.startswith(f"{name}: ")]
    assert sum(not case.truth.sets for key in keys for case in cases(key)) == CONTROLS[name]
    assert all(max(len(case.injections) for case in cases(key)) == PROGRAMS[key].most for key in keys)


@each_set
def test_most_edits_have_an_effect_alone(name: str) -> None:
    edits = [
        acts(program, edit.variants) for program in SETS[name].programs for edit in program.edits if not edit.decoy
    ]
    assert sum(edits) >= (1 if name in STRICT_SETS else 0.6) * len(edits)


def test_groups_and_names_are_new() -> None:
    groups = Counter(
        group for group_set in SETS.values() for group in {program.group for program in group_set.programs}
    )
    assert {group for group, count in groups.items() if count > 1} == SHARED_GROUPS
    assert all(len({program.name for program in group.programs}) == len(group.programs) for group in SETS.values())


@each_program
def test_edits_share_no_setting_and_decoys_have_no_effect(key: str) -> None:
    program = PROGRAMS[key]
    paths = Counter(path for edit in program.edits for path in {path for hunks in edit.variants for path, _ in hunks})
    assert {path for path, count in paths.items() if count > 1} <= SHARED_SETTINGS
    assert not [edit for edit in program.edits if edit.decoy and acts(program, edit.variants)]


@each_program
def test_causes_suffice_and_are_minimal(key: str) -> None:
    """Each set of causes gives the candidate's answer, none of its subsets does, and neither do the other changes."""
    program = PROGRAMS[key]
    base = answer(program)
    for case in cases(key):
        full = answer(program, with_changes(case, case.by_id))
        assert bool(case.truth.sets) == (base != full)
        for members in case.truth.sets:
            assert answer(program, with_changes(case, members)) == full
            subsets = [names for size in range(len(members)) for names in combinations(sorted(members), size)]
            assert all(answer(program, with_changes(case, names)) != full for names in subsets)
        innocent = case.by_id.keys() - frozenset[str]().union(*case.truth.sets)
        assert not case.truth.sets or answer(program, with_changes(case, innocent)) != full


@each_program
def test_recordings_are_reproducible(key: str) -> None:
    program = PROGRAMS[key]
    first, second = (record_run(program.program, program.settings, "run", program.model) for _ in range(2))
    assert first == second
    assert first.steps[-1].output == {"text": answer(program)}


@each_program
def test_models_answer_unexpected_messages(key: str) -> None:
    program = PROGRAMS[key]
    nodes = {path.split(".")[1] for path in program.settings if path.startswith("prompt.")}
    for node in nodes:
        opening: JSONValue = {"role": "system", "content": access.system(program.settings, node)}
        for messages in ([], [user_message("")], [{"role": "tool", "content": "null", "tool_call_id": "call_1"}]):
            request = request_of(program.settings, node, [opening, *messages], None)
            assert program.model(request, "m1")["role"] == "assistant"


@pytest.mark.parametrize("key", [key for key in PROGRAMS if key != UNORDERED])
def test_recordings_show_their_case(key: str) -> None:
    """Recordings show the truth up to their wording; those of a case without a cause by chance differ."""
    # One case of each structure: the truth of all is tested above, and only a recording takes long.
    for case in {case.truth.structure: case for case in cases(key)}.values():
        bench = ProgramBench(case)
        answers, truth = (bench.base.answer, bench.candidate.answer), (case.truth.base, case.truth.full)
        if PROGRAMS[key].chance and not case.truth.sets:
            assert answers[0] != answers[1]
            assert case.truth.base in answers
        else:
            assert [plain_wording(text) for text in answers] == [plain_wording(text) for text in truth]


@each_reworded
def test_reworded_models_make_the_same_decisions(key: str) -> None:
    program = PROGRAMS[key]
    for case in cases(key):
        model = with_rewording(program.model, f"probe {case.number}")
        reworded = answer(program, with_changes(case, case.by_id), model)
        assert plain_wording(reworded) == plain_wording(case.truth.full)


@each_by_chance
def test_truth_is_about_the_usual_answers(key: str) -> None:
    program = PROGRAMS[key]
    assert program.chance
    for case in cases(key):
        for names, usual in (((), case.truth.base), (tuple(case.by_id), case.truth.full)):
            models = [with_chance(program.model, program.chance, f"sample {place}") for place in range(SAMPLES)]
            answers = Counter(answer(program, with_changes(case, names), model) for model in models)
            assert answers[usual] > SAMPLES / 2


@pytest.mark.parametrize(
    ("name", "structures"),
    [
        ("field", {"single": 118, "joint": 42, "over_determined": 8, "none": 56}),
        ("wild", {"single": 84, "joint": 31, "over_determined": 5, "none": 72}),
    ],
)
def test_causes_are_of_all_kinds(name: str, structures: dict[str, int]) -> None:
    drawn = [case for key in PROGRAMS if key.startswith(f"{name}: ") for case in cases(key)]
    members = [case.by_id[member] for case in drawn for names in case.truth.sets for member in names]
    kinds = {change.path.split(".")[0] for change in members}
    assert kinds - {"code"} == {"prompt", "model", "row", "doc", "tool", "user", "turn"}
    assert Counter(case.truth.structure for case in drawn) == structures
