"""YARDS: seven kinds of agents whose code holds state, one also reworded, one also with random decisions.

Written on 30 November 2026 by an author who had read the method and the table of results, and no failure of any set in
this state of the method. Committed before any of the cases was run through the method.

| program | agent | noise |
|---|---|---|
| wreck survey | specialists that read and write a shared board; code picks the next by what the board lacks | |
| mushroom vote | three voters with a retrieved guide; weights, a quorum and ties in code | also at random, rate 10 % |
| permit archive | pages of a list, a mapper for each document, groups and totals by code, a reducer | |
| crane webhook | a writer of JSON, a validator in code, backoff, another model at the end, renamed tools | |
| slug function | a coder, test cases that code runs, failures that code cuts and shows, a reviewer | |
| lock events | a queue of events; handlers raise further events; code orders, joins and drops them | |
| sailing course | a summary that replaces early turns, a window, notes that code keeps | also reworded |
"""

from typing import Final

from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.yards.boards import BOARDS
from tests.bench.attribution.programs.yards.loops import LOOPS
from tests.bench.attribution.programs.yards.streams import STREAMS

YARDS: Final[tuple[Program, ...]] = (*BOARDS, *LOOPS, *STREAMS)
