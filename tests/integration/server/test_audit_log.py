"""The audit log: who did what, whether or not its object still exists."""

from typing import Any
from uuid import UUID

import orjson
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from diffing import services as diffing
from traces.audit import audit_log
from traces.core.vocabulary import AuditAction

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
_CHAT = {"messages": [{"role": "user", "content": "Refund?"}, {"role": "assistant", "content": "Done."}]}


def _send(method: str, path: str, body: Any = None) -> Any:
    response = Client().generic(method, f"/api/v1/{path}", orjson.dumps(body), content_type="application/json")
    assert response.status_code < 300, response.content
    content = response.getvalue()
    return orjson.loads(content) if response.headers.get("Content-Type") == "application/json" else None


def _import(text: str) -> str:
    messages = [*_CHAT["messages"], {"role": "user", "content": text}]
    body = orjson.dumps({"messages": messages})
    report = Client().post("/api/v1/runs/import?filename=a.json", body, content_type="application/octet-stream").json()
    return str(report["runs"][0]["id"])


def _entries(**query: str) -> list[tuple[str, str, str]]:
    entries = Client().get("/api/v1/audit", query).json()["entries"]
    return [(entry["action"], entry["subject"], entry["by"]) for entry in reversed(entries)]


def test_actions_on_runs_leave_entries() -> None:
    base, candidate = _import("Thanks."), _import("Why?")
    assert _import("Why?") == candidate
    _send("POST", "bundles/export", {"run": base})
    diff = _send("POST", "diffs", {"base": base, "candidate": candidate})["id"]
    _send("POST", "diffs", {"base": base, "candidate": candidate})
    diffing.diff(base_id=UUID(candidate), candidate_id=UUID(base))
    session = _send("POST", "replays", {"run": base})["id"]
    assert _entries() == [
        ("runs_imported", base, "local"),
        ("runs_imported", candidate, "local"),
        ("run_exported", base, "local"),
        ("diff_created", diff, "local"),
        ("replay_started", session, "local"),
    ]
    assert _entries(subject=base, action="run_exported") == [("run_exported", base, "local")]
    _send("POST", "shares", {"kind": "diff", "subject": diff})
    _send("PATCH", f"runs/{base}", {"title": "Thanked"})
    _send("PATCH", f"runs/{candidate}", {"title": "Asked"})
    entries = Client().get("/api/v1/audit").json()["entries"]
    names = {entry["action"]: entry["run_name"] for entry in entries if entry["subject"] != candidate}
    assert {names[action] for action in ("run_exported", "replay_started")} == {"Thanked"}
    assert {names[action] for action in ("diff_created", "share_created")} == {"Asked"}


def test_changed_settings_leave_entries() -> None:
    _send("PUT", "tools", {"decisions": [{"name": "issue_refund", "safe": True}]})
    _send("PUT", "tools", {"decisions": [{"name": "issue_refund", "safe": True}]})
    token = _send("POST", "tokens", {"name": "ci", "role": "viewer"})
    _send("DELETE", f"tokens/{token['id']}")
    _send("POST", "policies", {"name": "careful", "policy": {"strict": True}})
    _send("DELETE", "policies/careful")
    _send("PUT", "redaction-policies", {"app": "", "rules": [], "secrets": False})
    _send("POST", "ignore-lists", {"app": "desk", "rules": [{"type": "tool", "pointer": "/request_id"}]})
    _send("PUT", "outcome-rules/desk", {"tags": {"bad": "failed"}})
    assert _entries() == [
        ("tool_reviewed", "issue_refund", "local"),
        ("token_created", token["id"], "local"),
        ("token_revoked", token["id"], "local"),
        ("name_set", "careful", "local"),
        ("name_removed", "careful", "local"),
        ("redaction_policy_set", "all apps", "local"),
        ("ignore_list_set", "desk", "local"),
        ("outcome_rule_set", "desk", "local"),
    ]
    assert token["secret"] not in Client().get("/api/v1/audit").content.decode()


def test_change_of_many_objects_is_logged_in_one_statement() -> None:
    runs = [_import(text) for text in ("Thanks.", "Why?", "When?")]
    with CaptureQueriesContext(connection) as queries:
        _send("PUT", "tools", {"decisions": [{"name": name, "safe": True} for name in ("a", "b", "c")]})
        _send("POST", "runs/tags", {"changes": [{"runs": runs, "add": ["slow"]}]})
        _send("POST", "runs/export", {"runs": runs})
    inserts = [query for query in queries if query["sql"].startswith('INSERT INTO "traces_auditentry"')]
    assert (len(inserts), len(_entries()) - len(runs)) == (3, 9)


def test_log_is_read_page_by_page() -> None:
    for number in range(201):
        audit_log.append(AuditAction.TOOL_REVIEWED, f"tool {number}" * 50, by="ada" * 50)
    page = Client().get("/api/v1/audit").json()
    rest = Client().get("/api/v1/audit", {"cursor": page["next"]}).json()
    assert (len(page["entries"]), len(rest["entries"]), rest["next"]) == (200, 1, None)
    assert Client().get("/api/v1/audit", {"cursor": "x"}).status_code == 400
