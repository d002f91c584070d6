"""Personal data: found with the extra, and blocked without it."""

from typing import Any

import pytest

from tests.support.redactions import redaction
from traces.core.vocabulary import StepType
from traces.redaction import personal_data
from traces.redaction.markers import FAILURE_MARKER
from traces.redaction.policy import PersonalData

needs_library = pytest.mark.skipif(not personal_data.is_available(), reason="needs the extra pii")


def apply(value: Any) -> tuple[Any, list[str]]:
    redactor = redaction(detectors=(personal_data.detector(frozenset(PersonalData)),)).redactor()
    return redactor.field(StepType.TOOL, "input", value), redactor.failures


@needs_library
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to ann@example.com", "email"),
        ("call +1 415-555-2671", "phone"),
        ("card 4111 1111 1111 1111", "credit-card"),
        ("DE89370400440532013000", "iban"),
        ("server 192.168.10.44 is down", "ip-address"),
    ],
)
def test_personal_data_is_found(text: str, kind: str) -> None:
    result, failures = apply({"note": text})
    assert f"[redacted:{kind}:" in result["note"]
    assert failures == []


@needs_library
def test_ordinary_numbers_are_no_personal_data() -> None:
    value = {"note": "Order A-1042 of 2026-03-01T12:00:00Z costs 12.50 euros"}
    assert apply(value) == (value, [])


@pytest.mark.skipif(personal_data.is_available(), reason="needs an environment without the extra pii")
def test_missing_library_blocks_what_might_contain_personal_data() -> None:
    result, failures = apply({"note": "write to ann@example.com"})
    assert result == FAILURE_MARKER
    assert failures == ["input: LibraryMissing"]


def test_text_without_suspects_is_not_looked_at() -> None:
    assert apply({"note": "hello"}) == ({"note": "hello"}, [])
