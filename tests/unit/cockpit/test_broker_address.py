"""How the workers reach Redis."""

import ssl

import pytest
from kombu import Connection

from cockpit import settings


@pytest.mark.parametrize(
    ("given", "checked", "authorities"),
    [
        ("rediss://redis:6379/0", ssl.CERT_REQUIRED, {}),
        ("rediss://redis:6379/0?ssl_ca_certs=/ours.pem", ssl.CERT_REQUIRED, {"ssl_ca_certs": "/ours.pem"}),
        ("rediss://redis:6379/0?ssl_cert_reqs=none", ssl.CERT_NONE, {}),
    ],
)
def test_over_tls_the_certificate_is_checked_unless_the_address_says_otherwise(
    given: str, checked: ssl.VerifyMode, authorities: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", given)
    assert Connection(settings.broker_url()).ssl == {"ssl_cert_reqs": checked, **authorities}
