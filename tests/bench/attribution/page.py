"""The benchmark page of the docs: the text of `page.md` with the tables of one full run."""

import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.bench.attribution import program_tables, tables
from tests.bench.attribution.program_sets import SETS
from tests.bench.attribution.program_tables import in_words, top_ratio
from tests.bench.attribution.results import Results, machine
from tests.bench.attribution.tables import Table, percent
from tests.bench.attribution.track_a import SEED

_TEXT: Final = Path(__file__).with_name("page.md")


def render(results: Results) -> str:
    """Return the page as Markdown. Tables of tracks that did not run state that."""
    fields = {
        "findings": "\n".join(_findings(results)),
        "machine": machine(),
        "at": f"{results.at:%Y-%m-%d %H:%M}",
        "seed": SEED,
        **{name: table.markdown() for name, table in _tables(results)},
    }
    return _TEXT.read_text(encoding="utf-8").format_map(defaultdict(lambda: "Not measured.", fields))


def _tables(results: Results) -> Iterator[tuple[str, Table]]:
    """Yield the fields of the text that are tables."""
    yield "targets", tables.targets_table([target for target in results.targets() if not target.name.startswith("P, ")])
    yield "sets", program_tables.about_sets()
    if results.p:
        yield "by_set", program_tables.results_by_set(results.p)
        yield "by_kind", program_tables.results_by_kind(results.p)
    if results.a:
        yield "by_split", tables.causes_by_split(results.a)
        yield "by_level", _without_splits(tables.levels_table(results.a))
        yield "baselines", _without_sizes(tables.baselines_table(results.a))
    if results.u:
        yield "unaided", tables.unaided_table(results.u)
    if results.b:
        yield "chance", tables.chance_table(results.b)
    if results.c:
        yield "real", tables.real_table(results.c)
    if results.d:
        yield "labelled", tables.labelled_table(results.d)
    if results.e:
        yield "alignment", tables.edits_table(results.e)


def _without_splits(table: Table) -> Table:
    return replace(table, rows=[row for row in table.rows if row[0] == "all"])


def _without_sizes(table: Table) -> Table:
    return replace(table, rows=[row for row in table.rows if "," not in row[0]])


def _findings(results: Results) -> Iterator[str]:
    """Yield what a reader wants to know first, as items of a list."""
    shares = [right / count for right, count in (group.first.top for group in SETS.values() if group.first)]
    yield _item(
        f"**On your own agents, expect the first change named to be a cause in {percent(min(shares))} to"
        f" {percent(max(shares))} of cases,** depending on how much their code decides. That is the range of the sets"
        " below before anybody had looked at them. The target of 97 % was missed in each."
    )
    live = program_tables.without_development(row for row in results.p if row.live and not row.has_code_version)
    by_code, others = (top_ratio(row for row in live if row.code_edit is is_code) for is_code in (True, False))
    yield _item(
        f"All sets but *development* now: {in_words(top_ratio(live))}. Where an edit of the agent's code is a cause, it"
        f" is {in_words(by_code)}, elsewhere {in_words(others)}."
    )
    yield _item(f"Targets missed: {'; '.join(_missed_targets(results)) or 'none'}.")


def _missed_targets(results: Results) -> Iterator[str]:
    """Yield the targets, each with the sets of programs in which it is missed."""
    sets_by_target: dict[str, list[str]] = {}
    for target in results.targets():
        place, _, name = target.name.partition(": ")
        if not target.is_reached:
            sets_by_target.setdefault(name, []).append(place.removeprefix("P, "))
    return (f"{name} ({', '.join(places)})" for name, places in sets_by_target.items())


def _item(text: str) -> str:
    return textwrap.fill(f"- {text}", 118, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
