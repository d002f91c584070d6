"""Trying a tool or a retriever out. Every trial is a row that stays: who, when, with what, and what came of it."""

from functools import partial
from typing import Literal

import structlog
from django.db import transaction

from replay import retrieval, tasks, tool_queries, tools
from replay.models import Trial
from replay.problems import InvalidReplay, ReviewRequired
from replay.trials.schemas import RetrieverTrialRequest, ToolTrialRequest
from traces import queueing
from traces.json_types import JSONObject

logger = structlog.get_logger("replay")


def try_tool(request: ToolTrialRequest, *, by: str) -> Trial:
    """Run a tool once, in a worker; raises `ReviewRequired` where nobody has called it safe or confirmed it now."""
    tool = tools.configured().get(request.name)
    if tool is None:
        raise InvalidReplay(f"nothing is configured to run {request.name!r}", where="/name")
    safe = tool_queries.standing(request.name)
    if not safe and not request.confirmed:
        why = "nobody has reviewed it" if safe is None else "it was reviewed as a side effect"
        raise ReviewRequired(f"{request.name!r} may do something that cannot be undone: {why}. Confirm that it may run")
    return _start("tool", request.name, request.arguments, by=by, place=tool.place, confirmed=not safe)


def try_retriever(request: RetrieverTrialRequest, *, by: str) -> Trial:
    """Search once, in a worker."""
    retriever = retrieval.configured().get(request.name)
    if retriever is None:
        raise InvalidReplay(f"no retriever {request.name!r} is configured", where="/name")
    known = retriever.entry.embeddings
    if request.embedding_profile is not None and known and request.embedding_profile not in known:
        detail = f"{request.name!r} has no embedding profile {request.embedding_profile!r}: there is {', '.join(known)}"
        raise InvalidReplay(detail, where="/embedding_profile")
    asked: JSONObject = request.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    return _start("retrieval", request.name, asked, by=by, place=retriever.place, confirmed=False)


def _queue(trial: Trial) -> None:
    if not queueing.put(tasks.try_out, trial.id):
        error = "the queue cannot be reached: nothing ran"
        Trial.objects.filter(id=trial.id, status="pending").update(
            status="failed", error_code="dependency_unavailable", error=error
        )


def _start(
    kind: Literal["tool", "retrieval"], name: str, input: JSONObject, *, by: str, place: str, confirmed: bool
) -> Trial:
    with transaction.atomic():
        trial = Trial.objects.create(
            kind=kind, name=name, input=input, by=by[:120], executor=place[:300], confirmed=confirmed
        )
        transaction.on_commit(partial(_queue, trial))
    logger.info("trial_started", kind=kind, name=name, by=by, confirmed=confirmed, trial=str(trial.id))
    return trial
