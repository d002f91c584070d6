"""Checks of an agent's own code, which really decide in a rerun, beside those of the recording. Pure."""

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import NamedTuple


class Check(NamedTuple):
    """A step that checks something, and how it ended."""

    no: int
    type: str
    name: str
    status: str


def changed_numbers(recorded_checks: Iterable[Check], checks: Iterable[Check]) -> list[int]:
    """Return the recorded checks that decided differently this time; those that were not made do not count.

    Checks of one name are compared one after the other.
    """
    expected_checks: dict[tuple[str, str], deque[Check]] = defaultdict(deque)
    for check in recorded_checks:
        expected_checks[check.type, check.name].append(check)
    numbers: list[int] = []
    for check in checks:
        if queue := expected_checks[check.type, check.name]:
            expected_check = queue.popleft()
            if expected_check.status != check.status:
                numbers.append(expected_check.no)
    return numbers
