"""Encoded secrets: found in every encoding, at every place; ids, hashes and images are not taken for them."""

import base64
import gzip
import json
import random
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.redactions import redaction, secrets
from traces.recordings.segment_redaction import redact_data
from traces.redaction.encoded_secrets import encoded_secret_detector

KEY, PASSWORD = secrets()["GitHub"], "tiger-lily-pond-7"
ENV = f"HOME=/root\nGITHUB_TOKEN={KEY}\nLANG=C"


def b64(data: str | bytes) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def escaped(text: str, form: str) -> str:
    return "".join(form % ord(character) for character in text)


ENCODED = {
    "base64": b64(KEY),
    "base64 of a file": b64(ENV),
    "base64 without padding": b64(ENV).rstrip("="),
    "base64 for URLs": base64.urlsafe_b64encode(("??>>" + ENV).encode()).decode(),
    "base64 in lines": base64.encodebytes((ENV * 4).encode()).decode(),
    "base64 in lines of JSON": json.dumps(base64.encodebytes((ENV * 4).encode()).decode()),
    "base64 beside binary data": b64(b"\x80\xff\x00\x01" + ENV.encode() + b"\x90\xfe" * 9),
    "a data URL": "data:text/plain;base64," + b64(ENV),
    "behind a path": "files/x/" + b64(ENV),
    "gzip": b64(gzip.compress(ENV.encode())),
    "zlib": b64(zlib.compress(ENV.encode())),
    "hex": KEY.encode().hex(),
    "hex in capitals": ENV.encode().hex().upper(),
    "hex of a dump": KEY.encode().hex(" "),
    "URL": escaped(KEY, "%%%02x"),
    "JSON": escaped(KEY, "\\u%04x"),
    "a byte string": escaped(KEY, "\\x%02x"),
    "HTML": escaped(KEY, "&#%d;"),
}


@pytest.mark.parametrize("text", ENCODED.values(), ids=ENCODED)
@pytest.mark.parametrize("frame", ["{}", "the file is {} as sent", '{{"data": "{}"}}', "x\\n{}"])
def test_an_encoded_secret_is_redacted(text: str, frame: str) -> None:
    assert "[redacted:github-" in str(redaction().redactor().value({"text": frame.format(text)}))
    # As the only secret in a record that arrives.
    record = json.dumps({"text": frame.format(text)}).encode()
    assert b"[redacted:github-" in redact_data(record, redaction()).data


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"a%20b&password%3D{PASSWORD}&c%20d", "a%20b&password%3D&c%20d"),
        (quote(f"postgres://desk:{PASSWORD}@db/x", safe="") + "%20", "postgres%3A%2F%2Fdesk%3A%40db%2Fx%20"),
        (f"https:\\/\\/desk:{PASSWORD}@db\\/x", "https:\\/\\/desk:@db\\/x"),
    ],
)
def test_only_the_secret_among_escapes_is_redacted(text: str, rest: str) -> None:
    result = redaction().redactor().text(text)
    before, _, after = result.partition("[redacted:")
    assert before + after.partition("]")[2] == rest


@given(st.binary(max_size=3), st.binary(max_size=3))
def test_a_secret_is_found_wherever_it_begins(before: bytes, after: bytes) -> None:
    text = b64(before + b" " + KEY.encode() + b" " + after)
    assert encoded_secret_detector().suspects(text.encode())
    assert "[redacted:github-" in redaction().redactor().text(text)


def test_random_data_is_no_secret() -> None:
    data = random.Random(0).randbytes(200_000)
    for text in (b64(data), data.hex(), quote(data), b64(gzip.compress(data))):
        assert not encoded_secret_detector().findings(text.encode(), "")


def test_compressed_values_unpack_to_a_limit() -> None:
    bomb = b64(gzip.compress(b" " * 10_000_000 + KEY.encode()))
    assert not encoded_secret_detector().suspects(f"{bomb} {bomb}".encode())
