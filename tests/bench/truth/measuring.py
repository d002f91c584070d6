"""Measure random programs: wrong labels by kind, and the share of exact steps among those that stay equal."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.bench.truth.exporting import imported, imported_numbers
from tests.bench.truth.forks import fork_labels
from tests.bench.truth.judging import Truth, first_wrong
from tests.bench.truth.programs import other_programs, random_changes, random_program, recording
from traces.core.recorded_run import RecordedRun

_SHARE_OF_IMPORTS: Final = 0.3
_SHARE_WITH_WITNESSES: Final = 0.3
MODES: Final = ("previewed", "replayed", "followed")


@dataclass
class Results:
    """Counts of a measurement."""

    programs: int = 0
    # Findings by mode, kind and whether the documentation names it; with seeds as examples.
    findings: dict[tuple[str, str, bool], list[str]] = field(default_factory=dict)
    equal: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)

    @property
    def is_right(self) -> bool:
        return all(is_named for _, _, is_named in self.findings)

    def add(self, mode: str, kind: str, seed: str, *, is_named: bool) -> None:
        self.findings.setdefault((mode, kind, is_named), []).append(seed)


def measure(programs: int, seed: int) -> Results:
    results = Results()
    for number in range(programs):
        _measure(results, f"{seed}.{number}")
    return results


def _measure(results: Results, seed: str) -> None:
    program, random = random_program(seed), Random(f"{seed}/changes")
    recorded = program.run({})
    run = recording(recorded, seed)
    numbers = {step.key: number for number, step in enumerate(run.steps, 1)}
    if not (changes := random_changes(random, recorded.steps)):
        return
    results.programs += 1
    truth = Truth.of(recorded, program.run(changes))
    if random.random() < _SHARE_OF_IMPORTS:
        exported, run = run, imported(run)
        numbers = imported_numbers(exported, run)
    others: list[RecordedRun] = []
    if random.random() < _SHARE_WITH_WITNESSES:
        others = [recording(other.run({}), "other") for other in other_programs(program, random)]
    labels = fork_labels(run, changes, numbers, tools=random.random() < 0.5, others=others)
    first = min(numbers[key] for key in changes)
    keys_by_no = {no: key for key, no in numbers.items()}
    # After another request than the true one, a live model may answer anything.
    end = min(
        (no for no, request in labels.live_requests if not truth.is_true_request(request)),
        default=len(numbers) + 1,
    )
    for mode in MODES:
        judged_keys = [key for key, no in numbers.items() if first <= no and (mode != "followed" or no < end)]
        _judge(results, mode, seed, truth, {key: getattr(labels, mode).get(numbers[key], "") for key in judged_keys})
    for no in sorted({*labels.previewed, *labels.replayed}):
        planned, actual = labels.previewed.get(no), labels.replayed.get(no)
        if planned != actual:
            results.add(
                "agreement", f"planned {planned}, replayed {actual}", f"{seed} {keys_by_no[no]}", is_named=False
            )
            break


def _judge(results: Results, mode: str, seed: str, truth: Truth, labels: Mapping[str, str]) -> None:
    exact_keys = [key for key, label in labels.items() if label.startswith("exact")]
    equal_keys = [key for key in labels if truth.equals(key)]
    results.equal[mode] += len(equal_keys)
    results.exact[mode] += len({*equal_keys} & {*exact_keys})
    if (finding := first_wrong(truth, exact_keys)) is not None:
        results.add(mode, finding.kind, f"{seed} {finding.key}", is_named=finding.is_named)
