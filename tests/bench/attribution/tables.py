"""Tables of the results, for the terminal and for the benchmark page of the docs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.attribution import scoring, track_b, track_c, track_d, track_e, track_p, track_u
from tests.bench.attribution.results import Results
from tests.bench.attribution.scoring import Row
from tests.bench.attribution.targets import Target
from traces.core.json_types import JSONObject, JSONValue


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables(results: Results) -> Iterator[Table]:
    yield targets_table(list(results.targets()))
    if results.a:
        yield causes_by_split(results.a)
        yield _causes("By number of simultaneous changes", scoring.group_by(results.a, lambda row: f"{row.size:2}"))
        yield _causes("By structure", scoring.group_by(results.a, lambda row: row.flavour))
        yield _causes("By pipeline", scoring.group_by(results.a, lambda row: row.pipeline))
        yield levels_table(results.a)
        yield baselines_table(results.a)
    if results.u:
        yield unaided_table(results.u)
    if results.p:
        yield _programs(track_p.summary(results.p))
    if results.b:
        yield chance_table(results.b)
    if results.c:
        yield real_table(results.c)
    if results.d:
        yield labelled_table(results.d)
    if results.e:
        yield edits_table(results.e)


def targets_table(targets: Sequence[Target]) -> Table:
    rows = [
        [target.name, number(target.value, target.unit), _bar(target), "reached" if target.is_reached else "**missed**"]
        for target in targets
    ]
    return Table(title="Against the targets", head=("what", "measured", "target", ""), rows=rows)


def _bar(target: Target) -> str:
    return f"{'≥' if target.kind == 'at_least' else '≤'} {target.bar:g} {target.unit}".strip()


def causes_by_split(rows: Sequence[Row]) -> Table:
    return _causes("By split", scoring.group_by(rows, lambda row: row.split))


def _causes(title: str, groups: Mapping[str, Sequence[Row]]) -> Table:
    columns = {
        "top1": "top-1",
        "mrr": "MRR",
        "set_f1": "set F1",
        "kind": "kind",
        "hunk": "hunk",
        "mediator_exact": "entry step",
        "mediator_near": "±1",
        "false_blame": "false blame",
    }
    rows = []
    for name, group in sorted(groups.items()):
        summary = scoring.summary(group)
        rows.append(
            [
                name.strip(),
                str(len(group)),
                *(percent(summary[key]) for key in columns),
                _plain(summary["replays_median"]),
                _plain(summary["replays_all_median"]),
                _plain(summary["executed_median"]),
                _plain(summary["ms_median"]),
            ]
        )
    head = ("", "cases", *columns.values(), "replays", "replays incl. parts and path", "re-executed steps", "ms")
    return Table(title=title, head=head, rows=rows)


def levels_table(rows: Sequence[Row]) -> Table:
    lines = []
    for split, group in {"all": rows, **scoring.group_by(rows, lambda row: row.split)}.items():
        summary = scoring.summary(group)
        levels = summary["levels"]
        assert isinstance(levels, dict)
        for level, cell in levels.items():
            assert isinstance(cell, dict)
            if cell["cases"]:
                lines.append([split, level, str(cell["cases"]), percent(cell["share"]), percent(cell["precision"])])
        lines.append([split, "Brier / ECE", "", "", f"{_plain(summary['brier'], 3)} / {_plain(summary['ece'], 3)}"])
    return Table(title="Confidence", head=("split", "level", "cases", "share", "precision"), rows=lines)


def baselines_table(rows: Sequence[Row]) -> Table:
    groups = scoring.group_by(rows, lambda row: f"{row.split}, {row.size} changes")
    groups |= scoring.group_by(rows, lambda row: row.split)
    names = list(next(row.baselines for row in rows if row.baselines))
    lines = []
    for name in sorted(groups, key=lambda group: (group.split(",")[0], len(group), group)):
        with_cause = [row for row in groups[name] if row.top is not None]
        cells = [percent(scoring.share(row.baselines[baseline] for row in with_cause)) for baseline in names]
        lines.append([name, str(len(with_cause)), percent(scoring.share(row.top for row in with_cause)), *cells])
    return Table(
        title="Top-1 compared with the baselines", head=("", "cases with a cause", "ladder", *names), rows=lines
    )


def unaided_table(rows: Sequence[track_u.UnaidedRow]) -> Table:
    summary = track_u.summary(rows)
    lines = []
    for name, cell in summary.items():
        assert isinstance(cell, dict)
        levels = cell["levels"]
        assert isinstance(levels, dict)
        precisions = [
            f"{percent(level['precision'])} of {level['cases']}" for level in levels.values() if isinstance(level, dict)
        ]
        lines.append(
            [
                name,
                str(cell["cases"]),
                percent(cell["right"]),
                percent(cell["top1"]),
                percent(cell["undecided"]),
                percent(cell["false_blame"]),
                *precisions,
                _plain(cell["replays_median"]),
            ]
        )
    head = ("", "cases", "fully true", "top-1", "undecided", "false blame", *scoring.LEVELS, "replays")
    return Table(title="Unaided: changes not given", head=head, rows=lines)


def _programs(cells: JSONObject) -> Table:
    lines = []
    for name, cell in cells.items():
        assert isinstance(cell, dict)
        levels = cell["levels"]
        assert isinstance(levels, dict)
        shares = [percent(cell[key]) for key in ("top1", "named", "diff", "excused", "false_blame")]
        precisions = [
            f"{percent(level['precision'])} of {level['cases']}" for level in levels.values() if isinstance(level, dict)
        ]
        counts = {"top1_interval": cell["caused"], "high_interval": cell["sure"]}
        intervals = [_bounds(cell[key], count) for key, count in counts.items()]
        lines.append(
            [
                name,
                str(cell["cases"]),
                str(cell["hidden"]),
                shares[0],
                intervals[0],
                *shares[1:],
                precisions[0],
                intervals[1],
                *precisions[1:],
            ]
        )
    head = (
        "",
        "cases",
        "not recorded",
        "top-1",
        "95 % (Wilson)",
        "decided",
        "the diff alone",
        "causes reported as chance",
        "false blame",
    )
    levels_head = ("high", "95 % (Wilson)", *scoring.LEVELS[1:])
    return Table(title="Programs with unrecorded code between calls", head=(*head, *levels_head), rows=lines)


def chance_table(rows: Sequence[track_b.ChanceRow]) -> Table:
    summary = track_b.summary(rows)
    lines = []
    for name, cell in summary.items():
        assert isinstance(cell, dict)
        if "power" not in cell:
            continue
        blame = cell["false_blame"]
        assert isinstance(blame, dict)
        lines.append(
            [
                name,
                _blame_ratio(blame),
                _bounds(blame["wilson"], blame["pairs"]),
                str(cell["cause_pairs"]),
                percent(cell["power"]),
                f"{percent(cell['high_precision'])} of {cell['high']}",
                _plain(cell["repeats"]),
                _plain(cell["live_calls"]),
            ]
        )
    head = (
        "",
        "A/A pairs blamed",
        "95 % (Wilson)",
        "pairs with a cause",
        "power",
        "precision of `high`",
        "repeats per side",
        "live calls",
    )
    return Table(title="Chance", head=head, rows=lines)


def real_table(rows: Sequence[track_c.RealRow]) -> Table:
    summary = track_c.summary(rows)
    lines = []
    for name, cell in summary.items():
        if not isinstance(cell, dict):
            continue
        lines.append(
            [
                name,
                str(cell["pairs"]),
                str(cell["blamed"]),
                _bounds(cell["wilson"], cell["pairs"]),
                percent(cell["noise"]),
                *(_nonzero_counts(cell[key]) for key in ("levels", "recordings_alone", "undeclared")),
            ]
        )
    head = (
        "",
        "pairs",
        "blamed above low",
        "95 % (Wilson)",
        "`noise`",
        "levels",
        "the diff alone",
        "the diff, undeclared",
    )
    return Table(title="Real recordings", head=head, rows=lines)


def _nonzero_counts(counts: JSONValue) -> str:
    values = counts if isinstance(counts, dict) else {}
    return ", ".join(f"{name} {count}" for name, count in values.items() if count)


def labelled_table(rows: Sequence[track_d.LabelledRow]) -> Table:
    summary = track_d.summary(rows)
    lines = [
        [
            name,
            percent(cell.get("exact")),
            _bounds(cell.get("wilson"), summary["failures"]),
            *(percent(cell.get(key)) for key in ("±1", "±3")),
        ]
        for name, cell in summary.items()
        if isinstance(cell, dict)
    ]
    return Table(
        title="Labelled failures",
        head=(f"{summary['failures']} failures", "exact", "95 % (Wilson)", "±1", "±3"),
        rows=lines,
    )


def edits_table(rows: Sequence[track_e.EditRow]) -> Table:
    summary = track_e.summary(rows)
    lines = [["all", percent(summary["f1"]), percent(summary["worst"])]]
    for key in ("by_source", "by_edit"):
        cells = summary[key]
        assert isinstance(cells, dict)
        lines += [[name, percent(f1), ""] for name, f1 in cells.items()]
    return Table(title="Alignment after edits", head=(f"{summary['cases']} transcripts", "F1", "worst"), rows=lines)


def number(value: float | None, unit: str) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.2f} {unit}".strip() if unit != "%" else f"{value:.1f} %"


def percent(value: JSONValue) -> str:
    return f"{100 * value:.1f} %" if isinstance(value, int | float) else "–"


def _plain(value: JSONValue, digits: int = 1) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "–"


def _blame_ratio(blame: JSONObject) -> str:
    return f"{blame['blamed']} of {blame['pairs']}" if blame["pairs"] else "–"


def _bounds(value: JSONValue, count: JSONValue) -> str:
    if not count or not isinstance(value, list):
        return "–"
    return f"{percent(value[0])} to {percent(value[1])}"
