"""Steps with unreadable recordings: their placeholders, and when a policy refuses them. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from replay.core.calls import label_key
from replay.core.events import Event, StepsReused
from replay.core.plan import PlannedStep, PlanRefusal
from replay.core.wording import sentence, step_list
from replay.overrides.policy import Policy
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Cause, Reason
from traces.payloads.lost_payloads import LostPayloads, describe_losses

ARTIFACT_MISSING: Final = "artifact_missing"


def are_refused(policy: Policy) -> bool:
    """True if the policy accepts only recorded outputs."""
    return policy.strict or policy.fallback == "fail"


def reused_ranges(fork: int, events: Sequence[Event]) -> list[range]:
    """Ranges of steps that a replay reuses: all before the fork, and those that no change reaches."""
    return [range(1, fork), *(range(event.first, event.last + 1) for event in events if isinstance(event, StepsReused))]


def refusals(policy: Policy, losses: Mapping[int, LostPayloads], ranges: Sequence[range]) -> Iterator[PlanRefusal]:
    """Refusal for the first reused step whose recording is unreadable, if the policy requires it."""
    needed_steps = [no for no in losses if any(no in steps for steps in ranges)] if are_refused(policy) else []
    if needed_steps:
        # A container is less telling than the step inside it that is lost.
        first = min(needed_steps, key=lambda no: (_are_inside(losses[no]), no))
        path = "/policy/strict" if policy.strict else "/policy/fallback"
        detail = refusal_text(policy, first, losses[first])
        yield PlanRefusal(code=ARTIFACT_MISSING, detail=detail, where=path, step=first)


def warnings(losses: Mapping[int, LostPayloads], fork: int, steps: Iterable[PlannedStep]) -> Iterator[str]:
    """Warnings about unreadable steps: inherited ones, which a plan does not list, and those that keep their output."""
    if numbers := sorted(no for no, payloads in losses.items() if no < fork and not _are_inside(payloads)):
        yield sentence(
            f"{step_list(numbers)} before the fork cannot be verified: {describe_losses(losses[numbers[0]])}."
        )
    unverified_steps = (step.sequence_no for step in steps if step.reason == Reason.SOURCE_OUTPUT_UNVERIFIED)
    if numbers := [no for no in unverified_steps if no >= fork and no in losses]:
        verb, their = ("keeps", "its") if len(numbers) == 1 else ("keep", "their")
        yield sentence(
            f"{step_list(numbers)} {verb} {their} recorded output, unverified: {describe_losses(losses[numbers[0]])}."
        )


def refusal_text(policy: Policy, no: int, losses: LostPayloads) -> str:
    """Explain why a replay ends at a step."""
    reason = "the policy is strict" if policy.strict else "the policy allows no placeholder"
    return f"step {no} cannot be reused: {describe_losses(losses)}; {reason}"


def reason(losses: LostPayloads) -> Reason:
    """Reason of an unreadable step that no change reaches."""
    if _are_inside(losses):
        return Reason.DERIVED
    return Reason.POLICY_FALLBACK if _lacks_output(losses) else Reason.SOURCE_OUTPUT_UNVERIFIED


def note(losses: LostPayloads) -> str:
    """Describe an unreadable step that no change reaches."""
    if _are_inside(losses):
        return f"It has no recorded output, and {describe_losses(losses)}"
    text = "A placeholder replaces its output" if _lacks_output(losses) else "Its recorded output is kept, unverified"
    return f"{text}: {describe_losses(losses)}"


def detail(losses: LostPayloads) -> JSONObject:
    """Label detail with the cause and the unreadable payloads."""
    return {**label_key(), **cause(losses), "note": note(losses)}


def cause(losses: LostPayloads) -> JSONObject:
    return {"why": str(Cause.ARTIFACT_MISSING), "unavailable": [payload.document for payload in losses]}


def _are_inside(losses: LostPayloads) -> bool:
    """True for a container of which nothing is unreadable but steps inside."""
    return all(payload.inner is not None for payload in losses)


def _lacks_output(losses: LostPayloads) -> bool:
    return any(payload.is_of("output") for payload in losses)
