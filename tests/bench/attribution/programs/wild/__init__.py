"""WILD: agents that people run today, with the edits that engineers make, by an author who had not read the method.

Written on 23 November 2026, after `field`. The author had read the harness of track P, the benchmark page and three
modules of `field` in part, for the interface; and had run no attribution on these programs. Each has 32 cases at full
size, so there are 384. Half of the cases of the six programs with noise have no cause: 96 pairs, of which 95 differ by
noise only and one does not differ. Of the others, a quarter has no cause.

| program | agent | noise |
|---|---|---|
| shop support | a router with examples, specialists with tools | models reword their answers |
| comment replies | a screen, a writer, a check, a second writer | verdicts at random, rate 12 % |
| supplier invoices | fields as JSON, a validator in code, another try, a booking | |
| meeting minutes | notes on each part of a talk, merged | |
| market research | a query, a search, a ranking, a summary with sources | models reword their answers |
| on-call triage | an alert, a runbook, the metric that it names, a decision | |
| weekend trips | three tools called at once, a clerk with a budget | models reword their answers |
| warehouse analyst | a query from a schema, errors sent back, rows sorted by code | |
| bug fixer | a patch, tests until they pass, a title | |
| debate club | two sides in turn, a judge | verdicts at random, rate 15 % |
| maths tutor | a window of messages, a level read from the talk | models reword their answers |
| product texts | a draft, a check, a translation; steps on and off | |

Beside the edits of older sets, code changes here: hits of a search, the order of documents or of notes, what of an
answer is passed on, retries, rounds, steps that are added or left out. Their setting names the nodes whose requests or
number of steps the code determines: `code.NODES.what`. In programs with chance the truth is about the usual answers.
"""

from typing import Final

from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.wild.benches import BENCHES
from tests.bench.attribution.programs.wild.desks import DESKS
from tests.bench.attribution.programs.wild.lessons import LESSONS
from tests.bench.attribution.programs.wild.papers import PAPERS
from tests.bench.attribution.programs.wild.planners import PLANNERS
from tests.bench.attribution.programs.wild.searches import SEARCHES

WILD: Final[tuple[Program, ...]] = (*DESKS, *PAPERS, *SEARCHES, *PLANNERS, *BENCHES, *LESSONS)
