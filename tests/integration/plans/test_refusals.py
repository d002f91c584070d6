"""Every refusal of a replay, with its code and entry, in a preview and at launch."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from replay.execution import task_names
from replay.models import ReplaySession
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from tests.support.servers.provider_server import openai_text, provider_server
from traces.models import Artifact, Run, Step
from traces.runs import services
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
ENTRY = "/overrides/overrides/0"
TEMPERATURE = {"match": {"step": 9}, "model": {"temperature": 1}}
LIVE_TOOLS = {"allow": ["model", "tool"]}


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def refusal_of(
    client: Client, run: str, entries: Any = (), policy: Any = None, fork: int | None = 3
) -> tuple[str, str]:
    """First refusal of the preview; a launch returns the same and starts nothing."""
    body = {"run": run, "fork_step": fork, "overrides": {"overrides": list(entries)}, "policy": policy or {}}
    preview = client.post("/api/v1/replays/preview", body, content_type="application/json").json()
    launch = client.post("/api/v1/replays", body, content_type="application/json").json()
    refusal = preview["refusals"][0] if "refusals" in preview else preview
    assert (launch["code"], launch["where"], launch["detail"]) == (refusal["code"], refusal["where"], refusal["detail"])
    assert not ReplaySession.objects.exists()
    return refusal["code"], refusal["where"]


@pytest.mark.parametrize(
    ("entries", "policy", "code", "pointer"),
    [
        ([{"match": {"step": 2}, "output": "x"}], {}, "override_before_fork", f"{ENTRY}/match/step"),
        (
            [TEMPERATURE, {"match": {"type": "model"}, "model": {"temperature": 0.5}}],
            {},
            "override_conflict",
            "/overrides/overrides/1/model/temperature",
        ),
        ([{"match": {"step": 4}, "tool": {"output": 1}, "output": 2}], {}, "override_conflict", f"{ENTRY}/tool"),
        ([{"match": {"step": 4}, "remove": True}], {}, "structural_change", f"{ENTRY}/remove"),
        ([{"match": {"step": 77}, "output": "x"}], {}, "override_matches_nothing", f"{ENTRY}/match"),
        (
            [{"match": {"type": "tool", "name": "no_*"}, "output": "x"}],
            {},
            "override_matches_nothing",
            f"{ENTRY}/match",
        ),
        ([{"match": {"step": 4}, "model": {"seed": 1}}], {}, "override_matches_nothing", f"{ENTRY}/model"),
        (
            [{"match": {"step": 3}, "messages": [{"op": "delete", "index": 9}]}],
            {},
            "override_matches_nothing",
            f"{ENTRY}/messages/0/index",
        ),
        (
            [
                {"match": {"type": "model"}, "prompt": {"system": "Be brief."}},
                {"match": {"step": 3}, "messages": [{"op": "replace", "index": 0, "content": "Be kind."}]},
            ],
            {},
            "override_conflict",
            "/overrides/overrides/1/messages/0/index",
        ),
        ([{"match": {"step": 9}, "model": {"provider": "nobody"}}], {}, "policy_conflict", f"{ENTRY}/model/provider"),
        ([TEMPERATURE], {"allow": [], "fallback": "fail"}, "policy_conflict", f"{ENTRY}/model"),
        ([], {"allow": [], "order": "reexecute"}, "policy_conflict", "/policy/order"),
        (
            [],
            {"tools": {"ask": ["get_order", "send_email"], "block": ["send_*"]}},
            "policy_conflict",
            "/policy/tools/ask/1",
        ),
        ([], {"tools": {"allow": ["get_order"]}}, "policy_conflict", "/policy/tools/allow"),
        (
            [],
            {**LIVE_TOOLS, "tools": {"allow": ["get_order"], "block": ["get_*"]}},
            "policy_conflict",
            "/policy/tools/block",
        ),
        ([], {**LIVE_TOOLS, "tools": {"block": ["*"]}}, "policy_conflict", "/policy/tools/block"),
        ([TEMPERATURE], {"budget": {"max_live_calls": 0}}, "policy_conflict", "/policy/budget/max_live_calls"),
        ([TEMPERATURE], {"budget": {"max_cost_usd": 0}}, "policy_conflict", "/policy/budget/max_cost_usd"),
        ([TEMPERATURE], {"budget": {"max_steps": 2}}, "policy_conflict", "/policy/budget/max_steps"),
        ([], {**LIVE_TOOLS, "order": "reexecute"}, "tool_review_required", "/policy/allow"),
    ],
)
def test_refused_requests(client: Client, settings: Any, entries: Any, policy: Any, code: str, pointer: str) -> None:
    with provider_server(openai_text("fine")) as server:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{server.base_url}/v1"}}
        assert refusal_of(client, str(record(order_desk()).run_id), entries, policy) == (code, pointer)


def test_unsealed_run_is_refused(client: Client) -> None:
    run = services.open_run(name="open", app="desk", source_run=None)
    assert refusal_of(client, str(run.id), fork=None) == ("source_not_sealed", "/run")


@pytest.mark.parametrize("metadata", [{"redaction": {"status": "failed"}}, {"redaction_status": "blocked"}])
def test_run_with_failed_redaction_is_refused(client: Client, metadata: Any) -> None:
    run = record(replace(order_desk(), metadata=metadata)).run_id
    assert refusal_of(client, str(run)) == ("privacy_blocked", "/run")


def test_missing_payload_is_refused(client: Client) -> None:
    run = record(order_desk()).run_id
    with services.retention():
        Artifact.objects.filter(sha256=Step.objects.get(run_id=run, sequence_no=9).input_ref).delete()
    assert refusal_of(client, str(run), [TEMPERATURE]) == ("artifact_missing", "/run")
    assert Run.objects.count() == 1


def test_recording_without_content_is_refused(client: Client) -> None:
    """Without content, reuse would be labelled exact."""
    whole = order_desk()
    steps = tuple(replace(step, input=None, output=None) for step in whole.steps)
    run = record(replace(whole, steps=steps)).run_id
    assert refusal_of(client, str(run), fork=None) == ("artifact_missing", "/run")
