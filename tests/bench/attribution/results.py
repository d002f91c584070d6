"""One run of the benchmark: what was measured, how much of it, and where."""

import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
    """How many cases of each track; the data folder's share only where there is one."""

    a: int
    u: int
    p: int
    alike: int
    caused: int
    e: int
    real: int
    sampled: int
    draws: int


SIZES: Final = {
    "slice": Size(a=144, u=40, p=3, alike=50, caused=50, e=50, real=20, sampled=10, draws=5),
    "full": Size(a=2000, u=600, p=32, alike=1000, caused=400, e=300, real=200, sampled=200, draws=40),
}


@dataclass(kw_only=True)
class Results:
    size: str
    a: Sequence[scoring.Row] = ()
    u: Sequence[track_u.UnaidedRow] = ()
    p: Sequence[track_p.ProgramRow] = ()
    b: Sequence[track_b.ChanceRow] = ()
    c: Sequence[track_c.RealRow] = ()
    d: Sequence[track_d.LabelledRow] = ()
    e: Sequence[track_e.EditRow] = ()
    speed: dict[str, float] = field(default_factory=dict)
    repeated: JSONObject = field(default_factory=dict)
    at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def targets(self) -> Iterator[Target]:
        yield from targets.of_causes(self.a) if self.a else ()
        yield from (*targets.unaided(self.u), targets.unrecorded(self.u)) if self.u else ()
        yield from targets.of_programs(self.p) if self.p else ()
        yield from targets.of_chance(self.b) if self.b else ()
        yield from targets.of_edits(self.e, self.speed) if self.e else ()
        if self.c:
            above = track_c.summary(self.c)["above medium without 4+4"]
            yield Target(
                what="C: `high` without 4 + 4 repeats", bar=0, kind="at_most", measured=_number(above), unit=""
            )
            for scope, what in (("task", "one task, outcomes differ"), ("tasks", "over tasks")):
                yield Target(
                    what=f"C: same configuration, {what}: called noise",
                    bar=95,
                    kind="at_least",
                    measured=_percent(_noise(self.c, scope)),
                )
        if self.repeated:
            yield Target(
                what="E: repeats of one configuration, cause claimed above low",
                bar=0,
                kind="at_most",
                measured=_number(self.repeated["above_low"]),
                unit="",
            )

    def as_json(self) -> JSONObject:
        return {
            "at": self.at.isoformat(timespec="seconds"),
            "machine": machine(),
            "size": self.size,
            "seed": track_a.SEED,
            "targets": [_told(target) for target in self.targets()],
            "speed": dict(self.speed),
            "repeated": self.repeated,
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
    """Run the tracks named by their letters; C and D need the data folder. `programs` names the one set of track P."""
    wanted, results = SIZES[size], Results(size=size)
    if "a" in tracks:
        results.a = spread(track_a.rows, track_a.plan(wanted.a), jobs)
    if "u" in tracks:
        results.u = spread(track_u.rows, track_a.plan(wanted.u), jobs)
    if "p" in tracks:
        results.p = spread(track_p.rows, track_p.plan(wanted.p, held_out=size == "full", only=programs), jobs)
    if "b" in tracks:
        results.b = spread(track_b.rows, track_b.plan(wanted.alike, wanted.caused), jobs)
    if "e" in tracks:
        results.e, results.speed = track_e.generated(wanted.e), track_e.speed()
    if data is not None:
        _with_data(results, wanted, tracks, data)
    return results


def _with_data(results: Results, wanted: Size, tracks: str, data: Path) -> None:
    if "e" in tracks:
        results.e = [*results.e, *track_e.real(data, wanted.real)]
        results.repeated = track_e.repeated(data, wanted.sampled)
    if "c" in tracks:
        results.c = track_c.rows(data, sampled=wanted.sampled, draws=wanted.draws)
    if "d" in tracks:
        results.d = track_d.rows(data)


def spread(work: Callable[[Sequence[J]], list[T]], given: Sequence[J], jobs: int) -> list[T]:
    """The rows of all jobs in order, made by several processes; every case is seeded by its own number."""
    if jobs == 1:
        return work(given)
    chunks = [given[at : at + 20] for at in range(0, len(given), 20)]
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


def _told(target: Target) -> JSONObject:
    return {
        "what": target.what,
        "measured": target.measured,
        "bar": target.bar,
        "kind": target.kind,
        "unit": target.unit,
        "reached": target.reached,
    }
