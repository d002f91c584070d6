"""Measure random programs: wrong labels by kind, and the share of exact steps among those that stay equal."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import Final

from tests.bench.truth.damage import NO_LOSSES, Losses, hide_contents, random_losses
from tests.bench.truth.exporting import through_spans
from tests.bench.truth.forks import ForkLabels, Refused, fork_labels
from tests.bench.truth.judging import Truth, first_wrong
from tests.bench.truth.platforms import through_langfuse, through_langsmith
from tests.bench.truth.programs import Program, other_programs, random_changes, random_program, recording
from tests.bench.truth.replays import NO_REPLAY_OUTPUTS, DerivedRun, random_replay_outputs
from tests.bench.truth.runtime import Changes, Runtime
from traces.core.recorded_run import RecordedRun, RecordedStep

_SHARE_OF_IMPORTS: Final = 0.4
_SHARE_WITH_WITNESSES: Final = 0.3
_SHARE_OF_DAMAGE: Final = 0.1
_SHARE_OF_REPLAYS: Final = 0.1
_SHARE_OF_LOSSES: Final = 0.2
# A recording, its fork, a fork of this, and one more.
_LEVELS: Final = 4
MODES: Final = ("previewed", "replayed", "followed", "forked again")
_LABELS: Final = MODES[:3]


@dataclass
class Results:
    """Counts of a measurement."""

    programs: int = 0
    # Of these, forks whose plans refuse them.
    refused: int = 0
    # Findings by mode, kind and whether the documentation names it; with seeds as examples.
    findings: dict[tuple[str, str, bool], list[str]] = field(default_factory=dict)
    equal: Counter[str] = field(default_factory=Counter)
    exact: Counter[str] = field(default_factory=Counter)

    @property
    def is_right(self) -> bool:
        return all(is_named for _, _, is_named in self.findings)

    def add(self, mode: str, kind: str, seed: str, *, is_named: bool) -> None:
        self.findings.setdefault((mode, kind, is_named), []).append(seed)


def measure(programs: int, seed: int, kind: str = "patterns") -> Results:
    """Measure random programs of a kind."""
    results = Results()
    for number in range(programs):
        name = f"{seed}.{number}"
        _measure(results, name, random_program(name, kind))
    return results


def _measure(results: Results, seed: str, program: Program) -> None:
    random = Random(f"{seed}/changes")
    recorded = program.run({})
    if not (changes := random_changes(random, recorded.steps)):
        return
    results.programs += 1
    truth = Truth.of(recorded, program.run(changes))
    others: list[RecordedRun] = []
    if random.random() < _SHARE_WITH_WITNESSES:
        others = [recording(other.run({}), "other") for other in other_programs(program, random)]
    run, numbers, losses = _stored(recording(recorded, seed), Random(f"{seed}/store"), changes)
    replay_random = Random(f"{seed}/replay")
    is_replay = replay_random.random() < _SHARE_OF_REPLAYS
    replay_outputs = random_replay_outputs(run, replay_random) if is_replay else NO_REPLAY_OUTPUTS
    try:
        labels = fork_labels(
            run,
            changes,
            numbers,
            tools=random.random() < 0.5,
            others=others,
            losses=losses,
            replay_outputs=replay_outputs,
        )
    except Refused:
        results.refused += 1
        return
    _compare(results, seed, truth, changes, numbers, labels)
    if not losses and not replay_outputs:
        keys = {run.steps[no - 1].key: key for key, no in numbers.items()}
        _fork_again(results, seed, program, changes, recorded, Fork(labels.derived, keys))


@dataclass(frozen=True)
class Fork:
    """The run that a fork wrote, and the program's keys of its steps."""

    derived: DerivedRun
    keys: Mapping[str, str]

    @property
    def numbers(self) -> dict[str, int]:
        steps = enumerate(self.derived.run.steps, 1)
        return {self.keys[step.key]: no for no, step in steps if step.key in self.keys}

    @property
    def steps(self) -> list[RecordedStep]:
        return [replace(step, key=self.keys[step.key]) for step in self.derived.run.steps if step.key in self.keys]


def _fork_again(results: Results, seed: str, program: Program, changes: Changes, recorded: Runtime, fork: Fork) -> None:
    """Fork the run of a fork, and then that of this one; the truth is a run of the program with the changes of all."""
    for level in range(2, _LEVELS + 1):
        level_seed, numbers, steps = f"{seed}/again{level}", fork.numbers, fork.steps
        random = Random(level_seed)
        if not (new_changes := random_changes(random, steps)):
            return
        changes = {**changes, **new_changes}
        truth = Truth.of(recorded, program.run(changes))
        derived = fork.derived
        losses = random_losses(derived.run, random) if random.random() < _SHARE_OF_LOSSES else NO_LOSSES
        try:
            labels = fork_labels(
                derived.run,
                new_changes,
                numbers,
                tools=random.random() < 0.5,
                losses=losses,
                replay_outputs=derived.outputs,
            )
        except Refused:
            return
        first = min(numbers[key] for key in new_changes)
        for name in ("replayed", "followed"):
            later = {key: getattr(labels, name).get(no, "") for key, no in numbers.items() if no >= first}
            if name == "replayed" or all(truth.is_true_request(request) for _, request in labels.live_requests):
                _judge(results, "forked again", level_seed, truth, later)
            for key, label in later.items():
                if label.startswith("exact") and numbers[key] in derived.outputs:
                    results.add(
                        "forked again",
                        f"{name}: exact after a replay",
                        f"{level_seed} {key} {label} {derived.outputs[numbers[key]]}",
                        is_named=False,
                    )
                if label.startswith("exact") and numbers[key] in labels.lost:
                    results.add("forked again", f"{name}: lost recording", f"{level_seed} {key}", is_named=False)
        _add_disagreement(results, level_seed, labels)
        if losses:
            return
        fork = Fork(labels.derived, fork.keys)


def _stored(run: RecordedRun, random: Random, changes: Changes) -> tuple[RecordedRun, dict[str, int], Losses]:
    """A recording as a store has it: perhaps from another format, with hidden contents, or with losses."""
    if random.random() < _SHARE_OF_DAMAGE:
        run = hide_contents(run, random, frozenset(changes))
    numbers = {step.key: number for number, step in enumerate(run.steps, 1)}
    if random.random() < _SHARE_OF_IMPORTS:
        run, numbers = random.choice((through_spans, through_langfuse, through_langsmith))(run)
    return run, numbers, random_losses(run, random) if random.random() < _SHARE_OF_DAMAGE else NO_LOSSES


def _compare(
    results: Results, seed: str, truth: Truth, changes: Changes, numbers: Mapping[str, int], labels: ForkLabels
) -> None:
    first = min(numbers[key] for key in changes)
    keys_by_no = {no: key for key, no in numbers.items()}
    # After another request than the true one, a live model may answer anything.
    end = min(
        (no for no, request in labels.live_requests if not truth.is_true_request(request)),
        default=len(numbers) + 1,
    )
    for mode in _LABELS:
        judged_keys = [key for key, no in numbers.items() if first <= no and (mode != "followed" or no < end)]
        labels_by_key = {key: getattr(labels, mode).get(numbers[key], "") for key in judged_keys}
        _judge(results, mode, seed, truth, labels_by_key)
        for key, label in labels_by_key.items():
            if label.startswith("exact") and numbers[key] in labels.lost:
                results.add(mode, "lost recording", f"{seed} {key}", is_named=False)
            if label.startswith("exact source") and numbers[key] in labels.replay_outputs:
                results.add(mode, "output of a replay", f"{seed} {key}", is_named=False)
    _add_disagreement(results, seed, labels, keys_by_no)


def _add_disagreement(
    results: Results, seed: str, labels: ForkLabels, keys: Mapping[int, str] = MappingProxyType({})
) -> None:
    """Add the first step that a replay without live calls labels otherwise than its plan."""
    for no in sorted({*labels.previewed, *labels.replayed}):
        planned, actual = labels.previewed.get(no), labels.replayed.get(no)
        if planned != actual:
            kind = f"planned {planned}, replayed {actual}"
            results.add("agreement", kind, f"{seed} {keys.get(no, no)}", is_named=False)
            break


def _judge(results: Results, mode: str, seed: str, truth: Truth, labels: Mapping[str, str]) -> None:
    exact_keys = [key for key, label in labels.items() if label.startswith("exact")]
    equal_keys = [key for key in labels if truth.equals(key)]
    results.equal[mode] += len(equal_keys)
    results.exact[mode] += len({*equal_keys} & {*exact_keys})
    if (finding := first_wrong(truth, exact_keys)) is not None:
        results.add(mode, finding.kind, f"{seed} {finding.key}", is_named=finding.is_named)
