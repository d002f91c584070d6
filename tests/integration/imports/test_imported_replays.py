"""Imported replays and the runs that they replayed: paired, whichever is imported first."""

import io
from typing import Any

import orjson
import pytest
from django.test import Client

from tests.support import importing_fixtures as fixtures
from traces.imports import import_files
from traces.reading.progress import NamedFile

pytestmark = pytest.mark.django_db


def imported(name: str, **changed: Any) -> str:
    given = orjson.loads((fixtures.FOLDER / name).read_bytes()) | changed
    report = import_files.import_files([NamedFile(name=name, file=io.BytesIO(orjson.dumps(given)))])
    return str(report.runs[0].id)


def test_a_replay_is_paired_with_its_original(client: Client) -> None:
    original = {"kurral_id": "11111111-2222-4333-8444-555555555555"}
    replay = imported("replay.kurral", graph_version={"graph_hash": "g1", "tool_schemas_hash": "t2"})
    assert client.get(f"/api/v1/runs/{replay}").json()["original"] is None
    run = imported("session.kurral", graph_version={"graph_hash": "g1", "tool_schemas_hash": "t1"}, **original)
    shown = client.get(f"/api/v1/runs/{replay}").json()
    assert (shown["original"], shown["source_run"]) == (run, None)
    assert [each["id"] for each in client.get(f"/api/v1/runs/{run}").json()["derived"]] == [replay]

    body = {"base": run, "candidate": replay}
    made = client.post("/api/v1/diffs", body, content_type="application/json").json()
    assert made["candidate"]["original"] == run
    assert "The candidate is an imported replay of the base." in made["brief"]["compared"]
    assert not [
        pair for pair in made["pairs"] if (pair["base"] or pair["candidate"])["type"] == "agent" and not pair["base"]
    ]
    (configuration,) = [item for item in made["sections"]["run"]["items"] if item["kind"] == "configuration"]
    changes = [(change["path"], change["base"], change["candidate"]) for change in configuration["values"]]
    assert changes == [("/config/tool_schemas_hash", "t1", "t2")]
