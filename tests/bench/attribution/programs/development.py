"""The programs that the product is developed with."""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.programs.computing import COMPUTING
from tests.bench.attribution.programs.crews import CREWS
from tests.bench.attribution.programs.deciding import DECIDING
from tests.bench.attribution.programs.merging import MERGERS
from tests.bench.attribution.programs.renaming import RENAMED_TOOLS
from tests.bench.attribution.programs.routing import ROUTERS
from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.talks import TALKS

_REWORDED_NAMES: Final = frozenset(
    {
        "router, one word",
        "merger, lines",
        "talk, scripted turns",
        "crew, flat",
        "votes",
        "gate, table",
    }
)
_PLAIN: Final = (*ROUTERS, *MERGERS, *TALKS, *RENAMED_TOOLS, *CREWS, *DECIDING, *COMPUTING)

PROGRAMS: Final[tuple[Program, ...]] = (
    *_PLAIN,
    *(
        replace(program, name=f"reworded {program.name}", group="reworded", rewords=True)
        for program in _PLAIN
        if program.name in _REWORDED_NAMES
    ),
)
