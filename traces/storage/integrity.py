"""Which recorded payloads cannot be read: never recorded, gone from the store, or damaged there."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef

from traces.core.vocabulary import StepStatus, StepType
from traces.errors import ArtifactCorrupt
from traces.models import Artifact, Step
from traces.payloads.digest_packing import part_digests
from traces.payloads.lost_payloads import Loss, LostPayload, LostPayloads
from traces.storage import artifacts as artifact_store
from traces.storage import bulk

# Steps that stand for a call: without its answer there is nothing to reuse. Other steps may have none.
_ANSWERED: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
# A call that failed is recorded by its status and error.
_EXPECTS_OUTPUT: Final = frozenset({StepStatus.OK, StepStatus.PARTIAL, StepStatus.RUNNING})
_COLUMNS: Final = ("sequence_no", "type", "status", "input_ref", "output_ref", "attributes_ref")
_FIELDS: Final = ("input", "output", "attributes")


@dataclass(frozen=True, kw_only=True, slots=True)
class LostArtifact:
    """An artifact that cannot be read, and the runs that use it, where they were looked for."""

    digest: str
    loss: Loss
    problem: str = ""
    runs: tuple[UUID, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreReport:
    """Every artifact of the store, counted, and those that cannot be read."""

    artifacts: int
    lost: tuple[LostArtifact, ...]


class Inspector:
    """Reads what steps refer to, each artifact once.

    A shallow one only looks whether the artifacts that steps name are there: not for their parts, nor for damage.
    """

    def __init__(self, *, shallow: bool = False) -> None:
        self._shallow = shallow
        self._whole: set[str] = set()
        self._lost: dict[str, LostArtifact] = {}  # by the artifact itself, and by those that contain it

    def steps(self, run_id: UUID, first: int, last: int) -> dict[int, LostPayloads]:
        """The lost payloads of the steps `first` to `last`, by sequence number; whole steps are absent."""
        rows = list(
            Step.objects.filter(run_id=run_id, sequence_no__gte=first, sequence_no__lte=last)
            .order_by("sequence_no")
            .values_list(*_COLUMNS)
        )
        self._read({ref for row in rows for ref in row[3:] if ref})
        found = ((row[0], self._of_step(row)) for row in rows)
        return {number: lost for number, lost in found if lost}

    def artifact(self, digest: str) -> LostArtifact | None:
        """The artifact that keeps a value from being read, if any."""
        self._read({digest})
        return self._lost.get(digest)

    def _of_step(self, row: Sequence[str]) -> LostPayloads:
        _, type, status, *refs = row
        lost = [
            LostPayload(field=field, loss=artifact.loss, digest=artifact.digest)
            for field, ref in zip(_FIELDS, refs, strict=True)
            if (artifact := self._lost.get(ref)) is not None
        ]
        if not refs[1] and type in _ANSWERED and status in _EXPECTS_OUTPUT:
            lost.append(LostPayload(field="output", loss=Loss.NOT_RECORDED))
        return tuple(lost)

    def _read(self, digests: Iterable[str]) -> None:
        """Verify artifacts and all of their parts, one level after the other."""
        if self._shallow:
            new = set(digests) - self._whole - self._lost.keys()
            self._whole |= (there := artifact_store.present(new))
            self._lost |= {digest: LostArtifact(digest=digest, loss=Loss.MISSING) for digest in new - there}
            return
        contains: dict[str, list[str]] = {}
        lost: dict[str, LostArtifact] = {}
        wanted = {digest for digest in digests if digest not in self._whole and digest not in self._lost}
        while wanted:
            for artifact in artifact_store.verify(sorted(wanted)):
                if isinstance(artifact, ArtifactCorrupt):
                    lost[artifact.sha256] = LostArtifact(digest=artifact.sha256, loss=Loss.CORRUPT)
                    contains[artifact.sha256] = []
                else:
                    contains[artifact.sha256] = part_digests(artifact.data)
            for digest in wanted - contains.keys():
                lost[digest] = LostArtifact(digest=digest, loss=Loss.MISSING)
                contains[digest] = []
            wanted = {
                part
                for digest in wanted
                for part in contains[digest]
                if part not in contains and part not in self._whole and part not in self._lost
            }
        if lost or self._lost:
            self._lost |= lost | _spread(contains, {**self._lost, **lost})
        self._whole.update(contains.keys() - self._lost.keys())


def _spread(contains: Mapping[str, Sequence[str]], lost: Mapping[str, LostArtifact]) -> dict[str, LostArtifact]:
    """The artifacts that contain a lost one, however deep, each with a lost one that it contains."""
    containers: dict[str, list[str]] = {}
    for digest, parts in contains.items():
        for part in parts:
            containers.setdefault(part, []).append(digest)
    found: dict[str, LostArtifact] = {}
    pending = list(lost.items())
    while pending:
        part, cause = pending.pop()
        for digest in containers.get(part, ()):
            if digest not in found and digest not in lost:
                found[digest] = cause
                pending.append((digest, cause))
    return found


def find_lost(refs: Mapping[str, str]) -> LostPayloads:
    """Those of some payloads, by field, that cannot be read."""
    if not refs:
        return ()
    inspector = Inspector()
    found = ((field, inspector.artifact(ref)) for field, ref in refs.items())
    return tuple(
        LostPayload(field=field, loss=artifact.loss, digest=artifact.digest)
        for field, artifact in found
        if artifact is not None
    )


def check_store() -> StoreReport:
    """Read every artifact of the store, and look for those that steps and other artifacts refer to."""
    count, lost = 0, dict[str, LostArtifact]()
    parts: set[str] = set()
    for artifact in artifact_store.verify_all():
        count += 1
        if isinstance(artifact, ArtifactCorrupt):
            lost[artifact.sha256] = LostArtifact(digest=artifact.sha256, loss=Loss.CORRUPT, problem=artifact.detail)
        else:
            parts.update(part_digests(artifact.data))
        if len(parts) >= bulk.CHUNK:
            lost |= _missing(parts)
            parts.clear()
    lost |= _missing(parts) | _missing_roots()
    users = _users(lost) if lost else {}
    found = (replace(lost[digest], runs=tuple(sorted(users.get(digest, ())))) for digest in sorted(lost))
    return StoreReport(artifacts=count, lost=tuple(found))


def _missing(digests: set[str]) -> dict[str, LostArtifact]:
    gone = digests - artifact_store.present(digests)
    return {digest: LostArtifact(digest=digest, loss=Loss.MISSING) for digest in gone}


def _missing_roots() -> dict[str, LostArtifact]:
    """What steps refer to and the store does not have."""
    gone: set[str] = set()
    for column in _COLUMNS[3:]:
        there = Artifact.objects.filter(sha256=OuterRef(column))
        steps = Step.objects.exclude(**{column: ""}).filter(~Exists(there))
        gone.update(steps.values_list(column, flat=True).distinct())
    return {digest: LostArtifact(digest=digest, loss=Loss.MISSING) for digest in gone}


def _users(lost: Iterable[str]) -> dict[str, set[UUID]]:
    """The runs that use lost artifacts, directly or through what contains them."""
    causes = {digest: {digest} for digest in lost}
    users: dict[str, set[UUID]] = {digest: set() for digest in lost}
    pending = set(causes)
    while pending:
        for run_id, ref in _uses(pending):
            for digest in causes[ref]:
                users[digest].add(run_id)
        pending = _containers(causes)
    return users


def _containers(causes: dict[str, set[str]]) -> set[str]:
    """The artifacts that contain what is known to be affected and were not known themselves; adds them to `causes`."""
    found: dict[str, set[str]] = {}
    for artifact in artifact_store.verify_all():
        if isinstance(artifact, ArtifactCorrupt):
            continue
        affected = [causes[part] for part in part_digests(artifact.data) if part in causes]
        reasons = set().union(*affected) - causes.get(artifact.sha256, set())
        if reasons:
            found[artifact.sha256] = reasons
    for digest, reasons in found.items():
        causes[digest] = causes.get(digest, set()) | reasons
    return set(found)


def _uses(digests: Iterable[str]) -> Iterator[tuple[UUID, str]]:
    for chunk in bulk.chunks(digests):
        for column in _COLUMNS[3:]:
            yield from Step.objects.filter(**{f"{column}__in": chunk}).values_list("run_id", column).distinct()
