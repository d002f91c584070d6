"""Steps with unreadable recordings: their placeholders, and when a policy refuses them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from replay.core.calls import label_key
from replay.core.events import Event, StepsReused
from replay.core.plan import PlanRefusal
from replay.core.wording import sentence, step_list
from replay.overrides.policy import Policy
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Cause
from traces.payloads.lost_payloads import LostPayloads, describe_losses

ARTIFACT_MISSING: Final = "artifact_missing"


def are_refused(policy: Policy) -> bool:
    """Whether the policy accepts only what was recorded."""
    return policy.strict or policy.fallback == "fail"


def reused_ranges(fork: int, events: Sequence[Event]) -> list[range]:
    """The steps that a replay takes over as they are: all before the fork, and those that no change reaches."""
    return [range(1, fork), *(range(event.first, event.last + 1) for event in events if isinstance(event, StepsReused))]


def refusals(policy: Policy, lost: Mapping[int, LostPayloads], reused_ranges: Sequence[range]) -> Iterator[PlanRefusal]:
    """The first of the reused steps that the policy wants as recorded and that cannot be read."""
    needed = [no for no in lost if any(no in steps for steps in reused_ranges)] if are_refused(policy) else []
    if needed:
        first = min(needed)
        where = "/policy/strict" if policy.strict else "/policy/fallback"
        detail = refusal_text(policy, first, lost[first])
        yield PlanRefusal(code=ARTIFACT_MISSING, detail=detail, where=where, step=first)


def warnings(lost: Mapping[int, LostPayloads], fork: int) -> Iterator[str]:
    """The warning about inherited steps, which a plan does not list."""
    if numbers := sorted(no for no in lost if no < fork):
        yield sentence(f"{step_list(numbers)} before the fork cannot be verified: {describe_losses(lost[numbers[0]])}.")


def refusal_text(policy: Policy, no: int, lost: LostPayloads) -> str:
    """Why a replay ends at a step."""
    why = "the policy is strict" if policy.strict else "the policy allows no placeholder"
    return f"step {no} cannot be reused: {describe_losses(lost)}; {why}"


def note(lost: LostPayloads) -> str:
    """What became of a step that nothing else reaches."""
    kept = "A placeholder stands for its output" if _lacks_output(lost) else "Its recorded output is kept, unverified"
    return f"{kept}: {describe_losses(lost)}"


def detail(lost: LostPayloads) -> JSONObject:
    """The label's key, with the cause and the payloads at fault."""
    return {**label_key(), **cause(lost), "note": note(lost)}


def cause(lost: LostPayloads) -> JSONObject:
    return {"why": str(Cause.ARTIFACT_MISSING), "unavailable": [payload.document for payload in lost]}


def _lacks_output(lost: LostPayloads) -> bool:
    return any(payload.field == "output" for payload in lost)
