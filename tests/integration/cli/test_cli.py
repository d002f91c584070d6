"""The command line as used by scripts: one JSON document on standard output, and an exit code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.demo.agent.record import RECORDINGS
from cockpit.demo.agent.scenarios import REFUND
from tests.support.command_line import Shell, WarmShell
from tests.support.servers.langfuse_server import KEYS, langfuse_server

pytestmark = pytest.mark.own_store
FAILED = RECORDINGS / f"{REFUND}.jsonl"
FIXED_PROMPT = "You are the order desk. Today is 2026-11-20. Totals are in cents. Answer in one sentence."
OVERRIDES = {"overrides": [{"match": {"type": "model"}, "prompt": {"system": FIXED_PROMPT}}]}


@pytest.fixture(scope="module")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """Return the command with its own store, which contains the demo's recordings."""
    shell = Shell(tmp_path_factory.mktemp("home"))
    result = shell("import", RECORDINGS, "--json")
    assert result.code == 0, result.err
    warm = WarmShell(shell)
    yield warm
    warm.close()


@pytest.fixture(scope="module")
def failed_run(forkpoint: WarmShell) -> str:
    runs = forkpoint("runs", "--json").json["runs"]
    return next(str(run["id"]) for run in runs if run["status"] == "failed")


@pytest.fixture(scope="module")
def fork(forkpoint: WarmShell, failed_run: str) -> Any:
    result = forkpoint("replay", failed_run, "--from", "5", "--overrides", "-", "--json", input=json.dumps(OVERRIDES))
    assert result.code == 0, result.err
    return result.json


def test_second_import_returns_same_runs(forkpoint: WarmShell) -> None:
    report = forkpoint("import", RECORDINGS, "--json").json
    assert report["skipped"] == []
    assert len(report["runs"]) == len(list(RECORDINGS.glob("*.jsonl")))
    relation = {"revision", "supersedes", "conflicts_with"}
    identity = {"id", "external_id", "name", "app", "status", "steps", "format", "lost"}
    assert set(report["runs"][0]) == identity | relation
    assert {run["id"] for run in report["runs"]} <= {run["id"] for run in forkpoint("runs", "--json").json["runs"]}


def test_bad_file_is_skipped_with_reason(forkpoint: WarmShell, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text('[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]')
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "bad.json").write_text("{nonsense")
    (tmp_path / ".hidden").write_text("not looked at")
    result = forkpoint("import", tmp_path, "--json")
    assert result.code == 0
    assert len(result.json["runs"]) == 1
    [skip] = result.json["skipped"]
    assert skip["path"] == str(tmp_path / "inner" / "bad.json")
    assert skip["reason"]
    twice = forkpoint("import", tmp_path, tmp_path / "good.json", tmp_path / "inner", "--json").json
    assert (len(twice["runs"]), len(twice["skipped"])) == (1, 1)
    assert forkpoint("import", tmp_path / "inner").code == 2
    assert forkpoint("import", tmp_path / "missing").code == 2


def test_show_prints_whole_payloads(forkpoint: WarmShell, failed_run: str) -> None:
    other_ids = [
        run["id"] for run in forkpoint("runs", "--json", "--limit", "100").json["runs"] if run["id"] != failed_run
    ]
    length = next(
        n for n in range(8, 37) if not any(other_store.startswith(failed_run[:n]) for other_store in other_ids)
    )
    output = forkpoint("show", failed_run[:length], "--json").json
    assert output["run"]["id"] == failed_run
    assert len(output["steps"]) == output["run"]["steps"]
    fields = "id sequence_no parent type name status label reason signature source_step provider model tokens_in"
    assert {*fields.split(), "tokens_out", "cost_usd", "input", "output"} <= set(output["steps"][0])
    refund = next(step for step in output["steps"] if step["name"] == "issue_refund")
    assert refund["input"]["amount"] == 4200
    assert refund["output"]["status"] == "refused"
    holding = forkpoint("show", failed_run, "--find", "issue_refund 4200", "--json").json["steps"]
    assert refund["sequence_no"] in [step["sequence_no"] for step in holding]
    assert len(holding) < len(output["steps"])


def test_file_selects_its_run(forkpoint: WarmShell, failed_run: str) -> None:
    assert forkpoint("show", FAILED, "--json").json["run"]["id"] == failed_run


def test_terminal_output_is_a_table(forkpoint: WarmShell, failed_run: str) -> None:
    table = forkpoint("runs", "--limit", "50")
    assert failed_run in table.out
    assert "✕" in table.out
    output = forkpoint("show", failed_run)
    assert "issue_refund(A-1042, 4200, damaged)" in output.out


def test_outcome_filter_uses_judgements(forkpoint: WarmShell, failed_run: str) -> None:
    judgement = forkpoint("judge", failed_run, "fail", "--text", "refused a fair refund")
    assert judgement.out.split() == ["outcome", "failed", "verdict:", "refused", "a", "fair", "refund"]
    assert failed_run in [run["id"] for run in forkpoint("runs", "--outcome", "failed", "--json").json["runs"]]
    assert failed_run not in forkpoint("runs", "--outcome", "passed,unknown,unverified").out
    assert "failed  verdict: refused a fair refund" in forkpoint("show", failed_run).out
    assert forkpoint("judge", failed_run, "score").code == 2
    assert forkpoint("runs", "--outcome", "green").code == 2


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


def test_tree_lists_forks_under_source(forkpoint: WarmShell, failed_run: str, fork: Any) -> None:
    tree = forkpoint("tree", fork["run"]["id"], "--json").json
    assert tree["runs"][0]["id"] == failed_run
    assert fork["run"]["id"] in {run["id"] for run in tree["runs"]}
    assert fork["run"]["id"] in forkpoint("tree", failed_run).out


def test_places_lists_suspect_steps(forkpoint: WarmShell, failed_run: str) -> None:
    document = forkpoint("places", failed_run, "--json").json
    output = forkpoint("places", failed_run).out
    assert document["places"]
    assert all(place["title"].split()[0] in output for place in document["places"])
    assert "None of them is a proven cause." in output


def test_missing_objects_exit_with_not_found(forkpoint: WarmShell, failed_run: str) -> None:
    result = forkpoint("show", "nothing", "--json")
    assert result.code == 4
    assert result.json["error"]["code"] == "not_found"
    assert forkpoint("replay", failed_run, "--from", "99").code == 4
    for command in (("show", "../health"), ("tree", "?limit=1"), ("profiles", "forget", "a/b")):
        result = forkpoint(*command)
        assert (result.code, result.out) == (4, ""), command


def test_unreachable_server_is_unavailable(forkpoint: WarmShell) -> None:
    assert forkpoint("runs", "--url", "http://127.0.0.1:9").code == 6
    assert forkpoint("runs", FORKPOINT_URL="http://127.0.0.1:9").code == 6
    assert forkpoint("runs", "--url", "nonsense").code == 2


def test_check_hides_secrets(forkpoint: WarmShell) -> None:
    providers = {"mine": {"protocol": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY"}}
    table = {"url_env": "MY_LIBRARY", "table": "documents"}
    retrievers = {"library": {"pgvector": table, "embeddings": {"mini": {"local": "all-MiniLM-L6-v2"}}}}
    environment = {"FORKPOINT_PROVIDERS": json.dumps(providers), "FORKPOINT_RETRIEVERS": json.dumps(retrievers)}
    result = forkpoint(
        "check", "--json", **environment, MY_KEY="sk-very-secret", MY_LIBRARY="postgres://me:sk-very-secret@h/d"
    )
    assert result.code == 0
    assert "sk-very-secret" not in result.out + result.err
    assert result.json["retrievers"][0]["asks"] == "pgvector public.documents"
    assert result.json["retrievers"][0]["variables"] == {"MY_LIBRARY": "MY_LIBRARY is set"}
    assert result.json["mode"] == "embedded"
    assert result.json["checks"] == {"database": "ok", "broker": "ok", "storage": "ok"}
    assert result.json["providers"][0]["key"] == "MY_KEY is set"


def test_check_lists_damaged_artifacts(forkpoint: WarmShell, tmp_path: Path) -> None:
    words = " ".join(f"{number * 2654435761 % 2**32:08x}" for number in range(40_000))  # hardly compresses
    messages = [{"role": "user", "content": words}, {"role": "assistant", "content": "Quite."}]
    (tmp_path / "long.json").write_text(json.dumps(messages))
    (run,) = forkpoint("import", tmp_path, "--json").json["runs"]
    (file,) = (path for path in forkpoint.shell.home.rglob("*.zst") if path.is_file())
    whole = file.read_bytes()
    try:
        file.write_bytes(whole[:-1])
        check = forkpoint("check", "--artifacts", "--json")
        strict = forkpoint("replay", run["id"], "--strict", "--json")
    finally:
        file.write_bytes(whole)
    (artifact,) = check.json["artifacts"]["lost"]
    name = file.name.partition(".")[0]
    assert (check.code, artifact["sha256"], artifact["loss"], artifact["runs"]) == (1, name, "damaged", [run["id"]])
    assert (strict.code, strict.json["session"]["error_code"]) == (5, "artifact_missing")
    repaired_check = forkpoint("check", "--artifacts", "--json")
    assert (repaired_check.code, repaired_check.json["artifacts"]["lost"]) == (0, [])


def test_export_sends_a_run_to_langfuse(forkpoint: WarmShell, failed_run: str) -> None:
    assert forkpoint("export", "langfuse", failed_run).code == 2  # none is configured
    with langfuse_server() as langfuse:
        targets = {"lf": {"langfuse": {"base_url": langfuse.base_url, "public_key": KEYS[0]}}}
        environment = {"FORKPOINT_TELEMETRY": json.dumps(targets), "LANGFUSE_SECRET_KEY": KEYS[1]}
        export = forkpoint("export", "langfuse", failed_run, "--json", **environment).json["export"]
        assert (export["status"], export["done_events"]) == ("done", export["events"])
        assert langfuse.order[0] == failed_run.replace("-", "")
        assert len(langfuse.order) == export["events"]


def test_bundle_moves_run_to_other_store(forkpoint: WarmShell, failed_run: str, tmp_path: Path) -> None:
    bundle = tmp_path / "run.zip"
    assert forkpoint("bundle", "export", failed_run, "-o", bundle, "--json").json["path"] == str(bundle)
    other_store = Shell(tmp_path / "other")
    [run] = other_store("bundle", "import", bundle, "--json").json["runs"]
    exported_steps = forkpoint("show", failed_run, "--json").json["steps"]
    imported_steps = other_store("show", run["id"], "--json").json["steps"]
    assert [step["output"] for step in imported_steps] == [step["output"] for step in exported_steps]


def test_token_is_created_locally(forkpoint: WarmShell) -> None:
    token = forkpoint("token", "create", "ci", "--role", "debugger", "--json").json
    assert token["token"].startswith("fp_")
    assert forkpoint("token", "create", "ci", "--role", "king").code == 2


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


def test_tool_review_round_trips_through_file(forkpoint: WarmShell, tmp_path: Path) -> None:
    path = tmp_path / "side_effects.yaml"
    assert forkpoint("tools", "-o", path).code == 0
    assert "issue_refund: false" in path.read_text()
    path.write_text("tools: {issue_refund: 'false'}\ndone: true\n")
    assert forkpoint("tools", "--import", path).code == 2  # a text is no decision
