"""DEPOTS: seven kinds of agents in shapes that teams build, one also reworded.

Code turns answers into other calls' inputs, windows drop messages, users speak again, tools get other names, and
several agents change at once. Written by somebody who had read the method and failures of the other sets, and committed
before any of the cases was run through the method.

| program | agent | noise |
|---|---|---|
| expense claims | fields of receipts, which code converts to cents, sums and writes in capitals | |
| bug intake | a report that code cuts, a label that chooses the team, a reply | |
| hotel concierge | one agent with native tools over several turns, of which code keeps the last ones | also reworded |
| parts counter | native tools, two of which get other names | |
| newsroom | a scout, two reporters and a chief, changed several at once | |
| answer grading | a judge for each answer, code averages the marks, a coach | |
| price watch | prices of which code computes the largest change, an analyst, a subject that code cuts | |
"""

from typing import Final

from tests.bench.attribution.programs.depots.desks import DESKS
from tests.bench.attribution.programs.depots.figures import FIGURES
from tests.bench.attribution.programs.depots.teams import TEAMS
from tests.bench.attribution.programs.shapes import Program

DEPOTS: Final[tuple[Program, ...]] = (*FIGURES, *DESKS, *TEAMS)
