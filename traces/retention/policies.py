"""Retention policies: which one decides about a run, and which runs are due."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from traces.audit import audit_log
from traces.core.vocabulary import AuditAction, RunSource
from traces.errors import NotFound
from traces.models import RetentionPolicy, Run

# Runs in memory at a time.
_BATCH: Final = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyTerms:
    """The terms of a policy; `days` is None if the runs are kept forever."""

    app: str = ""
    tag: str = ""
    days: int | None = None
    keep_pinned: bool = True
    legal_hold: bool = False

    def applies(self, app: str, tags: Sequence[str]) -> bool:
        return self.app in ("", app) and (not self.tag or self.tag in tags)

    def __str__(self) -> str:
        app = f"app {self.app}" if self.app else "all apps"
        return f"{app}, tag {self.tag}" if self.tag else app


@dataclass(frozen=True, kw_only=True, slots=True)
class DueRun:
    """A run that is older than its policy allows."""

    run_id: UUID
    app: str
    created_at: datetime
    terms: PolicyTerms
    is_pinned: bool
    is_held: bool

    @property
    def is_kept(self) -> bool:
        return self.is_held or (self.is_pinned and self.terms.keep_pinned)


def stored_terms() -> list[PolicyTerms]:
    """Return the policies in force."""
    return [terms_of(row) for row in RetentionPolicy.objects.order_by("app", "tag")]


def terms_of(row: RetentionPolicy) -> PolicyTerms:
    return PolicyTerms(app=row.app, tag=row.tag, days=row.days, keep_pinned=row.keep_pinned, legal_hold=row.legal_hold)


def set_policy(terms: PolicyTerms, *, by: str) -> RetentionPolicy:
    """Store a policy, in place of the one for the same app and tag."""
    columns = {"days": terms.days, "keep_pinned": terms.keep_pinned, "legal_hold": terms.legal_hold}
    with transaction.atomic():
        row, _ = RetentionPolicy.objects.update_or_create(app=terms.app, tag=terms.tag, defaults={**columns, "by": by})
        audit_log.append(AuditAction.POLICY_SET, terms, by=by, **columns)
    return row


def remove_policy(app: str, tag: str, *, by: str) -> None:
    """Remove a policy; raise `NotFound`."""
    with transaction.atomic():
        count, _ = RetentionPolicy.objects.filter(app=app, tag=tag).delete()
        if not count:
            raise NotFound("there is no retention policy for this app and tag")
        audit_log.append(AuditAction.POLICY_REMOVED, PolicyTerms(app=app, tag=tag), by=by)


def deciding(all_terms: Sequence[PolicyTerms], app: str, tags: Sequence[str]) -> PolicyTerms | None:
    """Return the policy that decides about a run: the most specific one; of several tags, the longest time."""
    candidates = [terms for terms in all_terms if terms.applies(app, tags)]
    return max(candidates, key=_precedence, default=None)


def due_runs(all_terms: Sequence[PolicyTerms]) -> Iterator[DueRun]:
    """Yield the runs that are older than the policy that decides about them, oldest first."""
    now = datetime.now(UTC)
    shortest = min((terms.days for terms in all_terms if terms.days is not None), default=None)
    if shortest is None:
        return
    runs = Run.objects.filter(
        created_at__lt=now - timedelta(days=shortest),
        sealed_at__isnull=False,
        deletion__isnull=True,
        superseded_by__isnull=True,
    ).exclude(source=RunSource.PROBE)
    columns = ("id", "app", "tags", "caption__tags", "created_at", "mark__is_pinned", "mark__is_held")
    rows = runs.order_by("id").values_list(*columns).iterator(_BATCH)
    for run_id, app, recorded_tags, edited_tags, created_at, is_pinned, is_held in rows:
        tags = recorded_tags if edited_tags is None else edited_tags
        terms = deciding(all_terms, app, tags)
        if terms is None or terms.days is None or created_at >= now - timedelta(days=terms.days):
            continue
        is_held = bool(is_held) or any(item.legal_hold and item.applies(app, tags) for item in all_terms)
        yield DueRun(
            run_id=run_id, app=app, created_at=created_at, terms=terms, is_pinned=bool(is_pinned), is_held=is_held
        )


def _precedence(terms: PolicyTerms) -> tuple[bool, bool, float]:
    return bool(terms.app), bool(terms.tag), float("inf") if terms.days is None else terms.days
