"""MILLS: eight kinds of agents that the other sets lack, one also by chance and one also reworded.

Written by the author of the method, who had read its failures in the other sets, and committed before any of the cases
was run through the method.

| program | agent | noise |
|---|---|---|
| radio hour | songs that code fills into an hour by their length, a host announces them | |
| logo contest | a knock-out: code draws the pairs, a judge decides each of them | also at random, rate 10 % |
| plant calendar | dates that code repeats and moves, and a later question about them | |
| release notes | changes labelled one by one, code counts the next version from the labels | |
| incident report | log lines that code groups by the time between them, a name for each group | also reworded |
| faulty release | code halves the releases, a reader judges the log of the one in the middle | |
| smart home | one agent with native tool calls, whose results code shortens | |
| staff handbook | passages that code drops by the asker's role, an answer, a check of its source | |
"""

from typing import Final

from tests.bench.attribution.programs.mills.houses import HOUSES
from tests.bench.attribution.programs.mills.logs import LOGS
from tests.bench.attribution.programs.mills.programmes import PROGRAMMES
from tests.bench.attribution.programs.shapes import Program

MILLS: Final[tuple[Program, ...]] = (*PROGRAMMES, *LOGS, *HOUSES)
