"""STATIONS: four further kinds of agents, kept apart until the method was changed for the last time.

Written on 28 November 2026, before a look at the method or at any failure, and measured after all rules were final.

| program | agent |
|---|---|
| price signals | rules that code tests on past prices, refined by the outcome until it suffices, a report |
| customs tariff | a code chosen level by level in a tree, duties and thresholds computed by code, a broker |
| column mapping | columns of two tables matched by a model, joined and summed by code, an analyst |
| duty roster | wishes read from messages one by one, a roster that code solves, gaps asked about, a notice |
"""

from typing import Final

from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.stations.choices import CHOICES
from tests.bench.attribution.programs.stations.plans import PLANS

STATIONS: Final[tuple[Program, ...]] = (*CHOICES, *PLANS)
