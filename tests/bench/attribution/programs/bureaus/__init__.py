"""BUREAUS: five kinds of agents that the other sets lack, for a measurement after the changes.

Written on 24 November 2026 together with `services`, before a look at the method or at any failure. No program was
changed after its first measurement.

| program | agent | noise |
|---|---|---|
| bicycle garage | one talk that goes from agent to agent by a tool call | |
| language lesson | a grader; code adapts the level of the next question | |
| van research | searches of an index in two rounds, what each taught, a report | |
| speech check | statements checked one by one against records, code counts the verdicts | models reword their answers |
| change review | a review of each file, findings merged by code, a decision | findings at random, rate 10 % |
"""

from typing import Final

from tests.bench.attribution.programs.bureaus.desks import DESKS
from tests.bench.attribution.programs.bureaus.studies import STUDIES
from tests.bench.attribution.programs.shapes import Program

BUREAUS: Final[tuple[Program, ...]] = (*DESKS, *STUDIES)
