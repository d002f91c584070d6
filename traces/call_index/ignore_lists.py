"""Stored ignore lists, one per app and version, and the signatures of recorded calls under them.

A sealed run never changes, so its steps keep the signature they were recorded with. Under a list, each distinct
signature has a reduced one in a separate table. These are computed in the background when a list is set, and
completed before the list is used.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from traces.audit import audit_log
from traces.call_index import tool_calls
from traces.core.vocabulary import AuditAction
from traces.errors import NotFound
from traces.models import IgnoreList, ReducedSignature, Run, Step
from traces.payloads.splitter import Splitter
from traces.signatures.ignore_rules import SIGNED_TYPES, IgnoreRule, IgnoreRules, ReductionCache
from traces.storage import artifacts

_BATCH: Final = 500
_TYPES: Final = {str(type): type for type in SIGNED_TYPES}
# A run is sealed some time before its transaction commits.
_OVERLAP: Final = timedelta(minutes=5)
_COLUMNS: Final = ("signature", "type", "name", "tool_name", "provider", "model", "input_ref")


def set_rules(*, app: str, rules: Iterable[IgnoreRule], by: str) -> IgnoreList:
    """Create the next version of an app's list, active once it is signed. Equal rules return the current version."""
    new_rules = tuple(rules)
    return _next_version(app, by, lambda current_rules: new_rules)


def add_rules(*, app: str, rules: Iterable[IgnoreRule], by: str) -> IgnoreList:
    """Create the next version of an app's list with additional rules; concurrent additions are preserved."""
    new_rules = tuple(rules)
    return _next_version(app, by, lambda current_rules: (*current_rules, *new_rules))


def _next_version(app: str, by: str, change: Callable[[tuple[IgnoreRule, ...]], tuple[IgnoreRule, ...]]) -> IgnoreList:
    """Create the next version from the newest one; retry if another writer was faster."""
    while True:
        newest = IgnoreList.objects.filter(app=app).order_by("-version").first()
        rules = tuple(dict.fromkeys(change(to_rules(newest).rules)))
        digest = IgnoreRules(rules=rules).digest
        if newest is not None and newest.digest == digest:
            return newest
        documents = [rule.model_dump(mode="json") for rule in rules]
        version = 1 + (newest.version if newest else 0)
        try:
            with transaction.atomic():
                row = IgnoreList.objects.create(app=app, version=version, rules=documents, digest=digest, by=by)
                audit_log.append(AuditAction.IGNORE_LIST_SET, app, by=by, version=version)
                return row
        except IntegrityError:
            continue


def active(app: str) -> IgnoreList | None:
    """Return an app's active list, or None."""
    row = IgnoreList.objects.filter(app=app, ready_at__isnull=False).order_by("-version").first()
    return row if row is not None and row.rules else None


def to_rules(row: IgnoreList | None) -> IgnoreRules:
    """Convert a stored list to the type of the pure modules."""
    if row is None:
        return IgnoreRules()
    return IgnoreRules(rules=tuple(IgnoreRule.model_validate(rule) for rule in row.rules), version=row.version)


def get_version(app: str, version: int) -> IgnoreRules:
    """Return one version of an app's list; 0 is the empty list. Raise `NotFound`."""
    if not version:
        return IgnoreRules()
    row = IgnoreList.objects.filter(app=app, version=version).first()
    if row is None:
        raise NotFound(f"{app} has no ignore list {version}")
    return to_rules(row)


def current(app: str) -> IgnoreRules:
    """Return an app's active list, with every recorded call signed under it."""
    row = active(app)
    if row is None:
        return IgnoreRules()
    sign(row)
    return to_rules(row)


def sign(row: IgnoreList) -> int:
    """Sign the recorded calls that have no signature under a list yet, and activate it. Return their number."""
    start = datetime.now(UTC)
    if row.signed_until is not None and not _sealed_since(row).exists():
        return 0
    ignoring = to_rules(row)
    count = sum(_sign(row, ignoring, batch) for batch in _batches(_unsigned_steps(row, ignoring)))
    tool_calls.insert_under(row.app, ignoring, list(_sealed_since(row).values_list("id", flat=True)))
    IgnoreList.objects.filter(id=row.id).update(signed_until=start, ready_at=row.ready_at or start)
    return count


def sign_by_id(list_id: int) -> int:
    """Sign the list with this id; do nothing if it was deleted."""
    row = IgnoreList.objects.filter(id=list_id).first()
    return 0 if row is None else sign(row)


def waiting() -> list[int]:
    """Return the ids of lists that are inactive because the recorded calls are not signed under them yet."""
    return list(IgnoreList.objects.filter(ready_at=None).values_list("id", flat=True))


def reduced_signatures(row: IgnoreList, signatures: Iterable[str]) -> dict[str, str]:
    """Return the signatures of calls under a list, by their plain ones; absent for calls that no rule applies to."""
    plain = sorted(set(signatures) - {""})
    result: dict[str, str] = {}
    for start in range(0, len(plain), _BATCH):
        rows = ReducedSignature.objects.filter(ignore_list=row, signature__in=plain[start : start + _BATCH])
        result.update(rows.values_list("signature", "reduced"))
    return result


def _sealed_since(row: IgnoreList) -> QuerySet[Run]:
    runs = Run.objects.filter(app=row.app, sealed_at__isnull=False)
    return runs if row.signed_until is None else runs.filter(sealed_at__gt=row.signed_until - _OVERLAP)


def _unsigned_steps(row: IgnoreList, ignoring: IgnoreRules) -> QuerySet[Step, tuple[Any, ...]]:
    """Select unsigned steps of the types that the rules apply to; equal calls are adjacent."""
    types = {rule.type for rule in ignoring.rules} & {str(type) for type in SIGNED_TYPES}
    existing = ReducedSignature.objects.filter(ignore_list=row).values("signature")
    steps = Step.objects.filter(run__in=_sealed_since(row), type__in=types).exclude(Q(signature="") | Q(input_ref=""))
    return steps.exclude(signature__in=existing).order_by("signature").values_list(*_COLUMNS)


def _batches(rows: QuerySet[Step, tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    batch: list[tuple[Any, ...]] = []
    for row in rows.iterator(chunk_size=_BATCH):
        # Skip repetitions of the same call.
        if batch and batch[-1][0] == row[0]:
            continue
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _sign(row: IgnoreList, ignoring: IgnoreRules, steps: Sequence[tuple[Any, ...]]) -> int:
    calls = [step for step in steps if ignoring.rules_for(_TYPES[step[1]], step[3] or step[2])]
    inputs = artifacts.available([step[-1] for step in calls])
    # Shared, because most messages appear in many calls.
    splitter, cache = Splitter(), ReductionCache()
    rows = []
    for plain, type, name, tool_name, provider, model, input_ref in calls:
        # A call without its input cannot answer another call either.
        if input_ref in inputs:
            reduced_signature = ignoring.signature(
                type=_TYPES[type],
                name=name,
                input=inputs[input_ref],
                provider=provider,
                model=model,
                tool_name=tool_name,
                digest_of=splitter.digest,
                cache=cache,
            )
            rows.append(ReducedSignature(ignore_list=row, signature=plain, reduced=reduced_signature))
    ReducedSignature.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)
