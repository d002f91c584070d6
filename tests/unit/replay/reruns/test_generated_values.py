"""After a change, values that code may have made of it are not volatile."""

from datetime import timedelta
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest

from replay.reruns.core.volatile_values.generated_values import Generator
from replay.reruns.core.volatile_values.volatile_tokens import Kind

RANDOM, OTHER_RANDOM = "0b0e7a3c-5f0e-4d2c-9a41-0c1d2e3f4a5b", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
HASH, OTHER_HASH = (str(uuid5(NAMESPACE_URL, text)) for text in ("billing", "shipping"))
A_WEEK_LATER = Generator(clock_shift=(timedelta(days=7), timedelta(days=7, minutes=2)))


@pytest.mark.parametrize(
    ("kind", "old", "new", "is_generated"),
    [
        ("id", RANDOM, OTHER_RANDOM, True),
        ("hex", UUID(RANDOM).hex, UUID(OTHER_RANDOM).hex, True),
        ("id", f"pyd_ai_{UUID(RANDOM).hex}", f"pyd_ai_{UUID(OTHER_RANDOM).hex}", True),
        ("id", HASH, OTHER_HASH, False),
        ("hex", "b91408", "1b1604", False),
        ("id", "ord_8f3k2j9x0q", "ord_p2m7x1c4vz", False),
        ("path", "/tmp/tmpab12cd_x", "/tmp/tmpq9zz1k2l", True),
        ("path", "/tmp/order-1a2b3c4d.json", "/tmp/order-9f8e7d6c.json", False),
        ("date", "2026-12-01", "2026-12-08", True),
        ("date", "2026-12-15", "2026-12-22", True),
        ("date", "2026-12-01", "2026-12-24", False),
        ("date", "Tuesday, December 1, 2026", "Tuesday, December 8, 2026", True),
        ("date", "1 December 2026", "24 December 2026", False),
        ("date", "Dec 1", "Dec 24", False),
        ("time", "2026-12-01T10:00:00Z", "2026-12-08T10:01:30Z", True),
        ("time", "2026-12-01T10:00:00Z", "2026-12-08T17:00:00Z", False),
        ("time", "1796119200", "1796724000", True),
        ("time", "1796119200", "1799000000", False),
        ("clock", "23:59", "0:01", True),
        ("clock", "10:00", "16:30", False),
        ("duration", "12.5", "80.25", True),
        ("minutes", "10", "57", False),
        ("port", "8123", "9321", True),
    ],
)
def test_evidence_of_values_after_a_change(kind: Kind, old: str, new: str, *, is_generated: bool) -> None:
    assert A_WEEK_LATER.explains(kind, old, new) is is_generated


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("hex", "b91408", "1b1604"),
        ("id", "ord_8f3k2j9x0q", "ord_p2m7x1c4vz"),
        ("path", "/tmp/order-1a2b3c4d.json", "/tmp/order-9f8e7d6c.json"),
        ("date", "Dec 1", "Dec 24"),
    ],
)
def test_form_that_the_program_generated_before(kind: Kind, old: str, new: str) -> None:
    space = "id" if kind == "hex" else kind
    names = {"hex": "c0ffee", "id": "ord_1a2b3x4d5e", "path": "/tmp/order-00aa11bb.json", "date": "Nov 30"}
    assert Generator(names=[(space, names[kind], "other")]).explains(kind, old, new)
    assert not Generator(names=[(space, "session_99", "other")]).explains(kind, old, new)


def test_unknown_time_of_a_recording_is_no_evidence() -> None:
    assert not Generator().explains("date", "2026-12-01", "2026-12-08")
