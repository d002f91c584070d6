"""What the forks that a run comes from changed in an agent's requests: the agent's own code does not have it.

Answers of models and results of tools reach an agent that runs from the recording. What it asks for, it decides anew.
"""

from collections.abc import Iterator
from typing import Final

from replay.models import ReplaySession, Rerun
from traces.core.json_access import as_integer, as_object, as_objects, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.models import Run, Step

_REQUESTS: Final = ("prompt", "messages", "model", "arguments", "retrieval")
_CALLS: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL})
_LONGEST_LINEAGE: Final = 50


def find(run: Run) -> list[str]:
    """Return the categories of these changes, such as `prompt`; none for a recording and for forks without any."""
    return sorted(
        {category for fork in _forks(run) for entry in _overrides(fork) for category in _categories(entry, fork)}
    )


def _forks(run: Run) -> Iterator[Run]:
    """Yield a run and those that it is a fork of, except for the recording."""
    fork: Run | None = run
    for _ in range(_LONGEST_LINEAGE):
        if fork is None or fork.source_run_id is None:
            return
        yield fork
        fork = fork.source_run


def _overrides(fork: Run) -> Iterator[JSONObject]:
    sessions = ReplaySession.objects.filter(run=fork).values_list("profile__profile", flat=True)
    reruns = Rerun.objects.filter(run=fork, profile__isnull=False).values_list("profile__profile", flat=True)
    for profile in (*sessions, *reruns):
        yield from map(as_object, as_objects(as_object(profile).get("overrides")))


def _categories(entry: JSONObject, fork: Run) -> Iterator[str]:
    yield from (category for category in _REQUESTS if entry.get(category) is not None)
    if "output" in entry and _type(as_object(entry.get("match")), fork) not in {"", *_CALLS}:
        yield "output"


def _type(match: JSONObject, fork: Run) -> str:
    """Return the type of the steps that an entry is for; empty if it names none."""
    no = as_integer(match.get("step"))
    if no is None or fork.source_run_id is None:
        return as_text(match.get("type"))
    types = Step.objects.filter(run_id=fork.source_run_id, sequence_no=no).values_list("type", flat=True)
    return types.first() or ""
