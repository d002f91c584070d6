"""Reasons why files of observability platforms have no importer."""

import pytest

from tests.support import importing_fixtures as fixtures
from traces.importers import registry
from traces.importers.files.errors import BadFile


@pytest.mark.parametrize(
    ("content", "reason", "location"),
    [
        (b'event: values\ndata: {"jobs": 3}\n\n', "none of a model's answer", "line 1"),
        (b"INFO LoggingSpanExporter - 'chat' : 0af7 00f0", "OpenTelemetry for Java prints them", "line 1"),
        (b"#<struct OpenTelemetry::SDK::Trace::SpanData", "OpenTelemetry for Ruby prints them", "line 1"),
        (b'{"traces": [{"traceID": "2f", "rootTraceName": "x"}]}', "results of a search in Tempo", "/"),
        (b'{"data": {"dataset_id": "d", "examples": [{"input": {}, "output": {}}]}}', "examples of a data set", "/"),
        (
            b"id,op_name,trace_id,inputs.model\n1,weave:///a/b/op/c,2,m\n",
            "table of Weave with a column per value",
            "line 1",
        ),
        (
            b'{"result": [{"id": "1", "provider": "openai", "tokens_in": 4, "request_content_type": "x"}], '
            b'"success": true, "errors": [], "messages": []}',
            "logs of Cloudflare's AI Gateway without bodies",
            "/",
        ),
    ],
)
def test_refusal_says_what_a_file_is(content: bytes, reason: str, location: str) -> None:
    with pytest.raises(BadFile, match=reason) as refusal:
        registry.detect(fixtures.sample("upload", content))
    assert refusal.value.where == location
