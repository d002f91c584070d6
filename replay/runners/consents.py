"""Consent to tools of an agent that nothing intercepts: they really run, also where the recording has their calls."""

import shlex
from collections.abc import Collection, Sequence
from typing import Final

from replay.core.errors import ReplayRefusal
from replay.core.plan import PlanRefusal, UninterceptedTool
from replay.runners import queries, recorded_tools
from replay.tool_review.queries import safety_by_tool
from traces.models import Run

CONSENT_REQUIRED: Final = "consent_required"
_LONGEST_LIST: Final = 10


def tools_of(run: Run, *, is_open: bool) -> list[UninterceptedTool]:
    """Return the tools that really run if a runner starts the agent, and by what each may.

    `is_open`: the model may answer differently than recorded.
    """
    names = recorded_tools.find_unintercepted(run, is_open=is_open, hooked_names=queries.hooked_tools(run.app))
    if not names:
        return []
    reviews = safety_by_tool()
    safe_names = {name for name in names if reviews.get(name) is True}
    runner_consents = _consents_of_runner(run.app, {*names} - safe_names)
    return [
        UninterceptedTool(
            name=name, consent="review" if name in safe_names else "runner" if name in runner_consents else None
        )
        for name in names
    ]


def tools_of_runner(tools: Sequence[UninterceptedTool]) -> list[str]:
    """Return the tools for which only the user of the runner has consented."""
    return [tool.name for tool in tools if tool.consent == "runner"]


def refusal(tools: Sequence[UninterceptedTool]) -> PlanRefusal | None:
    """Return why an agent must not start; None if each of its tools is intercepted or may run."""
    names = [tool.name for tool in tools if tool.consent is None]
    if not names:
        return None
    return PlanRefusal(code=CONSENT_REQUIRED, detail=_detail(names, "Start the runner with"), where="/engine")


def require(run: Run, *, is_open: bool, allowed_names: Collection[str], hooked_names: Collection[str]) -> None:
    """Raise `ReplayRefusal` unless each tool that really runs is reviewed as safe or is allowed by its name.

    A hook in the agent intercepts those of `hooked_names`.
    """
    reviews = safety_by_tool()
    names = [
        name
        for name in recorded_tools.find_unintercepted(run, is_open=is_open, hooked_names=hooked_names)
        if not (name in allowed_names or name in hooked_names) and reviews.get(name) is not True
    ]
    if names:
        raise ReplayRefusal(
            PlanRefusal(code=CONSENT_REQUIRED, detail=_detail(names, "Allow each by name:"), where="/allow_tools")
        )


def shorten(names: Sequence[str]) -> str:
    """Return the beginning of a list of tools as text."""
    return ", ".join(names[:_LONGEST_LIST]) + ("…" if len(names) > _LONGEST_LIST else "")


def _consents_of_runner(app: str, names: Collection[str]) -> set[str]:
    """Return for which tools the user of one runner has consented: of that one which allows most of these."""
    if not names:
        return set()
    return max((consents & {*names} for consents in queries.consents(app)), key=len, default=set())


def _detail(names: Sequence[str], remedy: str) -> str:
    options = " ".join(f"--allow-tool {shlex.quote(name)}" for name in names)
    return (
        f"nothing intercepts these tools of the agent, so each start of it really runs them again: {', '.join(names)}. "
        f"{remedy} {options}, or review the harmless ones as safe"
    )
