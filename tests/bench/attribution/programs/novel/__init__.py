"""NOVEL: eight kinds of agents that the other sets lack, written before a look at any failure of the method.

Written on 23 November 2026, after `patterns`, by the author of the changes that followed, who had read parts of the
method by then but no case that it misses. Of 32 cases of each program, 8 have no cause; of the program with chance, 16.

| program | agent | noise |
|---|---|---|
| grant digest | a model reads each document, code packs the extracts, a model picks from each pack | |
| dinner ballot | three models rank the same dishes, code adds up the places | models reword their answers |
| mountain hut | a planner that sees the last lines of its scratchpad, tools called by code | |
| cycling weekend | partial routes extended and rated, code keeps the best | ratings at random, rate 10 % |
| parcel form | sizes from a letter, code converts the units and computes a price | |
| backup schedule | a schedule as JSON, a validator whose errors go back to the model | |
| patient diary | facts of each turn in a store, code recalls some of them | models reword their answers |
| ticket queue | an urgency for each ticket, code sorts them, the first ones are solved with a tool | |
"""

from typing import Final

from tests.bench.attribution.programs.novel.forms import FORMS
from tests.bench.attribution.programs.novel.planners import PLANNERS
from tests.bench.attribution.programs.novel.readers import READERS
from tests.bench.attribution.programs.novel.stores import STORES
from tests.bench.attribution.programs.shapes import Program

NOVEL: Final[tuple[Program, ...]] = (*READERS, *PLANNERS, *FORMS, *STORES)
