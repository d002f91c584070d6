"""Edit the tags of runs. Their recordings do not change."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from traces.audit import audit_log
from traces.captions import services as captions
from traces.core.vocabulary import AuditAction
from traces.errors import NotFound, NotSealed, ProblemError
from traces.models import Run
from traces.retention import holds
from traces.retention.schemas import MAX_TAGS, TagChange
from traces.storage import bulk

# Filters separate several tags by commas.
_NEW_TAG: Final = re.compile(r"[^,\x00-\x1f]{1,100}")
_COLUMNS: Final = ("id", "app", "sealed_at", "tags", "caption__tags")


class InvalidTag(ProblemError):
    """A tag that is too long, or that a filter could not name."""

    status = 422


class TooManyTags(ProblemError):
    """A run with more tags than it may have."""

    status = 422


class TagOnHold(ProblemError):
    """A tag by which a policy holds a run; only admins may remove it."""

    code = "auth_forbidden"
    status = 403


@dataclass(frozen=True, kw_only=True, slots=True)
class _TaggedRun:
    id: UUID
    app: str
    recorded_tags: list[str]
    tags: list[str]


def change_tags(changes: Sequence[TagChange], *, by: str, is_admin: bool) -> list[TagChange]:
    """Add and remove tags, and return the changes that undo it.

    Raise `NotFound`, `NotSealed`, `InvalidTag`, `TooManyTags` or `TagOnHold`, and change nothing.
    """
    with transaction.atomic():
        runs = _lock_runs({run_id for change in changes for run_id in change.runs})
        tags = {run.id: run.tags for run in runs.values()}
        for change in changes:
            for run_id in change.runs:
                recorded_tags = runs[run_id].recorded_tags
                tags[run_id] = captions.with_changes(tags[run_id], recorded_tags, change.add, change.remove)
        new_tags = {id: tags[id] for id, run in runs.items() if tags[id] != run.tags}
        _check([runs[id] for id in new_tags], new_tags, is_admin=is_admin)
        captions.set_tags(new_tags)
        audit_log.append_many(AuditAction.RUN_TAGGED, {run_id: {} for run_id in new_tags}, by=by)
    return _inverse([runs[id] for id in new_tags], new_tags)


def replace_tags(run_id: UUID, tags: Sequence[str], *, by: str, is_admin: bool) -> None:
    """Set all tags of a run; raise like `change_tags`."""
    stored_tags = _lock_runs([run_id])[run_id].tags
    change = TagChange(runs=[run_id], add=[*tags], remove=[tag for tag in stored_tags if tag not in tags])
    change_tags([change], by=by, is_admin=is_admin)


def _lock_runs(ids: Iterable[UUID]) -> dict[UUID, _TaggedRun]:
    runs: dict[UUID, _TaggedRun] = {}
    for chunk in bulk.chunks(sorted(ids)):
        rows = Run.objects.select_for_update(of=("self",), no_key=True).filter(id__in=chunk, deletion__isnull=True)
        for id, app, sealed_at, recorded_tags, tags in rows.order_by("id").values_list(*_COLUMNS):
            if sealed_at is None:
                raise NotSealed(f"run {id} is still being written: it can be tagged once it has ended")
            edited_tags = recorded_tags if tags is None else tags
            runs[id] = _TaggedRun(id=id, app=app, recorded_tags=recorded_tags, tags=edited_tags)
        for id in chunk:
            if id not in runs:
                raise NotFound(f"there is no run {id}")
    return runs


def _check(runs: Iterable[_TaggedRun], new_tags: dict[UUID, list[str]], *, is_admin: bool) -> None:
    scopes = [] if is_admin else [(app, tag) for app, tag in holds.stored_scopes() if tag]
    for run in runs:
        tags = new_tags[run.id]
        if len(tags) > max(MAX_TAGS, len(run.tags)):
            raise TooManyTags(f"run {run.id} would have {len(tags)} tags, more than {MAX_TAGS}")
        # A recorded tag may have any form, and can be restored.
        for tag in tags:
            if tag not in run.recorded_tags and not _NEW_TAG.fullmatch(tag):
                raise InvalidTag(f"“{tag[:120]}” cannot be a tag: it needs up to 100 characters without a comma")
        removals = set(run.tags) - set(tags)
        if tag := _tag_on_hold(run.app, removals, scopes):
            raise TagOnHold(f"tag “{tag}” puts run {run.id} under legal hold: only an admin can remove it")


def _tag_on_hold(app: str, tags: Set[str], scopes: Iterable[holds.Scope]) -> str:
    return next((tag for held_app, tag in scopes if held_app in ("", app) and tag in tags), "")


def _inverse(runs: Iterable[_TaggedRun], new_tags: dict[UUID, list[str]]) -> list[TagChange]:
    """Return the changes from the new tags to those that the runs had, one for all runs with the same change."""
    ids: dict[tuple[tuple[str, ...], tuple[str, ...]], list[UUID]] = defaultdict(list)
    for run in runs:
        tags = new_tags[run.id]
        removals = tuple(tag for tag in run.tags if tag not in tags)
        additions = tuple(tag for tag in tags if tag not in run.tags)
        ids[removals, additions].append(run.id)
    return [
        TagChange(runs=run_ids, add=[*removals], remove=[*additions]) for (removals, additions), run_ids in ids.items()
    ]
