"""Trial calls of tools and retrievers. Every trial is a row that is kept: user, time, input and outcome."""

from functools import partial

import structlog
from django.db import transaction

from replay.core.errors import InvalidReplay, MissingReview
from replay.core.vocabulary import TrialStatus
from replay.execution import task_names
from replay.live import retrieval, tools
from replay.models import Trial
from replay.tool_review import queries
from replay.trials.schemas import RetrieverTrialRequest, ToolTrialRequest
from traces import enqueue
from traces.audit import audit_log
from traces.core.json_types import JSONObject
from traces.core.vocabulary import AuditAction
from traces.http.idempotency import Key, make_once
from traces.transitions import move

logger = structlog.get_logger("replay")


def try_tool(request: ToolTrialRequest, *, caller: str, key: Key | None = None) -> Trial:
    """Run a tool once, in a worker; raises `MissingReview` unless it was reviewed as safe or is confirmed now."""
    tool = tools.configured_tools().get(request.name)
    if tool is None:
        raise InvalidReplay(f"no tool “{request.name}” is configured", where="/name")
    safe = queries.safety(request.name)
    if not safe and not request.confirmed:
        reason = "it has not been reviewed" if safe is None else "it was reviewed as having side effects"
        raise MissingReview(f"“{request.name}” may have effects that cannot be undone: {reason}. Confirm to run it")
    trial = Trial(kind="tool", name=request.name, input=request.arguments, executor=tool.place, confirmed=not safe)
    return _start(trial, caller=caller, key=key)


def try_retriever(request: RetrieverTrialRequest, *, caller: str, key: Key | None = None) -> Trial:
    """Search once, in a worker."""
    retriever = retrieval.configured_retrievers().get(request.name)
    if retriever is None:
        raise InvalidReplay(f"no retriever “{request.name}” is configured", where="/name")
    profiles = retriever.entry.embeddings
    if request.embedding_profile is not None and profiles and request.embedding_profile not in profiles:
        names = ", ".join(profiles)
        detail = f"“{request.name}” has no embedding profile “{request.embedding_profile}”; it has {names}"
        raise InvalidReplay(detail, where="/embedding_profile")
    input: JSONObject = request.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    trial = Trial(kind="retrieval", name=request.name, input=input, executor=retriever.place, confirmed=False)
    return _start(trial, caller=caller, key=key)


def _queue(trial: Trial) -> None:
    if not enqueue.send(task_names.TRY_OUT, trial.id):
        error = "the queue cannot be reached; nothing ran"
        rows = Trial.objects.filter(id=trial.id)
        move(rows, TrialStatus.PENDING, TrialStatus.FAILED, error_code="dependency_unavailable", error=error)


def _start(trial: Trial, *, caller: str, key: Key | None) -> Trial:
    """Store and queue a trial; a repeated idempotency key returns the trial that it started."""
    trial.executor, trial.by = trial.executor[:300], caller[:120]

    def make() -> str:
        trial.save(force_insert=True)
        audit_log.append(AuditAction.TRIAL_STARTED, trial.name, by=caller, kind=trial.kind, trial=str(trial.id))
        transaction.on_commit(partial(_queue, trial))
        return str(trial.id)

    trial_id = make_once("trial", key, [trial.kind, trial.name, trial.input, trial.confirmed], make)
    if trial_id != str(trial.id):
        return Trial.objects.get(id=trial_id)
    fields = {"kind": trial.kind, "name": trial.name, "by": caller, "confirmed": trial.confirmed, "trial": trial_id}
    logger.info("trial_started", **fields)
    return trial
