"""The command line as used by scripts: one JSON document on standard output, and an exit code."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS
from tests.integration.cli.conftest import FAILED
from tests.support.command_line import Shell, WarmShell
from tests.support.servers.langfuse_server import KEYS, langfuse_server

pytestmark = pytest.mark.own_store


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


def test_command_does_not_import_packages_it_does_not_need(forkpoint: WarmShell) -> None:
    unneeded = {
        "redis",
        "openai",
        "aiohttp",
        "replay.tasks",
        "replay.planning",
        "replay.sessions.schemas",
        "traces.imports.api",
        "traces.importers.registry",
        "cockpit.demo",
        "drf_spectacular.views",
    }
    program = (
        "import sys\nfrom cockpit.cli import main\nsys.argv = ['forkpoint', 'runs']\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"modules = {unneeded} & set(sys.modules)\n"
        # Nor does a live tool import the client of MCP servers, if it is of another kind.
        "from replay.live.tools import dispatch\nmodules |= {'mcp'} & set(sys.modules)\n"
        "sys.exit(f'imported {modules}' if modules else 0)\n"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, env=forkpoint.shell.environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


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


def test_check_finds_wrong_totals_and_reindex_repairs_them(forkpoint: WarmShell) -> None:
    assert forkpoint("check", "--totals", "--json").json["totals"] == {"wrong": []}
    with closing(sqlite3.connect(forkpoint.shell.home / "forkpoint.sqlite3")) as store, store:
        store.execute("UPDATE traces_usagetotal SET calls = calls + 1 WHERE type = 'tool'")
    check = forkpoint("check", "--totals", "--json")
    assert (check.code, bool(check.json["totals"]["wrong"])) == (1, True)
    assert "run `forkpoint reindex`" in forkpoint("check", "--totals").err
    runs = forkpoint("runs", "--limit", "1000", "--json").json["runs"]
    document_count = forkpoint("reindex", "--json").json["documents"]
    with closing(sqlite3.connect(forkpoint.shell.home / "forkpoint.sqlite3")) as store:
        stored = store.execute("SELECT count(*), count(DISTINCT run_id) FROM traces_searchdocument").fetchone()
    # A run with long texts has several.
    assert stored == (document_count, len(runs))
    assert forkpoint("check", "--totals", "--json").code == 0


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
    repeated = forkpoint("token", "create", "ci", "--json")
    assert (repeated.code, repeated.json["error"]["code"]) == (1, "conflict")
    assert forkpoint("token", "create", "").code == 2


def test_tool_review_round_trips_through_file(forkpoint: WarmShell, tmp_path: Path) -> None:
    path = tmp_path / "side_effects.yaml"
    assert forkpoint("tools", "-o", path).code == 0
    assert "issue_refund: false" in path.read_text()
    path.write_text("tools: {issue_refund: 'false'}\ndone: true\n")
    assert forkpoint("tools", "--import", path).code == 2  # a text is no decision


def test_run_is_renamed_and_tagged(forkpoint: WarmShell, failed_run: str) -> None:
    assert forkpoint("rename", failed_run, "Cents fix", "--note", "Try B-2001").out.startswith("Cents fix · ")
    assert forkpoint("tag", failed_run, "+urgent", "+flaky", "-demo", "--json").json["tags"] == ["urgent", "flaky"]
    assert forkpoint("tag", failed_run, "-flaky").out.strip() == "urgent"
    shown = forkpoint("show", failed_run, "--json").json["run"]
    assert (shown["title"], shown["note"], shown["tags"]) == ("Cents fix", "Try B-2001", ["urgent"])
    assert (forkpoint("tag", failed_run, "urgent").code, forkpoint("rename", failed_run).code) == (2, 2)
