"""OBSERVATORIES: six kinds of agents of an observatory, in shapes that no other set has, two also reworded.

Written on 30 November 2026 by the author of the rules about loops that code ends, about the order of words and about
what reaches the answer, after these rules. Committed before any of the cases was run through the method.

| program | agent | noise |
|---|---|---|
| night plan | a queue that code sorts and fills up to a limit of minutes, an observer for each target, a chief | |
| star catalogue | two sources that code compares, an arbiter for what differs by more than a tolerance, a scribe | |
| transient alert | a blackboard: code wakes the agent that an entry on it calls for | also reworded |
| fact check | a draft that code splits into claims, a verifier, code that drops what fails | also reworded |
| time allocation | native tools behind a limit of turns, an assistant | |
| night log | a talk over four turns with notes that code folds into every request | |
"""

from typing import Final

from tests.bench.attribution.programs.observatories.claims import CLAIMS
from tests.bench.attribution.programs.observatories.nights import NIGHTS
from tests.bench.attribution.programs.observatories.talks import TALKS
from tests.bench.attribution.programs.shapes import Program

OBSERVATORIES: Final[tuple[Program, ...]] = (*NIGHTS, *CLAIMS, *TALKS)
