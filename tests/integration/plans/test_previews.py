"""Previews over REST: repeated ones come from memory until something changes, and new ones are limited."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from replay.sessions import previews
from replay.tool_review import services
from tests.support.recordings import order_run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
PROVIDER = {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}


@pytest.fixture(autouse=True)
def _fresh_windows() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Limit of two previews per window."""
    monkeypatch.setattr(previews, "FORKS", replace(previews.FORKS, limit=2))
    monkeypatch.setattr(previews, "SEARCHES", replace(previews.SEARCHES, limit=2))
    return 2


def fork(run: str, text: str = "It is late.") -> dict[str, Any]:
    return {"run": run, "fork_step": 2, "overrides": {"overrides": [{"match": {"step": 4}, "output": text}]}}


def preview(client: Client, body: dict[str, Any], path: str = "replays") -> Any:
    return client.post(f"/api/v1/{path}/preview", body, content_type="application/json")


def stored_run(external_id: str = "order-1") -> str:
    return str(record(order_run(external_id)).run_id)


def is_planned(client: Client, body: dict[str, Any]) -> bool:
    """True if this preview is computed rather than cached."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert preview(client, body).status_code == 200
    return any("traces_edge" in query["sql"] for query in queries)


def test_repeated_preview_comes_from_memory(client: Client) -> None:
    body = fork(stored_run())
    assert [is_planned(client, body), is_planned(client, body)] == [True, False]
    assert preview(client, body).json() == preview(client, body).json()
    assert is_planned(client, fork(body["run"], "It is lost."))


def test_repeated_experiment_preview_is_remembered(client: Client, limit: int) -> None:
    body = {"run": stored_run(), "axes": [], "policy": {"order": "reuse"}}
    answers = [preview(client, body, "experiments") for _ in range(limit + 2)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_new_run_of_app_renews_previews(client: Client) -> None:
    body = fork(stored_run())
    is_planned(client, body)
    stored_run("order-2")
    assert is_planned(client, body)


def test_tool_decision_renews_previews(client: Client) -> None:
    body = fork(stored_run())
    is_planned(client, body)
    services.decide({"get_order": True}, author="operator")
    assert is_planned(client, body)


def test_configuration_renews_previews(client: Client, settings: Settings) -> None:
    body = fork(stored_run())
    is_planned(client, body)
    settings.PROVIDERS = {"desk": PROVIDER}
    assert is_planned(client, body)


def test_too_many_new_previews_are_refused(client: Client, limit: int) -> None:
    run = stored_run()
    answers = [preview(client, fork(run, f"Answer {number}.")) for number in range(limit + 1)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert (answers[-1]["Retry-After"], answers[-1].json()["code"]) == ("60", "rate_limited")
    assert preview(client, fork(run, "Answer 0.")).status_code == 200


def test_bisection_previews_are_limited(client: Client, limit: int) -> None:
    body = {"run": stored_run(), "checks": [{"kind": "contains", "text": "refunded"}]}
    assert [preview(client, body, "bisections").status_code for _ in range(limit + 1)] == [200, 200, 429]


def test_typing_never_meets_the_limit() -> None:
    assert previews.FORKS.limit > 60 * 4
    assert previews.SEARCHES.limit > 60 * 3
