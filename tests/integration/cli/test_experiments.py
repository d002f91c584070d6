"""Experiments on the command line."""

import json
from pathlib import Path

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.support.command_line import WarmShell

pytestmark = pytest.mark.own_store
FAILED = RECORDINGS / f"{REFUND}.jsonl"


def test_experiment_estimates_and_compares_models(forkpoint: WarmShell, tmp_path: Path) -> None:
    """The small model mistakes cents for euros; the large one does not."""
    values = [
        {"name": name, "overrides": [{"match": {"type": "model"}, "model": {"model": name}}]}
        for name in ("desk-small-1", "desk-large-1")
    ]
    matrix = tmp_path / "matrix.json"
    request = {"axes": [{"name": "model", "values": values}], "checks": [{"kind": "contains", "text": "42.00 EUR"}]}
    matrix.write_text(json.dumps(request))
    plan = forkpoint("experiment", FAILED, matrix, "--from", "5", "--preview", "--json")
    assert (plan.code, plan.json["plan"]["rows"], plan.json["plan"]["refusals"]) == (0, 2, [])
    experiment = forkpoint("experiment", FAILED, matrix, "--from", "5", "--json")
    assert experiment.code == 0, experiment.err
    assert [cell["pass_rate"] for cell in experiment.json["experiment"]["aggregates"]] == [0, 1]
    assert "model desk-large-1, sample 1: completed" in experiment.err
    matrix.write_text(json.dumps({**request, "axes": [{"name": "model", "values": []}]}))
    assert forkpoint("experiment", FAILED, matrix).code == 2
    assert forkpoint("experiment", FAILED, tmp_path / "missing.json").code == 2
