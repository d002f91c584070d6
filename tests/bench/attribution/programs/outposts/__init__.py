"""OUTPOSTS: four kinds of agents that the other sets lack.

Written on 28 November 2026, before a look at the method or at any failure, and measured before the method was changed.

| program | agent |
|---|---|
| release train | a trace names a module, patches in lines that code applies and tests until all pass, release notes |
| river treaty | three delegates that post to a board which all see, a chair that calls the next one, a treaty |
| harbour almanac | passages found by a query, marked and ranked again, depths and dates converted by code |
| lease review | a sub-agent for each clause, risks that code weighs, counsel above a limit, a dated letter |
"""

from typing import Final

from tests.bench.attribution.programs.outposts.boards import BOARDS
from tests.bench.attribution.programs.outposts.papers import PAPERS
from tests.bench.attribution.programs.shapes import Program

OUTPOSTS: Final[tuple[Program, ...]] = (*BOARDS, *PAPERS)
