"""The command line as a script sees it: one JSON document on standard output, and an exit code."""

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
MENDED = "You are the order desk. Today is 2026-11-20. Totals are in cents. Answer in one sentence."
OVERRIDES = {"overrides": [{"match": {"type": "model"}, "prompt": {"system": MENDED}}]}


@pytest.fixture(scope="module")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """The command on a store of its own, with the demo's recordings in it."""
    shell = Shell(tmp_path_factory.mktemp("home"))
    said = shell("import", RECORDINGS, "--json")
    assert said.code == 0, said.err
    warm = WarmShell(shell)
    yield warm
    warm.close()


@pytest.fixture(scope="module")
def failed(forkpoint: WarmShell) -> str:
    runs = forkpoint("runs", "--json").json["runs"]
    return next(str(run["id"]) for run in runs if run["status"] == "failed")


@pytest.fixture(scope="module")
def fork(forkpoint: WarmShell, failed: str) -> Any:
    said = forkpoint("replay", failed, "--from", "5", "--overrides", "-", "--json", input=json.dumps(OVERRIDES))
    assert said.code == 0, said.err
    return said.json


def test_import_names_every_run_and_importing_again_gives_the_same(forkpoint: WarmShell) -> None:
    again = forkpoint("import", RECORDINGS, "--json").json
    assert again["skipped"] == []
    assert len(again["runs"]) == len(list(RECORDINGS.glob("*.jsonl")))
    assert set(again["runs"][0]) == {"id", "external_id", "name", "app", "status", "steps", "format", "lost"}
    assert {run["id"] for run in again["runs"]} <= {run["id"] for run in forkpoint("runs", "--json").json["runs"]}


def test_a_bad_file_is_skipped_with_its_path_and_reason(forkpoint: WarmShell, tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text('[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]')
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "bad.json").write_text("{nonsense")
    (tmp_path / ".hidden").write_text("not looked at")
    said = forkpoint("import", tmp_path, "--json")
    assert said.code == 0
    assert len(said.json["runs"]) == 1
    [skipped] = said.json["skipped"]
    assert skipped["path"] == str(tmp_path / "inner" / "bad.json")
    assert skipped["reason"]
    twice = forkpoint("import", tmp_path, tmp_path / "good.json", tmp_path / "inner", "--json").json
    assert (len(twice["runs"]), len(twice["skipped"])) == (1, 1)
    assert forkpoint("import", tmp_path / "inner").code == 2
    assert forkpoint("import", tmp_path / "missing").code == 2


def test_show_gives_whole_payloads(forkpoint: WarmShell, failed: str) -> None:
    others = [run["id"] for run in forkpoint("runs", "--json", "--limit", "100").json["runs"] if run["id"] != failed]
    length = next(n for n in range(8, 37) if not any(other.startswith(failed[:n]) for other in others))
    shown = forkpoint("show", failed[:length], "--json").json
    assert shown["run"]["id"] == failed
    assert len(shown["steps"]) == shown["run"]["steps"]
    wanted = "id sequence_no parent type name status label reason signature source_step provider model tokens_in"
    assert {*wanted.split(), "tokens_out", "cost_usd", "input", "output"} <= set(shown["steps"][0])
    refund = next(step for step in shown["steps"] if step["name"] == "issue_refund")
    assert refund["input"]["amount"] == 4200
    assert refund["output"]["status"] == "refused"
    holding = forkpoint("show", failed, "--find", "issue_refund 4200", "--json").json["steps"]
    assert refund["sequence_no"] in [step["sequence_no"] for step in holding]
    assert len(holding) < len(shown["steps"])


def test_a_file_stands_for_the_run_in_it(forkpoint: WarmShell, failed: str) -> None:
    assert forkpoint("show", FAILED, "--json").json["run"]["id"] == failed


def test_people_see_a_table(forkpoint: WarmShell, failed: str) -> None:
    listed = forkpoint("runs", "--limit", "50")
    assert failed in listed.out
    assert "✕" in listed.out
    shown = forkpoint("show", failed)
    assert "issue_refund(A-1042, 4200, damaged)" in shown.out


def test_judged_runs_are_found_by_outcome(forkpoint: WarmShell, failed: str) -> None:
    judged = forkpoint("judge", failed, "fail", "--text", "refused a fair refund")
    assert judged.out.split() == ["outcome", "failed", "verdict:", "refused", "a", "fair", "refund"]
    assert failed in [run["id"] for run in forkpoint("runs", "--outcome", "failed", "--json").json["runs"]]
    assert failed not in forkpoint("runs", "--outcome", "passed,unknown,unverified").out
    assert "failed  verdict: refused a fair refund" in forkpoint("show", failed).out
    assert forkpoint("judge", failed, "score").code == 2
    assert forkpoint("runs", "--outcome", "green").code == 2


def test_preview_shows_the_plan_and_runs_nothing(forkpoint: WarmShell, failed: str, tmp_path: Path) -> None:
    (tmp_path / "overrides.json").write_text(json.dumps(OVERRIDES))
    before = forkpoint("runs", "--json", "--limit", "100").json["runs"]
    asked = ("replay", failed, "--from", "5", "--overrides", tmp_path / "overrides.json", "--preview")
    plan = forkpoint(*asked, "--json").json["plan"]
    assert plan["fork_sequence_no"] == 5
    assert plan["live_calls"] == 3
    assert "live" in forkpoint(*asked).out
    assert "B: model changed" in forkpoint("replay", failed, "--model", "desk-large-1", "--preview").out
    assert len(forkpoint("runs", "--json", "--limit", "100").json["runs"]) == len(before)


def test_replay_follows_the_session_to_its_end(fork: Any) -> None:
    assert fork["session"]["status"] == "completed_mixed"
    assert fork["session"]["counts"]["exact"] > 0
    assert set(fork["session"]["determinism"]) >= {"score", "factors"}
    refund = next(step for step in fork["steps"] if step["name"] == "issue_refund")
    assert (refund["label"], refund["reason"]) == ("cached", "cache_hit_signature_match")
    assert all(step["source_step"] for step in fork["steps"] if step["label"] == "exact")


def test_strict_fails_the_gate(forkpoint: WarmShell, failed: str) -> None:
    said = forkpoint(
        "replay", failed, "--from", "5", "--overrides", "-", "--strict", "--json", input=json.dumps(OVERRIDES)
    )
    assert said.code == 5
    assert said.json["session"]["status"] == "failed_validation"


def test_an_unchanged_replay_is_exact(forkpoint: WarmShell, failed: str) -> None:
    said = forkpoint("replay", failed, "--strict", "--json")
    assert said.code == 0
    assert said.json["session"]["status"] == "completed_exact"


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        ('{"overrides": [{"match": {"step": 2}, "output": "x"}]}', 2),  # before the fork
        ('{"overrides": [{"match": {"type": "model"}}]}', 2),  # sets nothing
        ("{nonsense", 2),
        ("5", 2),
    ],
)
def test_bad_overrides_are_bad_input(forkpoint: WarmShell, failed: str, overrides: str, code: int) -> None:
    said = forkpoint("replay", failed, "--from", "5", "--overrides", "-", "--json", input=overrides)
    assert said.code == code
    assert said.json["error"]["detail"]
    assert "error:" in said.err


def test_diff_in_every_form(forkpoint: WarmShell, failed: str, fork: Any, tmp_path: Path) -> None:
    derived = fork["run"]["id"]
    report = forkpoint("diff", failed, derived, "--json").json
    assert set(report["sections"]) == {"prompt", "retrieval", "tool", "model", "output", "run"}
    assert {"ars", "output_similarity", "tool_accuracy", "similarity_method"} <= set(report["scores"])
    wanted = {"primary", "supporting", "path", "confidence", "evidence", "alternatives"}
    assert wanted <= set(report["attribution"])
    assert forkpoint("diff", derived, "--json").json["base"]["id"] == failed  # a replay alone: with what it replayed
    assert forkpoint("diff", failed).code == 2
    assert "cents" in forkpoint("diff", failed, derived).out
    assert forkpoint("diff", failed, derived, "--format", "md").out.startswith("#")
    assert forkpoint("diff", failed, derived, "--format", "html", "-o", tmp_path / "diff.html").code == 0
    assert "<html" in (tmp_path / "diff.html").read_text("utf-8")
    assert forkpoint("diff", failed, derived, "--format", "pdf").code == 2


def test_share_prints_a_link_that_expires(forkpoint: WarmShell, failed: str, fork: Any) -> None:
    report = forkpoint("diff", failed, fork["run"]["id"], "--json").json
    shared = forkpoint("share", report["id"], "--expires", "7d", "--json").json
    assert shared["url"].startswith("http://127.0.0.1:8700/share/")
    assert shared["expires_at"]
    assert forkpoint("share", "last").out.startswith("http://")
    assert forkpoint("share", report["id"], "--expires", "soon").code == 2
    assert forkpoint("share", "ffffffff").code == 4


def test_a_share_link_is_for_whom_it_says(forkpoint: WarmShell, failed: str, fork: Any) -> None:
    report = forkpoint("diff", failed, fork["run"]["id"], "--json").json
    assert forkpoint("share", report["id"], "--for", "Ada", "--for", "Eve", "--views", "3", "--json").code == 0
    assert forkpoint("share", report["id"], "--for", "Ada", "--signed-in").code == 2


def test_bisect_prices_and_finds_the_step(forkpoint: WarmShell, failed: str, tmp_path: Path) -> None:
    """The small model takes cents for euros at its third call; the large one does not, if it comes in time."""
    change = tmp_path / "large.json"
    change.write_text(json.dumps([{"match": {"type": "model"}, "model": {"model": "desk-large-1"}}]))
    given = ("--check", "contains:42.00 EUR", "--overrides", change, "--samples", "1", "--json")
    plan = forkpoint("bisect", failed, *given, "--preview").json["plan"]
    assert (plan["refusals"], plan["live_calls"] > 0) == ([], True)
    found = forkpoint("bisect", failed, *given)
    assert found.code == 0, found.err
    result = found.json["bisection"]["result"]
    assert (result["reproduction"], result["rescue"]) == ("reproduces", "rescued")
    assert "with the changes" in result["sentence"]
    assert forkpoint("bisect", failed, "--check", "nonsense").code == 2
    assert forkpoint("bisect", failed, "--check", "status:failed").code == 2  # it does not fail this one


def test_prove_prices_proves_and_gates(forkpoint: WarmShell, failed: str, fork: Any) -> None:
    runs = (failed, fork["run"]["id"])
    plan = forkpoint("prove", *runs, "--preview", "--json")
    assert (plan.code, plan.json["plan"]["refusals"], plan.json["plan"]["sampled"]) == (0, [], True)
    assert plan.json["plan"]["live_calls"] > 0
    assert "live calls" in forkpoint("prove", *runs, "--preview").out
    free = forkpoint("prove", *runs, "--json", "--require", "medium")
    assert free.code == 5  # chance is not ruled out without a live call
    assert (free.json["proof"]["status"], free.json["proof"]["findings"]["live_calls"]) == ("completed", 0)
    proved = forkpoint("prove", *runs, "--live-calls", "100", "--no-parts", "--no-mediators", "--require", "high")
    assert proved.code == 0, proved.err
    assert "made the difference" in proved.out
    report = forkpoint("diff", *runs, "--format", "json").json
    assert report["attribution"]["confidence"] == "high"
    assert forkpoint("prove", *runs, "--question", "nonsense").code == 2
    assert forkpoint("prove", *runs, "--require", "certain").code == 2
    assert forkpoint("prove", *runs, "--question", "check").code == 2


def test_tree_lists_forks_under_their_source(forkpoint: WarmShell, failed: str, fork: Any) -> None:
    found = forkpoint("tree", fork["run"]["id"], "--json").json
    assert found["runs"][0]["id"] == failed
    assert fork["run"]["id"] in {run["id"] for run in found["runs"]}
    assert fork["run"]["id"] in forkpoint("tree", failed).out


def test_places_of_a_failed_run(forkpoint: WarmShell, failed: str) -> None:
    found = forkpoint("places", failed, "--json").json
    shown = forkpoint("places", failed).out
    assert found["places"]
    assert all(place["title"].split()[0] in shown for place in found["places"])
    assert "None of them is a proven cause." in shown


def test_what_is_not_there_is_not_found(forkpoint: WarmShell, failed: str) -> None:
    said = forkpoint("show", "nothing", "--json")
    assert said.code == 4
    assert said.json["error"]["code"] == "not_found"
    assert forkpoint("replay", failed, "--from", "99").code == 4
    for command in (("show", "../health"), ("tree", "?limit=1"), ("profiles", "forget", "a/b")):
        said = forkpoint(*command)
        assert (said.code, said.out) == (4, ""), command


def test_a_server_that_is_not_there_is_unavailable(forkpoint: WarmShell) -> None:
    assert forkpoint("runs", "--url", "http://127.0.0.1:9").code == 6
    assert forkpoint("runs", FORKPOINT_URL="http://127.0.0.1:9").code == 6
    assert forkpoint("runs", "--url", "nonsense").code == 2


def test_check_prints_the_configuration_without_secrets(forkpoint: WarmShell) -> None:
    providers = {"mine": {"protocol": "openai", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY"}}
    table = {"url_env": "MY_LIBRARY", "table": "documents"}
    retrievers = {"library": {"pgvector": table, "embeddings": {"mini": {"local": "all-MiniLM-L6-v2"}}}}
    given = {"FORKPOINT_PROVIDERS": json.dumps(providers), "FORKPOINT_RETRIEVERS": json.dumps(retrievers)}
    said = forkpoint("check", "--json", **given, MY_KEY="sk-very-secret", MY_LIBRARY="postgres://me:sk-very-secret@h/d")
    assert said.code == 0
    assert "sk-very-secret" not in said.out + said.err
    assert said.json["retrievers"][0]["asks"] == "pgvector public.documents"
    assert said.json["retrievers"][0]["variables"] == {"MY_LIBRARY": "MY_LIBRARY is set"}
    assert said.json["mode"] == "embedded"
    assert said.json["checks"] == {"database": "ok", "broker": "ok", "storage": "ok"}
    assert said.json["providers"][0]["key"] == "MY_KEY is set"


def test_check_names_damaged_artifacts(forkpoint: WarmShell, tmp_path: Path) -> None:
    words = " ".join(f"{number * 2654435761 % 2**32:08x}" for number in range(40_000))  # hardly compresses
    said = [{"role": "user", "content": words}, {"role": "assistant", "content": "Quite."}]
    (tmp_path / "long.json").write_text(json.dumps(said))
    (run,) = forkpoint("import", tmp_path, "--json").json["runs"]
    (file,) = (path for path in forkpoint.shell.home.rglob("*.zst") if path.is_file())
    whole = file.read_bytes()
    try:
        file.write_bytes(whole[:-1])
        damaged = forkpoint("check", "--artifacts", "--json")
        strict = forkpoint("replay", run["id"], "--strict", "--json")
    finally:
        file.write_bytes(whole)
    (lost,) = damaged.json["artifacts"]["lost"]
    name = file.name.partition(".")[0]
    assert (damaged.code, lost["sha256"], lost["loss"], lost["runs"]) == (1, name, "damaged", [run["id"]])
    assert (strict.code, strict.json["session"]["error_code"]) == (5, "artifact_missing")
    mended = forkpoint("check", "--artifacts", "--json")
    assert (mended.code, mended.json["artifacts"]["lost"]) == (0, [])


def test_export_sends_a_run_to_langfuse(forkpoint: WarmShell, failed: str) -> None:
    assert forkpoint("export", "langfuse", failed).code == 2  # none is configured
    with langfuse_server() as langfuse:
        targets = {"lf": {"langfuse": {"base_url": langfuse.base_url, "public_key": KEYS[0]}}}
        given = {"FORKPOINT_TELEMETRY": json.dumps(targets), "LANGFUSE_SECRET_KEY": KEYS[1]}
        export = forkpoint("export", "langfuse", failed, "--json", **given).json["export"]
        assert (export["status"], export["done_events"]) == ("done", export["events"])
        assert langfuse.order[0] == failed.replace("-", "")
        assert len(langfuse.order) == export["events"]


def test_bundles_carry_a_run_to_another_store(forkpoint: WarmShell, failed: str, tmp_path: Path) -> None:
    bundle = tmp_path / "run.zip"
    assert forkpoint("bundle", "export", failed, "-o", bundle, "--json").json["path"] == str(bundle)
    other = Shell(tmp_path / "other")
    [run] = other("bundle", "import", bundle, "--json").json["runs"]
    exported = forkpoint("show", failed, "--json").json["steps"]
    imported = other("show", run["id"], "--json").json["steps"]
    assert [step["output"] for step in imported] == [step["output"] for step in exported]


def test_tokens_are_made_on_this_machine(forkpoint: WarmShell) -> None:
    made = forkpoint("token", "create", "ci", "--role", "debugger", "--json").json
    assert made["token"].startswith("fp_")
    assert forkpoint("token", "create", "ci", "--role", "king").code == 2


def test_what_is_stored_is_used_by_name_and_by_digest(forkpoint: WarmShell, failed: str, tmp_path: Path) -> None:
    (tmp_path / "brief.json").write_text(json.dumps(OVERRIDES))
    saved = forkpoint("profiles", "save", "brief", tmp_path / "brief.json", "--json").json
    assert forkpoint("policies", "save", "short", "-", input='{"max_turns": 9}').code == 0
    asked = ("replay", failed, "--from", "5", "--policy", "short", "--preview", "--json", "--overrides")
    plans = [forkpoint(*asked, ref).json["plan"] for ref in ("brief", saved["digest"], saved["digest"][:10])]
    whole = forkpoint(*asked, tmp_path / "brief.json").json["plan"]
    assert plans == [whole] * 3
    assert any("messages" in step["differs"] for step in whole["steps"])
    assert json.loads(forkpoint("profiles", "show", "brief").out) == OVERRIDES
    assert [each["names"] for each in forkpoint("policies", "--json").json["policies"]] == [["short"]]
    assert "brief" in forkpoint("profiles").out
    assert forkpoint("profiles", "forget", "brief").code == 0
    assert forkpoint(*asked, "brief").code == 4
    assert forkpoint(*asked, "brief.json").code == 2


def test_live_text_is_printed_as_it_comes(forkpoint: WarmShell, failed: str) -> None:
    asked = ("replay", failed, "--from", "5", "--system-prompt", "You are the order desk. Say it in a new way.")
    said = forkpoint(*asked, "--temperature", "0.3", "--stream")
    assert said.code == 0
    session = forkpoint(*asked, "--temperature", "0.4", "--stream", "--json")
    steps = forkpoint("show", session.json["run"]["id"], "--json").json["steps"]
    spoken = [step for step in steps if step["reason"] == "live_model_call" and step["output"]["message"]["content"]]
    assert spoken
    for step in spoken:
        assert step["output"]["message"]["content"] in session.err  # standard output holds the document alone
        assert f"step {step['sequence_no']}" in said.err
        assert step["output"]["message"]["content"] in said.out


def test_a_calibration_names_what_differs_and_accepts_it(forkpoint: WarmShell, tmp_path: Path) -> None:
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
    found = forkpoint("calibrate", *runs, "--accept", "recommended", "--json").json
    assert found["accepted"]["version"] == 1
    assert {rule["pointer"] for rule in found["accepted"]["rules"]} >= {"/trace_id"}


def test_a_gate_fails_where_a_score_is_too_low(forkpoint: WarmShell, failed: str, fork: Any) -> None:
    derived = fork["run"]["id"]
    assert forkpoint("gate", failed, failed).code == 0
    strict = forkpoint("gate", failed, derived, "--min-ars", "1", "--min-tool-accuracy", "0", "--json")
    assert (strict.code, strict.json["passed"]) == (5, False)
    assert [check["passed"] for check in strict.json["checks"]] == [False, True]
    assert forkpoint("gate", failed, derived, "--min-tool-accuracy", "0").code == 0


def test_the_review_of_tools_is_a_file_out_and_in(forkpoint: WarmShell, tmp_path: Path) -> None:
    path = tmp_path / "side_effects.yaml"
    assert forkpoint("tools", "-o", path).code == 0
    assert "issue_refund: false" in path.read_text()
    path.write_text("tools: {issue_refund: 'false'}\ndone: true\n")
    assert forkpoint("tools", "--import", path).code == 2  # a text is no decision
