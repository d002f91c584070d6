"""Read trials and the configured retrievers."""

from typing import Final
from uuid import UUID

from django.utils import timezone

from replay.core.vocabulary import TrialStatus
from replay.live import retrieval
from replay.models import Trial
from replay.trials.runner import PENDING_LIMIT
from replay.trials.schemas import EmbeddingView, RetrieverList, RetrieverView, TrialList, TrialView
from traces.errors import NotFound

_LIMIT: Final = 20


def find(id: str) -> Trial:
    try:
        return Trial.objects.get(id=UUID(id))
    except (ValueError, Trial.DoesNotExist) as error:
        raise NotFound(f"there is no trial “{id}”", where="/id") from error


def newest(*, kind: str, name: str) -> TrialList:
    """The newest trials, of one tool or retriever or of all."""
    filters = {column: value for column, value in (("kind", kind), ("name", name)) if value}
    return TrialList(trials=[view(trial) for trial in Trial.objects.filter(**filters).order_by("-at")[:_LIMIT]])


def view(trial: Trial) -> TrialView:
    """The current state of a trial. If its worker is lost, it has failed, and the effect of its call is unknown."""
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
    """Error code and message of a trial whose worker is lost; empty for any other."""
    now = timezone.now()
    if trial.status == TrialStatus.PENDING and trial.at < now - PENDING_LIMIT:
        return "worker_lost", f"no worker started it within {PENDING_LIMIT.total_seconds():.0f} s; nothing ran"
    if trial.status == TrialStatus.RUNNING and trial.over_at is not None and trial.over_at < now:
        return "worker_lost", "the worker ended before the answer arrived; the call may have been made"
    return "", ""


def retrievers() -> RetrieverList:
    """The configured retrievers in their order: the first one that serves a step answers it."""
    return RetrieverList(retrievers=[_retriever(retriever) for retriever in retrieval.configured_retrievers().values()])


def _retriever(retriever: retrieval.Retriever) -> RetrieverView:
    entry = retriever.entry
    return RetrieverView(
        name=retriever.name,
        kind=retriever.kind,
        asks=retriever.place,
        serves=retriever.names,
        stores=entry.stores,
        embeddings=[EmbeddingView(name=name, by=embedder.summary) for name, embedder in entry.embeddings.items()],
        embedding=entry.default_embedding,
        top_k=entry.top_k,
        timeout_s=entry.timeout_s,
    )
