"""Comparisons from the command line: reports, shares, gates, proofs, bisections and calibrations."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import WarmShell

pytestmark = pytest.mark.own_store


def test_diff_has_every_format(forkpoint: WarmShell, failed_run: str, fork: Any, tmp_path: Path) -> None:
    derived = fork["run"]["id"]
    report = forkpoint("diff", failed_run, derived, "--json").json
    assert set(report["sections"]) == {"prompt", "retrieval", "tool", "model", "output", "run"}
    assert {"ars", "output_similarity", "tool_accuracy", "similarity_method"} <= set(report["scores"])
    fields = {"primary", "supporting", "path", "confidence", "evidence", "alternatives"}
    assert fields <= set(report["attribution"])
    assert (
        forkpoint("diff", derived, "--json").json["base"]["id"] == failed_run
    )  # a replay alone is compared with its source
    assert forkpoint("diff", failed_run).code == 2
    assert "cents" in forkpoint("diff", failed_run, derived).out
    assert forkpoint("diff", failed_run, derived, "--format", "md").out.startswith("#")
    assert forkpoint("diff", failed_run, derived, "--format", "html", "-o", tmp_path / "diff.html").code == 0
    assert "<html" in (tmp_path / "diff.html").read_text("utf-8")
    assert forkpoint("diff", failed_run, derived, "--format", "pdf").code == 2


def test_share_prints_expiring_link(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    report = forkpoint("diff", failed_run, fork["run"]["id"], "--json").json
    link = forkpoint("share", report["id"], "--expires", "7d", "--json").json
    assert link["url"].startswith("http://127.0.0.1:8700/share/")
    assert link["expires_at"]
    assert forkpoint("share", "last").out.startswith("http://")
    assert forkpoint("share", report["id"], "--expires", "soon").code == 2
    assert forkpoint("share", "ffffffff").code == 4


def test_share_link_has_one_audience(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    report = forkpoint("diff", failed_run, fork["run"]["id"], "--json").json
    assert forkpoint("share", report["id"], "--for", "Ada", "--for", "Eve", "--views", "3", "--json").code == 0
    assert forkpoint("share", report["id"], "--for", "Ada", "--signed-in").code == 2


def test_bisect_estimates_and_finds_step(forkpoint: WarmShell, failed_run: str, tmp_path: Path) -> None:
    """The small model mistakes cents for euros at its third call; the large one, used in time, does not."""
    change = tmp_path / "large.json"
    change.write_text(json.dumps([{"match": {"type": "model"}, "model": {"model": "desk-large-1"}}]))
    options = ("--check", "contains:42.00 EUR", "--overrides", change, "--samples", "1", "--json")
    plan = forkpoint("bisect", failed_run, *options, "--preview").json["plan"]
    assert (plan["refusals"], plan["live_calls"] > 0) == ([], True)
    bisection = forkpoint("bisect", failed_run, *options)
    assert bisection.code == 0, bisection.err
    result = bisection.json["bisection"]["result"]
    assert (result["reproduction"], result["rescue"]) == ("reproduces", "rescued")
    assert "with the changes" in result["sentence"]
    assert forkpoint("bisect", failed_run, "--check", "nonsense").code == 2
    assert forkpoint("bisect", failed_run, "--check", "status:failed").code == 2  # the run passes this check
    assert forkpoint("bisect", failed_run).code == 2  # without a check


def test_outcome_is_a_question(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    judged = ("--question", "outcome", "--check", "review=contains:42.00 EUR", "--preview", "--json")
    assert forkpoint("judge", failed_run, "fail", "--name", "review").code == 0
    assert forkpoint("judge", fork["run"]["id"], "pass", "--name", "review").code == 0
    plan = forkpoint("prove", failed_run, fork["run"]["id"], *judged).json["plan"]
    assert (plan["refusals"], plan["base_outcome"][:6], plan["candidate_outcome"]) == ([], "failed", "passed (review)")
    plan = forkpoint("bisect", failed_run, *judged).json["plan"]
    assert (plan["refusals"], plan["recorded"][0]["detail"]) == ([], "review")
    missing = forkpoint("prove", failed_run, fork["run"]["id"], "--judgement", "review", "--preview", "--json")
    assert missing.code == 2
    assert "add a check named “review”" in missing.json["plan"]["refusals"][0]["detail"]


def test_prove_estimates_proves_and_gates(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    runs = (failed_run, fork["run"]["id"])
    plan = forkpoint("prove", *runs, "--preview", "--json")
    assert (plan.code, plan.json["plan"]["refusals"], plan.json["plan"]["sampled"]) == (0, [], True)
    assert plan.json["plan"]["live_calls"] > 0
    assert "live calls" in forkpoint("prove", *runs, "--preview").out
    free = forkpoint("prove", *runs, "--json", "--require", "medium")
    assert free.code == 5  # chance is not ruled out without a live call
    assert (free.json["proof"]["status"], free.json["proof"]["findings"]["live_calls"]) == ("completed", 0)
    proof = forkpoint("prove", *runs, "--live-calls", "100", "--no-parts", "--no-mediators", "--require", "high")
    assert proof.code == 0, proof.err
    assert "made the difference" in proof.out
    report = forkpoint("diff", *runs, "--format", "json").json
    assert report["attribution"]["confidence"] == "high"
    assert forkpoint("prove", *runs, "--question", "nonsense").code == 2
    assert forkpoint("prove", *runs, "--require", "certain").code == 2
    assert forkpoint("prove", *runs, "--question", "check").code == 2


def test_places_lists_suspect_steps(forkpoint: WarmShell, failed_run: str) -> None:
    document = forkpoint("places", failed_run, "--json").json
    output = forkpoint("places", failed_run).out
    assert document["places"]
    assert all(place["title"].split()[0] in output for place in document["places"])
    assert "None of them is a proven cause." in output


def test_calibration_reports_and_accepts_differences(forkpoint: WarmShell, tmp_path: Path) -> None:
    for name, request in (
        ("one", "0b6e1c1e-5d3f-4e0a-9a51-7b0f7a1d2c3e"),
        ("two", "9f0d2a34-11aa-4c1e-8f63-0d9b6c5e4f21"),
    ):
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "find", "arguments": json.dumps({"trace_id": request})},
        }
        talk: list[Any] = [
            {"role": "user", "content": "Find it."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "found"},
            {"role": "assistant", "content": "Here it is."},
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps(talk))
    runs = (tmp_path / "one.json", tmp_path / "two.json")
    assert "/trace_id" in forkpoint("calibrate", *runs).out
    for wrong in ("some", "0", "1,0", "1,,2"):
        assert forkpoint("calibrate", *runs, "--accept", wrong).code == 2
    calibration = forkpoint("calibrate", *runs, "--accept", "recommended", "--json").json
    assert calibration["accepted"]["version"] == 1
    assert {rule["pointer"] for rule in calibration["accepted"]["rules"]} >= {"/trace_id"}


def test_gate_fails_on_low_score(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    derived = fork["run"]["id"]
    assert forkpoint("gate", failed_run, failed_run).code == 0
    strict = forkpoint("gate", failed_run, derived, "--min-ars", "1", "--min-tool-accuracy", "0", "--json")
    assert (strict.code, strict.json["passed"]) == (5, False)
    assert [check["passed"] for check in strict.json["checks"]] == [False, True]
    assert forkpoint("gate", failed_run, derived, "--min-tool-accuracy", "0").code == 0
