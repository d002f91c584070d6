"""FOUNDRIES: ten kinds of agents with much code and many kinds of its edits, one also reworded.

Written on 30 November 2026 by somebody who had read the harness and the documentation of the method, but no failure of
any set. Committed before any of the cases was run through the method.

| program | agent | noise |
|---|---|---|
| log triage | lines that code masks and groups, a triager of JSON, a pager | |
| metrics alarm | a series that code smooths and compares, an explainer, a ticket | |
| mail digest | mails that code filters and strips of quotes, a reader for each, an editor | also reworded |
| meeting planner | calendars of which code computes free slots, a planner, a host | |
| meal planner | dishes that code checks and sends back with reasons, a cook | |
| freight quotes | quotes that code adds up in its own units, a broker | |
| table cleaning | columns that a mapper names, rows that code parses and merges, a reporter | |
| policy desk | passages that code dates and cuts, a clerk, a checker whose mark code compares | |
| code review | files that code routes to sub-agents, findings that it merges, a lead | |
| guarded tools | native tools behind code that caps, hides and repeats, an assistant | |
"""

from typing import Final

from tests.bench.attribution.programs.foundries.operations import OPERATIONS
from tests.bench.attribution.programs.foundries.planning import PLANNING
from tests.bench.attribution.programs.foundries.records import RECORDS
from tests.bench.attribution.programs.foundries.teams import TEAMS
from tests.bench.attribution.programs.shapes import Program

FOUNDRIES: Final[tuple[Program, ...]] = (*OPERATIONS, *PLANNING, *RECORDS, *TEAMS)
