"""STUDIOS: ten kinds of agents in shapes that teams build, one also by chance and one also reworded.

Written on 29 November 2026 by the author of the rule about remarks, before any of their cases was run through the
method, and measured once after that.

| program | agent | noise |
|---|---|---|
| shop survey | a planner chooses shops, a counter reads each report, code reduces the figures, a reporter | |
| two advocates | a debate in rounds, a judge who sees what code shows of it | also at random, rate 10 % |
| bike garage | one agent with native tool calls that measures until it knows | |
| museum guide | passages scored by a model, sorted and cut by code, citations that code resolves | |
| letter records | letters as JSON, validated and converted by code, sorted and posted | |
| tenant desk | limits, tone and desks of a tenant's configuration, composed by code | |
| carrier calls | tools tried one after another, each refusal read by a model | |
| tutor | a conversation whose older turns a summary replaces | also reworded |
| parcel rules | rules that code tests, the best one reviewed | |
| grants | sums that code sends to a human, who may change them | |
"""

from typing import Final

from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.studios.crews import CREWS
from tests.bench.attribution.programs.studios.papers import PAPERS
from tests.bench.attribution.programs.studios.works import WORKS

STUDIOS: Final[tuple[Program, ...]] = (*CREWS, *PAPERS, *WORKS)
