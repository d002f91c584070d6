"""UNSEEN: programs that were written before the method was last developed, and run only to measure it at the end.

Do not read these modules, run them or look at their cases while attribution is developed; figures of the full benchmark
are all that may be taken from them. As soon as a case of theirs is looked at, they belong to `development`.
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
        replace(each, name=f"reworded {each.name}", group="reworded", rewords=True)
        for each in (*offices.REWORDED, *sites.REWORDED)
    ),
)
