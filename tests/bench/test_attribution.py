"""Slice of the attribution benchmark that runs with the tests: confident findings must be true."""

import subprocess
import sys

import orjson
import pytest

from replay.proofs.core.types import Budget
from replay.proofs.evidence.findings import prove
from tests.bench.attribution import scoring, targets, track_a, transcripts
from tests.bench.attribution.lab import Bench, BenchLab
from tests.bench.attribution.page import render
from tests.bench.attribution.programs.development import PROGRAMS
from tests.bench.attribution.results import Results, measure
from tests.support.comparing import Store


@pytest.fixture(scope="module")
def results() -> Results:
    return measure("slice", "aupbe", data=None, jobs=2)


def test_high_and_medium_are_precise(results: Results) -> None:
    assert (targets.precision(results.a, "high") or 0) >= targets.HIGH
    assert (targets.precision(results.a, "medium") or 0) >= targets.MEDIUM


def test_truncated_proof_claims_nothing_untrue() -> None:
    for split, number in track_a.plan(32):
        bench = Bench(track_a.case_of(split, number))
        truth = bench.case.truth
        for probes in (2, 6, 10):
            lab = BenchLab(bench)
            findings = prove(lab.case(), lab, Budget(probes=probes, live_calls=None))
            assert findings.confidence == "low" or scoring.right(findings, truth.sets, truth.structure)


def test_no_blame_without_effect(results: Results) -> None:
    assert targets.false_blame(results.a) == 0


def test_ladder_reaches_its_targets(results: Results) -> None:
    misses = [target.name for target in targets.cause_targets(results.a) if not target.is_reached]
    assert not misses


def test_unaided_track_reaches_its_targets(results: Results) -> None:
    misses = [target.name for target in targets.unaided_targets(results.u) if not target.is_reached]
    assert not misses


def test_programs_without_cause_are_not_blamed(results: Results) -> None:
    assert {row.group for row in results.p} == {program.group for program in PROGRAMS}
    assert not [row for row in results.p if row.top is None and row.blames]


def test_programs_reach_their_targets(results: Results) -> None:
    misses = [target.name for target in targets.program_targets(results.p) if not target.is_reached]
    assert not misses


def test_benchmark_starts_from_the_command_line() -> None:
    command = [sys.executable, "-m", "tests.bench.attribution", "--help"]
    assert "--programs" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_chance_is_not_blamed(results: Results) -> None:
    high = [row for row in results.b if row.gate and row.confidence == "high"]
    blames = [row.blames for row in results.b if row.kind == "a/a" and row.gate]
    assert sum(row.right for row in high) / len(high) >= targets.HIGH
    assert sum(blames) / len(blames) <= 0.05


def test_edited_transcripts_are_aligned(results: Results) -> None:
    assert (targets.edit_f1(results.e) or 0) >= targets.F1


def test_payloads_of_transcripts_are_plain_json() -> None:
    store = Store()
    transcripts.side(transcripts.import_messages(transcripts.generate(1)), store)
    assert all(orjson.dumps(value) for value in store.values.values())


def test_page_shows_every_target(results: Results) -> None:
    page = render(results)
    assert "| A: precision of `high` |" in page
    assert all(target.name in page for target in results.targets() if not target.name.startswith("P, "))
    assert "\n| development | 100.0 %" in page
