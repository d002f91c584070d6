"""BUREAUS: written together with `services`, before a look at the method or at any failure, measured after the change."""

from typing import Final

from tests.bench.attribution.programs.bureaus.desks import DESKS
from tests.bench.attribution.programs.bureaus.studies import STUDIES
from tests.bench.attribution.programs.shapes import Program

BUREAUS: Final[tuple[Program, ...]] = (*DESKS, *STUDIES)
