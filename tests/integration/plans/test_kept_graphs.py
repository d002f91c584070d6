"""Repeated previews of a long run read the run once, and a fork reads little of what is before it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from replay.core.plan import Plan
from replay.overrides.profile import Match, Override, OverrideProfile, ToolOverride
from replay.sessions import services as replays
from replay.sessions.schemas import ReplayRequest
from replay.store.graph_loader import load_graph
from tests.bench.recordings import desk
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def test_next_preview_reads_no_graph() -> None:
    run = services.record(desk(700, "kept-graph")).run_id

    def preview(status: str) -> Plan:
        changed = Override(match=Match(step=2), tool=ToolOverride(output={"status": status}))
        overrides = OverrideProfile(overrides=[changed])
        return replays.preview(ReplayRequest(run=str(run), fork_step=2, overrides=overrides))

    first = preview("lost")
    with CaptureQueriesContext(connection) as queries:
        repeated_preview = preview("delayed")
    assert repeated_preview.counts == first.counts
    assert not [row for row in queries.captured_queries if "traces_edge" in row["sql"]]


def test_fork_at_the_end_reads_no_calls_before_it() -> None:
    """They are read once the replay leaves the recording."""
    run = services.record(desk(20, "earlier-calls")).run_id
    graph = load_graph(run, 60)
    with CaptureQueriesContext(connection) as queries:
        assert [node.no for node in graph.nodes] == [60]
        assert graph.find(59) is not None
        assert len(graph.earlier_calls) == 20
    assert len(queries.captured_queries) == 1
