"""Revisions of runs: where a recording belongs among the stored runs with its identity."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import UUID

from traces.ingest.continuation import Relation, StepState, relation
from traces.ingest.prepare import Identity
from traces.ingest.step_rows import StepRow
from traces.models import Run, Step
from traces.storage import bulk

_COLUMNS: Final = ("app", "external_id", "id", "content_digest", "revision", "supersedes", "deletion")
_STATE: Final = ("external_id", "type", "input_ref", "output_ref", "summary", "tool_name")


class StoredRevision(NamedTuple):
    """A stored run of an identity; `supersedes` is the revision that it continues, `deletion` its id if hidden."""

    run_id: UUID
    content_digest: str
    revision: int
    supersedes: UUID | None
    deletion: UUID | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """Where a recording belongs: in a stored run, or as a new revision that continues or contradicts a stored one.

    `is_equal`: the stored run has the same content, rather than more. `conflicts` are the stored runs that it
    contradicts, newest first.
    """

    stored_run: UUID | None = None
    is_equal: bool = False
    revision: int = 1
    supersedes: UUID | None = None
    conflicts: tuple[UUID, ...] = ()

    @property
    def equal_run(self) -> UUID | None:
        """The stored run with the same content."""
        return self.stored_run if self.is_equal else None

    @property
    def conflicts_with(self) -> UUID | None:
        return next(iter(self.conflicts), None)


def stored_revisions(identities: Iterable[Identity]) -> dict[Identity, list[StoredRevision]]:
    """Return the stored runs of these identities, newest revision first."""
    identity_set = set(identities)
    revisions: dict[Identity, list[StoredRevision]] = {}
    for external_ids in bulk.chunks({external_id for _, external_id in identity_set}):
        rows = Run.objects.filter(external_id__in=external_ids).order_by("-revision")
        for app, external_id, *columns in rows.values_list(*_COLUMNS):
            revisions.setdefault((app, external_id), []).append(StoredRevision(*columns))
    return {identity: revisions[identity] for identity in identity_set & revisions.keys()}


def newest_continuation(run: Run) -> Run | None:
    """Return the newest revision that continues a run, directly or through others; None if there is none."""
    continuations = Run.objects.filter(
        app=run.app, external_id=run.external_id, supersedes__isnull=False, deletion__isnull=True
    )
    columns = ("revision", "step_count", "supersedes_id")
    successors = {successor.supersedes_id: successor for successor in continuations.only(*columns)}
    newest = run
    while newest.id in successors:
        newest = successors[newest.id]
    return None if newest is run else newest


def place(content_digest: str, rows: Iterable[StepRow], revisions: Sequence[StoredRevision]) -> Placement:
    """Decide where a recording belongs among the stored revisions of its identity, newest first.

    Equal content is stored once. A recording that continues the newest state of a stored run becomes its next revision;
    an older state of one is that run. Any other recording conflicts: it is stored beside the others.
    Deleted runs do not count.
    """
    if not revisions:
        return Placement()
    number = revisions[0].revision + 1
    revisions = [revision for revision in revisions if revision.deletion is None]
    if not revisions:
        return Placement(revision=number)
    for revision in revisions:
        if revision.content_digest == content_digest:
            return replace(_placement_of(revision, revisions), is_equal=True)
    states = states_of(rows)
    superseded_ids = {revision.supersedes for revision in revisions}
    heads = [revision for revision in revisions if revision.run_id not in superseded_ids]
    for head in heads:
        match relation(stored_states(head.run_id), states):
            case Relation.EXTENDS:
                return Placement(revision=number, supersedes=head.run_id)
            case Relation.PRECEDES:
                return _placement_of(head, revisions)
    return Placement(revision=number, conflicts=tuple(head.run_id for head in heads))


def _placement_of(revision: StoredRevision, revisions: Sequence[StoredRevision]) -> Placement:
    """Return the place of a stored run. One that conflicted when it was stored still does."""
    origins: dict[UUID, UUID] = {}
    for item in sorted(revisions, key=lambda item: item.revision):
        # The first of the revisions that continue each other.
        origins[item.run_id] = origins.get(item.supersedes, item.run_id) if item.supersedes else item.run_id
    first_origin, origin = next(iter(origins.values())), origins[revision.run_id]
    superseded_ids = {item.supersedes for item in revisions}
    other_heads = (
        item.run_id for item in revisions if item.run_id not in superseded_ids and origins[item.run_id] != origin
    )
    conflicts = () if origin == first_origin else tuple(other_heads)
    return Placement(stored_run=revision.run_id, revision=revision.revision, conflicts=conflicts)


def states_of(rows: Iterable[StepRow]) -> list[StepState]:
    return [StepState(*(getattr(row, column) for column in _STATE)) for row in rows]


def stored_states(run_id: UUID) -> list[StepState]:
    return [StepState(*row) for row in Step.objects.filter(run_id=run_id).values_list(*_STATE)]
