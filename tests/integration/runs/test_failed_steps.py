"""Failed steps of all runs."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import order_run, tool_step
from traces.core.vocabulary import StepStatus
from traces.runs import services

pytestmark = pytest.mark.django_db


def _record(name: str, statuses: str, **columns: Any) -> None:
    """Record a run of tool calls; `x` fails, `t` takes too long."""
    kinds = {"x": StepStatus.ERROR, "t": StepStatus.TIMEOUT}
    steps = tuple(
        tool_step(f"{name}-{at}", f"c{at}", "A-1", None, status=kinds.get(mark, StepStatus.OK), error=mark * 600)
        for at, mark in enumerate(statuses)
    )
    services.record(replace(order_run(name), name=name, steps=steps, **columns))


def _list(**query: Any) -> Any:
    response = Client().get("/api/v1/failed-steps", query)
    assert response.status_code == 200, response.content
    return response.json()


def _places(**query: Any) -> list[tuple[str, int]]:
    return [(step["run_name"], step["step"]) for step in _list(**query)["steps"]]


def test_newest_runs_and_last_steps_come_first() -> None:
    for name, statuses in (("a", "x.x"), ("b", "..."), ("c", ".t")):
        _record(name, statuses)
    assert _places() == [("c", 2), ("a", 3), ("a", 1)]
    step = _list()["steps"][0]
    assert (step["status"], step["tool_name"], step["error"]) == ("timeout", "get_order", "t" * 500)


def test_filters_of_the_runs_list_apply() -> None:
    _record("a", "x", app="desk")
    _record("b", "x", app="shop", tags=("vip",))
    assert (_places(app="desk"), _places(tag="vip")) == ([("a", 1)], [("b", 1)])


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_continue_inside_a_run(limit: int) -> None:
    _record("a", "xxx")
    _record("b", "x.")
    _record("c", "xx")
    places: list[tuple[str, int]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = _list(limit=limit, cursor=cursor)
        places += [(step["run_name"], step["step"]) for step in page["steps"]]
        cursor = page["next"]
    assert places == [("c", 2), ("c", 1), ("b", 1), ("a", 3), ("a", 2), ("a", 1)]


def test_wrong_cursor_is_rejected() -> None:
    assert Client().get("/api/v1/failed-steps", {"cursor": "x.1"}).status_code == 400
