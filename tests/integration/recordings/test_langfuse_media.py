"""Images that Langfuse clients upload beside their traces."""

from base64 import b64encode
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from django.test import Client

from tests.support.assembler_time import let_pass
from traces.models import Run, Segment
from traces.runs.queries import step_detail

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
_IMAGE = b"\x89PNG\r\n\x1a\n"
_DATA = b64encode(_IMAGE).decode()
_DIGEST = b64encode(sha256(_IMAGE).digest()).decode()
_ID = _DIGEST.replace("+", "-").replace("/", "_")[:22]
_REFERENCE = f"@@@langfuseMedia:type=image/png|id={_ID}|source=base64_data_uri@@@"


def _announce(**fields: Any) -> Any:
    body = {"sha256Hash": _DIGEST, "traceId": "t1", "contentType": "image/png", "contentLength": 8, "field": "input"}
    return Client().post("/api/public/media", orjson.dumps({**body, **fields}), content_type="application/json")


def _upload(url: str, content: bytes = _IMAGE) -> int:
    return Client().put(urlsplit(url).path, content, content_type="image/png").status_code


def _record_trace() -> None:
    image = {"type": "image", "source": {"data": _REFERENCE}}
    blocks = [{"type": "image_url", "image_url": {"url": _REFERENCE}}, image]
    body = {
        "id": "g1",
        "traceId": "t1",
        "startTime": "2026-03-01T10:00:00Z",
        "endTime": "2026-03-01T10:00:01Z",
        "input": {"messages": [{"role": "user", "content": blocks}]},
        "output": "A sky.",
    }
    batch = {"batch": [{"id": "e1", "type": "generation-create", "timestamp": "", "body": body}]}
    Client().post("/api/public/ingestion", orjson.dumps(batch), content_type="application/json")


def test_upload_is_restored_where_the_client_referred_to_it() -> None:
    _record_trace()
    announcement = _announce()
    assert (announcement.status_code, announcement.json()["mediaId"]) == (201, _ID)
    assert _upload(announcement.json()["uploadUrl"]) == 200
    report = Client().patch(f"/api/public/media/{_ID}", b"{}", content_type="application/json")
    assert report.status_code == 200
    let_pass(10)
    [message] = step_detail(Run.objects.get().steps.get())["input"]["messages"]
    assert [block.get("image_url") or block.get("source") for block in message["content"]] == [
        {"url": f"data:image/png;base64,{_DATA}"},
        {"data": _DATA},
    ]


def test_trace_without_its_upload_has_the_reference() -> None:
    _record_trace()
    let_pass(10)
    assert _REFERENCE in orjson.dumps(step_detail(Run.objects.get().steps.get())["input"]).decode()


def test_upload_with_another_content_is_refused() -> None:
    assert _upload(_announce().json()["uploadUrl"], b"other") == 400
    assert not Segment.objects.exists()


def test_address_of_another_server_is_refused() -> None:
    assert _upload("/langfuse-media/forged") == 403


def test_incomplete_or_too_large_announcement_is_refused() -> None:
    assert _announce(traceId=None).status_code == 400
    assert _announce(contentLength=10**12).status_code == 413
