"""LATER: programs written after `blind`, by an author who had read neither the method nor any failure of it."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.programs.later import appointments, choices, desks, documents, figures, handovers, loops
from tests.bench.attribution.programs.later.appointments import APPOINTMENTS
from tests.bench.attribution.programs.later.choices import CHOICES
from tests.bench.attribution.programs.later.desks import DESKS
from tests.bench.attribution.programs.later.documents import DOCUMENTS
from tests.bench.attribution.programs.later.figures import FIGURES
from tests.bench.attribution.programs.later.handovers import HANDOVERS
from tests.bench.attribution.programs.later.loops import LOOPS
from tests.bench.attribution.programs.shapes import Program

LATER: Final[tuple[Program, ...]] = (
    *DESKS,
    *HANDOVERS,
    *LOOPS,
    *DOCUMENTS,
    *FIGURES,
    *CHOICES,
    *APPOINTMENTS,
    *(
        replace(program, name=f"reworded {program.name}", group="reworded", rewords=True)
        for module in (desks, handovers, loops, documents, figures, choices, appointments)
        for program in module.REWORDABLE
    ),
)
