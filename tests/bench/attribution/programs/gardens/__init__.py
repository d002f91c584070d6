"""GARDENS: four further kinds of agents in another code style, written after the rule that traces answers back.

Written on 29 November 2026 by the author of that rule, and committed before any of its cases was run.

| program | agent |
|---|---|
| plant clinic | symptoms that a model names, remedies that code looks up and joins in one sentence, a gardener |
| seed order | a table that code fills from a model's lines, with sums and a discount, a buyer |
| park talk | a conversation over three turns, of which code shows the last messages only |
| hedge vote | three jurors, code that counts their marks by weight, a speaker |
"""

from typing import Final

from tests.bench.attribution.programs.gardens.beds import BEDS
from tests.bench.attribution.programs.gardens.parks import PARKS
from tests.bench.attribution.programs.shapes import Program

GARDENS: Final[tuple[Program, ...]] = (*BEDS, *PARKS)
