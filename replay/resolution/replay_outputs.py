"""Outputs that the source, itself a replay, did not take from an agent: reused, they keep their label. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from replay.core.calls import ACTIONS, LIVE_REASONS, Answer, label_key
from replay.core.graph import Node, ReplayOutput
from replay.core.plan import PlanRefusal
from replay.core.wording import recorded_outcome
from replay.overrides.policy import Policy
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.payloads.replay_labels import RECORDED_AS

# Reasons of outputs that a model, tool or retriever gave to this very call.
REAL_ANSWERS: Final = LIVE_REASONS | {Reason.AGENT_RAN, Reason.CACHE_SIGNATURE, Reason.CACHE_NORMALISED}


def may_answer(node: Node) -> bool:
    """True if a step's output may answer an equal or similar call: no failure, override, placeholder or assumption."""
    is_answer = node.replay_output is None or node.replay_output.reason in REAL_ANSWERS
    return is_answer and node.status is StepStatus.OK


def with_origin(answer: Answer, output: ReplayOutput) -> Answer:
    """Explain a reused answer that keeps the label of its source."""
    return replace(answer, action=ACTIONS[output.label], detail=detail(output.reason), note=note(output.reason))


def note(reason: Reason) -> str:
    return f"The recording is itself a replay, in which this step {recorded_outcome(reason)}"


def detail(reason: Reason) -> JSONObject:
    """Label detail with the reason that the output has in the source."""
    return {**label_key(), RECORDED_AS: str(reason), "note": note(reason)}


def refusals(policy: Policy, outputs: Mapping[int, ReplayOutput], before: int) -> Iterator[PlanRefusal]:
    """Refusal for the first simulated step before a number, if the policy is strict."""
    simulated = [no for no, output in outputs.items() if no < before and output.label is Label.SIMULATED]
    if policy.strict and simulated:
        yield PlanRefusal(
            code="policy_conflict",
            detail=strict_refusal(min(simulated)),
            where="/policy/strict",
            step=min(simulated),
        )


def strict_refusal(no: int) -> str:
    return f"the policy is strict, but the recording is itself a replay, in which step {no} was simulated"
