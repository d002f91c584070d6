"""The sets of programs of track P: who wrote each, whether its failures were read, and how it was measured first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.attribution.programs.ateliers import ATELIERS
from tests.bench.attribution.programs.blind import BLIND
from tests.bench.attribution.programs.bureaus import BUREAUS
from tests.bench.attribution.programs.depots import DEPOTS
from tests.bench.attribution.programs.development import PROGRAMS
from tests.bench.attribution.programs.families import FAMILIES
from tests.bench.attribution.programs.field import FIELD
from tests.bench.attribution.programs.foundries import FOUNDRIES
from tests.bench.attribution.programs.fresh import FRESH
from tests.bench.attribution.programs.gardens import GARDENS
from tests.bench.attribution.programs.guilds import GUILDS
from tests.bench.attribution.programs.harbours import HARBOURS
from tests.bench.attribution.programs.heldout import HELD_OUT
from tests.bench.attribution.programs.later import LATER
from tests.bench.attribution.programs.mills import MILLS
from tests.bench.attribution.programs.novel import NOVEL
from tests.bench.attribution.programs.observatories import OBSERVATORIES
from tests.bench.attribution.programs.outposts import OUTPOSTS
from tests.bench.attribution.programs.patterns import PATTERNS
from tests.bench.attribution.programs.quays import QUAYS
from tests.bench.attribution.programs.services import SERVICES
from tests.bench.attribution.programs.shapes import Program
from tests.bench.attribution.programs.stations import STATIONS
from tests.bench.attribution.programs.studios import STUDIOS
from tests.bench.attribution.programs.trades import TRADES
from tests.bench.attribution.programs.unseen import UNSEEN
from tests.bench.attribution.programs.wild import WILD
from tests.bench.attribution.programs.yards import YARDS

# Cases that are right, of how many.
Ratio = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class FirstMeasurement:
    """Result with callable models before anybody had looked at a case of the set. `blame`: without a cause."""

    top: Ratio
    high: Ratio
    blame: int = 0


@dataclass(frozen=True, kw_only=True)
class ProgramSet:
    """Programs by one author. `first` is None if there is no measurement from before a look at their failures.

    Sets with `code_edits` have edits of the agents' own code in most programs.
    """

    programs: Sequence[Program]
    contents: str
    author: str
    read: str
    code_edits: bool = False
    first: FirstMeasurement | None = None


SETS: Final[Mapping[str, ProgramSet]] = {
    "development": ProgramSet(
        programs=PROGRAMS,
        contents="the kinds named above",
        author="the method's",
        read="yes",
    ),
    "held out": ProgramSet(
        programs=HELD_OUT,
        contents="kinds as in *development*",
        author="the method's",
        read="only figures of each group",
    ),
    "unseen": ProgramSet(
        programs=UNSEEN,
        contents="ten further kinds",
        author="the method's, before developing it further",
        read="yes",
        first=FirstMeasurement(top=(291, 312), high=(86, 86)),
    ),
    "fresh": ProgramSet(
        programs=FRESH,
        contents="kinds that the others lack",
        author="had not read the method",
        read="yes",
        first=FirstMeasurement(top=(300, 334), high=(96, 98)),
    ),
    "blind": ProgramSet(
        programs=BLIND,
        contents="kinds that the others lack",
        author="had read neither the method nor results",
        read="yes",
    ),
    "later": ProgramSet(
        programs=LATER,
        contents="15 kinds that the others lack",
        author="had read neither the method nor results",
        read="yes",
        first=FirstMeasurement(top=(485, 527), high=(87, 87)),
    ),
    "field": ProgramSet(
        programs=FIELD,
        contents="agents as in production, two with random decisions",
        author="had read this page, not the method",
        read="yes",
        first=FirstMeasurement(top=(300, 331), high=(44, 45), blame=1),
    ),
    "wild": ProgramSet(
        programs=WILD,
        contents="twelve kinds in wide use; 96 cases differ by noise only",
        author="had not read the method",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(218, 237), high=(90, 94), blame=8),
    ),
    "families": ProgramSet(
        programs=FAMILIES,
        contents="nine kinds that the others lack",
        author="had not read the method then",
        read="yes",
        first=FirstMeasurement(top=(235, 258), high=(56, 57)),
    ),
    "patterns": ProgramSet(
        programs=PATTERNS,
        contents="six common shapes of agents",
        author="had read the method, not its failures",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(126, 136), high=(34, 34)),
    ),
    "novel": ProgramSet(
        programs=NOVEL,
        contents="agents with stores, forms and conversions in code",
        author="had not looked at any failure",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(141, 183), high=(19, 22)),
    ),
    "services": ProgramSet(
        programs=SERVICES,
        contents="five kinds that the others lack, two with noise",
        author="the method's",
        read="yes",
        code_edits=True,
    ),
    "bureaus": ProgramSet(
        programs=BUREAUS,
        contents="five kinds that the others lack",
        author="the method's",
        read="yes",
        code_edits=True,
    ),
    "trades": ProgramSet(
        programs=TRADES,
        contents="eight kinds that the others lack, one reworded",
        author="the method's",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(200, 216), high=(46, 46)),
    ),
    "outposts": ProgramSet(
        programs=OUTPOSTS,
        contents="four kinds that the others lack",
        author="had not looked at the method or any failure",
        read="for one rule",
        code_edits=True,
        first=FirstMeasurement(top=(90, 96), high=(12, 12)),
    ),
    "stations": ProgramSet(
        programs=STATIONS,
        contents="four kinds that the others lack",
        author="had not looked at the method or any failure",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(88, 96), high=(18, 18)),
    ),
    "guilds": ProgramSet(
        programs=GUILDS,
        contents="nine kinds that the others lack, two with noise",
        author="the method's",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(225, 248), high=(43, 43)),
    ),
    "studios": ProgramSet(
        programs=STUDIOS,
        contents="ten shapes that teams build, two with noise",
        author="the method's",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(253, 279), high=(72, 72)),
    ),
    "harbours": ProgramSet(
        programs=HARBOURS,
        contents="four kinds with little code each",
        author="the method's",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(88, 96), high=(16, 17)),
    ),
    "mills": ProgramSet(
        programs=MILLS,
        contents="eight kinds, two with noise",
        author="the method's",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(213, 232), high=(47, 47)),
    ),
    "depots": ProgramSet(
        programs=DEPOTS,
        contents="seven kinds, one reworded",
        author="had read the method and failures of others",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(172, 192), high=(56, 57)),
    ),
    "gardens": ProgramSet(
        programs=GARDENS,
        contents="four kinds in another code style",
        author="the method's",
        read="only figures",
        code_edits=True,
        first=FirstMeasurement(top=(88, 96), high=(16, 16)),
    ),
    "ateliers": ProgramSet(
        programs=ATELIERS,
        contents="five kinds, two reworded",
        author="had read the method and failures of others",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(156, 166), high=(15, 16)),
    ),
    "foundries": ProgramSet(
        programs=FOUNDRIES,
        contents="ten kinds with many edits of code, one reworded",
        author="had read the documentation, no failure",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(237, 263), high=(48, 49)),
    ),
    "observatories": ProgramSet(
        programs=OBSERVATORIES,
        contents="six further kinds, two also reworded",
        author="the method's, after all rules",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(184, 191), high=(27, 27)),
    ),
    "quays": ProgramSet(
        programs=QUAYS,
        contents="seven kinds as product teams write them, two with noise",
        author="had read the method, no failure",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(197, 216), high=(29, 30)),
    ),
    "yards": ProgramSet(
        programs=YARDS,
        contents="seven kinds whose code holds state, two with noise",
        author="had read the method and the table, no failure",
        read="yes",
        code_edits=True,
        first=FirstMeasurement(top=(201, 215), high=(37, 37)),
    ),
}
