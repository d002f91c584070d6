"""How a finding compares with the truth, one row for each case, and rows summed up."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import median
from typing import Final, TypeVar

from diffing.schemas.evidence import Findings
from tests.bench.attribution.lab import Bench, answering_step
from tests.bench.attribution.mechanisms.running import Answering
from tests.bench.attribution.truth import Ids
from traces.core.json_types import JSONObject, JSONValue

T = TypeVar("T")
LEVELS: Final = ("high", "medium", "low", "noise")
# What a level promises, for the calibration error: the bars of the design, or the middle between them.
_PROMISED: Final[Mapping[str, float]] = {"high": 0.98, "medium": 0.85, "low": 0.5, "noise": 0.98}
_SEARCHING: Final = frozenset({"reproduce", "apply", "revert", "search"})


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case, as the tables need it. A None says that the case has nothing of the kind to get right."""

    split: str
    number: int
    pipeline: str
    size: int
    flavour: str
    verdict: str
    confidence: str
    right: bool  # every word of the verdict is true: the kind, and each set that it names
    kind_right: bool
    blamed: bool
    top: bool | None
    reciprocal: float | None
    set_f1: float | None
    hunk: bool | None
    mediator_off: int | None  # steps between the first true mediator and the named one; -1: one of them is missing
    searched: int
    replays: int
    executed: int
    ms: float
    baselines: dict[str, bool]
    baseline_replays: dict[str, int]


def kind_of(findings: Findings) -> str:
    return "none" if findings.verdict in {"no_effect", "noise"} else findings.verdict


def right(findings: Findings, sets: Sequence[Ids], structure: str) -> bool:
    named = [frozenset(one) for one in findings.primary]
    return kind_of(findings) == structure and all(one in sets for one in named)


def ranking(findings: Findings) -> list[str]:
    """The changes, the likeliest first: those of the sets in order, then by what was found out about each alone."""
    named = [atom for one in findings.primary for atom in one]
    rest = sorted(
        (atom for atom in findings.atoms if atom.parent is None and atom.id not in named),
        key=lambda atom: (not atom.necessary, not atom.sufficient, -(atom.shapley or 0.0)),
    )
    return list(dict.fromkeys([*named, *(atom.id for atom in rest)]))


def reciprocal_rank(ranked: Sequence[str], members: Ids) -> float:
    return next((1 / place for place, atom in enumerate(ranked, 1) if atom in members), 0.0)


def set_f1(named: Ids, sets: Iterable[Ids]) -> float:
    """Against the nearest minimal sufficient set."""
    return max(2 * len(named & one) / (len(named) + len(one)) for one in sets)


def hunk_right(findings: Findings, bench: Bench) -> bool | None:
    """Whether the part that is named inside the first member is the one that can matter."""
    if not findings.primary or (first := findings.primary[0][0]) not in bench.case.by_id:
        return None
    injection = bench.case.by_id[first]
    if len(injection.hunks) < 2:
        return None
    parts = [atom for atom in findings.atoms if atom.parent == first]
    best = max(parts, key=lambda part: (bool(part.sufficient), bool(part.necessary)), default=None)
    return best is not None and bool(best.sufficient or best.necessary) and best.id == f"{first}/{injection.main}"


def mediators(bench: Bench) -> list[int]:
    """The candidate's steps at which the base's output brings the base's answer back: found by running the code."""
    found = []
    steps = bench.candidate.run.steps
    settings, program = bench.candidate.settings, bench.case.pipeline.program
    for pair in bench.comparison.pairs:
        if pair.base is None or pair.candidate is None or not pair.answers_differently or pair.is_container:
            continue
        number = pair.candidate.sequence_no
        if number >= answering_step(bench.candidate.run):
            continue
        name = steps[number - 1].name
        place = name, sum(step.name == name for step in steps[: number - 1])
        output = bench.base.run.steps[pair.base.sequence_no - 1].output
        if program(Answering(settings, clamped={place: _kept(output)})) == bench.base.answer:
            found.append(number)
    return found


def _kept(output: JSONValue) -> JSONValue:
    return output["message"] if isinstance(output, dict) and "message" in output else output


def mediator_off(findings: Findings, true: Sequence[int]) -> int | None:
    named = [each.step.sequence_no for each in findings.mediators if each.evidence == "tested"]
    if not named and not true:
        return None
    return abs(named[0] - true[0]) if named and true else -1


def searched(findings: Findings) -> int:
    """The replays that the verdict needed, without those for shares, parts and mediators."""
    inside = [any("/" in atom for atom in probe.applied) for probe in findings.probes]
    return sum(p.purpose in _SEARCHING and not part for p, part in zip(findings.probes, inside, strict=True))


# ---- sums


def share(rows: Iterable[bool | None]) -> float | None:
    given = [row for row in rows if row is not None]
    return sum(given) / len(given) if given else None


def mean(values: Iterable[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) / len(given) if given else None


def summary(rows: Sequence[Row]) -> JSONObject:
    """Everything that the tables show of some rows."""
    caused = [row for row in rows if row.top is not None]
    single = [row for row in rows if row.flavour in {"single", "pre-empted"}]
    found: JSONObject = {
        "cases": len(rows),
        "top1": share(row.top for row in rows),
        "mrr": mean(row.reciprocal for row in rows),
        "set_f1": mean(row.set_f1 for row in rows),
        "kind": share(row.kind_right for row in rows),
        "hunk": share(row.hunk for row in rows),
        "mediator_exact": share(None if row.mediator_off is None else row.mediator_off == 0 for row in rows),
        "mediator_near": share(None if row.mediator_off is None else 0 <= row.mediator_off <= 1 for row in rows),
        "false_blame": share(row.blamed for row in rows if row.top is None),
        "replays_median": median_of([row.searched for row in caused]),
        "replays_all_median": median_of([row.replays for row in caused]),
        "executed_median": median_of([row.executed for row in caused]),
        "ms_median": median_of([row.ms for row in caused]),
        "high_coverage_of_single": share(row.confidence == "high" for row in single),
        "levels": {level: _level(rows, level) for level in LEVELS},
        "brier": brier(rows),
        "ece": calibration_error(rows),
        "baselines": _baselines(caused),
    }
    return found


def _level(rows: Sequence[Row], level: str) -> JSONObject:
    of = [row.right for row in rows if row.confidence == level]
    return {"cases": len(of), "share": len(of) / len(rows) if rows else None, "precision": share(of)}


def _baselines(caused: Sequence[Row]) -> JSONObject:
    names = caused[0].baselines if caused else ()
    return {
        name: {
            "top1": share(row.baselines[name] for row in caused),
            "replays_median": median_of([row.baseline_replays[name] for row in caused]),
        }
        for name in names
    }


def brier(rows: Sequence[Row]) -> float | None:
    return mean((_PROMISED[row.confidence] - row.right) ** 2 for row in rows)


def calibration_error(rows: Sequence[Row]) -> float | None:
    """Expected calibration error: how far each level's precision is from what it promises, weighted by its cases."""
    total = 0.0
    for level in LEVELS:
        of = [row.right for row in rows if row.confidence == level]
        total += len(of) / len(rows) * abs(sum(of) / len(of) - _PROMISED[level]) if of else 0.0
    return total if rows else None


def by(rows: Iterable[T], key: Callable[[T], object]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for row in rows:
        found.setdefault(str(key(row)), []).append(row)
    return found


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a rate."""
    if n == 0:
        return 0.0, 1.0
    z, rate = 1.959964, hits / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def as_json(row: Row) -> JSONObject:
    return asdict(row)


def median_of(values: Sequence[float]) -> float | None:
    return float(median(values)) if values else None
