from decimal import Decimal
from typing import Any

from tests.support import importing_fixtures as fixtures
from tests.support.importing_fixtures import read

TIMES = {"start_time": "2026-05-01T10:00:00Z", "end_time": "2026-05-01T10:00:03Z"}
TRACE: dict[str, Any] = {
    "id": "t1",
    "name": "agent",
    "input": {"question": "Which are open?"},
    "output": {"answer": "B-7"},
    "usage": {"prompt_tokens": 90, "completion_tokens": 12},
    "total_estimated_cost": 0.5,
    "feedback_scores": [],
    "project_name": "Desk",
    **TIMES,
}
SPAN = {
    "id": "s1",
    "trace_id": "t1",
    "parent_span_id": None,
    "name": "chat",
    "type": "llm",
    "usage": TRACE["usage"],
    "total_estimated_cost": 0.5,
    **TIMES,
}


def test_usage_of_trace_counts_only_without_that_of_its_spans() -> None:
    (bare,), (whole,) = read("opik", [[TRACE]]), read("opik", [[TRACE, SPAN]])
    for run in (bare, whole):
        assert sum(step.tokens_in or 0 for step in run.steps) == 90
        assert sum((step.cost_usd or Decimal() for step in run.steps), Decimal()) == Decimal("0.5")
    assert bare.steps[0].tokens_out == 12


def test_span_without_optional_fields_belongs_to_its_page() -> None:
    bare = {"id": "s2", "trace_id": "t1", "name": "check", "type": "guardrail", "output": {"passed": False}, **TIMES}
    page = {"page": 1, "size": 2, "content": [SPAN, bare]}
    ((run,), problems) = fixtures.detect_and_read("opik", fixtures.json_lines([page]))
    assert ([step.key for step in run.steps], problems) == (["s1", "s2"], [])
