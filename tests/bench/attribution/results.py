"""One run of the benchmark: its size, its rows and the machine."""

import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import Final, TypeVar

from tests.bench.attribution import scoring, targets, track_a, track_b, track_c, track_d, track_e, track_p, track_u
from tests.bench.attribution.targets import Target
from traces.core.json_types import JSONObject, JSONValue

T = TypeVar("T")
J = TypeVar("J")


@dataclass(frozen=True, kw_only=True)
class Size:
    """Numbers of cases per track. The last four apply only with a data folder."""

    a: int
    u: int
    p: int
    aa_pairs: int
    cause_pairs: int
    # Pairs of each kind that are proved without the gate too: only the page shows these.
    ungated_pairs: int
    e: int
    real: int
    sampled_pairs: int
    draws: int


SIZES: Final = {
    "slice": Size(
        a=48, u=40, p=2, aa_pairs=16, cause_pairs=16, ungated_pairs=2, e=50, real=20, sampled_pairs=10, draws=5
    ),
    "full": Size(
        a=2000,
        u=600,
        p=32,
        aa_pairs=1000,
        cause_pairs=400,
        ungated_pairs=1000,
        e=300,
        real=200,
        sampled_pairs=200,
        draws=40,
    ),
}


@dataclass(kw_only=True)
class Results:
    """Rows of every track that ran, empty for the others."""

    size: str
    a: Sequence[scoring.Row] = ()
    u: Sequence[track_u.UnaidedRow] = ()
    p: Sequence[track_p.ProgramRow] = ()
    b: Sequence[track_b.ChanceRow] = ()
    c: Sequence[track_c.RealRow] = ()
    d: Sequence[track_d.LabelledRow] = ()
    e: Sequence[track_e.EditRow] = ()
    speed: dict[str, float] = field(default_factory=dict)
    repeats: JSONObject = field(default_factory=dict)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def targets(self) -> Iterator[Target]:
        yield from targets.cause_targets(self.a) if self.a else ()
        yield from (*targets.unaided_targets(self.u), targets.unrecorded_target(self.u)) if self.u else ()
        yield from targets.program_targets(self.p) if self.p else ()
        yield from targets.chance_targets(self.b) if self.b else ()
        yield from targets.alignment_targets(self.e, self.speed) if self.e else ()
        if self.c:
            high_count = track_c.summary(self.c)["high without 4+4"]
            yield Target(
                name="C: `high` without 4 + 4 repeats", bar=0, kind="at_most", value=_number(high_count), unit=""
            )
            for scope, label in (("task", "one task, outcomes differ"), ("tasks", "over tasks")):
                yield Target(
                    name=f"C: same configuration, {label}: called noise",
                    bar=95,
                    kind="at_least",
                    value=_percent(_noise(self.c, scope)),
                )
        if self.repeats:
            yield Target(
                name="E: repeats of one configuration, cause claimed above low",
                bar=0,
                kind="at_most",
                value=_number(self.repeats["above_low"]),
                unit="",
            )

    def as_json(self) -> JSONObject:
        return {
            "at": self.at.isoformat(timespec="seconds"),
            "machine": machine(),
            "size": self.size,
            "seed": track_a.SEED,
            "targets": [_target_json(target) for target in self.targets()],
            "speed": dict(self.speed),
            "repeated": self.repeats,
            "summary": {
                "a": scoring.summary(self.a) if self.a else None,
                "u": track_u.summary(self.u) if self.u else None,
                "p": track_p.summary(self.p) if self.p else None,
                "b": track_b.summary(self.b) if self.b else None,
                "c": track_c.summary(self.c) if self.c else None,
                "d": track_d.summary(self.d) if self.d else None,
                "e": track_e.summary(self.e) if self.e else None,
            },
            "rows": {
                "a": [scoring.as_json(row) for row in self.a],
                "u": [track_u.as_json(row) for row in self.u],
                "p": [track_p.as_json(row) for row in self.p],
                "b": [track_b.as_json(row) for row in self.b],
                "c": [track_c.as_json(row) for row in self.c],
                "d": [track_d.as_json(row) for row in self.d],
                "e": [track_e.as_json(row) for row in self.e],
            },
        }


def measure(size: str, tracks: str, *, data: Path | None, jobs: int, programs: str | None = None) -> Results:
    """Run the tracks with these letters. C, D and a part of E need the data folder. `programs`: one set of track P."""
    cases, results = SIZES[size], Results(size=size)
    if "a" in tracks:
        results.a = spread(track_a.rows, track_a.plan(cases.a), jobs)
    if "u" in tracks:
        results.u = spread(track_u.rows, track_a.plan(cases.u), jobs)
    if "p" in tracks:
        results.p = spread(track_p.rows, track_p.plan(cases.p, held_out=size == "full", only=programs), jobs)
    if "b" in tracks:
        work = partial(track_b.rows, ungated=cases.ungated_pairs)
        results.b = spread(work, track_b.plan(cases.aa_pairs, cases.cause_pairs), jobs)
    if "e" in tracks:
        results.e, results.speed = track_e.generated_rows(cases.e), track_e.speed()
    if data is not None:
        _measure_recordings(results, cases, tracks, data)
    return results


def _measure_recordings(results: Results, cases: Size, tracks: str, data: Path) -> None:
    if "e" in tracks:
        results.e = [*results.e, *track_e.real_rows(data, cases.real)]
        results.repeats = track_e.repeat_pairs(data, cases.sampled_pairs)
    if "c" in tracks:
        results.c = track_c.rows(data, count=cases.sampled_pairs, draws=cases.draws)
    if "d" in tracks:
        results.d = track_d.rows(data)


def spread(work: Callable[[Sequence[J]], list[T]], items: Sequence[J], jobs: int) -> list[T]:
    """Return the rows of all items in order, computed by `jobs` processes. Each case is seeded by its own number."""
    if jobs == 1:
        return work(items)
    chunks = [items[start : start + 20] for start in range(0, len(items), 20)]
    with ProcessPoolExecutor(jobs) as pool:
        return [row for rows in pool.map(work, chunks) for row in rows]


def machine() -> str:
    return f"{platform.machine()}, {cpu_count()} cores, Python {platform.python_version()}"


def _noise(rows: Sequence[track_c.RealRow], scope: str) -> float | None:
    return scoring.share(row.verdict == "noise" for row in rows if (row.scope, row.kind) == (scope, "same"))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _number(value: JSONValue) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _target_json(target: Target) -> JSONObject:
    return {
        "name": target.name,
        "value": target.value,
        "bar": target.bar,
        "kind": target.kind,
        "unit": target.unit,
        "reached": target.is_reached,
    }
