"""No secret survives an import in any stored byte: database, artifacts, home folder, logs or answers."""

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from cockpit.gateway.events import Call, Outcome, end_line, event_line, start_lines
from cockpit.gateway.routes import Operation
from tests.support.redactions import secrets
from tests.support.stored_contents import stored_contents
from traces.imports import portable_runs
from traces.models import RetentionPass, Run
from traces.runs import queries, services

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
SECRETS = secrets(7)
PASSWORD = "tiger4lily-und"


def transcript() -> bytes:
    """A chat in which each secret occurs several times, in texts of different size, and names of fields and tags."""
    every = "\n".join(f"{name}: {secret}" for name, secret in SECRETS.items())
    call = {
        "id": f"call-{SECRETS['GitHub']}",
        "type": "function",
        "function": {"name": "login", "arguments": json.dumps({"password": PASSWORD, SECRETS["npm"]: every})},
    }
    messages = [
        {"role": "system", "content": f"Use {SECRETS['OpenAI']} for calls. {'Be kind. ' * 12_000}"},
        {"role": "user", "content": every},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"echo": every, "hello": PASSWORD})},
        {"role": "assistant", "content": f"Done with {SECRETS['Stripe']} and {PASSWORD}."},
    ]
    run = {"run_id": f"run {SECRETS['Slack bot']}", "dataset": "desk", "messages": messages}
    return json.dumps(run | {"metadata": {"env": every}, "note": every}).encode()


def stored_bytes() -> bytes:
    """Everything under the home folder, and all artifacts and tables in readable form."""
    files = [path.read_bytes() for path in Path(settings.HOME).rglob("*") if path.is_file()]
    return b"\n".join([*files, stored_contents()])


def upload(client: Client, name: str, data: bytes) -> Any:
    file = io.BytesIO(data)
    file.name = name
    return client.post("/api/v1/runs/import", {"files": file})


def leaks(data: bytes) -> list[str]:
    parts = {name: secret.splitlines()[len(secret.splitlines()) // 2] for name, secret in SECRETS.items()}
    parts["Slack webhook"] = SECRETS["Slack webhook"].rpartition("/")[2]
    parts["Azure storage"] = SECRETS["Azure storage"].partition("=")[2]
    parts["password"] = PASSWORD
    return [name for name, part in parts.items() if part.encode() in data or part.lower().encode() in data]


def test_no_stored_byte_contains_a_secret(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        response = upload(client, "chat.json", transcript())
    (run,) = response.json()["runs"]
    assert queries.steps(run["id"])
    assert leaks(stored_bytes()) == []
    assert leaks(response.content) == []
    assert leaks(caplog.text.encode()) == []
    detail = client.get(f"/api/v1/runs/{run['id']}").json()
    assert detail["metadata"]["redaction"]["status"] == "redacted"


def test_second_import_is_the_same_run(client: Client) -> None:
    first = upload(client, "chat.json", transcript()).json()["runs"][0]
    second = upload(client, "chat.json", transcript()).json()["runs"][0]
    assert (second["id"], second["created"]) == (first["id"], False)


def test_bundle_of_another_store_is_redacted(client: Client) -> None:
    body = {"app": "desk", "secrets": False}
    assert client.put("/api/v1/redaction-policies", body, content_type="application/json").status_code == 200
    (run,) = upload(client, "chat.json", transcript()).json()["runs"]
    assert leaks(stored_bytes())
    file = io.BytesIO()
    portable_runs.export(Run.objects.get(id=run["id"]), file)
    # Another store: the same tables, emptied.
    _forget_everything()
    file.seek(0)
    result = portable_runs.import_bundle(file)
    assert leaks(stored_contents()) == []
    assert Run.objects.get(id=result.run_id).metadata["redaction"]["status"] == "redacted"
    file.seek(0)
    assert portable_runs.import_bundle(file).run_id == result.run_id


def test_raw_response_of_another_store_is_dropped_with_its_secret(client: Client) -> None:
    body = {"app": "desk", "secrets": False}
    assert client.put("/api/v1/redaction-policies", body, content_type="application/json").status_code == 200
    call = Call(
        run_id="r1",
        id="c1",
        provider="openai",
        protocol="openai",
        operation=Operation(path="/chat/completions", api="openai.chat"),
        run_start=0,
        start=1,
        body=b'{"model": "m1", "messages": []}',
    )
    # No detector recognizes a piece.
    secret = SECRETS["GitHub"]
    half = len(secret) // 2
    pieces = [{"choices": [{"delta": {"content": text}}]} for text in (secret[:half], secret[half:])]
    stream = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces).encode()
    lines = [
        event_line("r1", None, 0, "run_started", 0, {"app_id": "desk"}),
        start_lines(call, limit=10_000),
        end_line(call, Outcome(end=2, status=200, body=stream, is_stream=True), limit=10_000),
    ]
    (run,) = upload(client, "run.jsonl", b"".join(lines)).json()["runs"]
    assert secret[half:].encode() in stored_contents()
    file = io.BytesIO()
    portable_runs.export(Run.objects.get(id=run["id"]), file)
    _forget_everything()
    file.seek(0)
    portable_runs.import_bundle(file)
    assert secret[half:].encode() not in stored_contents()


def test_reason_of_a_skipped_file_contains_no_secret(client: Client) -> None:
    response = upload(
        client, "broken.json", b'{"messages": [{"role": "user", "content": "' + SECRETS["GitHub"].encode()
    )
    assert leaks(response.content) == []


def _forget_everything() -> None:
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with services.retention(), connection.cursor() as cursor:
        for table in tables:
            if table.startswith("traces_") and table != RetentionPass._meta.db_table:
                cursor.execute(f"DELETE FROM {table}")
