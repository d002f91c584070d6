"""Imported replays: paired with their original runs in either import order."""

import io
from typing import Any

import orjson
import pytest
from django.test import Client

from tests.support import importing_fixtures as fixtures
from traces.imports import import_files
from traces.reading.progress import NamedFile

pytestmark = [pytest.mark.django_db, pytest.mark.divided]


def import_example(name: str, **changes: Any) -> str:
    recording = orjson.loads((fixtures.FOLDER / name).read_bytes()) | changes
    report = import_files.import_files([NamedFile(name=name, file=io.BytesIO(orjson.dumps(recording)))])
    return str(report.runs[0].id)


def test_imported_replay_links_to_original(client: Client) -> None:
    original = {"kurral_id": "11111111-2222-4333-8444-555555555555"}
    replay = import_example("replay.kurral", graph_version={"graph_hash": "g1", "tool_schemas_hash": "t2"})
    assert client.get(f"/api/v1/runs/{replay}").json()["original"] is None
    run = import_example("session.kurral", graph_version={"graph_hash": "g1", "tool_schemas_hash": "t1"}, **original)
    replay_details = client.get(f"/api/v1/runs/{replay}").json()
    assert (replay_details["original"], replay_details["source_run"]) == (run, None)
    assert [derived_run["id"] for derived_run in client.get(f"/api/v1/runs/{run}").json()["derived"]] == [replay]

    body = {"base": run, "candidate": replay}
    diff = client.post("/api/v1/diffs", body, content_type="application/json").json()
    assert diff["candidate"]["original"] == run
    assert "The candidate is an imported replay of the base." in diff["brief"]["compared"]
    assert not [
        pair for pair in diff["pairs"] if (pair["base"] or pair["candidate"])["type"] == "agent" and not pair["base"]
    ]
    (configuration,) = [item for item in diff["sections"]["run"]["items"] if item["kind"] == "configuration"]
    changes = [(change["path"], change["base"], change["candidate"]) for change in configuration["values"]]
    assert changes == [("/config/tool_schemas_hash", "t1", "t2")]
