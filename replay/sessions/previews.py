"""Preview cache and rate limit: repeated previews come from memory, new ones are limited per caller."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from django.conf import settings
from django.db.models import Max
from pydantic import BaseModel
from rest_framework.request import Request

from replay.core.bounded_cache import BoundedCache
from replay.models import ToolDecision
from replay.runners import queries as runners
from traces.core.canonical import digest
from traces.errors import NotFound
from traces.http.responses import caller_of
from traces.http.throttling import Window
from traces.models import IgnoreList, Run
from traces.runs.queries import find_run

# A typing user sends at most four per second: the browser debounces for 250 ms.
FORKS: Final = Window(name="fork-previews", limit=600, seconds=60)
SEARCHES: Final = Window(name="search-previews", limit=300, seconds=60)
# In listed steps. A plan needs about 1 kB per step, so this is some 20 MB.
_CAPACITY: Final = 20_000
# Changes that are not part of the key, such as a lost artifact file, take effect after this time.
_SECONDS: Final = 60.0
# Includes runs that are still being recorded: once sealed, their answers can be reused.
_NEWEST_RUNS: Final = 100
_REFUSAL: Final = "too many previews; wait a minute"
_PLANS: BoundedCache[Any] = BoundedCache(capacity=_CAPACITY, seconds=_SECONDS)
P = TypeVar("P", bound=BaseModel)


def count(request: Request, window: Window) -> None:
    """Count a preview that must be computed; raises `TooManyRequests`."""
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
    """Return the cached plan while nothing it depends on has changed, or else `make` and cache it."""
    key = _key(request, question, run)
    if key is not None and (cached_plan := _PLANS.get(key)) is not None:
        # The key contains the request path.
        return cached_plan  # type: ignore[no-any-return]
    count(request, window)
    plan = make()
    if key is not None:
        _PLANS.store(key, plan, weight=1 + weigh(plan))
    return plan


def _key(request: Request, question: BaseModel, ref: str) -> str | None:
    """Cache key: everything the plan depends on; None for a run that is missing or not sealed."""
    try:
        run = find_run(ref)
    except NotFound:
        return None
    if run.sealed_at is None:
        return None
    newest = Run.objects.filter(app=run.app).order_by("-id").values_list("id", "sealed_at")[:_NEWEST_RUNS]
    newest_decision = ToolDecision.objects.aggregate(newest=Max("id"))["newest"]
    ignore_list = IgnoreList.objects.filter(app=run.app).order_by("-version").values_list("version", "ready_at").first()
    # An agent starts only where a runner of its app is online, and lets its tools run.
    runner_states = (runners.online(run.app).exists(), sorted(map(sorted, runners.consents(run.app))))
    configuration = (settings.PROVIDERS, settings.TOOLS, settings.RETRIEVERS, settings.HOOKS)
    return digest(
        [
            request.get_full_path(),
            question.model_dump(mode="json", exclude_unset=True),
            str(run.id),
            repr(sorted(run.metadata.items())) if isinstance(run.metadata, dict) else "",
            repr(list(newest)),
            repr((newest_decision, ignore_list, configuration, runner_states)),
        ]
    )
