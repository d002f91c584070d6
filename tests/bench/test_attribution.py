"""The slice of the benchmark that guards the product: what it calls sure has to be true."""

import subprocess
import sys

import pytest

from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring, targets, track_a, track_p
from tests.bench.attribution.lab import Bench, BenchLab
from tests.bench.attribution.page import written
from tests.bench.attribution.programs.blind import BLIND
from tests.bench.attribution.programs.development import PROGRAMS
from tests.bench.attribution.programs.shapes import draw_case
from tests.bench.attribution.results import Results, measure


@pytest.fixture(scope="module")
def results() -> Results:
    return measure("slice", "aupbe", data=None, jobs=2)


def test_what_is_called_sure_is_true(results: Results) -> None:
    assert (targets.precision(results.a, "high") or 0) >= targets.HIGH
    assert (targets.precision(results.a, "medium") or 0) >= targets.MEDIUM


def test_a_proof_that_is_cut_short_is_not_sure_of_anything_untrue() -> None:
    for split, number in track_a.plan(32):
        bench = Bench(track_a.case_of(split, number))
        truth = bench.case.truth
        for probes in (2, 6, 10):
            lab = BenchLab(bench)
            findings = prove(lab.case(), lab, Budget(probes=probes, live_calls=None))
            assert findings.confidence == "low" or scoring.right(findings, truth.sets, truth.structure)


def test_nothing_is_blamed_where_nothing_had_an_effect(results: Results) -> None:
    assert targets.false_blame(results.a) == 0


def test_the_cause_is_named_however_it_is_hidden(results: Results) -> None:
    missed = [target.what for target in targets.of_causes(results.a) if not target.reached]
    assert not missed


def test_the_product_finds_the_changes_itself(results: Results) -> None:
    missed = [target.what for target in targets.unaided(results.u) if not target.reached]
    assert not missed


def test_programs_are_not_blamed_without_cause(results: Results) -> None:
    assert {row.group for row in results.p} == {program.group for program in PROGRAMS}
    assert not [row for row in results.p if row.top is None and row.blamed]


def test_causes_are_found_behind_code(results: Results) -> None:
    missed = [target.what for target in targets.of_programs(results.p) if not target.reached]
    assert not missed


def test_one_set_of_programs_is_planned() -> None:
    assert {name for name, _, _ in track_p.plan(2, held_out=False, only="blind")} == {"blind"}


def test_benchmark_starts_from_the_command_line() -> None:
    command = [sys.executable, "-m", "tests.bench.attribution", "--help"]
    assert "--programs" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_three_of_four_blind_cases_have_causes() -> None:
    for program in BLIND:
        cases = [draw_case(program, number, track_p.SEED) for number in range(32)]
        assert sum(bool(case.truth.sets) for case in cases) == 24
        assert max(len(case.injections) for case in cases) == program.most


def test_chance_is_not_taken_for_a_cause(results: Results) -> None:
    sure = [row for row in results.b if row.gated and row.confidence == "high"]
    blamed = [row.blamed for row in results.b if row.kind == "a/a" and row.gated]
    assert sum(row.right for row in sure) / len(sure) >= targets.HIGH
    assert sum(blamed) / len(blamed) <= 0.05


def test_edited_transcripts_are_aligned_again(results: Results) -> None:
    assert (targets.edit_f1(results.e) or 0) >= targets.F1


def test_the_page_shows_what_was_measured(results: Results) -> None:
    page = written(results)
    assert "| A: precision of `high` |" in page
    assert all(target.what in page for target in results.targets())
