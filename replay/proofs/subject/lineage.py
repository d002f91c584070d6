"""How two runs derive from one: over any number of forks, as long as every fork between is known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from replay.models import ReplaySession
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label
from traces.models import Run, Step

_MOST: Final = 50  # generations


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """Two runs as replays of one: the run, the step from which on, and what the generations of each side set."""

    source: Run
    fork: int
    base: Sequence[Sequence[JSONObject]]
    candidate: Sequence[Sequence[JSONObject]]


class Unrelated(Exception):
    """A fork between the two runs and their source cannot be said in the source's own steps."""


def line(run: Run) -> list[Run]:
    """A run and what it derives from, the nearest first."""
    found = [run]
    while (source := found[-1].source_run) is not None and len(found) < _MOST:
        found.append(source)
    return found


def between(base: Run, candidate: Run) -> list[UUID]:
    """The runs through which one of the two derives from the other, or both from one, without the two."""
    lines = line(base), line(candidate)
    shared = _shared(*lines)
    within = [run.id for each in lines for run in each[: each.index(shared) + 1]] if shared is not None else []
    return [id for id in dict.fromkeys(within) if id not in {base.id, candidate.id}]


def made(steps: Iterable[UUID]) -> dict[UUID, tuple[str, str]]:
    """Label and reason of steps where their answer was first given: a fork keeps what the fork before it has drawn."""
    found: dict[UUID, tuple[str, str]] = {}
    waiting = {step: step for step in steps}  # the step that is looked at now, for the one that was asked about
    for _ in range(_MOST):
        rows = Step.objects.filter(id__in=set(waiting.values())).values_list("id", "label", "reason", "source_step")
        known = {id: (label, reason, source) for id, label, reason, source in rows}
        found |= {asked: known[at][:2] for asked, at in waiting.items() if at in known}
        waiting = {
            asked: source
            for asked, at in waiting.items()
            if at in known and known[at][0] == Label.EXACT and (source := known[at][2]) is not None
        }
        if not waiting:
            break
    return found


def lattice(base: Run, candidate: Run) -> Lattice | None:
    """The nearest run that both derive from, with what was changed since; None where that is not known."""
    lines = line(base), line(candidate)
    shared = _shared(*lines)
    if shared is None or base.id == candidate.id:
        return None
    try:
        sides = [_generations(each[: each.index(shared)][::-1], shared) for each in lines]
    except Unrelated:
        return None
    fork = min(first for side in sides for first in side.forks)
    left, right = ([_since(entries, start, fork) for start, entries in side.layers] for side in sides)
    return Lattice(source=shared, fork=fork, base=left, candidate=right)


def _shared(one: Sequence[Run], other: Sequence[Run]) -> Run | None:
    known = {run.id for run in other}
    return next((run for run in one if run.id in known), None)


@dataclass
class _Side:
    """What the forks of one side set, each from a step of the source on."""

    layers: list[tuple[int, list[JSONObject]]] = field(default_factory=list)

    @property
    def forks(self) -> list[int]:
        return [start for start, _ in self.layers]


def _generations(runs: Sequence[Run], source: Run) -> _Side:
    """Raises `Unrelated` where a fork names steps that the source lacks, or counts messages of an edited list."""
    side = _Side()
    numbers = _own(source)
    edited = False
    for run in runs:
        profile = _profile(run)
        start = numbers.first(run.fork_sequence_no or 1)
        entries = [numbers.said(entry) for entry in profile]
        if edited and any(entry.get("messages") for entry in entries):
            raise Unrelated
        edited = edited or any(entry.get("messages") for entry in entries)
        side.layers.append((start, entries))
        numbers = numbers.of(run)
    return side


def _profile(run: Run) -> list[JSONObject]:
    """What the session that made a run changed; a replay that another store made says nothing of it."""
    session = ReplaySession.objects.filter(run=run).select_related("profile").first()
    profile = None if session is None else session.profile.profile
    entries = profile.get("overrides") if isinstance(profile, dict) else None
    if not isinstance(entries, list):
        raise Unrelated
    return [entry for entry in entries if isinstance(entry, dict)]


@dataclass(frozen=True, kw_only=True)
class _Numbers:
    """The steps of a generation by their numbers in the source, without those that it lacks."""

    by_no: Mapping[int, int]
    by_id: Mapping[UUID, int]

    def of(self, run: Run) -> "_Numbers":
        """Those of the next generation."""
        rows = Step.objects.filter(run=run).values_list("sequence_no", "id", "source_step")
        places = ((no, id, self.by_id.get(source) if source else None) for no, id, source in rows)
        known = [(no, id, at) for no, id, at in places if at is not None]
        return _Numbers(by_no={no: at for no, _, at in known}, by_id={id: at for _, id, at in known})

    def first(self, number: int) -> int:
        """The source's step from which on a fork at this step has its say."""
        found = [at for no, at in self.by_no.items() if no >= number]
        if not found:
            raise Unrelated
        return min(found)

    def said(self, entry: JSONObject) -> JSONObject:
        """An override in the numbers of the source."""
        match = entry.get("match")
        if not isinstance(match, dict):
            raise Unrelated
        return {**entry, "match": dict(self._matched(match))}

    def _matched(self, match: JSONObject) -> Iterator[tuple[str, JSONValue]]:
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
        found = self.by_no.get(int(text)) if text.isdecimal() else None
        if found is None and not text.isdecimal():
            found = next((at for id, at in self.by_id.items() if text in {str(id), id.hex}), None)
        if found is None:
            raise Unrelated
        return found


def _own(source: Run) -> _Numbers:
    rows = list(Step.objects.filter(run=source).values_list("sequence_no", "id"))
    return _Numbers(by_no={no: no for no, _ in rows}, by_id={id: no for no, id in rows})


def _since(entries: Sequence[JSONObject], start: int, fork: int) -> list[JSONObject]:
    """Entries for a type hold from their own fork on, where another one lies before it."""
    return [_from(entry, start) if start > fork else entry for entry in entries]


def _from(entry: JSONObject, start: int) -> JSONObject:
    match = entry["match"]
    if not isinstance(match, dict) or "step" in match:
        return entry
    since = match.get("since")
    return {**entry, "match": {**match, "since": max(start, since) if isinstance(since, int) else start}}
