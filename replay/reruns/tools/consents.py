"""Answers that call tools: nothing may run that no recording, no operator and not the agent itself vouches for.

Before an agent starts, only the tools of its recording are known. A model that answers anew may call any other one.
"""

import shlex
from collections.abc import Collection, Sequence
from typing import Final

from replay.models import ReplaySession, Rerun, RerunCall
from replay.runners import recorded_tools
from replay.tool_review.queries import safety
from traces.core.vocabulary import Reason

# In the detail of a call: why its answer did not reach the agent.
REFUSAL: Final = "refusal"


def refuse_tools(call_id: int, names: Collection[str]) -> str:
    """Return why an answer that calls these tools must not reach the agent, and note it; empty if it may."""
    rerun = Rerun.objects.select_related("source_run").get(calls=call_id)
    unknown_names = _without_consent(rerun, names)
    if not unknown_names:
        return ""
    reason = _reason(rerun, unknown_names)
    call = RerunCall.objects.defer("exchange").get(id=call_id)
    if call.reason != Reason.LIVE_MODEL:
        # Nothing was called, and nothing answers.
        call.label = call.reason = ""
    call.detail = {**call.detail, REFUSAL: reason}
    call.save(update_fields=["label", "reason", "detail"])
    return reason


def _without_consent(rerun: Rerun, names: Collection[str]) -> Sequence[str]:
    """Return the tools that nothing is known to intercept, and that nobody allowed."""
    known_names = {*rerun.tools_to_run, *rerun.tools_with_hook, *rerun.tools_that_ask}
    left = [
        name
        for name in dict.fromkeys(names)
        if not {name, recorded_tools.own_name(name)} & known_names and safety(name) is not True
    ]
    return recorded_tools.find_unproven(rerun.source_run, left) if left else []


def _reason(rerun: Rerun, names: Sequence[str]) -> str:
    options = " ".join(f"--allow-tool {shlex.quote(name)}" for name in names)
    return (
        f"rerun {rerun.id}: the model's answer calls {', '.join(names)}, and nothing is known to intercept such a "
        f"call, so it may really run. Allow it by name: {options}, or review the tool as safe"
        f"{_remedy(rerun)}"
    )


def _remedy(rerun: Rerun) -> str:
    """Return how the agent gets a stored answer without another call; empty if nothing starts it again."""
    if rerun.profile_id is None or ReplaySession.objects.filter(rerun=rerun).exists():
        return ""
    return f". With --resume {rerun.id}, the answer is not asked for again"
