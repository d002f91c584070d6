"""Replays from the command line: overrides, profiles, policies, previews and streams."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.conftest import OVERRIDES
from tests.support.command_line import WarmShell

pytestmark = pytest.mark.own_store


def test_preview_shows_plan_without_running(forkpoint: WarmShell, failed_run: str, tmp_path: Path) -> None:
    (tmp_path / "overrides.json").write_text(json.dumps(OVERRIDES))
    before = forkpoint("runs", "--json", "--limit", "100").json["runs"]
    command = ("replay", failed_run, "--from", "5", "--overrides", tmp_path / "overrides.json", "--preview")
    plan = forkpoint(*command, "--json").json["plan"]
    assert plan["fork_sequence_no"] == 5
    assert plan["live_calls"] == 3
    assert "live" in forkpoint(*command).out
    assert "B: model changed" in forkpoint("replay", failed_run, "--model", "desk-large-1", "--preview").out
    assert len(forkpoint("runs", "--json", "--limit", "100").json["runs"]) == len(before)


def test_replay_waits_for_session_end(fork: Any) -> None:
    assert fork["session"]["status"] == "completed_mixed"
    assert fork["session"]["counts"]["exact"] > 0
    assert set(fork["session"]["determinism"]) >= {"score", "factors"}
    refund = next(step for step in fork["steps"] if step["name"] == "issue_refund")
    assert (refund["label"], refund["reason"]) == ("cached", "cache_hit_signature_match")
    assert all(step["source_step"] for step in fork["steps"] if step["label"] == "exact")


def test_strict_replay_fails_on_divergence(forkpoint: WarmShell, failed_run: str) -> None:
    result = forkpoint(
        "replay", failed_run, "--from", "5", "--overrides", "-", "--strict", "--json", input=json.dumps(OVERRIDES)
    )
    assert result.code == 5
    assert result.json["session"]["status"] == "failed_validation"


def test_unchanged_replay_is_exact(forkpoint: WarmShell, failed_run: str) -> None:
    result = forkpoint("replay", failed_run, "--strict", "--json")
    assert result.code == 0
    assert result.json["session"]["status"] == "completed_exact"


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        ('{"overrides": [{"match": {"step": 2}, "output": "x"}]}', 2),  # before the fork
        ('{"overrides": [{"match": {"type": "model"}}]}', 2),  # sets nothing
        ("{nonsense", 2),
        ("5", 2),
    ],
)
def test_invalid_overrides_are_rejected(forkpoint: WarmShell, failed_run: str, overrides: str, code: int) -> None:
    result = forkpoint("replay", failed_run, "--from", "5", "--overrides", "-", "--json", input=overrides)
    assert result.code == code
    assert result.json["error"]["detail"]
    assert "error:" in result.err


def test_tree_lists_forks_under_source(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    tree = forkpoint("tree", fork["run"]["id"], "--json").json
    assert tree["runs"][0]["id"] == failed_run
    assert fork["run"]["id"] in {run["id"] for run in tree["runs"]}
    [row] = [line for line in forkpoint("tree", failed_run).out.splitlines() if fork["run"]["id"] in line]
    assert "● " in row


def test_saved_profile_resolves_by_name_or_digest(forkpoint: WarmShell, failed_run: str, tmp_path: Path) -> None:
    (tmp_path / "brief.json").write_text(json.dumps(OVERRIDES))
    profile = forkpoint("profiles", "save", "brief", tmp_path / "brief.json", "--json").json
    assert forkpoint("policies", "save", "short", "-", input='{"max_turns": 9}').code == 0
    command = ("replay", failed_run, "--from", "5", "--policy", "short", "--preview", "--json", "--overrides")
    plans = [forkpoint(*command, ref).json["plan"] for ref in ("brief", profile["digest"], profile["digest"][:10])]
    whole = forkpoint(*command, tmp_path / "brief.json").json["plan"]
    assert plans == [whole] * 3
    assert any("messages" in step["differs"] for step in whole["steps"])
    assert json.loads(forkpoint("profiles", "show", "brief").out) == OVERRIDES
    assert [policy["names"] for policy in forkpoint("policies", "--json").json["policies"]] == [["short"]]
    assert "brief" in forkpoint("profiles").out
    assert forkpoint("profiles", "forget", "brief").code == 0
    assert forkpoint(*command, "brief").code == 4
    assert forkpoint(*command, "brief.json").code == 2


def test_live_text_is_streamed(forkpoint: WarmShell, failed_run: str) -> None:
    command = ("replay", failed_run, "--from", "5", "--system-prompt", "You are the order desk. Say it in a new way.")
    result = forkpoint(*command, "--temperature", "0.3", "--stream")
    assert result.code == 0
    session = forkpoint(*command, "--temperature", "0.4", "--stream", "--json")
    steps = forkpoint("show", session.json["run"]["id"], "--json").json["steps"]
    text_steps = [
        step for step in steps if step["reason"] == "live_model_call" and step["output"]["message"]["content"]
    ]
    assert text_steps
    for step in text_steps:
        assert step["output"]["message"]["content"] in session.err  # standard output holds the document alone
        assert f"step {step['sequence_no']}" in result.err
        assert step["output"]["message"]["content"] in result.out
