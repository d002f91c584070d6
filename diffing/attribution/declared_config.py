"""What two runs declare of themselves: one task under one configuration again, or two configurations. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from diffing.compare.run_side import RunFacts
from diffing.sequences.json_diff import Change, value_changes
from traces.core.json_types import JSONObject, JSONValue

# How evaluation harnesses name what is worked on, which of several tries it was, and with what.
TASK_FIELDS: Final = ("task_id", "sample_id", "example_id", "dataset_item_id", "item_id", "instance_id", "problem_id")
_COUNTERS: Final = ("trial", "trial_id", "repeat", "repetition", "epoch", "iteration", "attempt", "seed")
_SETTINGS: Final = (
    "config",
    "configuration",
    "settings",
    "model",
    "version",
    "release",
    "commit",
    "git_commit",
    "git_sha",
    "revision",
    "service.version",
)
_BATCHES: Final = ("dataset", "source", "experiment", "experiment_id", "batch", "suite", "split")


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeats:
    """Both runs are tries at one task in one batch under one configuration, and count as different tries."""

    task: str
    counter: str
    base: JSONValue
    candidate: JSONValue


def repeats(base: RunFacts, candidate: RunFacts) -> Repeats | None:
    """Whether the runs say that one repeats the other; silence is no declaration."""
    if base.app != candidate.app or base.source_run is not None or candidate.source_run is not None:
        return None
    task = next((name for name in TASK_FIELDS if name in base.metadata), "")
    if not task or any(_said(base, name) != _said(candidate, name) for name in (task, *_SETTINGS, *_BATCHES)):
        return None
    one, other = _counts(base), _counts(candidate)
    counter = next((name for name in _COUNTERS if name in one and name in other and one[name] != other[name]), None)
    if counter is None:
        return None
    return Repeats(task=str(base.metadata[task]), counter=counter, base=one[counter], candidate=other[counter])


def declared_settings(run: RunFacts) -> JSONObject:
    """What a run declares of its configuration."""
    return {name: _said(run, name) for name in _SETTINGS if name in run.metadata}


def declared_changes(base: RunFacts, candidate: RunFacts) -> list[Change]:
    """Settings that both runs declare and declare differently; which try it was is no setting."""
    return list(_changes(base, candidate))


def _changes(base: RunFacts, candidate: RunFacts) -> Iterator[Change]:
    for name in _SETTINGS:
        if name in base.metadata and name in candidate.metadata:
            for change in value_changes(_said(base, name), _said(candidate, name), limit=4):
                yield Change(path=f"/{name}{change.path}", op=change.op, base=change.base, candidate=change.candidate)


def _said(run: RunFacts, name: str) -> JSONValue:
    return _without_counters(run.metadata.get(name))


def _without_counters(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _without_counters(item) for key, item in value.items() if key not in _COUNTERS}
    return value


def _counts(run: RunFacts) -> JSONObject:
    """Which try it was, said beside the configuration or in it."""
    config = run.metadata.get("config")
    inner = config if isinstance(config, dict) else {}
    return {name: place[name] for name in _COUNTERS for place in (inner, run.metadata) if name in place}
