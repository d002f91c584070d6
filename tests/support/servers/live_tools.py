"""Replays that reach an unrecorded tool call, and their results."""

from typing import Any

from pytest_django import Settings

from replay.execution import runner
from replay.models import Attempt
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from replay.tool_review import services as tool_review_services
from tests.support.replay_runs import order_desk
from traces.models import Run, Step
from traces.runs.services import record
from traces.storage import artifacts

UNRECORDED_CALL = {
    "match": {"step": 3},
    "output": {"tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": "B-9"}}]},
}
LIVE: Any = {"allow": ["tool"], "retries": {"max": 2, "initial_s": 0.01}}


def configure(settings: Settings, entry: dict[str, Any]) -> None:
    settings.TOOLS = {"get_order": entry}
    tool_review_services.decide({"get_order": True}, author="ada")


def launch(*entries: dict[str, Any], **policy: Any) -> Any:
    run = Run.objects.get(id=record(order_desk()).run_id)
    body: Any = {
        "run": str(run.id),
        "overrides": {"overrides": list(entries or [UNRECORDED_CALL])},
        "policy": {**LIVE, **policy},
    }
    return services.launch(prepare.parse(body)).id


def replay(*entries: dict[str, Any], **policy: Any) -> SessionView:
    session = launch(*entries, **policy)
    runner.execute(session)
    return queries.session_view(session)


def order_step(view: SessionView) -> Step:
    assert view.run is not None
    return Step.objects.get(run_id=view.run, tool_name="get_order")


def output(step: Step) -> Any:
    return artifacts.payload(step.output_ref)


def attempts() -> list[tuple[str, str, str]]:
    return list(Attempt.objects.order_by("attempt").values_list("kind", "status", "error_code"))
