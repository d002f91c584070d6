"""BLIND: programs written by an author who had read neither the method nor its results; not measured yet."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.programs.blind import branches, memory, values
from tests.bench.attribution.programs.blind.branches import BRANCHES
from tests.bench.attribution.programs.blind.crews import CREWS
from tests.bench.attribution.programs.blind.memory import MEMORY
from tests.bench.attribution.programs.blind.values import VALUES
from tests.bench.attribution.programs.shapes import Program

BLIND: Final[tuple[Program, ...]] = (
    *MEMORY,
    *VALUES,
    *BRANCHES,
    *CREWS,
    *(
        replace(each, name=f"reworded {each.name}", group="reworded", rewords=True)
        for each in (*memory.REWORDED, *values.REWORDED, *branches.REWORDED)
    ),
)
