"""GUILDS: nine kinds of agents that the other sets lack, one also by chance and one also reworded.

Written on 28 November 2026, before a look at any failure of this day, by the author of the changes that followed, and
measured once after them.

| program | agent | noise |
|---|---|---|
| council minutes | points of each part, three voters with weights, votes counted by code | also at random, rate 10 % |
| clinic queries | a query that a database corrects until it runs, figures that code scales and sorts | |
| orchard answers | passages marked by a model and ranked again by code, citations that code resolves | |
| house move | a plan that is made again when a step is blocked, costs that code adds up | |
| visa form | fields that code validates, the applicant answers what it asks, dates turned by code | |
| city desk | questions sent to tools by a router, a cache of results in code | |
| router support | a memory that a model condenses after each turn, a helper that sees nothing else | also reworded |
| formula repair | a formula that code tests, failures sent to a fixer, a reviewer | |
| market stall | offers of several parts that code weighs and settles, a contract | |
"""

from typing import Final

from tests.bench.attribution.programs.guilds.clerks import CLERKS
from tests.bench.attribution.programs.guilds.deals import DEALS
from tests.bench.attribution.programs.guilds.digests import DIGESTS
from tests.bench.attribution.programs.shapes import Program

GUILDS: Final[tuple[Program, ...]] = (*DIGESTS, *CLERKS, *DEALS)
