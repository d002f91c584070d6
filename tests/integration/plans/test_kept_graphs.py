"""Previews of long runs read the run once, however many edits somebody tries."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from replay.core.plan import Plan
from replay.overrides.profile import Match, Override, OverrideProfile, ToolOverride
from replay.sessions import services as replays
from replay.sessions.schemas import ReplayRequest
from tests.bench.recordings import desk
from traces.runs import services


@pytest.mark.django_db
def test_the_next_preview_of_a_long_run_reads_no_graph() -> None:
    run = services.record(desk(700, "kept-graph")).run_id

    def preview(status: str) -> Plan:
        changed = Override(match=Match(step=2), tool=ToolOverride(output={"status": status}))
        overrides = OverrideProfile(overrides=[changed])
        return replays.preview(ReplayRequest(run=str(run), fork_step=2, overrides=overrides))

    first = preview("lost")
    with CaptureQueriesContext(connection) as captured:
        again = preview("delayed")
    assert again.counts == first.counts
    assert not [row for row in captured.captured_queries if "traces_edge" in row["sql"]]
