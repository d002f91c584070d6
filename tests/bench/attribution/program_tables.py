"""Tables of track P on the benchmark page: the sets, their results, and the kinds of programs of the first set."""

from collections.abc import Iterable, Sequence

from tests.bench.attribution import scoring
from tests.bench.attribution.program_sets import SETS, ProgramSet, Ratio
from tests.bench.attribution.tables import Table, percent
from tests.bench.attribution.track_p import ProgramRow


def about_sets() -> Table:
    rows = [
        [name, str(len(group.programs)), group.contents, group.author, group.read, *_first(group)]
        for name, group in SETS.items()
    ]
    head = ("set", "programs", "contents", "its author", "failures read", "top-1 at first", "`high` at first")
    return Table(title="The sets", head=head, rows=rows)


def results_by_set(rows: Sequence[ProgramRow]) -> Table:
    """Return one line per set and one for all but *development*, with callable models.

    The last two columns are of the other modes.
    """
    groups = scoring.group_by(rows, lambda row: row.set)
    lines = [_set_line(name, groups[name]) for name in SETS if name in groups]
    head = ("set", "top-1", "edit of code", "others", "`high`", "`medium`", "blamed without a cause", "as chance")
    modes = ("recordings alone", "code version recorded")
    total = _set_line("all but *development*", without_development(rows))
    return Table(title="Results now", head=(*head, *modes), rows=[*lines, total])


def without_development(rows: Iterable[ProgramRow]) -> list[ProgramRow]:
    """Leave out the set for which the method was written."""
    return [row for row in rows if row.set != "development"]


def results_by_kind(rows: Sequence[ProgramRow]) -> Table:
    """Return one line per kind of program in the set *development*."""
    groups = scoring.group_by((row for row in rows if row.set == "development"), lambda row: row.group)
    lines = [
        [name, *(_tops(mode(group)) for mode in (_callable_models, _recordings_alone))]
        for name, group in groups.items()
    ]
    return Table(title="By kind of program", head=("*development*", "models callable", "recordings alone"), rows=lines)


def top_ratio(rows: Iterable[ProgramRow]) -> Ratio:
    """Return how often the first change belongs to a cause, of the cases with a recorded cause."""
    return _ratio(row.top for row in rows if not row.hidden)


def in_words(ratio: Ratio) -> str:
    right, count = ratio
    return f"{percent(right / count)} ({right:,} of {count:,})" if count else "–"


def _first(group: ProgramSet) -> list[str]:
    if group.first is None:
        return ["not kept", ""]
    blame = f", blame {group.first.blame}" if group.first.blame else ""
    return [in_words(group.first.top), "{} of {}".format(*group.first.high) + blame]


def _set_line(name: str, rows: Sequence[ProgramRow]) -> list[str]:
    live = _callable_models(rows)
    return [
        name,
        _tops(live),
        _tops(row for row in live if row.code_edit),
        _tops(row for row in live if not row.code_edit),
        *(_count(row.right for row in live if row.confidence == level) for level in ("high", "medium")),
        _count(row.blames for row in live if row.top is None),
        _count(row.reported_as_chance for row in live if row.top is not None),
        _tops(_recordings_alone(rows)),
        _tops(row for row in rows if row.has_code_version),
    ]


def _callable_models(rows: Iterable[ProgramRow]) -> list[ProgramRow]:
    return [row for row in rows if row.live and not row.has_code_version]


def _recordings_alone(rows: Iterable[ProgramRow]) -> list[ProgramRow]:
    return [row for row in rows if not row.live]


def _tops(rows: Iterable[ProgramRow]) -> str:
    return in_words(top_ratio(rows))


def _count(values: Iterable[bool]) -> str:
    return "{} of {}".format(*_ratio(values))


def _ratio(values: Iterable[bool | None]) -> Ratio:
    known = [value for value in values if value is not None]
    return sum(known), len(known)
