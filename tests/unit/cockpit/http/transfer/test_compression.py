"""Which encoding a response gets."""

import pytest

from cockpit.http.transfer.compression import choose_encoding


@pytest.mark.parametrize(
    ("header", "encoding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate, br", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("zstd;q=0, gzip;q=1.0", "gzip"),
        ("zstd; q=0.000, gzip;q=0", ""),
        ("gzip;q=0.1", "gzip"),
        ("identity", ""),
        ("", ""),
    ],
)
def test_the_client_chooses_the_encoding(header: str, encoding: str) -> None:
    assert choose_encoding(header) == encoding
