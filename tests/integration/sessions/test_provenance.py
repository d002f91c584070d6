"""Provenance in derived runs that are too long to be read completely."""

from typing import Any

import pytest

from replay.execution import runner, task_names
from replay.sessions import prepare, queries, services
from tests.bench.recordings import desk
from tests.support.queues import capture_tasks
from traces.models import Edge
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)


def test_old_content_is_traced_to_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    run, last = record(desk(220, "long")).run_id, 660
    answer = "A colleague was told: Your order A-000001 is shipped. What about mine, which is late as well?"
    edit = {"op": "insert", "index": 2, "content": answer}
    body: Any = {
        "run": str(run),
        "fork_step": last,
        "policy": {"allow": []},
        "overrides": {"overrides": [{"match": {"step": last}, "messages": [edit]}]},
    }
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    view = queries.session_view(session.id)
    assert view.run is not None
    edges = Edge.objects.filter(run_id=view.run, consumer_no=last, consumer_path="/messages/2/content")
    assert set(edges.values_list("producer_no", "kind")) == {(6, "text")}
