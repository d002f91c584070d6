"""Integrity checks: find recorded payloads that are missing or damaged, or were never recorded."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from django.db import connection

from traces.core.gc_pause import without_pauses
from traces.core.vocabulary import StepStatus, StepType
from traces.errors import ArtifactCorrupt
from traces.models import Step
from traces.models.digests import digest_key, digest_keys, split_digests
from traces.payloads.digest_packing import part_digests
from traces.payloads.lost_payloads import Loss, LostPayload, LostPayloads
from traces.storage import artifacts as artifact_store
from traces.storage import bulk, verification
from traces.storage.verification import Verifier

# Steps that represent a call: without its answer there is nothing to reuse. Other steps may have no output.
_CALL_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})
# A failed call is recorded by its status and error.
_EXPECTS_OUTPUT: Final = frozenset({StepStatus.OK, StepStatus.PARTIAL, StepStatus.RUNNING})
_COLUMNS: Final = ("sequence_no", "type", "status", "input_ref", "output_ref", "attributes_ref")
_REFS: Final = _COLUMNS[3:]
_refs_of: Final = itemgetter(3, 4, 5)
_RANGE: Final = "WHERE run_id = %s AND sequence_no BETWEEN %s AND %s"
_FIELDS: Final = ("input", "output", "attributes")


@dataclass(frozen=True, kw_only=True, slots=True)
class LostArtifact:
    """An unreadable artifact, and the runs that use it, if they were searched for."""

    digest: str
    loss: Loss
    problem: str = ""
    runs: tuple[UUID, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreReport:
    """The number of artifacts in the store, and the unreadable ones."""

    artifacts: int
    lost_artifacts: tuple[LostArtifact, ...]


class Inspector:
    """Verifies the artifacts that steps refer to, each once.

    A shallow inspector only checks that these artifacts exist, not their parts or their content.
    """

    def __init__(self, *, shallow: bool = False) -> None:
        self._verifier = None if shallow else Verifier()
        # Of a shallow inspector, and once something is lost.
        self._whole: set[bytes] = set()
        # By the lost artifact itself, and by the artifacts that contain it.
        self._lost_artifacts: dict[bytes, LostArtifact] = {}

    @without_pauses()
    def steps(self, run_id: UUID, first: int, last: int) -> dict[int, LostPayloads]:
        """Return the lost payloads of the steps `first` to `last` by sequence number; intact steps are absent."""
        digests, are_all_answered = _digests(run_id, first, last)
        self._read(digests)
        # Only a step without a recorded output can have lost a payload while every artifact is whole.
        if are_all_answered and not self._lost_artifacts:
            return {}
        suspects = _step_rows(run_id, first, last, "" if self._lost_artifacts else " AND output_ref = ''")
        losses_by_step = ((row[0], self._losses_of(row)) for row in suspects)
        return {number: losses for number, losses in losses_by_step if losses}

    def payload(self, field: str, digest: str) -> LostPayload | None:
        """Return the loss that makes a value unreadable, if any."""
        self._read([digest_key(digest)])
        return self._loss(field, digest)

    def _losses_of(self, row: Sequence[str]) -> LostPayloads:
        _, type, status, *refs = row
        losses = [loss for field, ref in zip(_FIELDS, refs, strict=True) if ref and (loss := self._loss(field, ref))]
        if not refs[1] and type in _CALL_TYPES and status in _EXPECTS_OUTPUT:
            losses.append(LostPayload(field="output", loss=Loss.NOT_RECORDED))
        return tuple(losses)

    def _loss(self, field: str, digest: str) -> LostPayload | None:
        artifact = self._lost_artifacts.get(digest_key(digest))
        if artifact is None:
            return None
        # Only a digest that names nothing differs from the one that was looked for.
        return LostPayload(field=field, loss=artifact.loss, digest=artifact.digest or digest)

    def _read(self, digests: Collection[bytes]) -> None:
        """Verify artifacts and all of their parts."""
        if self._verifier is None:
            new = set(digests) - self._whole - self._lost_artifacts.keys()
            self._whole |= (existing := artifact_store.present_keys(new))
            self._lost_artifacts |= _lost_artifacts(new - existing, Loss.MISSING)
        elif self._lost_artifacts or not self._verifier.are_whole(digests):
            self._find_losses(digests)

    def _find_losses(self, digests: Collection[bytes]) -> None:
        """Find out which artifacts are unreadable, level by level."""
        # What each artifact refers to; None for an unreadable one.
        contains: dict[bytes, Sequence[bytes] | None] = {}
        losses: dict[bytes, LostArtifact] = {}
        level = self._unread(digests, contains)
        while level:
            references = verification.references(level)
            missing = level - references.keys()
            contains |= references
            if missing or None in references.values():
                corrupt_keys = [key for key, parts in references.items() if parts is None]
                losses |= _lost_artifacts(missing, Loss.MISSING) | _lost_artifacts(corrupt_keys, Loss.CORRUPT)
                contains |= dict.fromkeys(missing)
            level = self._unread(chain.from_iterable(filter(None, references.values())), contains)
        self._whole.update(contains)
        if losses or self._lost_artifacts:
            self._lost_artifacts |= losses | _affected_containers(contains, {**self._lost_artifacts, **losses})
            self._whole -= self._lost_artifacts.keys()

    def _unread(self, digests: Iterable[bytes], contains: Iterable[bytes]) -> set[bytes]:
        """Return the digests that are neither verified yet nor among those just read."""
        return set(digests).difference(self._whole, contains, self._lost_artifacts)


def _digests(run_id: UUID, first: int, last: int) -> tuple[list[bytes], bool]:
    """Return the digests that steps refer to, and whether all steps have an output.

    They are read as one text: to read each takes longer than to find them.
    """
    values = bulk.database_values(Step, ("run", "sequence_no", "sequence_no"), (run_id, first, last))
    with connection.cursor() as cursor:
        cursor.execute(_digests_statement(), values)
        text, are_digests, are_all_answered = cursor.fetchone()
    try:
        if are_digests:
            return split_digests(text), bool(are_all_answered)
    except ValueError:
        pass
    rows = _step_rows(run_id, first, last)
    return digest_keys([*filter(None, chain.from_iterable(map(_refs_of, rows)))]), False


def _digests_statement() -> str:
    """Return the statement that reads all references of steps as one text.

    It also reads whether each can be a digest, and the least length of an output's.
    """
    table = connection.ops.quote_name(Step._meta.db_table)
    concat = "group_concat" if connection.vendor == "sqlite" else "string_agg"
    are_digests = " AND ".join(f"LENGTH({name}) IN (0, 64)" for name in _REFS)
    return (
        f"SELECT {concat}({' || '.join(_REFS)}, ''), MIN(CASE WHEN {are_digests} THEN 1 ELSE 0 END), "
        f"MIN(LENGTH(output_ref)) FROM {table} {_RANGE}"
    )


def _step_rows(run_id: UUID, first: int, last: int, condition: str = "") -> list[Sequence[Any]]:
    """Return the columns of steps in order."""
    ending = f"{_RANGE}{condition} ORDER BY sequence_no"
    values = bulk.database_values(Step, ("run", "sequence_no", "sequence_no"), (run_id, first, last))
    return bulk.select(Step, _COLUMNS, ending, values)


def _affected_containers(
    contains: Mapping[bytes, Sequence[bytes] | None], losses: Mapping[bytes, LostArtifact]
) -> dict[bytes, LostArtifact]:
    """Return the artifacts that contain a lost one at any depth, each with one of the lost artifacts inside."""
    containers: dict[bytes, list[bytes]] = {}
    for digest, parts in contains.items():
        for part in parts or ():
            containers.setdefault(part, []).append(digest)
    result: dict[bytes, LostArtifact] = {}
    pending = list(losses.items())
    while pending:
        part, cause = pending.pop()
        for digest in containers.get(part, ()):
            if digest not in result and digest not in losses:
                result[digest] = cause
                pending.append((digest, cause))
    return result


def find_lost(refs: Mapping[str, str]) -> LostPayloads:
    """Return the unreadable ones of some payloads; `refs` maps fields to digests."""
    if not refs:
        return ()
    inspector = Inspector()
    losses = (inspector.payload(field, ref) for field, ref in refs.items())
    return tuple(loss for loss in losses if loss is not None)


def check_store() -> StoreReport:
    """Verify every artifact of the store, and find missing ones that steps or other artifacts refer to."""
    count, losses = 0, dict[str, LostArtifact]()
    parts: set[str] = set()
    for artifact in artifact_store.verify_all():
        count += 1
        if isinstance(artifact, ArtifactCorrupt):
            losses[artifact.sha256] = LostArtifact(digest=artifact.sha256, loss=Loss.CORRUPT, problem=artifact.detail)
        else:
            parts.update(part_digests(artifact.data))
        if len(parts) >= bulk.CHUNK:
            losses |= _find_missing(parts)
            parts.clear()
    losses |= _find_missing(parts) | _find_missing_roots()
    users = _users(losses) if losses else {}
    lost_artifacts = (replace(losses[name], runs=tuple(sorted(users.get(name, ())))) for name in sorted(losses))
    return StoreReport(artifacts=count, lost_artifacts=tuple(lost_artifacts))


def _lost_artifacts(digests: Iterable[bytes], loss: Loss) -> dict[bytes, LostArtifact]:
    return {digest: LostArtifact(digest=digest.hex(), loss=loss) for digest in digests}


def _find_missing(digests: set[str]) -> dict[str, LostArtifact]:
    missing = digests - artifact_store.present(digests)
    return {digest: LostArtifact(digest=digest, loss=Loss.MISSING) for digest in missing}


def _find_missing_roots() -> dict[str, LostArtifact]:
    """Return the artifacts that steps refer to and the store does not contain."""
    missing: dict[str, LostArtifact] = {}
    for column in _REFS:
        refs = Step.objects.exclude(**{column: ""}).values_list(column, flat=True).distinct().iterator()
        while batch := set(islice(refs, bulk.CHUNK)):
            missing |= _find_missing(batch)
    return missing


def _users(lost_digests: Iterable[str]) -> dict[str, set[UUID]]:
    """Return the runs that use lost artifacts, directly or through other artifacts."""
    causes = {digest: {digest} for digest in lost_digests}
    users: dict[str, set[UUID]] = {digest: set() for digest in causes}
    pending = set(causes)
    while pending:
        for run_id, ref in _uses(pending):
            for digest in causes[ref]:
                users[digest].add(run_id)
        pending = _containers(causes)
    return users


def _containers(causes: dict[str, set[str]]) -> set[str]:
    """Return artifacts that contain an affected one and have new causes themselves; add them to `causes`."""
    new_causes: dict[str, set[str]] = {}
    for artifact in artifact_store.verify_all():
        if isinstance(artifact, ArtifactCorrupt):
            continue
        part_causes = [causes[part] for part in part_digests(artifact.data) if part in causes]
        additions = set().union(*part_causes) - causes.get(artifact.sha256, set())
        if additions:
            new_causes[artifact.sha256] = additions
    for digest, additions in new_causes.items():
        causes[digest] = causes.get(digest, set()) | additions
    return set(new_causes)


def _uses(digests: Iterable[str]) -> Iterator[tuple[UUID, str]]:
    for chunk in bulk.chunks(digests):
        for column in _REFS:
            yield from Step.objects.filter(**{f"{column}__in": chunk}).values_list("run_id", column).distinct()
