"""Vellum: events of executions of workflows."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus


def event(name: str, span: str, parent: str, second: int, **body: Any) -> dict[str, Any]:
    kind = name.partition(".")[0]
    ids = {"id": f"{name}-{span}", "trace_id": "t", "span_id": span, "parent": {"span_id": parent, "type": "EXTERNAL"}}
    return {
        "name": name,
        **ids,
        "timestamp": f"2026-03-01T10:00:0{second}Z",
        "body": {f"{kind}_definition": {"name": span.title(), "module": ["shop"]}, **body},
    }


EVENTS = [
    event("workflow.execution.initiated", "shop", "outside", 0, inputs={"question": "Any Dune?"}),
    event("node.execution.initiated", "search", "shop", 1, inputs={"title": "Dune"}),
    event("node.execution.fulfilled", "search", "shop", 2, outputs={"count": 3}),
    event("node.execution.initiated", "till", "shop", 3, inputs={}),
    event("workflow.execution.streaming", "shop", "outside", 3, output={"name": "answer"}),
    event("node.execution.rejected", "till", "shop", 4, error={"message": "no till", "code": "NODE_EXECUTION"}),
    event("workflow.execution.rejected", "shop", "outside", 5, error={"message": "no till", "code": "NODE_EXECUTION"}),
]
SPANS = [{"name": "workflow", "events": EVENTS[:1] + EVENTS[4:]}, {"name": "node", "events": EVENTS[1:4]}]


@pytest.mark.parametrize(
    "data",
    [
        fixtures.json_lines(EVENTS),
        orjson.dumps(EVENTS),
        orjson.dumps({"results": [{"span_id": "shop", "spans": SPANS}]}),
    ],
    ids=["lines", "list", "page"],
)
def test_executions_are_steps(data: bytes) -> None:
    ((run,), problems) = fixtures.detect_and_read("vellum", data)
    assert (run.external_id, run.app, run.name, run.status) == ("shop", "Shop", "Any Dune?", RunStatus.FAILED)
    assert [(step.type.value, step.name, step.parent, step.input, step.output, step.error) for step in run.steps] == [
        ("agent", "Shop", None, {"question": "Any Dune?"}, None, "no till"),
        ("tool", "Search", "shop", {"title": "Dune"}, {"count": 3}, ""),
        ("tool", "Till", "shop", {}, None, "no till"),
    ]
    assert (run.steps[2].attributes["error"], problems) == ({"code": "NODE_EXECUTION"}, [])
