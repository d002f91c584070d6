"""ATELIERS: five kinds of agents in shapes that the other sets lack, two also reworded.

Written on 29 November 2026, before a look at any failure of the sets kept apart that day, by somebody who had read the
method and some failures of the others. Committed before any of the cases was run through the method.

| program | agent | noise |
|---|---|---|
| courier round | a planner that plans again after stops that failed, code that executes, a dispatcher | |
| clause finder | a search, a model that scores each passage, code that ranks them again, a lawyer | |
| board digest | a reader for each meeting, code that merges what they extract, a secretary | also reworded |
| review reply | a writer, a guard that names faults, a rewriter in a loop, a footer that code appends | |
| holiday talk | several turns, notes that a scribe takes and code merges, a window of turns | also reworded |
"""

from typing import Final

from tests.bench.attribution.programs.ateliers.papers import PAPERS
from tests.bench.attribution.programs.ateliers.rounds import ROUNDS
from tests.bench.attribution.programs.ateliers.talks import TALKS
from tests.bench.attribution.programs.shapes import Program

ATELIERS: Final[tuple[Program, ...]] = (*ROUNDS, *PAPERS, *TALKS)
