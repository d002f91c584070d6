"""HELD OUT: programs that measure the product and are never used to tune it.

Do not read these modules, run them or look at their cases while attribution is developed; figures of the full benchmark
are all that may be taken from them. Their agents differ in structure and wording from those of `development`.
"""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.programs.heldout import carrying, deciding
from tests.bench.attribution.programs.heldout.carrying import CARRYING
from tests.bench.attribution.programs.heldout.deciding import DECIDING
from tests.bench.attribution.programs.shapes import Program

HELD_OUT: Final[tuple[Program, ...]] = (
    *DECIDING,
    *CARRYING,
    *(
        replace(each, name=f"reworded {each.name}", group="reworded", rewords=True)
        for each in (*deciding.REWORDED, *carrying.REWORDED)
    ),
)
