"""SERVICES: five kinds of agents that the other sets lack, written before a look at the method or at any failure."""

from typing import Final

from tests.bench.attribution.programs.services.counters import COUNTERS
from tests.bench.attribution.programs.services.watches import WATCHES
from tests.bench.attribution.programs.shapes import Program

SERVICES: Final[tuple[Program, ...]] = (*WATCHES, *COUNTERS)
