"""Trying a tool or a retriever out. Every trial is a row that stays: who, when, with what, and what came of it."""

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
from traces.core.json_types import JSONObject
from traces.http.idempotency import Key, make_once
from traces.transitions import move

logger = structlog.get_logger("replay")


def try_tool(request: ToolTrialRequest, *, by: str, key: Key | None = None) -> Trial:
    """Run a tool once, in a worker; raises `MissingReview` where nobody has called it safe or confirmed it now."""
    tool = tools.configured_tools().get(request.name)
    if tool is None:
        raise InvalidReplay(f"nothing is configured to run {request.name!r}", where="/name")
    safe = queries.safety(request.name)
    if not safe and not request.confirmed:
        why = "nobody has reviewed it" if safe is None else "it was reviewed as a side effect"
        raise MissingReview(f"{request.name!r} may do something that cannot be undone: {why}. Confirm that it may run")
    trial = Trial(kind="tool", name=request.name, input=request.arguments, executor=tool.place, confirmed=not safe)
    return _start(trial, by=by, key=key)


def try_retriever(request: RetrieverTrialRequest, *, by: str, key: Key | None = None) -> Trial:
    """Search once, in a worker."""
    retriever = retrieval.configured_retrievers().get(request.name)
    if retriever is None:
        raise InvalidReplay(f"no retriever {request.name!r} is configured", where="/name")
    known = retriever.entry.embeddings
    if request.embedding_profile is not None and known and request.embedding_profile not in known:
        detail = f"{request.name!r} has no embedding profile {request.embedding_profile!r}: there is {', '.join(known)}"
        raise InvalidReplay(detail, where="/embedding_profile")
    asked: JSONObject = request.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    trial = Trial(kind="retrieval", name=request.name, input=asked, executor=retriever.place, confirmed=False)
    return _start(trial, by=by, key=key)


def _queue(trial: Trial) -> None:
    if not enqueue.send(task_names.TRY_OUT, trial.id):
        error = "the queue cannot be reached: nothing ran"
        asked = Trial.objects.filter(id=trial.id)
        move(asked, TrialStatus.PENDING, TrialStatus.FAILED, error_code="dependency_unavailable", error=error)


def _start(trial: Trial, *, by: str, key: Key | None) -> Trial:
    """Store it and queue it; the same key again gives the trial that it started."""
    trial.executor, trial.by = trial.executor[:300], by[:120]

    def make() -> str:
        trial.save(force_insert=True)
        transaction.on_commit(partial(_queue, trial))
        return str(trial.id)

    started = make_once("trial", key, [trial.kind, trial.name, trial.input, trial.confirmed], make)
    if started != str(trial.id):
        return Trial.objects.get(id=started)
    known = {"kind": trial.kind, "name": trial.name, "by": by, "confirmed": trial.confirmed, "trial": started}
    logger.info("trial_started", **known)
    return trial
