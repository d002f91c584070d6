"""One measurement of the benchmark."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Case:
    """One measurement. `at_most` bars are for times and shares, `at_least` bars for rates; None: no bar."""

    name: str
    bar: float | None
    kind: Literal["at_most", "at_least"]
    unit: str
    measure: Callable[[], float]
    takes_minutes: bool = False
    embeds: bool = False
