"""Novel programs of the attribution benchmark: the truth of each case, by running the programs without the method."""

from collections import Counter
from itertools import combinations
from typing import Final

import pytest

from tests.bench.attribution import track_p
from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms.running import AnswerRuntime
from tests.bench.attribution.programs.novel import NOVEL
from tests.bench.attribution.programs.shapes import Hunks, Program, draw_case
from tests.bench.attribution.results import SIZES

CASES: Final = SIZES["full"].p
each_program: Final = pytest.mark.parametrize("program", NOVEL, ids=lambda program: program.name)


def cases(program: Program) -> list[BenchCase]:
    return [draw_case(program, number, track_p.SEED) for number in range(CASES)]


def answer(program: Program, hunks: Hunks = ()) -> str:
    return program.program(AnswerRuntime({**program.settings, **dict(hunks)}, ask=program.model))


def test_novel_set_has_its_size_and_its_controls() -> None:
    assert len(track_p.plan(CASES, held_out=False, only="novel")) == 256
    assert "novel" not in {name for name, _, _ in track_p.plan(2, held_out=False)}
    assert sum(not case.truth.sets for program in NOVEL for case in cases(program)) == 72


def test_novel_names_and_groups_are_new() -> None:
    others = [program for name, programs in track_p.SETS.items() if name != "novel" for program in programs]
    assert len({program.name for program in NOVEL}) == len({program.group for program in NOVEL}) == len(NOVEL)
    assert not {program.group for program in NOVEL} & {program.group for program in others}
    assert not {program.name for program in NOVEL} & {program.name for program in others}


@each_program
def test_no_two_novel_edits_share_a_setting(program: Program) -> None:
    paths = Counter(path for edit in program.edits for path in {path for hunks in edit.variants for path, _ in hunks})
    assert set(paths.values()) == {1}


@each_program
def test_novel_edits_act_unless_they_are_decoys(program: Program) -> None:
    for option in program.edits:
        answers = {answer(program, hunks) for hunks in option.variants} - {answer(program)}
        assert bool(answers) != option.decoy, option


@each_program
def test_novel_causes_suffice_and_are_minimal(program: Program) -> None:
    for case in cases(program):
        base, full = answer(program), answer(program, _hunks(case, frozenset(case.by_id)))
        assert bool(case.truth.sets) == (base != full)
        for members in case.truth.sets:
            assert answer(program, _hunks(case, members)) == full
            subsets = [names for size in range(len(members)) for names in combinations(sorted(members), size)]
            assert all(answer(program, _hunks(case, frozenset(names))) != full for names in subsets)


def _hunks(case: BenchCase, names: frozenset[str]) -> Hunks:
    return tuple(hunk for name in sorted(names) for hunk in case.by_id[name].hunks)
