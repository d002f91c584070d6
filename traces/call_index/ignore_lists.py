"""Ignore lists in the store: one per app and version, and the signatures of recorded calls under them.

A sealed run never changes, so its steps keep the signature they were recorded with. Under a list each distinct
signature has a second one, in a table beside the runs: made in the background when a list is set, and caught up
with before it is used.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from traces.call_index import tool_calls
from traces.errors import NotFound
from traces.models import IgnoreList, ReducedSignature, Run, Step
from traces.payloads.splitter import Splitter
from traces.signatures.ignore_rules import SIGNED_TYPES, IgnoreRule, IgnoreRules, ReductionCache
from traces.storage import artifacts

_BATCH: Final = 500
_TYPES: Final = {str(type): type for type in SIGNED_TYPES}
_OVERLAP: Final = timedelta(minutes=5)  # a run's time of sealing is earlier than its commit
_COLUMNS: Final = ("signature", "type", "name", "tool_name", "provider", "model", "input_ref")


def set_rules(*, app: str, rules: Iterable[IgnoreRule], by: str) -> IgnoreList:
    """The next version of an app's list, which holds once it is signed; the same rules again give the same version."""
    given = tuple(rules)
    return _next_version(app, by, lambda held: given)


def add_rules(*, app: str, rules: Iterable[IgnoreRule], by: str) -> IgnoreList:
    """The next version of an app's list with some rules more; what others add at the same time stays."""
    given = tuple(rules)
    return _next_version(app, by, lambda held: (*held, *given))


def _next_version(app: str, by: str, change: Callable[[tuple[IgnoreRule, ...]], tuple[IgnoreRule, ...]]) -> IgnoreList:
    """Made from the newest version, and again where somebody else was quicker."""
    while True:
        newest = IgnoreList.objects.filter(app=app).order_by("-version").first()
        kept = tuple(dict.fromkeys(change(ignoring_of(newest).rules)))
        said = IgnoreRules(rules=kept).digest
        if newest is not None and newest.digest == said:
            return newest
        dumped = [rule.model_dump(mode="json") for rule in kept]
        version = 1 + (newest.version if newest else 0)
        try:
            with transaction.atomic():
                return IgnoreList.objects.create(app=app, version=version, rules=dumped, digest=said, by=by)
        except IntegrityError:
            continue  # the version is there by now: it is the newest at the next look


def active(app: str) -> IgnoreList | None:
    """The list that holds for an app now, if there is one."""
    found = IgnoreList.objects.filter(app=app, ready_at__isnull=False).order_by("-version").first()
    return found if found is not None and found.rules else None


def ignoring_of(row: IgnoreList | None) -> IgnoreRules:
    """A list as the pure modules take it."""
    if row is None:
        return IgnoreRules()
    return IgnoreRules(rules=tuple(IgnoreRule.model_validate(rule) for rule in row.rules), version=row.version)


def of_version(app: str, version: int) -> IgnoreRules:
    """One version of an app's list; 0 is the list that leaves out nothing. Raises `NotFound`."""
    if not version:
        return IgnoreRules()
    row = IgnoreList.objects.filter(app=app, version=version).first()
    if row is None:
        raise NotFound(f"{app} has no ignore list {version}")
    return ignoring_of(row)


def current(app: str) -> IgnoreRules:
    """The list that holds for an app, with every recorded call signed under it."""
    row = active(app)
    if row is None:
        return IgnoreRules()
    sign(row)
    return ignoring_of(row)


def sign(row: IgnoreList) -> int:
    """Sign the recorded calls that are not signed under a list yet; how many. The list holds from then on."""
    began = datetime.now(UTC)
    if row.signed_until is not None and not _sealed_since(row).exists():
        return 0
    ignoring = ignoring_of(row)
    made = sum(_sign(row, ignoring, batch) for batch in _batches(_unsigned(row, ignoring)))
    tool_calls.insert_under(row.app, ignoring, list(_sealed_since(row).values_list("id", flat=True)))
    IgnoreList.objects.filter(id=row.id).update(signed_until=began, ready_at=row.ready_at or began)
    return made


def sign_by_id(list_id: int) -> int:
    """Like `sign`, of the list with this id; one that is gone needs no signatures."""
    row = IgnoreList.objects.filter(id=list_id).first()
    return 0 if row is None else sign(row)


def waiting() -> list[int]:
    """Lists that do not hold yet, because nobody has signed the recorded calls under them."""
    return list(IgnoreList.objects.filter(ready_at=None).values_list("id", flat=True))


def reduced(row: IgnoreList, signatures: Iterable[str]) -> dict[str, str]:
    """The signatures of calls under a list, by their plain ones; calls that no rule is for have none."""
    wanted = sorted(set(signatures) - {""})
    found: dict[str, str] = {}
    for start in range(0, len(wanted), _BATCH):
        rows = ReducedSignature.objects.filter(ignore_list=row, signature__in=wanted[start : start + _BATCH])
        found.update(rows.values_list("signature", "reduced"))
    return found


def _sealed_since(row: IgnoreList) -> QuerySet[Run]:
    runs = Run.objects.filter(app=row.app, sealed_at__isnull=False)
    return runs if row.signed_until is None else runs.filter(sealed_at__gt=row.signed_until - _OVERLAP)


def _unsigned(row: IgnoreList, ignoring: IgnoreRules) -> QuerySet[Step, tuple[Any, ...]]:
    """Steps whose calls the rules may be for, equal calls one after the other."""
    types = {rule.type for rule in ignoring.rules} & {str(type) for type in SIGNED_TYPES}
    known = ReducedSignature.objects.filter(ignore_list=row).values("signature")
    steps = Step.objects.filter(run__in=_sealed_since(row), type__in=types).exclude(Q(signature="") | Q(input_ref=""))
    return steps.exclude(signature__in=known).order_by("signature").values_list(*_COLUMNS)


def _batches(rows: QuerySet[Step, tuple[Any, ...]]) -> Iterator[Sequence[tuple[Any, ...]]]:
    batch: list[tuple[Any, ...]] = []
    for row in rows.iterator(chunk_size=_BATCH):
        if batch and batch[-1][0] == row[0]:
            continue  # the same call again
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _sign(row: IgnoreList, ignoring: IgnoreRules, steps: Sequence[tuple[Any, ...]]) -> int:
    touched = [step for step in steps if ignoring.rules_for(_TYPES[step[1]], step[3] or step[2])]
    inputs = artifacts.available([step[-1] for step in touched])
    splitter, known = Splitter(), ReductionCache()  # most messages are in many calls
    made = []
    for plain, type, name, tool_name, provider, model, input_ref in touched:
        if input_ref in inputs:  # else it cannot answer another call either
            reduced = ignoring.signature(
                type=_TYPES[type],
                name=name,
                input=inputs[input_ref],
                provider=provider,
                model=model,
                tool_name=tool_name,
                digest_of=splitter.digest,
                known=known,
            )
            made.append(ReducedSignature(ignore_list=row, signature=plain, reduced=reduced))
    ReducedSignature.objects.bulk_create(made, ignore_conflicts=True)
    return len(made)
