import threading
from collections.abc import Iterator

import pytest

from cockpit.process.dependency_checks import DependencyChecks
from tests.support.patience import patience_s


@pytest.fixture
def end() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def fail() -> None:
    raise ConnectionError("refused")


def test_checks_name_what_fails_and_what_hangs(end: threading.Event) -> None:
    checks = DependencyChecks(
        {"hanging": lambda: void(end.wait()), "failing": fail, "working": lambda: None}, limit_s=0.05
    )
    errors = {name: str(error or "") for name, error in checks.run().items()}
    assert errors == {"hanging": "no response within 0.05 s", "failing": "refused", "working": ""}


def test_hanging_check_is_not_started_again(end: threading.Event) -> None:
    starts: list[int] = []

    def hang() -> None:
        starts.append(1)
        end.wait()

    checks = DependencyChecks({"hanging": hang}, limit_s=0.01)
    for _ in range(3):
        checks.run()
    assert len(starts) == 1


def test_service_that_responds_again_is_well(end: threading.Event) -> None:
    checks = DependencyChecks({"database": lambda: void(end.wait())}, limit_s=0.01)
    assert checks.run()["database"] is not None
    end.set()
    checks.limit_s = patience_s(10)
    assert checks.run() == {"database": None}


def void(_: object) -> None:
    return None
