"""What the gateway sends on."""

from cockpit.gateway.upstreams import request_headers, version_headers


def test_header_for_the_gateway_stays_here() -> None:
    headers = [(b"X-Forkpoint-Step", b"p1-s1"), (b"authorization", b"Bearer own"), (b"accept-encoding", b"gzip")]
    assert request_headers(headers, "key") == [("authorization", "Bearer own"), ("accept-encoding", "identity")]


def test_header_in_several_lines_counts_as_a_whole() -> None:
    headers = [(b"anthropic-version", b"v1"), (b"Anthropic-Beta", b"a"), (b"x-other", b"o"), (b"anthropic-beta", b"b")]
    assert version_headers(headers) == [("anthropic-beta", "a,b"), ("anthropic-version", "v1")]


def test_order_of_a_headers_values_does_not_count() -> None:
    one, other = [(b"anthropic-beta", b"b, a")], [(b"anthropic-beta", b"a,b")]
    assert version_headers(one) == version_headers(other) == [("anthropic-beta", "a,b")]
