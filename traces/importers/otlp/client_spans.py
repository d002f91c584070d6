"""Spans that a provider's client writes without messages, beside a tracer's span of the same call.

Both would be model steps, and the tokens of the call would count twice. The client's span becomes an attribute of the
tracer's step.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

_RESPONSE_ID: Final = "gen_ai.response.id"


def join_client_spans(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Return the steps without those that repeat another one."""
    models = [step for step in steps if step.type is StepType.MODEL]
    bare = [step for step in models if step.input is None and step.output is None]
    if not bare or len(bare) == len(models):
        return list(steps)
    whole = [step for step in models if step.input is not None]
    homes = {step.key: home for step in bare if (home := _home(step, whole)) is not None}
    guests = {home.key: step for step in bare if (home := homes.get(step.key)) is not None}
    return [
        _with_client_span(_inside_home(step, homes), guests.get(step.key)) for step in steps if step.key not in homes
    ]


def _home(bare: RecordedStep, whole: Sequence[RecordedStep]) -> RecordedStep | None:
    """Return the step of the same call, which another tracer wrote: beside or around the step, at the same time."""
    # In order of time, since several calls may run at once.
    candidates = [step for step in whole if _is_beside(bare, step) and _is_during(bare, step)]
    response = bare.attributes.get(_RESPONSE_ID)
    same = [step for step in candidates if response and step.attributes.get(_RESPONSE_ID) == response]
    return next(reversed(same or candidates), None)


def _is_beside(bare: RecordedStep, whole: RecordedStep) -> bool:
    is_near = bare.parent in (whole.key, whole.parent)
    return is_near and bare.model == whole.model and bare.attributes.get("scope") != whole.attributes.get("scope")


def _is_during(bare: RecordedStep, whole: RecordedStep) -> bool:
    if bare.started_at is None or whole.started_at is None:
        return False
    return whole.started_at <= bare.started_at <= (whole.ended_at or bare.started_at)


def _with_client_span(step: RecordedStep, guest: RecordedStep | None) -> RecordedStep:
    if guest is None:
        return step
    usage: JSONObject = {"in": guest.tokens_in, "out": guest.tokens_out, "cached": guest.tokens_cached}
    span: JSONObject = {"span_id": guest.key, "name": guest.name, "attributes": guest.attributes, "tokens": usage}
    if guest.error:
        span["error"] = guest.error
    return replace(
        step,
        tokens_in=guest.tokens_in if step.tokens_in is None else step.tokens_in,
        tokens_out=guest.tokens_out if step.tokens_out is None else step.tokens_out,
        tokens_cached=guest.tokens_cached if step.tokens_cached is None else step.tokens_cached,
        attributes={**step.attributes, "client_span": span},
    )


def _inside_home(step: RecordedStep, homes: dict[str, RecordedStep]) -> RecordedStep:
    """Return a step that was inside a client's span inside the tracer's."""
    home = homes.get(step.parent or "")
    return step if home is None else replace(step, parent=home.key)
