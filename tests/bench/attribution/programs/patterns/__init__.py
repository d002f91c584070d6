"""PATTERNS: six shapes that most agents have, written before a look at any failure of the method at that time.

Written on 23 November 2026, after `wild`, by the author of the changes that followed, who had read the method by then
but no case that it misses. Of 32 cases of each program, 8 have no cause; of the program with chance, 16.

| program | agent | noise |
|---|---|---|
| office moves | a plan, an executor with tools for each step, a quote from the notes | |
| hotel reviews | parts of a list to one model each, notes merged in rounds | models reword their answers |
| library loans | queries by a tool, errors go back to the model, a report by another | |
| plant guides | a search, a mark for each passage, the best ones by code, an answer | |
| broadband support | three turns, a window of messages, a tool | models reword their answers |
| patch and test | a patch, tests until they pass, a review, a title | verdicts at random, rate 10 % |
"""

from typing import Final

from tests.bench.attribution.programs.patterns.plans import PLANS
from tests.bench.attribution.programs.patterns.queries import QUERIES
from tests.bench.attribution.programs.patterns.repairs import REPAIRS
from tests.bench.attribution.programs.shapes import Program

PATTERNS: Final[tuple[Program, ...]] = (*PLANS, *QUERIES, *REPAIRS)
