"""FAMILIES: kinds of agents that the other sets lack, written before reading the method, and measured before a change.

Written on 23 November 2026, after `field`, by the author of the changes that followed.

| program | agent |
|---|---|
| bicycle bargain | two agents bargain, with a conversion between their currencies, for as many rounds as they need |
| import advice | a supervisor names the next expert, whose name it chooses, until it is done |
| floor calculator | an expression that code evaluates; its error goes back to the model |
| hiking guide | tools found by a search; units converted by code before a model sees a result |
| itinerary | e-mails read into JSON; times of several zones converted, sorted and subtracted by code |
| knowledge graph | a model names the relation that code follows to the next record |
| slogans | the best of three drafts by marks that code adds up; revisions until the mark suffices |
| coach | facts noted after each turn, which code puts into the system prompt; also with a model that rewords |
| repair estimate | a small model, a large one below a certainty, another catalogue after an error; also reworded |
"""

from typing import Final

from tests.bench.attribution.programs.families.bargains import BARGAINS
from tests.bench.attribution.programs.families.computers import COMPUTERS
from tests.bench.attribution.programs.families.journeys import JOURNEYS
from tests.bench.attribution.programs.families.writers import WRITERS
from tests.bench.attribution.programs.shapes import Program

FAMILIES: Final[tuple[Program, ...]] = (*BARGAINS, *COMPUTERS, *JOURNEYS, *WRITERS)
