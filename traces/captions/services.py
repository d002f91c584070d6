"""Write the captions of runs."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from traces import notify
from traces.core.schema import ForkChange
from traces.judgements import services as judgements
from traces.models import Run, RunCaption, RunTag
from traces.search import indexer
from traces.storage import bulk


def describe_fork(run_id: UUID, change: ForkChange) -> None:
    """Store what a new fork changes."""
    RunCaption.objects.create(run_id=run_id, change=change.model_dump())


def rename(run_id: UUID, **columns: str) -> None:
    """Set the name or the note that users gave a run; call it inside a transaction."""
    RunCaption.objects.update_or_create(run_id=run_id, defaults=columns)
    indexer.update_own_words([run_id])
    notify.touch("runs")
    notify.touch(f"run.{run_id}")


def describe(run_id: UUID, *, title: str, note: str, tags: Sequence[str] | None) -> None:
    """Set the name, the note and, unless None, the tags of a run; call it inside a transaction."""
    rename(run_id, title=title, note=note)
    if tags is not None:
        set_tags({run_id: tags})


def set_tags(tags: Mapping[UUID, Sequence[str]]) -> None:
    """Set the tags of runs, and update what depends on them; call it inside a transaction."""
    for run_ids in bulk.chunks(sorted(tags)):
        judgements.lock(run_ids)
        captions = [RunCaption(run_id=run_id, tags=[*tags[run_id]]) for run_id in run_ids]
        RunCaption.objects.bulk_create(captions, update_conflicts=True, unique_fields=["run"], update_fields=["tags"])
        RunTag.objects.filter(run_id__in=run_ids).delete()
        bulk.insert(RunTag, ("run", "tag"), [(run_id, tag[:100]) for run_id in run_ids for tag in tags[run_id]])
        judgements.refresh(run_ids)
        indexer.update_own_words(run_ids)
        judgements.notify_views(run_ids)


def inherit(run_ids: Iterable[UUID]) -> None:
    """Give new revisions the names, notes and edits of tags of the runs that they continue.

    Call it inside a transaction, when the outcomes of the new runs are stored.
    """
    for chunk in bulk.chunks(run_ids):
        revisions = Run.objects.filter(id__in=chunk, supersedes__caption__isnull=False)
        for run in revisions.select_related("supersedes__caption"):
            if run.supersedes is not None:
                _inherit(run, run.supersedes)


def _inherit(run: Run, predecessor: Run) -> None:
    caption = predecessor.caption
    RunCaption.objects.update_or_create(run=run, defaults={"title": caption.title, "note": caption.note})
    if caption.tags is not None:
        new_tags = set(caption.tags) - set(predecessor.tags)
        removed_tags = set(predecessor.tags) - set(caption.tags)
        set_tags({run.id: with_changes(run.tags, run.tags, new_tags, removed_tags)})


def with_changes(
    tags: Sequence[str], recorded_tags: Sequence[str], additions: Iterable[str], removals: Iterable[str]
) -> list[str]:
    """Return tags after a change: the recorded ones first, in their order."""
    remaining = dict.fromkeys([*tags, *additions])
    for tag in removals:
        remaining.pop(tag, None)
    return [tag for tag in dict.fromkeys([*recorded_tags, *remaining]) if tag in remaining]
