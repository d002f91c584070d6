"""SERVICES: five kinds of agents that the other sets lack, two of them also with noise.

Written on 24 November 2026, before a look at the method or at any failure, by the author of the changes that followed.

| program | agent | noise |
|---|---|---|
| log watch | logs in batches, counts that code adds up over the stream, a page | also at random, rate 10 % |
| meeting host | a request, free hours that code computes from calendars, a slot until a room is free | also reworded |
| home shop | a cart that code keeps over the turns, prices, coupon and delivery | |
| museum site | one agent that opens pages and follows links | |
| damage claims | facts as JSON, a payment that code computes, a sub-agent above a limit, a letter | |
"""

from typing import Final

from tests.bench.attribution.programs.services.counters import COUNTERS
from tests.bench.attribution.programs.services.watches import WATCHES
from tests.bench.attribution.programs.shapes import Program

SERVICES: Final[tuple[Program, ...]] = (*WATCHES, *COUNTERS)
