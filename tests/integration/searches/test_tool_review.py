"""Tools and the decisions about them; no tool runs before its review."""

import dataclasses
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from cockpit.http import tokens
from replay.core.errors import ReplayRefusal
from replay.models import ToolDecision
from replay.sessions import prepare, services
from replay.tool_review import queries as tool_review_queries
from replay.tool_review import services as tool_review_services
from replay.tool_review.schemas import ToolView
from tests.support.replay_runs import order_desk
from traces.core.json_types import JSONObject
from traces.core.vocabulary import TOOL_DESCRIPTION
from traces.models import Artifact, Run
from traces.payloads.splitter import Splitter
from traces.runs import services as services_of_traces
from traces.runs.services import record

pytestmark = [pytest.mark.django_db, pytest.mark.divided]

TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "get_order", "description": "Looks an order up.", "parameters": {"a": 1}},
    },
    {"name": "search_policy", "description": "Looks into the log as well.", "input_schema": {"b": 2}},
    {"name": "transfer", "description": ""},
]


def offering(tools: Any, external_id: str = "desk-1") -> Run:
    """The order desk, with these tools offered to its model."""
    run = order_desk(external_id=external_id)
    steps = []
    for step in run.steps:
        input = step.input
        if isinstance(input, dict) and "tools" in input:
            input = {**input, "tools": tools}
        steps.append(dataclasses.replace(step, input=input))
    return Run.objects.get(id=record(dataclasses.replace(run, steps=tuple(steps))).run_id)


def desk(external_id: str = "desk-1") -> Run:
    return offering(TOOLS, external_id)


def tools() -> dict[str, ToolView]:
    return {tool.name: tool for tool in tool_review_queries.listing({}).tools}


def put_body(path: str, body: Any, **options: Any) -> Any:
    return Client().put(
        f"/api/v1/{path}", body, content_type=options.pop("content_type", "application/json"), **options
    )


def preview(run: Run, **policy: Any) -> Any:
    request: Any = {"run": str(run.id), "policy": {"allow": ["model", "tool"], "order": "reexecute", **policy}}
    return services.preview(prepare.parse(request))


def review_refusals(run: Run, **policy: Any) -> list[str]:
    """The tools that need a review; missing executors are refused separately."""
    return [refusal.detail for refusal in preview(run, **policy).refusals if refusal.code == "tool_review_required"]


def test_every_tool_is_listed_with_a_suggestion() -> None:
    desk()
    by_name = tools()
    order, policy, transfer = by_name["get_order"], by_name["search_policy"], by_name["transfer"]
    assert (order.calls, order.apps, order.safe, order.parameters) == (1, ["desk"], None, {"a": 1})
    assert order.last_seen is not None
    assert (order.description, order.suggestion.safe, order.suggestion.reason) == (
        "Looks an order up.",
        True,
        "name contains “get”",
    )
    assert (policy.suggestion.safe, policy.parameters) == (True, {"b": 2})
    assert (transfer.calls, transfer.last_seen, transfer.suggestion.safe) == (0, None, False)
    assert transfer.suggestion.reason == "name begins with “transfer”"


def test_unsafe_word_in_description_wins() -> None:
    offering([{"name": "get_order", "description": "Read the order, then send an email."}])
    assert tools()["get_order"].suggestion.reason == "description contains “send”, “email”"


def test_description_recorded_with_a_call_counts() -> None:
    """Recorders of spans often state a tool's description there, and not in the requests of models."""
    run = order_desk()
    steps = [
        dataclasses.replace(step, attributes={TOOL_DESCRIPTION: "Deletes the order."})
        if step.tool_name == "get_order"
        else step
        for step in run.steps
    ]
    record(dataclasses.replace(run, steps=tuple(steps)))
    tool = tools()["get_order"]
    assert (tool.description, tool.suggestion.safe) == ("Deletes the order.", False)


def test_list_queries_do_not_grow_with_runs() -> None:
    counts = []
    for at in range(2):
        for more in range(1 + 10 * at):
            desk(f"desk-{at}-{more}")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert tools()["get_order"].calls == 1 + 11 * at
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_lost_offer_is_missing_only_there() -> None:
    lost_tool: JSONObject = {"name": "search_policy", "description": "Gone."}
    present_tool = {"name": "get_order", "description": "Reads."}
    offering([lost_tool], "desk-1")
    offering([present_tool], "desk-2")
    with services_of_traces.retention():
        Artifact.objects.filter(sha256=Splitter().part_digest(lost_tool)).delete()
    assert {name: tool.description for name, tool in tools().items()} == {"get_order": "Reads.", "search_policy": ""}


def test_decision_is_stored_with_its_author() -> None:
    desk()
    for safe in (True, False):
        body = {"decisions": [{"name": "get_order", "safe": safe}]}
        entries = put_body("tools", body).json()["tools"]
    decision = next(tool for tool in entries if tool["name"] == "get_order")
    assert decision["safe"] is False
    assert [(entry["safe"], entry["by"], entry["via"]) for entry in decision["history"]] == [
        (False, "local", "page"),
        (True, "local", "page"),
    ]
    assert [tool["name"] for tool in entries][-1] == "get_order", "those that wait come first"


def accept(*names: str) -> Any:
    body = {"as_suggested": True, "decisions": [{"name": name, "safe": True} for name in names]}
    return put_body("tools", body)


def test_suggestions_are_accepted_at_once() -> None:
    desk()
    assert accept("get_order", "search_policy").status_code == 200
    assert {name: tool.safe for name, tool in tools().items()} == {
        "get_order": True,
        "search_policy": True,
        "transfer": None,
    }
    assert [(entry.by, entry.via) for entry in tools()["get_order"].history] == [("local", "suggestion")]


@pytest.mark.parametrize("name", ["transfer", "send_email", "search_policy", "no_such_tool"])
def test_only_safe_suggestions_are_accepted(name: str) -> None:
    offering([*TOOLS, {"name": "send_email"}])
    tool_review_services.decide({"search_policy": False}, author="ada")
    response = accept("get_order", name)
    assert (response.status_code, response.json()["code"]) == (409, "conflict")
    assert f"“{name}”" in response.json()["detail"]
    assert tools()["get_order"].safe is None, "all or none"


def test_repeated_decision_is_not_new() -> None:
    assert [tool_review_services.decide({"a": True}, author="ada") for _ in range(2)] == [1, 0]
    assert ToolDecision.objects.count() == 1


def test_quoted_boolean_is_refused() -> None:
    response = put_body("tools", {"decisions": [{"name": "a", "safe": True}, {"name": "b", "safe": "false"}]})
    assert (response.status_code, response.json()["where"]) == (422, "/decisions/1/safe")
    response = put_body("tools.yaml", b'tools: {b: "false"}\ndone: true', content_type="application/yaml")
    assert (response.status_code, response.json()["code"]) == (422, "validation_error")
    assert response.json()["where"] == "/tools/b"
    assert not ToolDecision.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "debugger"])
def test_only_admins_decide(settings: Settings, role: Any) -> None:
    settings.LOGIN_REQUIRED = True
    headers = {"Authorization": f"Bearer {tokens.create(name=role, role=role)}"}
    assert put_body("tools", {"decisions": []}, headers=headers).status_code == 403
    assert put_body("tools.yaml", b"tools: {}\ndone: true", headers=headers).status_code == 403
    assert Client().get("/api/v1/tools", headers=headers).status_code == 200


def test_decision_names_the_admin(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    headers = {"Authorization": f"Bearer {tokens.create(name='ada', role='admin')}"}
    assert put_body("tools", {"decisions": [{"name": "a", "safe": True}]}, headers=headers).status_code == 200
    assert tools()["a"].history[0].by == "ada"


def test_review_file_round_trips_when_complete() -> None:
    desk()
    tool_review_services.decide({"transfer": True}, author="ada")
    response = Client().get("/api/v1/tools.yaml", headers={"Accept": "application/yaml"})
    assert response["Content-Disposition"] == 'attachment; filename="side_effects.yaml"'
    text = response.content.decode()
    assert "tools:\n  get_order: true\n  search_policy: true\n  transfer: true\ndone: false\n" in text
    assert put_body("tools.yaml", text.encode()).status_code == 200
    assert tools()["get_order"].safe is None, "not done: nothing becomes safe"
    assert put_body("tools.yaml", text.replace("done: false", "done: true").encode()).status_code == 200
    assert {tool.safe for tool in tools().values()} == {True}
    assert tools()["get_order"].history[0].via == "yaml"
    assert "done: true" in Client().get("/api/v1/tools.yaml").content.decode()


def test_incomplete_file_can_only_block() -> None:
    tool_review_services.decide({"a": True, "b": True, "c": False}, author="ada")
    tool_review_services.import_file(b"tools: {a: false, c: true, d: true}\ndone: false", author="bob")
    assert tool_review_queries.safety_by_tool() == {"a": None, "b": True, "c": False}


def test_unreviewed_tool_refuses_the_replay() -> None:
    run = desk()
    refusal = preview(run).refusals[0]
    assert (refusal.code, refusal.where, refusal.step) == ("tool_review_required", "/policy/allow", 4)
    assert "“get_order”, “search_policy”" in refusal.detail
    request: Any = {"run": str(run.id), "policy": {"allow": ["tool"], "order": "reexecute"}}
    with pytest.raises(ReplayRefusal) as error:
        services.launch(prepare.parse(request))
    assert (error.value.code, error.value.status) == ("tool_review_required", 422)


def test_reviewed_tools_do_not_block() -> None:
    run = desk()
    assert "“search_policy”" in review_refusals(run, tools={"block": ["get_*"]})[0]
    assert review_refusals(run, tools={"allow": ["other"]}) == []
    tool_review_services.decide({"get_order": True, "search_policy": False}, author="ada")
    assert review_refusals(run) == []
    tool_review_services.decide({"get_order": None}, author="ada")
    assert "“get_order”" in review_refusals(run)[0]


def test_policy_without_tools_needs_no_review() -> None:
    assert review_refusals(desk(), allow=["model"]) == []
