"""The call of a trial, in a worker. It is never repeated: if its effect is unknown, the user has to find out."""

import time
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from replay.core.vocabulary import TrialStatus
from replay.execution.calls.live_retrieval import build_search
from replay.live import retrieval, timeouts, tools
from replay.live.providers.types import ProviderError
from replay.models import Trial
from traces.core.vocabulary import StepStatus
from traces.transitions import move

# A trial that no worker starts in this time fails: it must not run after its user has stopped waiting.
PENDING_LIMIT: Final = timedelta(minutes=2)
# For connecting and storing, in addition to the time of the call itself.
_GRACE_S: Final = 30.0


def run(id: UUID) -> None:
    """Make the call, unless another worker has started it."""
    trial = Trial.objects.get(id=id)
    limit = _limit_s(trial)
    now = timezone.now()
    waiting = Trial.objects.filter(id=id, at__gt=now - PENDING_LIMIT)
    over_at = now + timedelta(seconds=limit + _GRACE_S)
    if not move(waiting, TrialStatus.PENDING, TrialStatus.RUNNING, over_at=over_at):
        return
    start = time.monotonic()
    try:
        outcome = _tool(trial) if trial.kind == "tool" else _retrieval(trial, limit)
        status, columns = TrialStatus.SUCCEEDED, dict[str, Any](outcome=outcome)
    except ProviderError as error:
        status, columns = TrialStatus.FAILED, {"error_code": error.code[:40], "error": str(error)}
    duration = (time.monotonic() - start) * 1000
    move(Trial.objects.filter(id=id), TrialStatus.RUNNING, status, duration_ms=duration, **columns)


def _limit_s(trial: Trial) -> float:
    services = tools.configured_tools() if trial.kind == "tool" else retrieval.configured_retrievers()
    return services[trial.name].entry.timeout_s if trial.name in services else 0.0


def _tool(trial: Trial) -> dict[str, Any]:
    tool = tools.configured_tools().get(trial.name)
    if tool is None:
        raise ProviderError(f"this worker has no tool “{trial.name}”", code="not_configured", retryable=False)
    mark = f"trial-{trial.id}"
    with tools.connection_scope(mark):
        result = tools.run(tool, tools.ToolCall(arguments=trial.input, replay=mark))
    return {"output": result.output, "status": result.status}


def _retrieval(trial: Trial, limit_s: float) -> dict[str, Any]:
    retriever = retrieval.configured_retrievers().get(trial.name)
    if retriever is None:
        raise ProviderError(f"this worker has no retriever “{trial.name}”", code="not_configured", retryable=False)
    search = build_search(retriever, trial.input, f"trial-{trial.id}")
    try:
        result = timeouts.run_with_timeout(
            limit_s, lambda: retrieval.run(retriever, search), is_cancelled=lambda: False
        )
    except TimeoutError as error:
        detail = f"{retriever.name} did not answer in {limit_s:g} s"
        raise ProviderError(detail, code="timeout", retryable=True) from error
    return {"output": {"documents": result.documents, "embedding": result.embedding}, "status": StepStatus.OK}
