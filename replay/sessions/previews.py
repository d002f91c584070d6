"""Previews as callers ask for them: the same question is answered from memory, and new ones are limited per caller."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db.models import Max
from pydantic import BaseModel
from rest_framework.request import Request

from replay.models import ToolDecision
from replay.planning.plan_cache import PlanCache
from traces.core.canonical import digest
from traces.errors import NotFound
from traces.http.responses import caller_of
from traces.http.throttling import Window
from traces.models import IgnoreList, Run
from traces.runs.queries import find_run

# A person who types sends at most four a second: the browser waits 250 ms for the next letter.
FORKS: Final = Window(name="fork-previews", limit=600, seconds=60)
SEARCHES: Final = Window(name="search-previews", limit=300, seconds=60)
# In steps listed. A plan weighs about 1 kB a step, so this is some 20 MB.
_CAPACITY: Final = 20_000
# What no state shows, such as an artifact lost from its folder, is noticed after this time.
_SECONDS: Final = 60.0
# Those being recorded are among them: once sealed, their answers can be reused.
_NEWEST_RUNS: Final = 100
_REFUSAL: Final = "too many previews were asked for; wait a minute"
_KEPT: PlanCache[Any] = PlanCache(capacity=_CAPACITY, seconds=_SECONDS)
P = TypeVar("P", bound=BaseModel)


def count(request: Request, window: Window) -> None:
    """Count a preview that has to be computed; raises `TooManyRequests`."""
    window.count(caller_of(request) or str(request.META.get("REMOTE_ADDR", "")), _REFUSAL)


def answer(
    request: Request,
    window: Window,
    *,
    question: BaseModel,
    run: str,
    make: Callable[[], P],
    weigh: Callable[[P], int],
) -> P:
    """Return the kept plan for this question while nothing it depends on has changed, else `make` and keep it."""
    key = _key(request, question, run)
    if key is not None and (kept := _KEPT.get(key)) is not None:
        return kept  # type: ignore[no-any-return]  # the key contains the address that was asked
    count(request, window)
    plan = make()
    if key is not None:
        _KEPT.put(key, plan, weight=1 + weigh(plan))
    return plan


def _key(request: Request, question: BaseModel, ref: str) -> str | None:
    """What the plan depends on; None where that may change any moment: a run that is missing or not yet sealed."""
    try:
        run = find_run(ref)
    except NotFound:
        return None
    if run.sealed_at is None:
        return None
    newest = Run.objects.filter(app=run.app).order_by("-id").values_list("id", "sealed_at")[:_NEWEST_RUNS]
    decided = ToolDecision.objects.aggregate(newest=Max("id"))["newest"]
    ignored = IgnoreList.objects.filter(app=run.app).order_by("-version").values_list("version", "ready_at").first()
    configured = (settings.PROVIDERS, settings.TOOLS, settings.RETRIEVERS, settings.HOOKS)
    return digest(
        [
            request.get_full_path(),
            question.model_dump(mode="json", exclude_unset=True),
            str(run.id),
            repr(sorted(run.metadata.items())) if isinstance(run.metadata, dict) else "",
            repr(list(newest)),
            repr((decided, ignored, configured)),
        ]
    )
