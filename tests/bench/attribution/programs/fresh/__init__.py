"""FRESH: programs that were written after the method was done, by someone who did not read it, and measured once.

Do not read these modules, run them or look at their cases while attribution is developed. As soon as a case of theirs
is looked at, or the method is changed after they were measured, they belong to `development`.
"""

from dataclasses import replace
from typing import Final

from tests.bench.attribution.programs.fresh import conversations, pipelines, research
from tests.bench.attribution.programs.fresh.conversations import CONVERSATIONS
from tests.bench.attribution.programs.fresh.pipelines import PIPELINES
from tests.bench.attribution.programs.fresh.research import RESEARCH
from tests.bench.attribution.programs.shapes import Program

FRESH: Final[tuple[Program, ...]] = (
    *CONVERSATIONS,
    *RESEARCH,
    *PIPELINES,
    *(
        replace(each, name=f"reworded {each.name}", group="reworded", rewords=True)
        for each in (*conversations.REWORDED, *research.REWORDED, *pipelines.REWORDED)
    ),
)
