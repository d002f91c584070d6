"""Lineage: how two runs derive from one, over any number of forks, if every fork in between is known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from replay.models import ReplaySession
from traces.core.json_access import as_integer, as_object, as_objects, has_list, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason
from traces.models import Run, Step

_MAX_GENERATIONS: Final = 50


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Two runs as replays of one source run from `fork` on, with the overrides of each side's generations."""

    source: Run
    fork: int
    base: Sequence[Sequence[JSONObject]]
    candidate: Sequence[Sequence[JSONObject]]


class UnrelatedRuns(Exception):
    """A fork between the two runs and their source cannot be expressed in the source's steps."""


def line(run: Run) -> list[Run]:
    """A run and its ancestors, nearest first."""
    ancestors = [run]
    while (source := ancestors[-1].source_run) is not None and len(ancestors) < _MAX_GENERATIONS:
        ancestors.append(source)
    return ancestors


def runs_between(base: Run, candidate: Run) -> list[UUID]:
    """The runs through which one of the two derives from the other, or both from a common one, without the two."""
    lines = line(base), line(candidate)
    ancestor = _common_ancestor(*lines)
    if ancestor is None:
        return []
    ids = [run.id for ancestors in lines for run in ancestors[: ancestors.index(ancestor) + 1]]
    return [id for id in dict.fromkeys(ids) if id not in {base.id, candidate.id}]


def first_labels(steps: Iterable[UUID]) -> dict[UUID, tuple[str, str]]:
    """Label and reason of each step where its answer was first given: a fork reuses answers of the fork before it."""
    labels: dict[UUID, tuple[str, str]] = {}
    # The step of the current generation, by the step of the last one.
    ancestors = {step: step for step in steps}
    for _ in range(_MAX_GENERATIONS):
        rows = Step.objects.filter(id__in=set(ancestors.values())).values_list("id", "label", "reason", "source_step")
        details = {id: (label, reason, source) for id, label, reason, source in rows}
        labels |= {step: details[ancestor][:2] for step, ancestor in ancestors.items() if ancestor in details}
        ancestors = {
            step: source
            for step, ancestor in ancestors.items()
            if ancestor in details
            and (details[ancestor][0] == Label.EXACT or details[ancestor][1] == Reason.SOURCE_OUTPUT_REUSED)
            and (source := details[ancestor][2]) is not None
        }
        if not ancestors:
            break
    return labels


def lattice(base: Run, candidate: Run) -> Lattice | None:
    """The nearest run that both derive from, with the changes since then; None if they are unknown."""
    lines = line(base), line(candidate)
    source = _common_ancestor(*lines)
    if source is None or base.id == candidate.id:
        return None
    try:
        sides = [_generations(ancestors[: ancestors.index(source)][::-1], source) for ancestors in lines]
    except UnrelatedRuns:
        return None
    fork = min(start for side in sides for start in side.forks)
    left, right = ([_limit_entries(entries, start, fork) for start, entries in side.layers] for side in sides)
    return Lattice(source=source, fork=fork, base=left, candidate=right)


def _common_ancestor(first: Sequence[Run], second: Sequence[Run]) -> Run | None:
    ids = {run.id for run in second}
    return next((run for run in first if run.id in ids), None)


@dataclass
class _Side:
    """The overrides of one side's forks, each from a step of the source on."""

    layers: list[tuple[int, list[JSONObject]]] = field(default_factory=list)

    @property
    def forks(self) -> list[int]:
        return [start for start, _ in self.layers]


def _generations(runs: Sequence[Run], source: Run) -> _Side:
    """Raises `UnrelatedRuns` where a fork names steps that the source lacks, or counts messages of an edited list."""
    side = _Side()
    numbers = _own(source)
    has_edits = False
    for run in runs:
        profile = _profile(run)
        start = numbers.first(run.fork_sequence_no or 1)
        entries = [numbers.translate(entry) for entry in profile]
        edits_messages = any(entry.get("messages") for entry in entries)
        if has_edits and edits_messages:
            raise UnrelatedRuns
        has_edits = has_edits or edits_messages
        side.layers.append((start, entries))
        numbers = numbers.next_generation(run)
    return side


def _profile(run: Run) -> list[JSONObject]:
    """The overrides of the session that made a run; raises `UnrelatedRuns` if they are not in this store."""
    session = ReplaySession.objects.filter(run=run).select_related("profile").first()
    profile = None if session is None else session.profile.profile
    if not has_list(profile, "overrides"):
        raise UnrelatedRuns
    return as_objects(member(profile, "overrides"))


@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """Numbers of a generation's steps in the source; steps that the source lacks are left out."""

    by_no: Mapping[int, int]
    by_id: Mapping[UUID, int]

    def next_generation(self, run: Run) -> "_Numbers":
        rows = Step.objects.filter(run=run).values_list("sequence_no", "id", "source_step")
        places = ((no, id, self.by_id.get(source) if source else None) for no, id, source in rows)
        steps = [(no, id, place) for no, id, place in places if place is not None]
        return _Numbers(by_no={no: place for no, _, place in steps}, by_id={id: place for _, id, place in steps})

    def first(self, number: int) -> int:
        """The first step of the source that a fork at this step affects."""
        places = [place for no, place in self.by_no.items() if no >= number]
        if not places:
            raise UnrelatedRuns
        return min(places)

    def translate(self, entry: JSONObject) -> JSONObject:
        """An override in the numbers of the source."""
        match = entry.get("match")
        if not isinstance(match, dict):
            raise UnrelatedRuns
        return {**entry, "match": dict(self._translate_match(match))}

    def _translate_match(self, match: JSONObject) -> Iterator[tuple[str, JSONValue]]:
        for name, value in match.items():
            if value is None:
                continue
            if name == "step":
                yield name, self._step(value)
            elif name in {"since", "before"} and isinstance(value, int):
                yield name, self.first(value)
            else:
                yield name, value

    def _step(self, ref: JSONValue) -> int:
        text = str(ref)
        place = self.by_no.get(int(text)) if text.isdecimal() else None
        if place is None and not text.isdecimal():
            place = next((no for id, no in self.by_id.items() if text in {str(id), id.hex}), None)
        if place is None:
            raise UnrelatedRuns
        return place


def _own(source: Run) -> _Numbers:
    rows = list(Step.objects.filter(run=source).values_list("sequence_no", "id"))
    return _Numbers(by_no={no: no for no, _ in rows}, by_id={id: no for no, id in rows})


def _limit_entries(entries: Sequence[JSONObject], start: int, fork: int) -> list[JSONObject]:
    """Let the entries for a step type start at their own fork, if another fork lies before it."""
    return [_limit_entry(entry, start) if start > fork else entry for entry in entries]


def _limit_entry(entry: JSONObject, start: int) -> JSONObject:
    match = as_object(entry["match"])
    if "step" in match:
        return entry
    return {**entry, "match": {**match, "since": max(start, as_integer(match.get("since")) or start)}}
