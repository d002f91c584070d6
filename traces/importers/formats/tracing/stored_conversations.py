"""Calls that continue a conversation which the provider stores, linked to the calls that they continue.

Their requests name the last response only, so what came before shows in no message:

    call 1   input "Weather?"                                      response resp_1
    call 2   input "And tomorrow?", previous_response_id resp_1    linked to call 1

OpenAI's responses have that field, Anthropic's messages `thread: {"type": "continue", "previous_message_id": "msg_1"}`.
"""

from collections.abc import Sequence
from dataclasses import replace

from traces.core.json_access import as_text, member
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType


def link_conversations(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Return the steps, with a link from each response to the calls that continue it."""
    keys: dict[str, str] = {}
    linked_steps: list[RecordedStep] = []
    for step in steps:
        previous_key = keys.get(_previous_id(member(step.input, "parameters")))
        is_new = step.type is StepType.MODEL and previous_key is not None and previous_key not in step.links
        linked_steps.append(replace(step, links=(*step.links, previous_key)) if is_new and previous_key else step)
        if id := as_text(member(step.attributes, "response", "id")):
            keys[id] = step.key
    return linked_steps


def _previous_id(parameters: JSONValue) -> str:
    """Return the id of the response that a request continues; empty if it begins a conversation."""
    id = member(parameters, "previous_response_id") or member(parameters, "thread", "previous_message_id")
    return as_text(id)
