"""QUAYS: seven kinds of agents as product teams write them, two also with noise.

Written on 30 November 2026 by an author who had read the method and the table of results, and no failure of any set.
Committed before any of the cases was run through the method.

| program | agent | noise |
|---|---|---|
| power bill | an intake of JSON, a bill that code computes by flags and renders from a template, a writer | |
| ledger pages | pages with cursors up to a budget, currencies, labels of each page, a controller | |
| question batch | a cache before a small model, a large one below a certainty, an editor | |
| call stream | a call in overlapping windows, tasks that code merges, summaries of summaries | also reworded |
| help line | sub-agents that hand over to each other, a guard, a mender in a loop | also at random, rate 10 % |
| trip graph | a plan with dependencies, branches that code runs in order and joins, another tool after a failure | |
| spare parts | native tools whose results code converts, renames and cuts, an answer that code may replace | |
"""

from typing import Final

from tests.bench.attribution.programs.quays.accounts import ACCOUNTS
from tests.bench.attribution.programs.quays.calls import CALLS
from tests.bench.attribution.programs.quays.journeys import JOURNEYS
from tests.bench.attribution.programs.shapes import Program

QUAYS: Final[tuple[Program, ...]] = (*ACCOUNTS, *CALLS, *JOURNEYS)
