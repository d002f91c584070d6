"""PostgreSQL is read-only for a moment in a failover, or while its disk is nearly full."""

import pytest
from django.db import connection
from django.test import Client

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor == "sqlite", reason="is read-only only on a read-only disk"),
]
_SPAN = {
    "traceId": "ab" * 16,
    "spanId": "cd" * 8,
    "name": "x",
    "startTimeUnixNano": "1760000000000000000",
    "endTimeUnixNano": "1760000000000000001",
}


def test_senders_are_asked_to_try_again() -> None:
    """They keep the batch, which an error 500 would make them drop, and the next attempt may reach another server."""
    batch = {"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN]}]}]}
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    response = Client().post("/v1/traces", batch, content_type="application/json")
    connection.close_if_unusable_or_obsolete()
    assert (response.status_code, response.headers.get("Retry-After")) == (503, "1")
    assert "the server's database is read-only at the moment" in response.json()["message"]
    assert Client().post("/v1/traces", batch, content_type="application/json").status_code == 200
