"""Declared configuration: trials of one task, or different configurations. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from diffing.compare.run_side import RunFacts
from diffing.sequences.json_diff import Change, value_changes
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue

# The names that evaluation harnesses use for the task, the trial, the configuration and the batch.
TASK_FIELDS: Final = ("task_id", "sample_id", "example_id", "dataset_item_id", "item_id", "instance_id", "problem_id")
_COUNTERS: Final = ("trial", "trial_id", "repeat", "repetition", "epoch", "iteration", "attempt", "seed")
# The first one that both runs declare is compared as the version of their code.
CODE_VERSIONS: Final = (
    "code.version",
    "vcs.ref.head.revision",
    "commit",
    "git_commit",
    "git_sha",
    "revision",
    "service.version",
)
_SETTINGS: Final = (
    "config",
    "configuration",
    "settings",
    "model",
    "version",
    "release",
    *CODE_VERSIONS,
    "code",
)
_BATCHES: Final = ("dataset", "source", "experiment", "experiment_id", "batch", "suite", "split")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeats:
    """Two different trials of one task, in one batch and with one configuration."""

    task: str
    counter: str
    base: JSONValue
    candidate: JSONValue


def repeats(base: RunFacts, candidate: RunFacts) -> Repeats | None:
    """The declaration that one run repeats the other; None if a run does not declare it."""
    if base.app != candidate.app or base.source_run is not None or candidate.source_run is not None:
        return None
    task = next((name for name in TASK_FIELDS if name in base.metadata), "")
    if not task or any(_setting(base, name) != _setting(candidate, name) for name in (task, *_SETTINGS, *_BATCHES)):
        return None
    base_counters, candidate_counters = _counters(base), _counters(candidate)
    counter = next(
        (
            name
            for name in _COUNTERS
            if name in base_counters and name in candidate_counters and base_counters[name] != candidate_counters[name]
        ),
        None,
    )
    if counter is None:
        return None
    return Repeats(
        task=str(base.metadata[task]),
        counter=counter,
        base=base_counters[counter],
        candidate=candidate_counters[counter],
    )


def declared_settings(run: RunFacts) -> JSONObject:
    """The configuration that a run declares."""
    return {name: _setting(run, name) for name in _SETTINGS if name in run.metadata}


def declared_changes(base: RunFacts, candidate: RunFacts) -> list[Change]:
    """Settings that both runs declare, with different values; the number of the trial is not a setting."""
    return list(_changes(base, candidate))


def _changes(base: RunFacts, candidate: RunFacts) -> Iterator[Change]:
    for name in _SETTINGS:
        if name in base.metadata and name in candidate.metadata:
            for change in value_changes(_setting(base, name), _setting(candidate, name), limit=4):
                yield Change(path=f"/{name}{change.path}", op=change.op, base=change.base, candidate=change.candidate)


def _setting(run: RunFacts, name: str) -> JSONValue:
    return _omit_counters(run.metadata.get(name))


def _omit_counters(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _omit_counters(item) for key, item in value.items() if key not in _COUNTERS}
    return value


def _counters(run: RunFacts) -> JSONObject:
    """The numbers of the trial, in the metadata or in its configuration."""
    config = run.metadata.get("config")
    inner = as_object(config)
    return {name: source[name] for name in _COUNTERS for source in (inner, run.metadata) if name in source}
