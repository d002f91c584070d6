"""UNSEEN: programs written before the method was developed, and measured before their cases were inspected.

Development has used their failures since, so their figures now show no more than those of `development`.
"""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.unseen import offices, sites
from tests.bench.attribution.programs.unseen.offices import OFFICES
from tests.bench.attribution.programs.unseen.sites import SITES

UNSEEN: Final[tuple[Program, ...]] = (
    *OFFICES,
    *SITES,
    *(
        replace(program, name=f"reworded {program.name}", group="reworded", rewords=True)
        for program in (*offices.REWORDABLE, *sites.REWORDABLE)
    ),
)
