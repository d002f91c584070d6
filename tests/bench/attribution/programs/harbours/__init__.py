"""HARBOURS: four further kinds of agents, written after the rules about texts without a trace and calls left to code.

Written on 29 November 2026 by the author of these rules, and measured afterwards.

| program | agent |
|---|---|
| tide window | a pilot's draught, tides that code compares with it, a harbour master |
| glossary | terms that a model extracts, looked up by code, a translator with the terms found |
| blood bank | units that code picks by group and age, a nurse who is asked again until code accepts the order |
| plot review | chapters judged one by one, remarks that code ranks and cuts, an editor |
"""

from typing import Final

from tests.bench.attribution.programs.harbours.stocks import STOCKS
from tests.bench.attribution.programs.harbours.texts import TEXTS
from tests.bench.attribution.programs.shapes import Program

HARBOURS: Final[tuple[Program, ...]] = (*STOCKS, *TEXTS)
