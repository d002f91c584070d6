"""What the gateway sends on."""

from cockpit.gateway.upstreams import request_headers


def test_header_for_the_gateway_stays_here() -> None:
    headers = [(b"X-Forkpoint-Step", b"p1-s1"), (b"authorization", b"Bearer own"), (b"accept-encoding", b"gzip")]
    assert request_headers(headers, "key") == [("authorization", "Bearer own"), ("accept-encoding", "identity")]
