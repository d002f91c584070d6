"""Answers that call tools: nothing may run that no recording, no operator and not the agent itself vouches for.

Before an agent starts, only the tools of its recording are known. A model that answers anew may call any other one.
"""

import shlex
from collections.abc import Collection, Sequence
from typing import Final

from replay.core.vocabulary import RerunDecision
from replay.models import ReplaySession, Rerun, RerunCall
from replay.reruns.schemas import ToolAnswer
from replay.runners import recorded_tools
from replay.tool_review.queries import safety
from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason

# In the detail of a call: why its answer did not reach the agent, and the tools in it that lack consent.
REFUSAL: Final = "refusal"
HELD_BACK: Final = "held_back_tools"


def refuse_tools(call_id: int, names: Collection[str]) -> str:
    """Return why an answer that calls these tools must not reach the agent, and note it; empty if it may."""
    rerun = Rerun.objects.select_related("source_run").get(calls=call_id)
    unknown_names = _without_consent(rerun, names)
    if not unknown_names:
        return ""
    reason = _reason(rerun, unknown_names)
    _note_refusal(call_id, {REFUSAL: reason, HELD_BACK: [*unknown_names]})
    return reason


def refuse_unread(call_id: int, problem: str) -> str:
    """Return why an answer must not reach the agent of which it is not known what tools it calls, and note it."""
    reason = f"the answer cannot be read, so that it is not known which tools it calls: {problem}"
    _note_refusal(call_id, {REFUSAL: reason})
    return reason


def _note_refusal(call_id: int, facts: JSONObject) -> None:
    call = RerunCall.objects.defer("exchange").get(id=call_id)
    if call.reason != Reason.LIVE_MODEL:
        # Nothing was called, and nothing answers.
        call.label = call.reason = ""
    call.detail = {**call.detail, **facts}
    call.save(update_fields=["label", "reason", "detail"])


def held_back_tools(rerun: Rerun) -> list[str]:
    """Return the tools without consent that answers call which did not reach the agent in its last start."""
    calls = rerun.calls.filter(attempt=rerun.attempt, detail__has_key=HELD_BACK).order_by("id")
    tools = calls.values_list(f"detail__{HELD_BACK}", flat=True)
    return [*dict.fromkeys(name for names in tools for name in names)]


def refused_tools(rerun: Rerun) -> dict[str, str]:
    """Return the tools whose calls were refused in the last start of an agent, and would run with consent: and why."""
    calls = rerun.tool_calls.filter(attempt=rerun.attempt, detail__has_key=HELD_BACK).order_by("id")
    return {name: as_text(detail.get(REFUSAL)) for name, detail in calls.values_list("name", "detail")}


def missing_consent(rerun: Rerun, name: str, answer: ToolAnswer) -> JSONObject:
    """Return what notes with a refused call that consent would let it run; empty if it would not, or is not needed."""
    if answer.decision is not RerunDecision.REFUSAL or name in rerun.tools_to_run:
        return {}
    return {HELD_BACK: [name], REFUSAL: answer.reason}


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
    session = ReplaySession.objects.filter(rerun=rerun).first()
    if rerun.profile_id is None or (session is not None and session.is_probe):
        return ""
    start = f"With --resume {rerun.id}" if session is None else "When a runner allows it"
    return f". {start}, the answer is not asked for again"
