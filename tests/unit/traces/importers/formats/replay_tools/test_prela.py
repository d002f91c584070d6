"""Spans of Prela: what their snapshots state beside inputs and outputs."""

import orjson

from traces.core.vocabulary import TOOL_DESCRIPTION
from traces.importers import registry
from traces.importers.files.source import Source


def test_tool_has_its_recorded_description() -> None:
    snapshot = {"tool_name": "handler", "tool_description": "Deletes a customer.", "tool_input": {"id": 7}}
    span = {"trace_id": "t", "span_id": "s", "name": "handler", "span_type": "tool", "replay_snapshot": snapshot}
    (run,) = registry.get_importer("prela").runs([Source(name="trace.json", data=orjson.dumps([span]))])
    assert run.steps[0].attributes[TOOL_DESCRIPTION] == "Deletes a customer."
