"""Scores of a finding against the truth: one row per case, and summaries of rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import median
from typing import Final, TypeVar

from diffing.schemas.evidence import Findings
from tests.bench.attribution.lab import Bench, answering_step
from tests.bench.attribution.mechanisms.running import AnswerRuntime
from tests.bench.attribution.truth import Ids
from traces.core.json_types import JSONObject, JSONValue

T = TypeVar("T")
LEVELS: Final = ("high", "medium", "low", "noise")
# Precision that each level promises, for the calibration error: the target, or the midpoint between two targets.
_PROMISED_PRECISION: Final[Mapping[str, float]] = {"high": 0.98, "medium": 0.85, "low": 0.5, "noise": 0.98}
_SEARCH_PURPOSES: Final = frozenset({"reproduce", "apply", "revert", "search"})


@dataclass(frozen=True, kw_only=True)
class Row:
    """One case, as the tables need it. None: the case has nothing of this kind to get right."""

    split: str
    number: int
    pipeline: str
    size: int
    flavour: str
    verdict: str
    confidence: str
    # The whole verdict is true: its kind and every set that it names.
    right: bool
    kind_right: bool
    blames: bool
    top: bool | None
    reciprocal: float | None
    set_f1: float | None
    hunk: bool | None
    # Steps between the first true mediator and the named one; -1: one of the two is missing.
    mediator_off: int | None
    search_replays: int
    replays: int
    executed_steps: int
    ms: float
    baselines: dict[str, bool]
    baseline_replays: dict[str, int]


def kind_of(findings: Findings) -> str:
    return "none" if findings.verdict in {"no_effect", "noise"} else findings.verdict


def right(findings: Findings, sets: Sequence[Ids], structure: str) -> bool:
    named_sets = [frozenset(members) for members in findings.primary]
    return kind_of(findings) == structure and all(members in sets for members in named_sets)


def ranking(findings: Findings) -> list[str]:
    """Order the changes by likelihood: those of the sets first, then by the evidence on each change alone."""
    named_atoms = [atom for members in findings.primary for atom in members]
    rest = sorted(
        (atom for atom in findings.atoms if atom.parent is None and atom.id not in named_atoms),
        key=lambda atom: (not atom.necessary, not atom.sufficient, -(atom.shapley or 0.0)),
    )
    return list(dict.fromkeys([*named_atoms, *(atom.id for atom in rest)]))


def reciprocal_rank(order: Sequence[str], members: Ids) -> float:
    return next((1 / place for place, atom in enumerate(order, 1) if atom in members), 0.0)


def set_f1(named: Ids, sets: Iterable[Ids]) -> float:
    """Return the F1 against the nearest minimal sufficient set."""
    return max(2 * len(named & members) / (len(named) + len(members)) for members in sets)


def hunk_right(findings: Findings, bench: Bench) -> bool | None:
    """Return whether the part named within the first member is the one that can matter."""
    if not findings.primary or (first := findings.primary[0][0]) not in bench.case.by_id:
        return None
    injection = bench.case.by_id[first]
    if len(injection.hunks) < 2:
        return None
    parts = [atom for atom in findings.atoms if atom.parent == first]
    best = max(parts, key=lambda part: (bool(part.sufficient), bool(part.necessary)), default=None)
    return best is not None and bool(best.sufficient or best.necessary) and best.id == f"{first}/{injection.main}"


def mediators(bench: Bench) -> list[int]:
    """Return the candidate's steps at which the base's output restores the base's answer, by running the code."""
    mediator_steps = []
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
        if program(AnswerRuntime(settings, outputs={place: _answer(output)})) == bench.base.answer:
            mediator_steps.append(number)
    return mediator_steps


def _answer(output: JSONValue) -> JSONValue:
    return output["message"] if isinstance(output, dict) and "message" in output else output


def mediator_off(findings: Findings, true: Sequence[int]) -> int | None:
    tested_steps = [mediator.step.sequence_no for mediator in findings.mediators if mediator.evidence == "tested"]
    if not tested_steps and not true:
        return None
    return abs(tested_steps[0] - true[0]) if tested_steps and true else -1


def search_replays(findings: Findings) -> int:
    """Count the replays that the verdict needed, without those for shares, parts and mediators."""
    within_part = [any("/" in atom for atom in probe.applied) for probe in findings.probes]
    return sum(p.purpose in _SEARCH_PURPOSES and not part for p, part in zip(findings.probes, within_part, strict=True))


# ---- summaries


def share(rows: Iterable[bool | None]) -> float | None:
    values = [row for row in rows if row is not None]
    return sum(values) / len(values) if values else None


def mean(values: Iterable[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return sum(known_values) / len(known_values) if known_values else None


def summary(rows: Sequence[Row]) -> JSONObject:
    """Return every value that the tables show for these rows."""
    with_cause = [row for row in rows if row.top is not None]
    single = [row for row in rows if row.flavour in {"single", "pre-empted"}]
    cells: JSONObject = {
        "cases": len(rows),
        "top1": share(row.top for row in rows),
        "mrr": mean(row.reciprocal for row in rows),
        "set_f1": mean(row.set_f1 for row in rows),
        "kind": share(row.kind_right for row in rows),
        "hunk": share(row.hunk for row in rows),
        "mediator_exact": share(None if row.mediator_off is None else row.mediator_off == 0 for row in rows),
        "mediator_near": share(None if row.mediator_off is None else 0 <= row.mediator_off <= 1 for row in rows),
        "false_blame": share(row.blames for row in rows if row.top is None),
        "replays_median": median_of([row.search_replays for row in with_cause]),
        "replays_all_median": median_of([row.replays for row in with_cause]),
        "executed_median": median_of([row.executed_steps for row in with_cause]),
        "ms_median": median_of([row.ms for row in with_cause]),
        "high_coverage_of_single": share(row.confidence == "high" for row in single),
        "levels": {level: _level(rows, level) for level in LEVELS},
        "brier": brier(rows),
        "ece": calibration_error(rows),
        "baselines": _baselines(with_cause),
    }
    return cells


def _level(rows: Sequence[Row], level: str) -> JSONObject:
    hits = [row.right for row in rows if row.confidence == level]
    return {"cases": len(hits), "share": len(hits) / len(rows) if rows else None, "precision": share(hits)}


def _baselines(with_cause: Sequence[Row]) -> JSONObject:
    names = with_cause[0].baselines if with_cause else ()
    return {
        name: {
            "top1": share(row.baselines[name] for row in with_cause),
            "replays_median": median_of([row.baseline_replays[name] for row in with_cause]),
        }
        for name in names
    }


def brier(rows: Sequence[Row]) -> float | None:
    return mean((_PROMISED_PRECISION[row.confidence] - row.right) ** 2 for row in rows)


def calibration_error(rows: Sequence[Row]) -> float | None:
    """Return the expected calibration error: distance of each level's precision to its promise, weighted by cases."""
    total = 0.0
    for level in LEVELS:
        hits = [row.right for row in rows if row.confidence == level]
        total += len(hits) / len(rows) * abs(sum(hits) / len(hits) - _PROMISED_PRECISION[level]) if hits else 0.0
    return total if rows else None


def group_by(rows: Iterable[T], key: Callable[[T], object]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for row in rows:
        groups.setdefault(str(key(row)), []).append(row)
    return groups


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a rate."""
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
