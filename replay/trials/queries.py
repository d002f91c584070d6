"""Trials, and the retrievers there are."""

from typing import Final
from uuid import UUID

from django.utils import timezone

from replay.core.vocabulary import TrialStatus
from replay.live import retrieval
from replay.models import Trial
from replay.trials.runner import PATIENCE
from replay.trials.schemas import EmbeddingView, RetrieverList, RetrieverView, TrialList, TrialView
from traces.errors import NotFound

_SHOWN: Final = 20


def find(id: str) -> Trial:
    try:
        return Trial.objects.get(id=UUID(id))
    except (ValueError, Trial.DoesNotExist) as error:
        raise NotFound(f"there is no trial {id!r}", where="/id") from error


def newest(*, kind: str, name: str) -> TrialList:
    """Of one tool or retriever, or of all."""
    wanted = {column: value for column, value in (("kind", kind), ("name", name)) if value}
    return TrialList(trials=[view(trial) for trial in Trial.objects.filter(**wanted).order_by("-at")[:_SHOWN]])


def view(trial: Trial) -> TrialView:
    """As it is now; one whose worker is gone has failed, and nobody knows what it did."""
    code, error = _overdue(trial)
    outcome = trial.outcome or {}
    return TrialView(
        id=trial.id,
        kind=trial.kind,
        name=trial.name,
        input=trial.input,
        confirmed=trial.confirmed,
        status=TrialStatus.FAILED if code else trial.status,
        executor=trial.executor,
        output=outcome.get("output"),
        output_status=outcome.get("status", ""),
        error_code=code or trial.error_code,
        error=error or trial.error,
        by=trial.by,
        at=trial.at,
        duration_ms=trial.duration_ms,
    )


def _overdue(trial: Trial) -> tuple[str, str]:
    """Code and words for a trial that nobody will end any more; empty for any other."""
    now = timezone.now()
    if trial.status == TrialStatus.PENDING and trial.at < now - PATIENCE:
        return "worker_lost", f"no worker took it in {PATIENCE.total_seconds():.0f} s: nothing ran"
    if trial.status == TrialStatus.RUNNING and trial.over_at is not None and trial.over_at < now:
        return "worker_lost", "the worker ended before the answer came: it may have run"
    return "", ""


def retrievers() -> RetrieverList:
    """As configured, in their order: the first that serves a step answers it."""
    return RetrieverList(retrievers=[_retriever(one) for one in retrieval.configured_retrievers().values()])


def _retriever(one: retrieval.Retriever) -> RetrieverView:
    entry = one.entry
    return RetrieverView(
        name=one.name,
        kind=one.kind,
        asks=one.place,
        serves=one.names,
        stores=entry.stores,
        embeddings=[EmbeddingView(name=name, by=by.summary) for name, by in entry.embeddings.items()],
        embedding=entry.default_embedding,
        top_k=entry.top_k,
        timeout_s=entry.timeout_s,
    )
