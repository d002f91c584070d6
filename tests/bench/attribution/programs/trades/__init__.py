"""TRADES: eight kinds of agents that the other sets lack, one of them also with reworded answers.

Written on 28 November 2026, before any of its cases was measured, by the author of the rules that were added that day.

| program | agent | noise |
|---|---|---|
| address book | notes read one by one, records that code merges by their telephone number | |
| phrase book | sentences that code finds in a memory, only new ones translated, put together again | |
| bank lines | payments that code matches with open invoices, within a tolerance | |
| greenhouse | readings that code averages over a window, a trend, advice | |
| wine auction | three bidders, an auction that code runs, a clerk | |
| cellar | a walker in a world that code simulates, until the exit or a limit | |
| loan desk | facts as JSON, an ordered list of rules that code evaluates, a letter | also reworded |
| garden project | tasks that code orders by their dependencies and dates, a foreman | |
"""

from typing import Final

from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.trades.records import RECORDS
from tests.bench.attribution.programs.trades.rules import RULES
from tests.bench.attribution.programs.trades.worlds import WORLDS

TRADES: Final[tuple[Program, ...]] = (*RECORDS, *WORLDS, *RULES)
